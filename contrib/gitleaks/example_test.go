package gitleaks_test

import (
	"fmt"

	"github.com/arc-learn/arc/contrib/gitleaks"
	"github.com/arc-learn/arc/redact"
)

func Example() {
	find, err := gitleaks.New()
	if err != nil {
		panic(err)
	}
	clean := redact.New(&redact.Options{Find: find})
	fmt.Println(clean.Prose("the order A-7 was shipped on Monday"))
	// Output: the order A-7 was shipped on Monday
}
