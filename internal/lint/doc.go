// Package lint holds the rules of this repository that no other tool knows,
// as tests. It has no code of its own.
//
//	go test ./internal/lint
//	go test ./internal/lint -run Budget -v         # what may be lowered
//	go test ./internal/lint -run Budget -update    # write budget.txt
//
// A rule takes the repository as the go command, the parser and the type
// checker see it, and returns one line per offence. Rules say which package
// may import which, what library code may call, how exported identifiers are
// documented and used, and how comments are worded. Some values have a ceiling
// per package in budget.txt: lines of code, exported identifiers, knots of
// files, identifiers without a user, offences against prose. A ceiling may
// fall; it rises with a line in docs/decisions.md.
//
// The samples in testdata are small modules that break the rules, each with
// the lines that it must earn.
package lint
