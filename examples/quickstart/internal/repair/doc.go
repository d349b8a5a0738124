// Package repair is the workshop of the quickstart: broken Go packages, a
// check that says what is wrong with one, and fixers that edit its source.
//
// A [Package] is a small module from a txtar archive. [Check] runs go build,
// go vet and go test on a directory and returns the [Diagnosis] of the first
// step that fails; [Diagnosis.Situation] says the kind of problem in words,
// without the names of the package at hand. A [Fixer] looks for one kind of
// mistake and edits what it finds; [Verify] decides whether the result holds.
//
//	d, err := repair.Check(ctx, dir)      // what is wrong
//	fmt.Println(d.Situation())            // build undefined standard package
//	for _, f := range repair.Fixers() {
//		out, err := f.Apply(ctx, scratch) // may change nothing
//		complaint, err := repair.Verify(ctx, dir, scratch)
//	}
//
// No fixer knows what the diagnosis was, and the diagnosis names no fixer:
// which of them fits is for the caller to find out. All functions may be
// called concurrently, on different directories.
package repair
