package memory

import (
	"context"
	"fmt"
	"iter"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// scopeParts are the parts under which keys of a scope lie, records before what is kept
// of them.
var scopeParts = [...]string{recordPart, vectorPart, countsPart, feedbackPart, receiptPart, guessPart, readPart}

// stored is what a store holds of a scope and of those below it; "" is every scope.
type stored struct {
	st    store.Store
	scope Scope
	// long are the parts of keys of those too long for one, known once the records were
	// read.
	long map[string]bool
}

// under yields the entries under a part.
func (in *stored) under(ctx context.Context, part string) iter.Seq2[store.Entry, error] {
	all := key.Prefix(root, part)
	prefixes := []string{all}
	if in.scope != "" {
		prefixes = []string{key.Prefix(root, part, string(in.scope)), all + string(in.scope) + "/", all + longMark}
	}
	return func(yield func(store.Entry, error) bool) {
		for i, prefix := range prefixes {
			for e, err := range in.st.Scan(ctx, store.Range{Prefix: prefix}) {
				var ours bool
				if err == nil && i == 2 {
					ours, err = in.holds(part, e)
				}
				if (i < 2 || ours || err != nil) && !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

// holds reports whether an entry of a scope that is too long for a key is one of those.
func (in *stored) holds(part string, e store.Entry) (bool, error) {
	p := key.Split(e.Key)
	if part == recordPart {
		r, _, err := decodeRecord(e)
		if err != nil {
			return false, err
		}
		in.long[p[2]] = r.Scope.Within(in.scope)
	}
	return in.long[p[2]] || p[2] == scopePart(in.scope), nil
}

// Checker returns a function that says why an entry cannot be one of those that Entries
// yields of a scope, or nil: ErrTenant for one of a scope elsewhere, store.ErrDamaged for
// one that no Bank has written. Entries are to come in the order of Entries.
func Checker(scope Scope) func(store.Entry) error {
	in := stored{scope: scope, long: make(map[string]bool)}
	return func(e store.Entry) error {
		p := key.Split(e.Key)
		if len(p) != 4 || p[0] != root {
			return fmt.Errorf("%w: %q is no memory", store.ErrDamaged, e.Key)
		}
		var err error
		switch p[1] {
		case recordPart:
			_, _, err = decodeRecord(e)
		case vectorPart:
			_, _, err = decodeVector(e)
		case countsPart:
			_, err = decodeCounts(e)
		case receiptPart:
			_, err = decodeReceipt(e)
		case guessPart:
			_, err = decodeGuesses(e)
		case feedbackPart, readPart:
			err = codec.Decode(e, new(applied))
		default:
			err = fmt.Errorf("%w: %q is no memory", store.ErrDamaged, e.Key)
		}
		ours := err == nil && Scope(p[2]).Check() == nil && Scope(p[2]).Within(scope)
		if err == nil && !ours {
			ours, err = in.holds(p[1], e)
		}
		if err == nil && !ours {
			err = fmt.Errorf("%w: %q is of another scope", ErrTenant, e.Key)
		}
		return err
	}
}
