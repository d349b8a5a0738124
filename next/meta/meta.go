// Package meta watches whether an approach is working: it keeps one small record of a session's outcomes, and
// assesses it.
package meta
