package feedtest

import (
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/store"
)

// round is what happens until the handles are closed, or to the end.
type round struct {
	Writers [][]write
	Faults  []int // after so many acknowledged commits
	Close   int   // likewise
}

// write is a commit to come.
type write struct {
	Kind  kind
	Ops   []change
	Other bool // by the handle that is not the writer's first
}

type kind int

// What a commit is like.
const (
	plain  kind = iota
	ended       // its context has ended before
	ending      // its context ends meanwhile
	twice       // it names a key twice
	large       // more than a store reads of its changes at a time
	kinds       // how many there are
)

// change is an op to come.
type change struct {
	Key    int // of names
	Delete bool
	If     condition
}

type condition int

// What an op asks for.
const (
	anything condition = iota
	absent
	current // as the writer has just read it
	stale   // the first revision that was acknowledged
)

// names are the keys of a run. No value is ever put under one twice.
var names = []string{"a/0", "a/1", "a/1x", "a/2", "b/0", "b/1"}

// largeOps is how many ops a large commit has besides.
const largeOps = 150

// last ends the keys of the last commit.
const last = "~end"

func drawWrite(rt *rapid.T) write {
	w := write{Other: rapid.Bool().Draw(rt, "other")}
	if n := rapid.IntRange(0, 15).Draw(rt, "kind"); n < int(kinds) {
		w.Kind = kind(n)
	}
	w.Ops = rapid.SliceOfNDistinct(rapid.Custom(func(rt *rapid.T) change {
		c := change{Key: rapid.IntRange(0, len(names)-1).Draw(rt, "key")}
		c.Delete = rapid.IntRange(0, 2).Draw(rt, "delete") == 2
		if n := rapid.IntRange(0, 9).Draw(rt, "if"); n > 6 {
			c.If = condition(n - 6)
		}
		return c
	}), 1, 4, func(c change) int { return c.Key }).Draw(rt, "ops")
	return w
}

func drawRound(rt *rapid.T) round {
	return round{
		Writers: rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(drawWrite), 1, 14), 1, 4).Draw(rt, "writers"),
		Faults:  rapid.SliceOfN(rapid.IntRange(0, 20), 0, 6).Draw(rt, "faults"),
		Close:   rapid.IntRange(0, 20).Draw(rt, "close"),
	}
}

// watcher is one that watches a prefix again and again. What comes behind its parts is one
// that goes on to the end.
type watcher struct {
	Prefix string
	Parts  []part

	// Where it is: all of the commits up to a revision were yielded, or left out by
	// a part that began later.
	whole store.Revision
	done  bool // it has seen the last commit
}

// part is a Watch to come.
type part struct {
	From  from
	Until until
	Count int  // of entries, or of commits
	Slow  bool // each entry takes the time of another commit
}

type (
	from  int
	until int
)

// Where a Watch begins.
const (
	resumed from = iota // after what the one before has yielded all of
	zero
	newest // commit that was acknowledged
	earlier
)

// How a Watch ends.
const (
	seen      until = iota // the last commit was
	left                   // after some entries
	cancelled              // after some entries
	idle                   // its context ends after some commits
)

func drawWatcher(rt *rapid.T) watcher {
	return watcher{
		Prefix: rapid.SampledFrom([]string{"", "a/", "a/1", "b/"}).Draw(rt, "prefix"),
		Parts: rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) part {
			return part{
				From:  from(rapid.IntRange(int(resumed), int(earlier)).Draw(rt, "from")),
				Until: until(rapid.IntRange(int(left), int(idle)).Draw(rt, "until")),
				Count: rapid.IntRange(1, 8).Draw(rt, "count"),
				Slow:  rapid.Bool().Draw(rt, "slow"),
			}
		}), 0, 5).Draw(rt, "parts"),
	}
}
