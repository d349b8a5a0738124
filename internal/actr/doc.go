// Package actr has the equations of ACT-R's declarative memory, and the two
// forms of them that Soar uses, as pure functions of float64.
//
// Ages and latencies are in seconds (Soar's in decision cycles), activations
// in natural logarithms of odds. The names in parentheses are ACT-R's
// parameters. Sources:
//
//   - Anderson and Lebiere, The Atomic Components of Thought (1998), and the
//     ACT-R 7 reference manual: base level, spreading, partial matching, noise,
//     latency;
//   - Petrov, Computationally efficient approximation of the base-level
//     learning equation in ACT-R, ICCM 2006: the hybrid base level;
//   - Gonzalez, Lerch and Lebiere, Instance-based learning in dynamic decision
//     making, Cognitive Science 27 (2003), and Lebiere (1999): blending;
//   - Derbinsky and Laird, Efficiently implementing episodic memory and
//     Computationally efficient forgetting via base-level activation, ICCM
//     2012, and the Soar 9.6 kernel: what Soar does.
package actr
