// Package template tells what of a plan came from the case that it was made for,
// so that it can be made anew for another case.
//
// A text becomes a [Phrase] and JSON a [Node], in which a [Ref] stands wherever
// a value of the case stood: a [Quoter] puts them there, and a [Binding] puts the
// values of another case in their places. It is done on typed trees, so a number
// stays a number, and no value can become syntax. The [Residue] is what is left of
// a plan: a value of the old case that is found there cannot be bound anew.
//
// The words of a case are compared after [Words] and [Fold], which drop only what
// makes no difference between repeats.
package template
