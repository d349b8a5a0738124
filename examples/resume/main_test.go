package main

import (
	"os"
	"testing"
)

// TestMain lets the test binary stand in for the program, which starts itself.
func TestMain(m *testing.M) {
	if os.Getenv(childDir) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func Example() {
	main()
	// Output:
	// done: pack
	// killed while doing: load
	// resumed
	// done: load
	// done: drive
	// delivered: 3 tasks, 3 attempts
}
