package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/arc-learn/arc/store"
)

// many returns as many puts as a commit may have, in the order of their keys.
func many(prefix string) []store.Op {
	ops := make([]store.Op, maxOps)
	for i := range ops {
		ops[i] = put(fmt.Sprintf("%s/%04d", prefix, i), fmt.Sprint(i))
	}
	return ops
}

// scanOneState holds that a scan is of the state at its beginning, and that its body may call any method.
func scanOneState(k *kit) {
	for _, prefix := range []string{"k/0", "k/1", "k/2"} {
		k.commit(many(prefix)...)
	}
	whole := store.Range{Prefix: "k"}
	before, seen := k.all(whole), []string{}
	k.equal(len(before), 3*maxOps, "entries of a scan")
	for e, err := range k.Scan(k.ctx, whole) {
		k.ok(err, "scan")
		if len(seen) == 0 { // the body may call any method
			k.commit(put("k/1/0100", "new"), store.Op{Key: "k/2/0150", Delete: true}, put("k/2/0200+", "new"))
			k.equal(k.value("k/1/0100"), "new", "get within a scan")
			k.equal(len(k.all(whole)), len(before), "entries of a scan within a scan")
		}
		seen = append(seen, e.Key+"="+string(e.Value))
	}
	k.must(slices.Equal(seen, before), "a scan has something else than at its beginning")
}

// scanEnds holds that a loop over a scan may be left anywhere, and ends with its context.
func scanEnds(k *kit) {
	k.commit(put("a", "x"), put("b", "x"), put("c", "x"))
	for range 2000 { // what a scan holds is given back, wherever it ends
		for _, err := range k.Scan(k.ctx, store.Range{}) {
			k.ok(err, "scan")
			break
		}
	}
	ctx, cancel := context.WithCancel(k.ctx)
	defer cancel()
	var last error
	for _, err := range k.Scan(ctx, store.Range{}) {
		k.must(last == nil, "a scan goes on after an error")
		last = err
		cancel()
	}
	k.is(last, context.Canceled, "scan whose context ends")
	k.every(ctx, context.Canceled)
	k.equal(k.value("a"), "x", "value after a commit whose context had ended")
}

// odd are keys that a store may take for one another, as patterns, words, numbers or paths, or may misplace.
var odd = []string{
	"a%b", "a*b", "a?b", "a.b", "a[x]b", "a\\b", "a_b", "ab", "axb", "AxB", "axb ", "axb\x00", "axb\x00c", "a b",
	"a+b", "a%20b", "é", "e\u0301", "e", "ü", "\uff5e", "\U0001f600", "\U0001f601", "Z", "1", "01", "a", "a/",
	"a//b", "a/../a", "a/b", "a/bb", "a0",
}

// model holds random commits of puts, deletes and checks, under conditions that hold or not, gets, and scans
// of random ranges against a map; now and then the store is compacted, or opened again.
func model(k *kit) {
	r := rand.New(rand.NewPCG(1, 2))
	keys := slices.Sorted(slices.Values(odd))
	beginning := func() string { // of a key, whole or not
		key := []rune(keys[r.IntN(len(keys))])
		return string(key[:r.IntN(len(key)+1)])
	}
	now, last := map[string]store.Entry{}, store.Revision(0)
	show := func(e store.Entry) string { return fmt.Sprintf("%s=%q@%d", e.Key, e.Value, e.Rev) }
	for n := range 400 {
		var ops []store.Op
		broken, writes := map[string]bool{}, false
		for _, i := range r.Perm(len(keys))[:r.IntN(5)] {
			key, kind := keys[i], r.IntN(20)
			op, rev := store.Op{Key: key, Delete: kind < 5, Check: kind > 15}, now[key].Rev
			if kind > 8 { // else it is a delete, or a put of nothing
				op.Value = fmt.Append(nil, n%3, op.Key, "\x00\xff\x00") // at times what is there already
			}
			op.If = []store.Condition{
				store.Any, store.Any, store.At(rev), store.At(rev), store.At(rev), store.Absent, store.At(rev + 1),
				store.At(last),
			}[r.IntN(8)]
			if op.If != store.Any && op.If != store.At(rev) {
				broken[op.Key] = true
			}
			writes = writes || !op.Check
			ops = append(ops, op)
		}
		what := fmt.Sprintf("commit %d %+v", n, ops)
		rev, err := k.Commit(k.ctx, ops...)
		if conflict, ok := errors.AsType[*store.ConflictError](err); len(broken) > 0 {
			is := ok && broken[conflict.Key] && errors.Is(err, store.ErrConflict)
			k.must(is, "%s: %v, want the conflict of one of %v", what, err, broken)
		} else {
			k.ok(err, what)
			k.must(writes && rev > last || !writes && rev == 0, "%s: revision %d after %d", what, rev, last)
			last = max(last, rev)
			for _, op := range ops {
				switch {
				case op.Check:
				case op.Delete:
					delete(now, op.Key)
				default:
					now[op.Key] = store.Entry{Key: op.Key, Value: op.Value, Rev: rev}
				}
			}
			clear(ops) // the list belongs to the caller
		}
		if c, ok := k.Store.(store.Compacter); ok && n%50 == 0 {
			k.ok(c.Compact(k.ctx), "compact")
		}
		if n%100 == 99 && !k.Volatile {
			k.openAgain()
		}
		some := store.Range{Prefix: beginning(), Limit: max(0, r.IntN(8)-3)} // half of them have no limit
		if r.IntN(2) == 0 {
			some.After = beginning()
		}
		want, got := []string{}, []string{}
		for _, key := range keys {
			entry, is := now[key]
			within := is && strings.HasPrefix(key, some.Prefix) && key > some.After
			if within && (some.Limit == 0 || len(want) < some.Limit) {
				want = append(want, show(entry))
			}
			if r.IntN(3) > 0 {
				continue
			}
			e, err := k.Get(k.ctx, key)
			if err != nil {
				k.is(err, store.ErrNotFound, "get "+key)
				e = store.Entry{}
			}
			k.equal(show(e), show(entry), key+" after "+what)
		}
		for e, err := range k.Scan(k.ctx, some) {
			k.ok(err, "scan")
			got = append(got, show(e))
		}
		k.equal(got, want, fmt.Sprintf("scan %+v after %s", some, what))
	}
}

