package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/arc-learn/arc/next/store"
)

// follow calls apply for the changes after a revision, and returns the one to go on from. It holds what every call
// must: revisions above after and in order, each key once, and one last entry without a key.
func (k *kit) follow(c store.Changer, after store.Revision, apply func(store.Entry)) store.Revision {
	last, seen, ended := after, map[string]bool{}, false
	for e, err := range c.Changes(k.ctx, after) {
		k.ok(err, "changes")
		k.must(!ended, "an entry comes after the last one: %+v", e)
		if e.Key == "" {
			k.must(after == store.Latest || e.Rev >= last, "the last revision %d is below %d", e.Rev, last)
			last, ended = e.Rev, true
			continue
		}
		k.must(after != store.Latest, "a change after the latest: %+v", e)
		k.must(e.Rev > after && e.Rev >= last, "revision %d comes after %d and %d", e.Rev, after, last)
		k.must(!seen[e.Key], "key %q is there twice", e.Key)
		seen[e.Key], last = true, e.Rev
		apply(e)
	}
	k.must(ended, "there is no last entry")
	return last
}

func changes(k *kit) {
	c, ok := k.Store.(store.Changer)
	if !ok {
		return
	}
	var got []string
	record := func(e store.Entry) { got = append(got, fmt.Sprintf("%s=%s %v", e.Key, e.Value, e.Deleted)) }
	at := k.follow(c, store.Latest, record)
	k.commit(put("c", "1"), put("a", "1"))
	k.commit(put("b", "1"))
	k.commit(put("a", "2"))
	k.follow(c, 0, record)
	k.equal(len(got), 3, "number of changes after 0")
	got = nil
	at = k.follow(c, at, record)
	k.equal(got, []string{"c=1 false", "b=1 false", "a=2 false"}, "changes")
	k.equal(k.follow(c, store.Latest, record), at, "the latest revision")
	got = nil
	k.equal(k.follow(c, at, record), at, "the revision to go on from, when nothing has changed")
	k.commit(store.Op{Key: "b", Delete: true}, store.Op{Key: "c", Check: true})
	k.commit(put("a", "3"))
	at = k.follow(c, at, record)
	k.equal(got, []string{"b= true", "a=3 false"}, "changes with a delete")
	if !k.Volatile {
		k.openAgain()
		got = nil
		k.commit(put("e", "1"))
		k.follow(k.Store.(store.Changer), at, record)
		k.equal(got, []string{"e=1 false"}, "changes after opening again")
	}
}

// changesUnderLoad has a follower beside writers. When they have ended it knows what the last commit of each key, by
// the writers' log, has left; and it never saw a key go back.
func changesUnderLoad(k *kit) {
	c, ok := k.Store.(store.Changer)
	if !ok {
		return
	}
	var mu sync.Mutex
	log, known := map[string]store.Entry{}, map[string]store.Entry{}
	apply := func(e store.Entry) {
		k.must(e.Rev > known[e.Key].Rev, "%q goes back from revision %d to %d", e.Key, known[e.Key].Rev, e.Rev)
		known[e.Key] = e
	}
	at := k.follow(c, store.Latest, nil)
	var writing atomic.Int32
	writing.Store(4)
	k.each(5, func(w int) {
		if w == 4 {
			for writing.Load() > 0 {
				at = k.follow(c, at, apply)
			}
			return
		}
		defer writing.Add(-1)
		r := rand.New(rand.NewPCG(3, uint64(w)))
		for n := range 150 {
			op := store.Op{Key: fmt.Sprint("shared", r.IntN(3)), Delete: r.IntN(4) == 0}
			if r.IntN(2) == 0 {
				op.Key = fmt.Sprint("own", w, r.IntN(20))
			}
			if !op.Delete {
				op.Value = fmt.Append(nil, w, n)
			}
			rev := k.commit(op)
			mu.Lock()
			if rev >= log[op.Key].Rev {
				log[op.Key] = store.Entry{Key: op.Key, Value: op.Value, Rev: rev, Deleted: op.Delete}
			}
			mu.Unlock()
		}
	})
	k.follow(c, at, apply)
	for key, want := range log {
		got := known[key] // of a key that was never there the follower knows nothing
		k.must((got.Deleted || got.Key == "") == want.Deleted && string(got.Value) == string(want.Value),
			"the follower knows %+v of a key that the writers left as %+v", got, want)
	}
}
