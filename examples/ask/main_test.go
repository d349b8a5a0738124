package main

import (
	"context"
	"fmt"
	"os"
	"strings"
)

func Example() {
	err := run(context.Background(), strings.NewReader("Atlantis\nItaly\n"), os.Stdout)
	fmt.Println(err)
	// Output:
	// ? The capital of which country?
	// > Atlantis
	// ? I know no country of that name. Which one?
	// > Italy
	// delivered: "a ticket to Rome"
	// <nil>
}

func Example_unanswered() {
	err := run(context.Background(), strings.NewReader(""), os.Stdout)
	fmt.Println(err)
	// Output:
	// ? The capital of which country?
	// no answer: the run waits for one
	// <nil>
}
