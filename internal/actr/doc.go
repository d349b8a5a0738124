// Package actr has the equations of ACT-R's declarative memory as pure functions.
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
//   - the Soar manual and the Soar 9.6 kernel: the base level of semantic
//     memory.
package actr
