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
	keys [][]pointed // by row, the one that was delivered last at the end
}

// pointed is a key, with what is known of its cases.
type pointed struct {
	record // without plans
	key    string
	scope  memory.Scope
	at     int64 // of the last delivery
	score  float64
}

// maxLike is how many keys a case is compared with beside its own, and maxAlike how many of those that differ in digits.
const maxLike, maxAlike = 6, 2

// said are the words that the key of a record is found by.
func (r *record) said() string {
	return words.ReplaceAllStringFunc(r.Situation+"\n"+r.Template+" "+strings.Join(r.Paths, " "), func(w string) string {
		if strings.ContainsFunc(w, unicode.IsNumber) {
			return "#"
		}
		return w
	})
}

// followCases has the Layer find what it and others learn.
func (l *Layer) followCases() (err error) {
	l.cases.scopes = map[memory.Scope]*scopeCases{}
	var languages []string
	if l.opts.Memory != nil {
		languages = l.opts.Memory.Languages
	}
	if l.cases.an, err = text.New(languages...); err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	l.group.Follow("s/", func(e store.Entry) {
		if scope, kind, key, _ := store.ParseKey(e.Key); kind == planKind {
			var r record
			if !e.Deleted {
				_ = codec.Unmarshal(e.Value, &r) // whoever needs the plans reads it again, and returns the error
			}
			l.cases.put(scope, key, &r)
		}
	})
	return nil
}

// put takes in what a key holds; nothing: it is deleted.
func (cs *cases) put(scope memory.Scope, key string, r *record) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if in := cs.scopes[scope]; in != nil {
		in.put(scope, key, r)
	}
}

func (in *scopeCases) put(scope memory.Scope, key string, r *record) {
	if r.Paths == nil {
		for i, keys := range in.keys { // a record that is deleted
			in.keys[i] = slices.DeleteFunc(keys, func(p pointed) bool { return p.key == key })
		}
		return
	}
	said := r.said()
	row, known := in.rows[said]
	if !known {
		row = in.ix.Insert(in.ix.Analyze(index.Doc{Trigger: r.Situation, Content: said}))
		in.rows[said], in.keys = row, append(in.keys, nil)
	}
	p := pointed{record: *r, key: key, scope: scope}
	for _, plan := range r.Plans {
		p.at = max(p.at, plan.Last.UnixNano())
	}
	p.Plans, p.Scopes = nil, nil
	keys := slices.DeleteFunc(in.keys[row], func(o pointed) bool { return o.key == key })
	at, _ := slices.BinarySearchFunc(keys, p, func(a, b pointed) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.key, b.key)) })
	in.keys[row] = slices.Insert(keys, at, p)
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
		for e, err := range l.group.Store().Scan(ctx, store.Range{Prefix: scope.Prefix(planKind)}) {
			var r record
			if err == nil {
				err = codec.Unmarshal(e.Value, &r)
			}
			if err != nil {
				return fmt.Errorf("learn: %s: %w", e.Key, err)
			}
			_, _, key, _ := store.ParseKey(e.Key)
			in.put(scope, key, &r)
		}
		l.cases.mu.Lock()
		l.cases.scopes[scope] = in
		l.cases.mu.Unlock()
		return nil
	})
}

// like returns the keys whose cases are most like the case, by what they are found by, and those nearly as much.
func (l *Layer) like(ctx context.Context, c *Case, s *shape) (out []pointed, err error) {
	now := s.record(c)
	for _, scope := range scopesOf(c) {
		in, err := l.casesIn(ctx, scope)
		if err != nil {
			return nil, err
		}
		l.cases.mu.RLock()
		for _, m := range in.ix.Search(&index.Query{Text: now.said(), K: 4 * maxLike}) {
			keys := in.keys[m.Row]
			for _, p := range slices.Backward(keys[max(0, len(keys)-maxAlike-1):]) {
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
