package learn_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/store"
)

// Before and After among a thousand keys of other words, where a plan fires and where plans are suggested.
func BenchmarkLayer(b *testing.B) {
	l, err := learn.New(b.Context(), store.NewMem(), &learn.Options{Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	of := func(i, order int) learn.Case {
		return learn.Case{Text: fmt.Sprintf("w%d x%d y%d for order SO-%d", i, i*7, i*31, order), Inputs: json.RawMessage(fmt.Sprintf(`{"order":"SO-%d"}`, order))}
	}
	after := func(a learn.Advice, order int) {
		if _, err := l.After(b.Context(), a, learn.Outcome{Verdict: learn.Delivered, Plan: plan("do", fmt.Sprintf(`{"id":"SO-%d"}`, order))}); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 1000 {
		after(learn.Advice{Case: of(i, 1001)}, 1001)
		after(learn.Advice{Case: of(i, 1002)}, 1002)
	}
	like := of(7, 1003)
	like.Text = "please: " + like.Text
	for name, c := range map[string]learn.Case{"fires": of(7, 1003), "suggests": like} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if a, err := l.Before(b.Context(), c); err != nil || (a.Fires != nil) != (name == "fires") {
					b.Fatal(err, a.Why)
				}
			}
		})
	}
	b.Run("after", func(b *testing.B) {
		for b.Loop() {
			after(learn.Advice{Case: of(7, 1003)}, 1003)
		}
	})
}
