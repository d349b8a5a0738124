// Package stored has the keys under which a Bank keeps records and what belongs to them, and the forms of what
// it keeps beside the records: counters, vectors and guesses.
package stored

import (
	"context"
	"iter"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/store"
)

// Everything lies under Root, in parts.
const (
	Root     = "memory"
	Records  = "r"
	Counts   = "s" // of records
	Feedback = "f" // keys of the feedback that was applied
	Receipts = "k" // of drafts with a Key that have no record of their own
	Vectors  = "v" // of records
	Model    = "m" // of the vectors
	Guesses  = "p" // what a record perhaps replaces
	Unread   = "x" // records that the Extractor has yet to read
)

// Parts are those under which keys of a scope lie, records before what is kept of them.
func Parts() []string { return []string{Records, Vectors, Counts, Feedback, Receipts, Guesses, Unread} }

// LongMark begins the parts of keys of scopes too long for one, and no scope.
const LongMark = "#"

// Scope is the scope as part of a key. Long ones are hashed, so that the
// key stays within the store's limit.
func Scope(scope string) string {
	if len(scope) <= 512 {
		return scope
	}
	sum := ident.Digest("scope", scope)
	return LongMark + string(ident.Append(nil, sum[:20]))
}

// Key is where a part of a record is in the store.
func Key(part, scope, id string) string { return key.Join(Root, part, Scope(scope), id) }

// ModelKey is where the model of the vectors is.
func ModelKey() string { return key.Join(Root, Model) }

// Split returns the part, the scope as part of it, and the id of a key. It reports false for one that Key
// has not made.
func Split(k string) (part, scope, id string, ok bool) {
	p := key.Split(k)
	if len(p) != 4 || p[0] != Root {
		return "", "", "", false
	}
	return p[1], p[2], p[3], true
}

// Place is where a scope is in the store.
type Place struct {
	Part   string // of keys
	Counts string // prefix of the keys of counters
	marks  string // prefix of the keys of feedback
}

// PlaceOf returns the place of a scope.
func PlaceOf(scope string) Place {
	part := Scope(scope)
	return Place{part, key.Prefix(Root, Counts, part), key.Prefix(Root, Feedback, part)}
}

// Key is where a part of a record of the scope is.
func (p *Place) Key(part, id string) string { return key.Join(Root, part, p.Part, id) }

// FeedbackKey hashes the host's key: what is not kept cannot leak.
func (p *Place) FeedbackKey(k string) string {
	sum := ident.Digest("feedback", k)
	var id [ident.Length]byte
	return p.marks + string(ident.Append(id[:0], sum[:15]))
}

// Under yields the entries of a part of a scope and of those below it, "" being every scope. Ours says of an
// entry of a scope that is too long for a key whether it is one of these.
func Under(
	ctx context.Context, st store.Store, part, scope string, ours func(store.Entry) (bool, error),
) iter.Seq2[store.Entry, error] {
	all := key.Prefix(Root, part)
	prefixes := []string{all}
	if scope != "" {
		prefixes = []string{key.Prefix(Root, part, scope), all + scope + "/", all + LongMark}
	}
	return func(yield func(store.Entry, error) bool) {
		for i, prefix := range prefixes {
			for e, err := range st.Scan(ctx, store.Range{Prefix: prefix}) {
				some := i < 2
				if !some && err == nil {
					some, err = ours(e)
				}
				if (some || err != nil) && !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

// Put is the write of a value.
func Put(k string, v any) (store.Op, error) {
	value, err := codec.Encode(k, v)
	return store.Op{Key: k, Value: value}, err
}
