// Package lint holds the rules of this repository that no other tool knows,
// as tests: which package may import which, what production code may reach,
// and how exported identifiers are documented. It has no code of its own.
//
//	go test ./internal/lint
//
// Each rule takes the repository as the go command and the parser see it, and
// returns one line per offence. The samples in testdata are small modules
// that break the rules, each with the lines that it must earn.
package lint
