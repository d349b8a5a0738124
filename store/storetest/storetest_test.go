package storetest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
)

func TestMain(m *testing.M) {
	flag.Parse()
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "0s"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// verdict is a tb that only remembers whether the rule failed.
type verdict struct {
	ctx     context.Context
	mu      sync.Mutex
	failed  bool
	skipped bool
	log     []string
}

// judge runs check as the testing package runs a test. A panic is a failure.
func judge(ctx context.Context, check func(t tb)) *verdict {
	v := &verdict{ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				v.Errorf("panic: %v", r)
			}
		}()
		check(v)
	}()
	<-done
	return v
}

func (v *verdict) Errorf(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failed = true
	v.log = append(v.log, fmt.Sprintf(format, args...))
}

func (v *verdict) Failed() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.failed
}

func (v *verdict) Context() context.Context          { return v.ctx }
func (v *verdict) Helper()                           {}
func (v *verdict) Name() string                      { return "verdict" }
func (v *verdict) Logf(string, ...any)               {}
func (v *verdict) Log(...any)                        {}
func (v *verdict) Error(args ...any)                 { v.Errorf("%s", fmt.Sprint(args...)) }
func (v *verdict) Fatalf(format string, args ...any) { v.Errorf(format, args...); runtime.Goexit() }
func (v *verdict) Fatal(args ...any)                 { v.Error(args...); runtime.Goexit() }
func (v *verdict) FailNow()                          { v.Errorf("failed"); runtime.Goexit() }
func (v *verdict) Fail()                             { v.Errorf("failed") }
func (v *verdict) Skipf(string, ...any)              { v.SkipNow() }
func (v *verdict) Skip(...any)                       { v.SkipNow() }
func (v *verdict) SkipNow()                          { v.skipped = true; runtime.Goexit() }

// broken is a Mem with methods replaced.
type broken struct {
	*store.Mem
	get    func(ctx context.Context, key string) (store.Entry, error)
	scan   func(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error]
	commit func(ctx context.Context, ops []store.Op) (store.Revision, error)
	close  func() error
	watch  func(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error]
}

func (b *broken) Get(ctx context.Context, key string) (store.Entry, error) {
	if b.get != nil {
		return b.get(ctx, key)
	}
	return b.Mem.Get(ctx, key)
}

func (b *broken) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	if b.scan != nil {
		return b.scan(ctx, r)
	}
	return b.Mem.Scan(ctx, r)
}

func (b *broken) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if b.commit != nil {
		return b.commit(ctx, ops)
	}
	return b.Mem.Commit(ctx, ops...)
}

func (b *broken) Close() error {
	if b.close != nil {
		return b.close()
	}
	return b.Mem.Close()
}

func (b *broken) Watch(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
	if b.watch != nil {
		return b.watch(ctx, prefix, after)
	}
	return b.Mem.Watch(ctx, prefix, after)
}

