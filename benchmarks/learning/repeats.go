package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// shape is a routine request: five instances of it, and cases for which its plan would be wrong.
type shape struct {
	ID, Situation    string
	Instances, Never []struct {
		Text   string
		Inputs json.RawMessage
		Plan   []struct {
			Skill  string
			Inputs json.RawMessage
		}
	}
}

func (s shape) instance(i int) (learn.Case, *reason.Plan) {
	var p reason.Plan
	for _, call := range s.Instances[i].Plan {
		p.Calls = append(p.Calls, reason.PlanCall{Name: call.Skill, Inputs: call.Inputs})
	}
	return learn.Case{Situation: s.Situation, Text: s.Instances[i].Text, Inputs: s.Instances[i].Inputs}, &p
}

func repeats(dir string) error {
	f, err := os.Open(filepath.Join(dir, "repeats-dev.jsonl"))
	if err != nil {
		return err
	}
	defer f.Close()
	var shapes []shape
	for d := json.NewDecoder(f); ; {
		var s shape
		if err := d.Decode(&s); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		shapes = append(shapes, s)
	}
	fmt.Println("| deliveries | repeats | fire | wrongly | right plan suggested first | traps | fire |\n" +
		"|--:|--:|--:|--:|--:|--:|--:|")
	for _, n := range []int{2, 4} {
		var tried, fired, wrong, first, traps, trapped int
		for i := 2; i < 5; i++ { // the instance that is tried; all shapes are in one memory
			l, err := layer(1)
			if err != nil {
				return err
			}
			for _, s := range shapes {
				for j := range 5 {
					if j != i && (n == 4 || j < 2) {
						c, p := s.instance(j)
						if err := deliver(l, c, p); err != nil {
							return err
						}
					}
				}
			}
			for _, s := range shapes {
				c, want := s.instance(i)
				a, err := l.Before(context.Background(), c)
				if err != nil {
					return err
				}
				tried++
				switch {
				case a.Fires != nil && same(a.Fires, want):
					fired++
				case a.Fires != nil:
					wrong++
				case len(a.Suggestions) > 0 && names(&a.Suggestions[0].Plan) == names(want):
					first++
				}
				for _, trap := range s.Never {
					a, err := l.Before(context.Background(), learn.Case{Situation: s.Situation, Text: trap.Text,
						Inputs: trap.Inputs})
					if err != nil {
						return err
					}
					if traps++; a.Fires != nil {
						trapped++
					}
				}
			}
			if err := l.Close(); err != nil {
				return err
			}
		}
		fmt.Printf("| %d | %d | %d | %d | %d | %d | %d |\n", n, tried, fired, wrong, first, traps, trapped)
	}
	fmt.Println()
	return nil
}

// layer is a Layer in memory.
func layer(seed uint64) (*learn.Layer, error) {
	return learn.New(context.Background(), store.NewMem(), &learn.Options{Scope: "acme", Seed: seed})
}

// deliver has a case delivered by who thought about it: what fires is no delivery more.
func deliver(l *learn.Layer, c learn.Case, p *reason.Plan) error {
	c.Fresh = true
	a, err := l.Before(context.Background(), c)
	if err != nil {
		return err
	}
	_, err = l.After(context.Background(), a, learn.Outcome{Verdict: learn.Delivered, Plan: p})
	return err
}

// same reports whether two plans make the same calls.
func same(a, b *reason.Plan) bool {
	if names(a) != names(b) {
		return false
	}
	for i := range a.Calls {
		var x, y any
		if json.Unmarshal(a.Calls[i].Inputs, &x) != nil || json.Unmarshal(b.Calls[i].Inputs, &y) != nil ||
			!reflect.DeepEqual(x, y) {
			return false
		}
	}
	return true
}

func names(p *reason.Plan) (s string) {
	for _, c := range p.Calls {
		s += c.Name + " "
	}
	return s
}