// transfers has writers move amounts between accounts, while the store is compacted. Each scan sees one sum.
// A follower never sees a key go back, and knows at last what is there, as one does that begins then.
func transfers(k *kit) {
	const accounts, each, writers = 6, 100, 6
	for i := range accounts {
		k.commit(put(fmt.Sprint("account", i), strconv.Itoa(each)))
	}
	c, follows := k.Store.(store.Changer)
	at, known := store.Revision(0), map[string]store.Entry{}
	follow := func() {
		at = k.follow(c, "", at, func(e store.Entry) {
			k.must(e.Rev > known[e.Key].Rev, "%q goes back from revision %d to %d", e.Key, known[e.Key].Rev, e.Rev)
			known[e.Key] = e
		})
	}
	var done atomic.Int32
	k.each(writers+1, func(w int) {
		if w == writers {
			for follows && done.Load() < writers {
				follow()
			}
			return
		}
		defer done.Add(1)
		r := rand.New(rand.NewPCG(1, uint64(w)))
		for n := range 60 {
			if c, ok := k.Store.(store.Compacter); ok && w == 0 && n%20 == 19 {
				k.ok(c.Compact(k.ctx), "compact")
			}
			sum, take, give := 0, []store.Op{}, []store.Op{}
			for e, err := range k.Scan(k.ctx, store.Range{Prefix: "account"}) {
				k.ok(err, "scan")
				balance, _ := strconv.Atoi(string(e.Value))
				sum += balance
				take = append(take, store.Op{Key: e.Key, Value: fmt.Append(nil, balance-w), If: store.At(e.Rev)})
				give = append(give, store.Op{Key: e.Key, Value: fmt.Append(nil, balance+w), If: store.At(e.Rev)})
			}
			k.equal(sum, accounts*each, "sum of all accounts in a scan")
			runtime.Gosched()
			p, last := r.Perm(accounts), store.Op{Key: fmt.Sprint("last", w), Delete: n%2 == 0}
			if _, err := k.Commit(k.ctx, take[p[0]], give[p[1]], last); err != nil {
				k.is(err, store.ErrConflict, "commit")
			}
		}
	})
	if !follows {
		return
	}
	k.commit(put("last", "x"))
	follow()
	if !k.Volatile {
		k.openAgain()
		c = k.Store.(store.Changer)
	}
	rev := k.commit(store.Op{Key: "last", Delete: true})
	follow()
	k.equal(at, rev, "latest revision")
	k.equal(k.follow(c, "", store.Latest, nil), rev, "latest revision")
	k.equal(there(known), k.all(store.Range{}), "what a follower knows")
	first := map[string]store.Entry{}
	k.equal(k.follow(c, "account", 0, func(e store.Entry) { first[e.Key] = e }), rev, "latest revision")
	k.equal(there(first), k.all(store.Range{Prefix: "account"}), "what is told of a prefix")
}

// there returns what all would of these entries.
func there(known map[string]store.Entry) []string {
	found := []string{}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if e := known[key]; !e.Deleted {
			found = append(found, key+"="+string(e.Value))
		}
	}
	return found
}

