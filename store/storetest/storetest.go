// Package storetest is the conformance suite of [store.Store]: [Run] holds a store against each sentence of
// its contract. [Serve] and [Dial] are a store that several processes of a test share.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/arc-learn/arc/store"
)

// Options say what cannot be asked of a store.
type Options struct {
	Volatile bool // it forgets everything when it is closed
	Prefix   int  // bytes that it puts before each key, and that a key must be shorter than 4 KiB
}

// Run runs each rule as a subtest, over a store of its own: open opens the one that belongs to dir. The
// folder exists; a store that keeps nothing in files takes its name as that of the store. A dir is opened
// again after Close, and never twice at a time. That a commit outlives a killed process is not tested here.
func Run(t *testing.T, open func(dir string) (store.Store, error), o Options) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if err := r.check(t.TempDir(), open, o); err != nil {
				t.Error(err)
			}
		})
	}
}

var rules = []rule{
	{"model", model}, {"scan of one state", scanOneState}, {"scan ends", scanEnds}, {"transfers", transfers},
	{"limits", limits}, {"close", closed},
}

type rule struct {
	name string
	f    func(*kit)
}

// kit is the store and what a rule does with it. Its methods end the rule by a panic with a failure.
type kit struct {
	Options
	store.Store
	ctx    context.Context
	reopen func() (store.Store, error)
}

type failure struct{ error }

func (r rule) check(dir string, open func(dir string) (store.Store, error), o Options) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	st, err := open(dir)
	if err != nil {
		return err
	}
	k := &kit{o, st, ctx, func() (store.Store, error) { return open(dir) }}
	defer func() { err = errors.Join(err, k.Close()) }()
	return caught(func() { r.f(k) })
}

func caught(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.error
		default:
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	f()
	return nil
}

// each runs f(0) to f(n-1) at the same time.
func (k *kit) each(n int, f func(i int)) {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = caught(func() { f(i) }) })
	}
	wg.Wait()
	k.ok(errors.Join(errs...), "concurrently")
}

func (k *kit) must(holds bool, format string, args ...any) {
	if !holds {
		panic(failure{fmt.Errorf(format, args...)})
	}
}

func (k *kit) ok(err error, doing string) { k.must(err == nil, "%s: %v", doing, err) }

func (k *kit) is(err, want error, doing string) {
	k.must(errors.Is(err, want), "%s: error %v, want %v", doing, err, want)
}

func (k *kit) equal(got, want any, what string) {
	k.must(reflect.DeepEqual(got, want), "%s: got %v, want %v", what, got, want)
}

func put(key, value string) store.Op { return store.Op{Key: key, Value: []byte(value)} }

func (k *kit) commit(ops ...store.Op) store.Revision {
	rev, err := k.Commit(k.ctx, ops...)
	k.ok(err, "commit")
	return rev
}

func (k *kit) value(key string) string {
	e, err := k.Get(k.ctx, key)
	k.ok(err, "get "+key)
	k.equal(e.Key, key, "key of get")
	return string(e.Value)
}

// all returns the keys of a scan with their values: "a=1".
func (k *kit) all(r store.Range) []string {
	found := []string{}
	for e, err := range k.Scan(k.ctx, r) {
		k.ok(err, "scan")
		found = append(found, e.Key+"="+string(e.Value))
	}
	return found
}
