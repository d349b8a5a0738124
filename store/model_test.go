package store_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/store"
)

var (
	errDefinite = fmt.Errorf("nothing was written: %w", store.ErrFull)
	errUnknown  = errors.New("the connection was lost")
)

// faulty is a store of which the next commit fails: nothing was written, or it was and nobody hears of it. What was
// deleted up to a revision it has forgotten.
type faulty struct {
	store.Changer
	next  error
	floor store.Revision
}

func (f *faulty) Changes(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
	if after >= f.floor {
		return f.Changer.Changes(ctx, prefix, after)
	}
	return func(yield func(store.Entry, error) bool) {
		for e, err := range f.Changer.Changes(ctx, prefix, store.Latest) {
			e.Deleted = true
			yield(e, err)
		}
	}
}

func (f *faulty) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	err := f.next
	if f.next = nil; err == errDefinite {
		return 0, err
	}
	rev, wrong := f.Changer.Commit(ctx, ops...)
	if wrong == nil && err != nil {
		return 0, err
	}
	return rev, wrong
}

// process is a part that keeps a view of the counters, as memory and statistics do.
type process struct {
	st    *faulty
	group *store.Group
	view  map[string]store.Entry
}

func start(t require.TestingT, mem store.Changer) *process {
	p := &process{st: &faulty{Changer: mem}, view: map[string]store.Entry{}}
	p.group = store.NewGroup(store.Sub(p.st, "t/acme/"))
	require.NoError(t, p.group.Refresh(context.Background()))
	p.group.Follow("count/", p.apply, p.read)
	require.NoError(t, p.read(context.Background()))
	return p
}

func (p *process) read(ctx context.Context) error {
	clear(p.view)
	for e, err := range p.group.Store().Scan(ctx, store.Range{Prefix: "count/"}) {
		if err != nil {
			return err
		}
		p.apply(e)
	}
	return nil
}

func (p *process) apply(e store.Entry) {
	switch {
	case e.Deleted && (e.Rev == 0 || e.Rev > p.view[e.Key].Rev):
		delete(p.view, e.Key)
	case !e.Deleted && e.Rev >= p.view[e.Key].Rev:
		p.view[e.Key] = e
	}
}

// add adds one to a counter, or deletes it, by what the view says; the batch is also read back.
func (p *process) add(key string, remove bool) error {
	return p.group.Update(context.Background(), func(b *store.Batch) error {
		now := p.view[key]
		if remove {
			b.After(func(store.Revision) { delete(p.view, key) })
			return b.Delete(key, store.At(now.Rev))
		}
		n, _ := strconv.Atoi(string(now.Value))
		value := []byte(strconv.Itoa(n + 1))
		b.After(func(rev store.Revision) { p.apply(store.Entry{Key: key, Value: value, Rev: rev}) })
		if err := b.Put(key, value, store.At(now.Rev)); err != nil {
			return err
		}
		e, err := b.Get(context.Background(), key)
		if string(e.Value) != string(value) {
			return fmt.Errorf("staged %s, and read %q, %w", value, e.Value, err)
		}
		return nil
	})
}

// TestGroupsAgainstAModel holds two processes on one store, whose commits conflict and fail in both ways, against a
// map of counters: no update is lost or made twice, and no view is older than the last call allows.
func TestGroupsAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem, want := store.NewMem(), map[string]int{}
		ps := []*process{start(t, mem), start(t, mem)}
		t.Repeat(map[string]func(*rapid.T){
			"update": func(t *rapid.T) {
				p := rapid.SampledFrom(ps).Draw(t, "process")
				key := rapid.SampledFrom([]string{"count/a", "count/b"}).Draw(t, "key")
				remove := rapid.IntRange(0, 4).Draw(t, "remove") == 0
				p.st.next = rapid.SampledFrom([]error{nil, nil, errDefinite, errUnknown}).Draw(t, "fault")
				fault := p.st.next
				before, _ := mem.Get(context.Background(), "t/acme/"+key)
				stale := before.Rev != p.view[key].Rev // then the fault comes first, or the conflict does
				err := p.add(key, remove)
				after, _ := mem.Get(context.Background(), "t/acme/"+key)
				switch {
				case err == nil:
					require.False(t, fault != nil && !stale)
				case fault == nil:
					require.NoError(t, err)
				default:
					require.ErrorIs(t, err, fault)
				}
				if err == nil || errors.Is(err, errUnknown) && after.Rev != before.Rev {
					if want[key]++; remove {
						delete(want, key)
					}
				}
				require.Equal(t, after.Rev, p.view[key].Rev, "the view after the call")
			},
			"refresh": func(t *rapid.T) {
				p := rapid.SampledFrom(ps).Draw(t, "process")
				require.NoError(t, p.group.Refresh(context.Background()))
				require.Len(t, p.view, len(want))
				for key, n := range want {
					require.Equal(t, strconv.Itoa(n), string(p.view[key].Value))
				}
			},
			"forget": func(t *rapid.T) {
				for e, err := range mem.Changes(context.Background(), "", store.Latest) {
					require.NoError(t, err)
					rapid.SampledFrom(ps).Draw(t, "process").st.floor = e.Rev
				}
			},
			"restart": func(t *rapid.T) { ps[rapid.IntRange(0, 1).Draw(t, "i")] = start(t, mem) },
			"": func(t *rapid.T) {
				n := 0
				for e, err := range mem.Scan(context.Background(), store.Range{Prefix: "t/acme/count/"}) {
					require.NoError(t, err)
					require.Equal(t, strconv.Itoa(want[e.Key[len("t/acme/"):]]), string(e.Value))
					n++
				}
				require.Len(t, want, n)
			},
		})
	})
}
