// Package faults breaks machines under a store and an Agent: it kills their
// process, cuts the power, fails system calls, takes away disk, inodes and
// descriptors, and damages files. Its tests know nothing but the public API.
//
//	go test -v .                          # a few rounds of each
//	go test -v -run PowerCuts . -args -rounds 100
//
// Each test logs its figures in a line that begins with "figures:". What needs
// root, loop devices or strace is skipped without them, and says so.
//
// docs/reliability.md lists the promises, and the last figures.
package faults
