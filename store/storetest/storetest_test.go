package storetest_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/storetest"
)

func openMem(string) (store.Store, error) { return store.NewMem(), nil }

func TestMem(t *testing.T) { storetest.Run(t, openMem, storetest.Options{Volatile: true}) }

// part is a Sub that closes the store it is of, as the suite wants it.
type part struct {
	store.Store
	whole store.Store
}

func (p part) Close() error { return p.whole.Close() }

func TestSubOfMem(t *testing.T) {
	storetest.Run(t, func(string) (store.Store, error) {
		st := store.NewMem()
		_, err := st.Commit(t.Context(), store.Op{Key: "t/acme", Value: []byte("x")}, store.Op{Key: "t/acme0", Value: []byte("x")})
		sub := store.Sub(store.Sub(st, "t/"), "acme/")
		return part{sub, st}, err
	}, storetest.Options{Volatile: true, Prefix: len("t/acme/")})
}

func TestServed(t *testing.T) {
	storetest.Run(t, func(string) (store.Store, error) {
		socket := filepath.Join(t.TempDir(), "s")
		stop, err := storetest.Serve(store.NewMem(), socket)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { require.NoError(t, stop()) })
		return storetest.Dial(socket)
	}, storetest.Options{Volatile: true})
}

// A client that is killed in the middle of its commits does not disturb another, and leaves whole commits.
func TestServedClientKilled(t *testing.T) {
	if socket := os.Getenv("STORETEST_SOCKET"); socket != "" {
		st, err := storetest.Dial(socket)
		require.NoError(t, err)
		for n := byte(0); ; n++ {
			_, err := st.Commit(t.Context(), store.Op{Key: "a", Value: []byte{n}}, store.Op{Key: "b", Value: []byte{n}})
			require.NoError(t, err)
		}
	}
	socket := filepath.Join(t.TempDir(), "s")
	mem := store.NewMem()
	stop, err := storetest.Serve(mem, socket)
	require.NoError(t, err)
	other, err := storetest.Dial(socket)
	require.NoError(t, err)
	for range 3 {
		child := exec.Command(os.Args[0], "-test.run=^TestServedClientKilled$")
		child.Env = append(os.Environ(), "STORETEST_SOCKET="+socket)
		require.NoError(t, child.Start())
		before := mustGet(t, other, "a").Rev
		for mustGet(t, other, "a").Rev < before+50 {
		}
		require.NoError(t, child.Process.Kill())
		require.Error(t, child.Wait())
		_, err = other.Commit(t.Context(), store.Op{Key: "c", Value: []byte("x")})
		require.NoError(t, err)
		require.Equal(t, mustGet(t, other, "a").Value, mustGet(t, other, "b").Value)
	}
	require.NoError(t, other.Close())
	require.NoError(t, stop())
}

func mustGet(t *testing.T, st store.Store, key string) store.Entry {
	e, err := st.Get(t.Context(), key)
	if err != nil {
		require.ErrorIs(t, err, store.ErrNotFound)
	}
	return e
}

// broken is a Mem of which some functions are others.
type broken struct {
	store.Changer
	get     func(ctx context.Context, key string) (store.Entry, error)
	scan    func(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error]
	commit  func(ctx context.Context, ops ...store.Op) (store.Revision, error)
	changes func(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error]
}

func (b *broken) Get(ctx context.Context, key string) (store.Entry, error) { return b.get(ctx, key) }
func (b *broken) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return b.scan(ctx, r)
}
func (b *broken) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	return b.commit(ctx, ops...)
}
func (b *broken) Changes(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
	return b.changes(ctx, prefix, after)
}

// keysAs takes each key as f returns it, and tells the one that was asked for.
func keysAs(f func(key string) string) func(*broken) {
	return func(b *broken) {
		b.get = func(ctx context.Context, key string) (store.Entry, error) {
			e, err := b.Changer.Get(ctx, f(key))
			e.Key = key
			return e, err
		}
		b.commit = func(ctx context.Context, ops ...store.Op) (store.Revision, error) {
			if err := store.Check(ops...); err != nil {
				return 0, err
			}
			ops = slices.Clone(ops)
			for i := range ops {
				ops[i].Key = f(ops[i].Key)
			}
			return b.Changer.Commit(ctx, ops...)
		}
	}
}

// scanAs yields what f makes of the entries of a scan.
func scanAs(f func([]store.Entry) []store.Entry) func(*broken) {
	return func(b *broken) {
		b.scan = func(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
			return func(yield func(store.Entry, error) bool) {
				var es []store.Entry
				for e, err := range b.Changer.Scan(ctx, r) {
					if err != nil {
						yield(e, err)
						return
					}
					es = append(es, e)
				}
				for _, e := range f(es) {
					if !yield(e, nil) {
						return
					}
				}
			}
		}
	}
}

