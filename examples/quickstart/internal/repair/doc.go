// Package repair is the workshop of the quickstart: broken Go packages, a
// check that says what is wrong with one, and fixers that edit its source.
//
// A [Package] is a small module from a txtar archive. [Check] runs go build,
// go vet and go test on a directory and returns the [Diagnosis] of the first
// step that fails; [Diagnosis.Situation] says the kind of problem in words,
// without the names of the package at hand. A [Fixer] proposes edits for one
// kind of mistake, searches for those with which the package passes, and leaves
// it as it is if there are none; [Verify] decides whether the result holds.
//
//	d, err := repair.Check(ctx, dir)      // what is wrong
//	fmt.Println(d.Situation())            // build undefined standard package
//	for _, f := range repair.Fixers() {
//		out, err := f.Apply(ctx, scratch, d) // may change nothing
//		complaint, err := repair.Verify(ctx, dir, scratch)
//	}
//
// The diagnosis names no fixer, and each tries what it can whatever it says:
// which of them fits is for the caller to find out. All functions may be
// called concurrently, on different directories.
package repair
