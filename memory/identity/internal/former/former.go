// Package former finds the records of identities of versions before this one, which kept them
// below "identity" by part and scope. A scope of more than 512 bytes was hashed.
package former

import (
	"context"
	"fmt"
	"iter"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/store"
)

const (
	root      = "identity"
	longScope = 512
	maxGroup  = 64
)

// Place is a part of the identity of a scope, which is a hash behind "#" if it was long.
type Place struct {
	Part  string
	Scope memory.Scope
}

// Of returns the place of a record and its name in it: store.ErrDamaged for a key that no
// identity has.
func Of(e store.Entry) (Place, string, error) {
	p := key.Split(e.Key)
	if len(p) < 3 || len(p) > 4 || p[0] != root {
		return Place{}, "", fmt.Errorf("%w: %q is no identity", store.ErrDamaged, e.Key)
	}
	return Place{p[1], memory.Scope(p[2])}, p[len(p)-1], nil
}

// Owner returns the scope of a place; false: it was hashed, and the Bank has none like it.
func (p Place) Owner(bank *memory.Bank) (memory.Scope, bool) {
	if p.Scope == "" || p.Scope[0] != '#' {
		return p.Scope, true
	}
	for of := range bank.Scopes() {
		if len(of) > longScope && "#"+ident.Name(string(of)) == string(p.Scope) {
			return of, true
		}
	}
	return "", false
}

// Record is a record with its name in its place.
type Record struct {
	Name string
	store.Entry
}

// Group is some records of one place, at most 64.
type Group struct {
	Place
	Records []Record
}

// Groups yields the records, up to an error.
func Groups(ctx context.Context, st store.Store) iter.Seq2[Group, error] {
	return func(yield func(Group, error) bool) {
		var g Group
		for e, err := range st.Scan(ctx, store.Range{Prefix: key.Prefix(root)}) {
			var p Place
			var name string
			if err == nil {
				p, name, err = Of(e)
			}
			if err != nil {
				yield(Group{}, err)
				return
			}
			if len(g.Records) == maxGroup || p != g.Place {
				if len(g.Records) > 0 && !yield(g, nil) {
					return
				}
				g = Group{Place: p}
			}
			g.Records = append(g.Records, Record{name, e})
		}
		if len(g.Records) > 0 {
			yield(g, nil)
		}
	}
}
