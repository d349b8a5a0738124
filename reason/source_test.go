package reason_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason"
)

func BenchmarkCodebase(b *testing.B) {
	source := reason.NewCodebase(os.DirFS(".."))
	for b.Loop() {
		_, err := source(b.Context(), "the knapsack picks too few facts for its budget", 1500)
		require.NoError(b, err)
	}
}

func ExampleNewCodebase() {
	files := fstest.MapFS{ // os.DirFS(".") in a host
		"go.mod":             {Data: []byte("module example.org/shop\n")},
		"cmd/shop/main.go":   {Data: []byte("package main\n\nfunc main() {}\n")},
		"price/discount.go":  {Data: []byte("package price\n\n// Discount takes a share off.\nfunc Discount() {}\n")},
		"price/currency.go":  {Data: []byte("package price\n\n// Round goes to the cent.\nfunc Round() {}\n")},
		"web/node_modules/x": {Data: []byte("x")},
		"logo.png":           {Data: []byte("\x89PNG")},
	}
	passages, err := reason.NewCodebase(files)(context.Background(), "discounts are taken off twice", 500)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(passages[0].Name)
	fmt.Print(passages[0].Text)
	// Output:
	// codebase
	// files: .go 3, .mod 1
	// passed over: binary 1, dependencies 1
	// relevant to the objective, best first:
	// - price/discount.go (discount)
	// where to begin:
	// - go.mod
	// - cmd/shop/main.go
}

func ExampleNewDocuments() {
	files := fstest.MapFS{
		"returns.md": {Data: []byte("# Returns\n\nGoods come back within 30 days.\n\n# Discounts\n\nA discount is taken off once.\n")},
		"hours.txt":  {Data: []byte("Open from nine to five.\n")},
	}
	passages, err := reason.NewDocuments(files)(context.Background(), "discounts are taken off twice", 500)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range passages {
		fmt.Printf("%s: %q\n", p.Name, p.Text)
	}
	// Output: returns.md:5: "# Discounts\n\nA discount is taken off once."
}
