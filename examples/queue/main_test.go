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
	//   found 1-rent.txt
	//   found 2-phone.txt
	//   found 3-water.txt
	//   1-rent.txt    done, claim 1, by a cheap model
	// [#..] 1 of 3 done
	//   2-phone.txt   begun …
	// killed; a minute later a new process opens the same store
	//   found 4-urgent.txt
	//   2-phone.txt   the worker was lost: its lease was not renewed
	// [#...] 1 of 4 done
	//   4-urgent.txt  done, claim 1, by a strong model
	// [##..] 2 of 4 done
	//   2-phone.txt   done, claim 2, by a cheap model
	// [###.] 3 of 4 done
	//   3-water.txt   done, claim 1, by a cheap model
	// [####] 4 of 4 done
}