// prefixesAs scans for what matches a pattern that is made of the prefix.
func prefixesAs(pattern string, replaced ...string) func(*broken) {
	return func(b *broken) {
		b.scan = func(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
			return func(yield func(store.Entry, error) bool) {
				n, like := 0, strings.NewReplacer(replaced...).Replace(r.Prefix)
				match, _ := regexp.Compile(fmt.Sprintf(pattern, like)) // a pattern that is none matches nothing
				for e, err := range b.Changer.Scan(ctx, store.Range{After: r.After}) {
					if err == nil && (match == nil || !match.MatchString(e.Key)) {
						continue
					}
					if n++; !yield(e, err) || n == r.Limit {
						return
					}
				}
			}
		}
	}
}

// Each broken store is caught by the rule that is about it.
func TestSuiteCatches(t *testing.T) {
	for _, c := range []struct {
		rule    string
		durable bool
		breaks  func(b *broken)
	}{
		{"model", false, func(b *broken) {
			b.get = func(ctx context.Context, key string) (store.Entry, error) {
				e, err := b.Changer.Get(ctx, key)
				e.Rev = 0
				return e, err
			}
		}},
		{"model", false, func(b *broken) { // After is included
			b.scan = func(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
				if e, err := b.Changer.Get(ctx, r.After); err == nil {
					return func(yield func(store.Entry, error) bool) {
						if yield(e, nil) {
							b.Changer.Scan(ctx, r)(yield)
						}
					}
				}
				return b.Changer.Scan(ctx, r)
			}
		}},
		{"scan of one state", false, func(b *broken) { // values are read as they come
			b.scan = func(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
				return func(yield func(store.Entry, error) bool) {
					for e, err := range b.Changer.Scan(ctx, r) {
						if err == nil {
							e, err = b.Changer.Get(ctx, e.Key)
						}
						if !yield(e, err) || err != nil {
							return
						}
					}
				}
			}
		}},
		{"scan ends", false, func(b *broken) {
			b.scan = func(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
				return b.Changer.Scan(context.WithoutCancel(ctx), r)
			}
		}},
		{"model", false, func(b *broken) { // it keeps the list of ops
			var kept sync.Map
			b.commit = func(ctx context.Context, ops ...store.Op) (store.Revision, error) {
				for i, op := range ops {
					kept.Store(op.Key, &ops[i])
				}
				return b.Changer.Commit(ctx, ops...)
			}
			b.get = func(ctx context.Context, key string) (store.Entry, error) {
				e, err := b.Changer.Get(ctx, key)
				if v, ok := kept.Load(key); ok && err == nil {
					e.Value = v.(*store.Op).Value
				}
				return e, err
			}
		}},
		{"model", false, func(b *broken) { // op by op
			b.commit = func(ctx context.Context, ops ...store.Op) (rev store.Revision, err error) {
				for _, op := range ops {
					r, err := b.Changer.Commit(ctx, op)
					if err != nil {
						return 0, err
					}
					rev = max(rev, r)
				}
				return rev, nil
			}
		}},
		{"model", false, func(b *broken) { // a check writes
			b.commit = func(ctx context.Context, ops ...store.Op) (store.Revision, error) {
				ops = slices.Clone(ops)
				for i := range ops {
					ops[i].Check = false
				}
				return b.Changer.Commit(ctx, ops...)
			}
		}},
		{"transfers", false, func(b *broken) { // revisions are not looked at
			b.commit = func(ctx context.Context, ops ...store.Op) (store.Revision, error) {
				ops = slices.Clone(ops)
				for i := range ops {
					ops[i].If = store.Any
				}
				return b.Changer.Commit(ctx, ops...)
			}
		}},
		{"limits", false, func(b *broken) { // the last of two ops on a key counts
			b.commit = func(ctx context.Context, ops ...store.Op) (store.Revision, error) {
				return b.Changer.Commit(ctx, slices.CompactFunc(slices.Clone(ops), func(x, y store.Op) bool { return x.Key == y.Key })...)
			}
		}},
		{"scan ends", false, func(b *broken) {
			b.commit = func(ctx context.Context, ops ...store.Op) (store.Revision, error) {
				return b.Changer.Commit(context.WithoutCancel(ctx), ops...)
			}
		}},
		{"close", false, func(b *broken) { // reads go on
			last := store.NewMem()
			b.commit = func(ctx context.Context, ops ...store.Op) (store.Revision, error) {
				last.Commit(ctx, ops...)
				return b.Changer.Commit(ctx, ops...)
			}
			b.get = last.Get
		}},
		{"transfers", false, func(b *broken) { // deletes are not told
			b.changes = func(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
				return func(yield func(store.Entry, error) bool) {
					for e, err := range b.Changer.Changes(ctx, prefix, after) {
						if !e.Deleted && !yield(e, err) {
							return
						}
					}
				}
			}
		}},
		{"transfers", false, func(b *broken) { // every third is lost
			var n atomic.Int32
			b.changes = func(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
				return func(yield func(store.Entry, error) bool) {
					for e, err := range b.Changer.Changes(ctx, prefix, after) {
						if (e.Key == "" || n.Add(1)%3 > 0) && !yield(e, err) {
							return
						}
					}
				}
			}
		}},
		{"model", false, keysAs(strings.ToLower)},
		{"model", false, keysAs(func(key string) string { return strings.TrimRight(key, " ") })},
		{"model", false, keysAs(func(key string) string { return strings.ReplaceAll(key, "e\u0301", "é") })},
		{"model", false, keysAs(func(key string) string { key, _, _ = strings.Cut(key, "\x00"); return key })},
		{"model", false, keysAs(path.Clean)},
		{"limits", false, keysAs(func(key string) string { return key[:min(len(key), 767)] })},
		{"model", false, prefixesAs(`(?s)^%s`)},
		{"model", false, prefixesAs(`(?is)^%s`, `.`, `\.`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `_`, `.`, `%`, `.*`)}, // LIKE
		{"model", false, prefixesAs(`(?s)^%s`, `.`, `\.`, `\`, `\\`, `+`, `\+`, `*`, `.*`, `?`, `.`)},             // GLOB
		{"model", false, scanAs(func(es []store.Entry) []store.Entry { // ordered by UTF-16
			slices.SortFunc(es, func(a, b store.Entry) int {
				return slices.Compare(utf16.Encode([]rune(a.Key)), utf16.Encode([]rune(b.Key)))
			})
			return es
		})},
		{"scan of one state", false, scanAs(func(es []store.Entry) []store.Entry { return es[:min(len(es), 10000)] })},
		{"limits", false, scanAs(func(es []store.Entry) []store.Entry {
			return slices.DeleteFunc(es, func(e store.Entry) bool { return len(e.Value) > 64<<10 })
		})},
		{"limits", false, func(b *broken) { // conditions of the first thousand ops are looked at
			b.commit = func(ctx context.Context, ops ...store.Op) (store.Revision, error) {
				ops = slices.Clone(ops)
				for i := 1000; i < len(ops); i++ {
					ops[i].If = store.Any
				}
				return b.Changer.Commit(ctx, ops...)
			}
		}},
		{"model", false, func(b *broken) { // what is there already is not written
			b.commit = func(ctx context.Context, ops ...store.Op) (store.Revision, error) {
				ops = slices.Clone(ops)
				for i, op := range ops {
					e, err := b.Changer.Get(ctx, op.Key)
					ops[i].Check = op.Check || err == nil && !op.Delete && bytes.Equal(e.Value, op.Value)
				}
				return b.Changer.Commit(ctx, ops...)
			}
		}},
		{"model", false, func(b *broken) { // what is empty is taken for absent
			b.commit = func(ctx context.Context, ops ...store.Op) (store.Revision, error) {
				ops = slices.Clone(ops)
				for i, op := range ops {
					if e, _ := b.Changer.Get(ctx, op.Key); op.If == store.Absent && len(e.Value) == 0 {
						ops[i].If = store.Any
					}
				}
				return b.Changer.Commit(ctx, ops...)
			}
		}},
		{"model", false, func(b *broken) { // values end before their last zeros
			b.commit = func(ctx context.Context, ops ...store.Op) (store.Revision, error) {
				ops = slices.Clone(ops)
				for i := range ops {
					ops[i].Value = bytes.TrimRight(ops[i].Value, "\x00")
				}
				return b.Changer.Commit(ctx, ops...)
			}
		}},
		{"model", true, func(*broken) {}}, // it keeps nothing
		{"close", true, func(*broken) {}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			err := storetest.Check(t, func(string) (store.Store, error) {
				m := store.NewMem()
				b := &broken{m, m.Get, m.Scan, m.Commit, m.Changes}
				c.breaks(b)
				return b, nil
			}, storetest.Options{Volatile: !c.durable})
			require.ErrorContains(t, err, c.rule+": ")
		})
	}
}