// edit returns a sequence with its entries passed through fn, which drops
// those for which it returns false.
func edit(seq iter.Seq2[store.Entry, error], fn func(*store.Entry) bool) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range seq {
			if err == nil && !fn(&e) {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// wrong are stores that break the interface, each with a rule that must see
// it.
var wrong = map[string]struct {
	rule  string
	spoil func(b *broken)
}{
	"forgets every other write": {"get returns what was put", func(b *broken) {
		n := 0
		b.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			if n++; n%2 == 0 && len(ops) > 0 && store.CheckOps(ops) == nil {
				ops = append(slices.Clone(ops[1:]), put("elsewhere", ""))
			}
			return b.Mem.Commit(ctx, ops...)
		}
	}},
	"finds what is not there": {"get of an absent key is ErrNotFound", func(b *broken) {
		b.get = func(ctx context.Context, key string) (store.Entry, error) {
			e, err := b.Mem.Get(ctx, key)
			if errors.Is(err, store.ErrNotFound) {
				return store.Entry{}, nil
			}
			return e, err
		}
	}},
	"keeps the slices passed in": {"slices passed in are not kept", func(b *broken) {
		kept := map[string][]byte{}
		b.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			for _, op := range ops {
				kept[op.Key] = op.Value
			}
			return b.Mem.Commit(ctx, ops...)
		}
		b.get = func(ctx context.Context, key string) (store.Entry, error) {
			e, err := b.Mem.Get(ctx, key)
			if err == nil {
				e.Value = kept[key]
			}
			return e, err
		}
	}},
	"shares the slices that get returns": {"slices returned belong to the caller", func(b *broken) {
		var cache store.Entry
		b.get = func(ctx context.Context, key string) (store.Entry, error) {
			e, err := b.Mem.Get(ctx, key)
			if err == nil && e.Rev == cache.Rev && e.Key == cache.Key {
				return cache, nil
			}
			cache = e
			return e, err
		}
	}},
	"reuses one slice while it scans": {"slices returned belong to the caller", func(b *broken) {
		b.scan = func(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
			var buf [1 << 20]byte
			return edit(b.Mem.Scan(ctx, r), func(e *store.Entry) bool {
				e.Value = buf[:copy(buf[:], e.Value)]
				return true
			})
		}
	}},
	"ignores conditions": {"conditions decide on the revision", func(b *broken) {
		b.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			ops = slices.Clone(ops)
			for i := range ops {
				ops[i].If = store.Any
			}
			return b.Mem.Commit(ctx, ops...)
		}
	}},
	"takes a deleted key for present": {"conditions decide on the revision", func(b *broken) {
		ever := map[string]bool{}
		b.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			for _, op := range ops {
				if op.If == store.Absent && ever[op.Key] {
					return 0, store.ErrConflict
				}
				ever[op.Key] = true
			}
			return b.Mem.Commit(ctx, ops...)
		}
	}},
	"stops in the middle of a commit": {"a conflict leaves nothing behind", func(b *broken) {
		b.commit = func(ctx context.Context, ops []store.Op) (rev store.Revision, err error) {
			if err := store.CheckOps(ops); err != nil || len(ops) == 0 {
				return b.Mem.Commit(ctx, ops...)
			}
			for _, op := range ops {
				if rev, err = b.Mem.Commit(ctx, op); err != nil {
					return 0, err
				}
			}
			return rev, nil
		}
	}},
	"checks a condition after writing the op before it": {"a conflict leaves nothing behind", func(b *broken) {
		b.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			rev, err := b.Mem.Commit(ctx, ops...)
			if errors.Is(err, store.ErrConflict) && ops[0].If == store.Any {
				if _, first := b.Mem.Commit(ctx, ops[0]); first != nil {
					return 0, first
				}
			}
			return rev, err
		}
	}},
	"scans backwards": {"scan yields in bytewise key order", func(b *broken) {
		b.scan = func(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
			return func(yield func(store.Entry, error) bool) {
				var all []store.Entry
				for e, err := range b.Mem.Scan(ctx, r) {
					if err != nil {
						yield(e, err)
						return
					}
					all = append(all, e)
				}
				for _, e := range slices.Backward(all) {
					if !yield(e, nil) {
						return
					}
				}
			}
		}
	}},
	"ignores After": {"scan keeps to prefix, after and limit", func(b *broken) {
		b.scan = func(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
			r.After = ""
			return b.Mem.Scan(ctx, r)
		}
	}},
	"includes After": {"scan keeps to prefix, after and limit", func(b *broken) {
		b.scan = func(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
			if r.After != "" {
				r.After = r.After[:len(r.After)-1] // not valid UTF-8 sometimes, which sorts well enough
			}
			return b.Mem.Scan(ctx, r)
		}
	}},
	"yields one more than Limit": {"scan keeps to prefix, after and limit", func(b *broken) {
		b.scan = func(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
			if r.Limit > 0 {
				r.Limit++
			}
			return b.Mem.Scan(ctx, r)
		}
	}},
	"yields what lies behind the prefix": {"scan keeps to prefix, after and limit", func(b *broken) {
		b.scan = func(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
			if len(r.Prefix) > 1 {
				r.After, r.Prefix = max(r.After, r.Prefix), r.Prefix[:1]
			}
			return b.Mem.Scan(ctx, r)
		}
	}},
	"scans what is written later": {"scan sees the store as of its beginning", func(b *broken) {
		b.scan = func(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
			return edit(b.Mem.Scan(ctx, r), func(e *store.Entry) bool {
				now, err := b.Mem.Get(ctx, e.Key)
				if err == nil {
					*e = now
				}
				return err == nil
			})
		}
	}},
	"begins to scan too early": {"scan begins when the loop does, each time", func(b *broken) {
		b.scan = func(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
			var all []store.Entry
			var last error
			for e, err := range b.Mem.Scan(ctx, r) {
				if last = err; err == nil {
					all = append(all, e)
				}
			}
			return func(yield func(store.Entry, error) bool) {
				for _, e := range all {
					if !yield(e, nil) {
						return
					}
				}
				if last != nil {
					yield(store.Entry{}, last)
				}
			}
		}
	}},
	"keeps one revision": {"an entry has the revision of its last commit", func(b *broken) {
		b.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			rev, err := b.Mem.Commit(ctx, ops...)
			return min(rev, 1), err
		}
	}},
	"shows half of a commit": {"a commit is seen as a whole", func(b *broken) {
		scanned, first := make(chan struct{}), true
		b.scan = func(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
			return func(yield func(store.Entry, error) bool) {
				b.Mem.Scan(ctx, r)(yield)
				select {
				case scanned <- struct{}{}:
				default:
				}
			}
		}
		b.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			if !first {
				if _, err := b.Mem.Commit(ctx, ops[0]); err != nil {
					return 0, err
				}
				for range 2 { // the second scan began after the half commit
					select {
					case <-scanned:
					case <-ctx.Done():
					}
				}
			}
			first = false
			return b.Mem.Commit(ctx, ops...)
		}
	}},
	"numbers an empty commit": {"a commit of no ops does nothing", func(b *broken) {
		b.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			rev, err := b.Mem.Commit(ctx, ops...)
			if err == nil && len(ops) == 0 {
				rev = 1
			}
			return rev, err
		}
	}},
	"deletes by writing an empty value": {"delete removes the key", func(b *broken) {
		b.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			ops = slices.Clone(ops)
			for i := range ops {
				ops[i].Delete = false
			}
			return b.Mem.Commit(ctx, ops...)
		}
	}},
	"takes an empty key": {"a bad key is ErrKey and stores nothing", func(b *broken) {
		b.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			ops = slices.DeleteFunc(slices.Clone(ops), func(op store.Op) bool { return op.Key == "" })
			return b.Mem.Commit(ctx, ops...)
		}
	}},
	"lets the last of two ops win": {"a key named twice is ErrKey and stores nothing", func(b *broken) {
		b.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			byKey := map[string]store.Op{}
			for _, op := range ops {
				byKey[op.Key] = op
			}
			return b.Mem.Commit(ctx, slices.Collect(maps.Values(byKey))...)
		}
	}},
	"cuts what is too large": {"what is over a limit is a LimitError and stores nothing", func(b *broken) {
		b.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			ops = slices.Clone(ops)
			for i := range ops {
				ops[i].Value = ops[i].Value[:min(len(ops[i].Value), store.MaxValue)]
			}
			return b.Mem.Commit(ctx, ops...)
		}
	}},
	"holds less than the limit": {"what is at a limit is stored", func(b *broken) {
		b.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			if len(ops) > 1000 {
				return 0, &store.LimitError{Field: "ops", Limit: 1000, Got: len(ops)}
			}
			return b.Mem.Commit(ctx, ops...)
		}
	}},
	"commits after its context ended": {"a context that ended stores nothing", func(b *broken) {
		b.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			if ctx == nil {
				return 0, errors.New("nil context")
			}
			rev, err := b.Mem.Commit(context.WithoutCancel(ctx), ops...)
			return rev, errors.Join(err, ctx.Err())
		}
	}},
	"panics at a nil context": {"a nil context is an error", func(b *broken) {
		b.get = func(ctx context.Context, key string) (store.Entry, error) {
			return b.Mem.Get(context.WithoutCancel(ctx), key)
		}
	}},
	"reads after close": {"after close every method is ErrClosed", func(b *broken) {
		b.close = func() error { return nil }
	}},
	"closes once only": {"close is idempotent", func(b *broken) {
		b.close = func() error {
			if _, err := b.Mem.Get(context.Background(), "a"); errors.Is(err, store.ErrClosed) {
				return err
			}
			return b.Mem.Close()
		}
	}},
	"cuts a scan short at close": {"close ends an open scan without cutting it short", func(b *broken) {
		b.scan = func(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
			first := true
			return edit(b.Mem.Scan(ctx, r), func(e *store.Entry) bool {
				_, err := b.Mem.Get(ctx, e.Key)
				open := first || !errors.Is(err, store.ErrClosed)
				first = false
				return open
			})
		}
	}},
	"does not watch deletions": {"watch yields what exists and then what changes", func(b *broken) {
		b.watch = func(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
			return edit(b.Mem.Watch(ctx, prefix, after), func(e *store.Entry) bool { return !e.Deleted })
		}
	}},
	"watches everything": {"watch keeps to prefix and after", func(b *broken) {
		b.watch = func(ctx context.Context, _ string, after store.Revision) iter.Seq2[store.Entry, error] {
			return b.Mem.Watch(ctx, "", after)
		}
	}},
	"loses one change of ten": {"watches say what was committed", func(b *broken) {
		var n atomic.Int64
		b.watch = func(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
			return edit(b.Mem.Watch(ctx, prefix, after), func(e *store.Entry) bool {
				return strings.Contains(e.Key, "end") || n.Add(1)%10 != 0
			})
		}
	}},
	"makes half of what it refuses": {"watches say what was committed", func(b *broken) {
		b.commit = func(ctx context.Context, ops []store.Op) (store.Revision, error) {
			rev, err := b.Mem.Commit(ctx, ops...)
			if errors.Is(err, store.ErrConflict) && ops[0].If == store.Any {
				if _, half := b.Mem.Commit(ctx, ops[0]); half != nil {
					return 0, half
				}
			}
			return rev, err
		}
	}},
	"watches the same entry twice": {"watch misses nothing between now and later", func(b *broken) {
		b.watch = func(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
			return func(yield func(store.Entry, error) bool) {
				for e, err := range b.Mem.Watch(ctx, prefix, after) {
					if !yield(e, err) || strings.HasSuffix(e.Key, "7") && !yield(e, err) {
						return
					}
				}
			}
		}
	}},
}

