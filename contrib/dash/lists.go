package dash

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/arc-learn/arc/memory"
)

// listing is a list of which a part is shown: what has some words and is of some kind, a page at a time.
type listing struct {
	Q, Is         string
	Kinds         []kindCount // "": all
	Base          string      // the address of a part, but for its number
	Page, Pages   int
	Before, After int
}

type kindCount struct {
	Kind string
	N    int
}

// find returns the rows of all that the request asks for. Of returns the kinds of a row, and the texts that
// words are looked for in; no texts: they are not looked for.
func find[T any](rq *request, all []T, kinds []string, of func(*T) (kinds, texts []string)) (listing, []T) {
	var rows []T
	l := listing{Q: rq.Form.Get("q"), Is: rq.Form.Get("is")}
	counts := make(map[string]int)
	q := strings.ToLower(strings.TrimSpace(l.Q))
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), q) }
	for i := range all {
		is, texts := of(&all[i])
		if q != "" && texts != nil && !slices.ContainsFunc(texts, has) {
			continue
		}
		for _, k := range append(is, "") {
			counts[k]++
		}
		if l.Is == "" || slices.Contains(is, l.Is) {
			rows = append(rows, all[i])
		}
	}
	for _, k := range append([]string{""}, kinds...) {
		l.Kinds = append(l.Kinds, kindCount{k, counts[k]})
	}
	n, _ := strconv.Atoi(rq.Form.Get("page"))
	l.Pages = max(1, (len(rows)+perPage-1)/perPage)
	l.Page = max(1, min(n, l.Pages))
	l.Before, l.After = l.Page-1, l.Page+1
	query := rq.URL.Query()
	query.Del("said")
	query.Del("page")
	l.Base = "?" + query.Encode() + "&page="
	return l, rows[(l.Page-1)*perPage : min(l.Page*perPage, len(rows))]
}

// kept has what pages of a scope are made from, for a second or ten times what it took, or until news.
type kept struct {
	flight singleflight.Group
	mu     sync.Mutex
	of     map[memory.Scope]*about // under mu
}

type about struct {
	touched time.Time            // what was read before is out of date
	cost    time.Duration        // of what takes longest to read
	made    map[string]time.Time // when the reading began
	v       map[string]any
	runs    runs
}

const keepFor, maxScopes = time.Second, 64

// keep returns what is kept of the scope under a name, or reads it: once for all who ask at the same time.
func keep[T any](d *dash, rq *request, name string, read func(context.Context) (T, error)) (T, error) {
	k := &d.kept
	k.mu.Lock()
	a := k.about(rq.scope)
	if made, now := a.made[name], time.Now(); made.After(a.touched) && now.Sub(made) < max(keepFor, 10*a.cost) {
		defer k.mu.Unlock()
		return a.v[name].(T), nil
	}
	flight := fmt.Sprint(name, "\x00", rq.scope, "\x00", a.touched) // what is being read may be out of date, too
	k.mu.Unlock()
	v, err, _ := k.flight.Do(flight, func() (any, error) {
		made := time.Now()
		v, err := read(context.WithoutCancel(rq.Context())) // others wait for it, too
		if err == nil {
			k.mu.Lock()
			defer k.mu.Unlock()
			a := k.about(rq.scope)
			a.v[name], a.made[name], a.cost = v, made, max(time.Since(made), a.cost/2)
		}
		return v, err
	})
	out, _ := v.(T)
	return out, err
}

// touch has what was read before read anew, and returns about how long that takes.
func (k *kept) touch(scope memory.Scope) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := k.about(scope)
	a.touched = time.Now()
	return a.cost
}

// runs keeps the runs of a scope, unless later ones are kept, and returns what is kept.
func (k *kept) runs(scope memory.Scope, r runs) runs {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := k.about(scope)
	if r.mark > a.runs.mark {
		a.runs = r
	}
	return a.runs
}

// about returns what is kept of a scope. mu is held.
func (k *kept) about(scope memory.Scope) *about {
	if k.of == nil || len(k.of) >= maxScopes && k.of[scope] == nil {
		k.of = make(map[memory.Scope]*about)
	}
	if k.of[scope] == nil {
		k.of[scope] = &about{made: make(map[string]time.Time), v: make(map[string]any)}
	}
	return k.of[scope]
}