// follow calls f for the changes after a revision, and returns the one to go on from. It checks each
// call: revisions above after and in order, each key of the prefix once, and one last entry without a key.
func (k *kit) follow(c store.Changer, in string, after store.Revision, f func(store.Entry)) store.Revision {
	last, seen, ended := after, map[string]bool{}, false
	for e, err := range c.Changes(k.ctx, in, after) {
		k.ok(err, "changes")
		k.must(!ended, "an entry comes after the last one: %+v", e)
		if e.Key == "" {
			k.must(after == store.Latest || e.Rev >= last, "the last revision %d is below %d", e.Rev, last)
			last, ended = e.Rev, true
			continue
		}
		k.must(e.Rev > after && e.Rev >= last, "revision %d comes after %d and %d", e.Rev, after, last)
		k.must(strings.HasPrefix(e.Key, in), "key %q has no prefix %q", e.Key, in)
		k.must(!seen[e.Key], "key %q is there twice", e.Key)
		seen[e.Key], last = true, e.Rev
		f(e)
	}
	k.must(ended, "there is no last entry")
	return last
}

const maxKey, maxValue, maxOps, maxBytes = 4 << 10, 768 << 10, 4096, 4 << 20 // the limits of a store

// limits holds that what is at a limit is committed whole, and that what is over one leaves nothing.
func limits(k *kit) {
	k.commit(put("a", "1"))
	longest := strings.Repeat("k", maxKey-k.Prefix)
	for name, key := range map[string]string{"empty": "", "long": longest + "k", "invalid": "a\xff"} {
		_, err := k.Get(k.ctx, key)
		k.is(err, store.ErrInvalid, "get of a key that is "+name)
		_, err = k.Commit(k.ctx, put("b", "1"), put(key, "1"))
		k.is(err, store.ErrInvalid, "commit of a key that is "+name)
	}
	many := many("many")
	full, left := []store.Op{}, maxBytes
	for left > 0 {
		op := put(fmt.Sprint("full/", len(full)), strings.Repeat("x", min(left, maxValue)))
		op.Value = op.Value[:len(op.Value)-k.Prefix-len(op.Key)]
		left -= k.Prefix + len(op.Key) + len(op.Value)
		full = append(full, op)
	}
	for name, ops := range map[string][]store.Op{
		"a value too large": {put("b", "1"), {Key: "c", Value: make([]byte, maxValue+1)}},
		"too many ops":      append(slices.Clone(many), put("b", "1")),
		"too many bytes":    append(slices.Clone(full), put("b", "")),
		"a key twice":       {put("b", "1"), put("b", "2")},
	} {
		_, err := k.Commit(k.ctx, ops...)
		k.is(err, store.ErrInvalid, "commit of "+name)
	}
	many[maxOps-1].If = store.At(1)
	_, err := k.Commit(k.ctx, many...)
	k.is(err, store.ErrConflict, "commit of many, the last of which has a condition that does not hold")
	k.equal(k.all(store.Range{}), []string{"a=1"}, "entries after what was refused")
	many[0].Key, many[1].Key, many[maxOps-1].If = longest, longest[1:]+"l", store.Absent
	k.commit(many...)
	k.commit(full...)
	want := []string{"a=1"}
	for _, op := range slices.Concat(many, full) {
		want = append(want, op.Key+"="+string(op.Value))
	}
	slices.Sort(want)
	k.must(slices.Equal(k.all(store.Range{}), want), "a scan has something else than was committed")
	for _, op := range slices.Concat(many[:2], full) {
		k.must(k.value(op.Key) == string(op.Value), "%.20s… is not what was committed", op.Key)
	}
}

// every holds that every method returns want and Scan yields it once.
func (k *kit) every(ctx context.Context, want error) {
	_, err := k.Get(ctx, "a")
	k.is(err, want, "get")
	_, err = k.Commit(ctx, put("a", "2"))
	k.is(err, want, "commit")
	n := 0
	for _, err := range k.Scan(ctx, store.Range{}) {
		k.is(err, want, "scan")
		n++
	}
	k.equal(n, 1, "errors of a scan")
	if c, ok := k.Store.(store.Compacter); ok {
		k.is(c.Compact(ctx), want, "compact")
	}
	if c, ok := k.Store.(store.Changer); ok {
		for _, err := range c.Changes(ctx, "", 0) {
			k.is(err, want, "changes")
		}
	}
}

// closed closes while others write: a commit is acknowledged or ErrClosed, and the first is there again.
func closed(k *kit) {
	kept := make([][]string, 5)
	k.each(len(kept), func(w int) {
		for i := range 200 {
			if w == 0 && i == 20 {
				k.ok(k.Close(), "close")
			}
			key := fmt.Sprintf("%d/%03d", w, i)
			if _, err := k.Commit(k.ctx, put(key, "x")); err != nil {
				k.is(err, store.ErrClosed, "commit while the store is closed")
				break
			}
			kept[w] = append(kept[w], key+"=x")
		}
	})
	k.ok(k.Close(), "second close")
	k.every(k.ctx, store.ErrClosed)
	if !k.Volatile {
		k.openAgain()
		k.equal(k.all(store.Range{}), slices.Concat(kept...), "entries after the store was closed under load")
	}
}

func (k *kit) openAgain() {
	k.ok(k.Close(), "close")
	st, err := k.reopen()
	k.ok(err, "open again")
	k.Store = st
}