func TestRulesHoldForMem(t *testing.T) {
	for _, r := range rules() {
		v := judge(t.Context(), func(t tb) { r.check(t, store.NewMem()) })
		require.False(t, v.failed, "%s: %v", r.name, v.log)
	}
}

func TestRulesSeeWrongStores(t *testing.T) {
	names := map[string]bool{}
	for _, r := range rules() {
		names[r.name] = true
	}
	for name, w := range wrong {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.True(t, names[w.rule], "no rule is called %q", w.rule)
			for _, r := range rules() {
				if r.name != w.rule {
					continue
				}
				b := &broken{Mem: store.NewMem()}
				w.spoil(b)
				v := judge(t.Context(), func(t tb) { r.check(t, b) })
				require.True(t, v.failed, "the rule %q holds", w.rule)
			}
		})
	}
}

func TestModelSeesWrongStores(t *testing.T) {
	for _, name := range []string{"ignores conditions", "ignores After", "keeps one revision", "forgets every other write"} {
		b := &broken{Mem: store.NewMem()}
		wrong[name].spoil(b)
		v := judge(t.Context(), func(t tb) { agreesWithMap(t, b) })
		require.True(t, v.failed, name)
	}
}

// A store that cannot watch is asked everything else.
func TestWatchIsOptional(t *testing.T) {
	type plain struct{ store.Store }
	for _, r := range watchRules {
		v := judge(t.Context(), func(t tb) { r.check(t, plain{store.NewMem()}) })
		require.True(t, v.skipped, r.name)
		require.False(t, v.failed, r.name)
	}
}
