package learn

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/internal/index"
	"github.com/arc-learn/arc/next/internal/text"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/store"
)

// cases finds the keys of plans whose cases are like a case, by the words of their situation, text and inputs. It is a
// view of the store: a scope is read when it is first asked for, and followed from then on.
type cases struct {
	an     *text.Analyzer
	mu     sync.RWMutex
	scopes map[memory.Scope]*scopeCases
}

// scopeCases has one row of its index for keys whose words are equal but for those with a digit, so that "why does
// build 7 fail?" and a thousand like it are one.
type scopeCases struct {
	ix   *index.Index
	rows map[string]uint32
	keys [][]pointed // by row, those that were delivered last
}

// pointed is a key, with the words of its cases.
type pointed struct {
	record // without plans
	key    string
	scope  memory.Scope
	at     int64 // of the last delivery
	score  float64
}

// maxLike is how many keys a case is compared with beside its own, and maxAlike how many are found of those that differ in
// digits alone.
const maxLike, maxAlike = 6, 3

// wordsOf returns a record with the words of a case, for its key.
func wordsOf(c *Case, s *shape) record {
	r := record{Situation: c.Situation, Conditions: c.Conditions, Goals: c.Goals, Template: s.template, Paths: []string{}}
	for _, v := range s.in {
		r.Paths = append(r.Paths, v.path)
	}
	return r
}

// said are the words that the key of a record is found by.
func (r *record) said() string {
	return words.ReplaceAllStringFunc(r.Situation+"\n"+r.Template+" "+strings.Join(r.Paths, " "), func(w string) string {
		if strings.ContainsFunc(w, unicode.IsNumber) {
			return "#"
		}
		return w
	})
}

// differs says in a sentence what a case has otherwise than the cases of a key.
func (r *record) differs(c *Case, s *shape) string {
	now, out := wordsOf(c, s), []string(nil)
	say := func(differs bool, what string) {
		if differs {
			out = append(out, what)
		}
	}
	say(r.Situation != c.Situation, "its situation is another")
	say(!slices.Equal(r.Conditions, c.Conditions), "its conditions are others")
	say(!slices.Equal(r.Goals, c.Goals), "it serves another goal")
	for _, p := range now.Paths {
		say(!slices.Contains(r.Paths, p), p+" is given")
	}
	for _, p := range r.Paths {
		say(!slices.Contains(now.Paths, p), p+" is not given")
	}
	say(fold(r.Template) != s.folded, "it is said in other words")
	say(len(out) == 0, "an input is of another type")
	return strings.Join(out, "; ")
}

// put takes in what a key holds; without words it is deleted, or of a single case.
func (cs *cases) put(scope memory.Scope, key string, r *record) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if in := cs.scopes[scope]; in != nil {
		in.put(scope, key, r)
	}
}

func (in *scopeCases) put(scope memory.Scope, key string, r *record) {
	said := r.said()
	row, known := in.rows[said]
	if !known && r.Paths != nil {
		row = in.ix.Insert(in.ix.Analyze(index.Doc{Trigger: r.Situation, Content: said}))
		in.rows[said], in.keys = row, append(in.keys, nil)
	}
	for i, keys := range in.keys {
		if r.Paths == nil || uint32(i) == row {
			in.keys[i] = slices.DeleteFunc(keys, func(o pointed) bool { return o.key == key })
		}
	}
	if r.Paths == nil {
		return
	}
	p := pointed{record: *r, key: key, scope: scope}
	for _, plan := range r.Plans {
		p.at = max(p.at, plan.Last.UnixNano())
	}
	p.Plans, p.Scopes = nil, nil
	keys := append(in.keys[row], p)
	slices.SortFunc(keys, func(a, b pointed) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.key, b.key)) })
	in.keys[row] = keys[max(0, len(keys)-maxAlike):]
}

// casesIn returns the cases of a scope, which it reads when they are first asked for.
func (l *Layer) casesIn(ctx context.Context, scope memory.Scope) (in *scopeCases, err error) {
	l.cases.mu.RLock()
	in = l.cases.scopes[scope]
	l.cases.mu.RUnlock()
	if in != nil {
		return in, nil
	}
	return in, l.group.Update(ctx, func(*store.Batch) error { // nothing is written meanwhile
		in = &scopeCases{ix: index.New(l.cases.an), rows: map[string]uint32{}}
		err := scan(ctx, l.group.Store(), scope, planKind, func(key string, _ store.Entry, r *record) error {
			in.put(scope, key, r)
			return nil
		})
		l.cases.mu.Lock()
		defer l.cases.mu.Unlock()
		if err == nil {
			l.cases.scopes[scope] = in
		}
		return err
	})
}

// scan calls f for each record of a kind in a scope.
func scan[T any](ctx context.Context, st store.Store, scope memory.Scope, kind string, f func(id string, e store.Entry, v *T) error) error {
	for e, err := range st.Scan(ctx, store.Range{Prefix: scope.Prefix(kind)}) {
		var v T
		if err == nil {
			err = codec.Unmarshal(e.Value, &v)
		}
		_, _, id, _ := store.ParseKey(e.Key)
		if err == nil {
			err = f(id, e, &v)
		}
		if err != nil {
			return fmt.Errorf("learn: %s: %w", e.Key, err)
		}
	}
	return nil
}

// like returns the keys whose cases are most like the case, by what they are found by, and those nearly as much.
func (l *Layer) like(ctx context.Context, c *Case, s *shape) (out []pointed, err error) {
	now := wordsOf(c, s)
	for _, scope := range scopesOf(c) {
		in, err := l.casesIn(ctx, scope)
		if err != nil {
			return nil, err
		}
		l.cases.mu.RLock()
		for _, m := range in.ix.Search(&index.Query{Text: now.said(), K: 4 * maxLike}) {
			for _, p := range in.keys[m.Row] {
				if p.score = m.Lexical; p.key != s.key {
					out = append(out, p)
				}
			}
		}
		l.cases.mu.RUnlock()
	}
	slices.SortStableFunc(out, func(x, y pointed) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.at, x.at), cmp.Compare(x.key, y.key))
	})
	out = slices.DeleteFunc(out, func(p pointed) bool { return p.score < .7*out[0].score })
	return out[:min(len(out), maxLike)], nil
}
