package storetest

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
)

// shelf keeps the data of stores that are closed, by directory. The flags
// break it.
type shelf struct {
	forgets   bool // the last commit before a close
	undeletes bool // what was deleted
	renumbers bool // revisions begin again
	unlocked  bool // several openers
	dirs      map[string]*kept
}

type kept struct {
	entries map[string]store.Entry
	before  map[string]store.Entry // the last commit
	deleted map[string]store.Entry
	rev     store.Revision
	open    bool
}

func (s *shelf) Open(dir string) (store.Store, error) {
	if s.dirs == nil {
		s.dirs = map[string]*kept{}
	}
	k := s.dirs[dir]
	if k == nil {
		k = &kept{entries: map[string]store.Entry{}, deleted: map[string]store.Entry{}}
		s.dirs[dir] = k
	}
	if k.open && !s.unlocked {
		return nil, store.ErrLocked
	}
	k.open = true
	return &shelved{k, s}, nil
}

// shelved is a store for one goroutine, good enough for the durable rules.
type shelved struct {
	*kept
	shelf *shelf
}

func (s *shelved) Get(_ context.Context, key string) (store.Entry, error) {
	if e, ok := s.entries[key]; ok {
		return e, nil
	}
	return store.Entry{}, store.ErrNotFound
}

func (s *shelved) Scan(_ context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for _, k := range pick(slices.Sorted(maps.Keys(s.entries)), r) {
			if !yield(s.entries[k], nil) {
				return
			}
		}
	}
}

func (s *shelved) Commit(_ context.Context, ops ...store.Op) (store.Revision, error) {
	for _, op := range ops {
		if !op.If.Holds(s.entries[op.Key].Rev) {
			return 0, store.ErrConflict
		}
	}
	s.before = maps.Clone(s.entries)
	s.rev++
	for _, op := range ops {
		if op.Delete {
			s.deleted[op.Key] = s.entries[op.Key]
			delete(s.entries, op.Key)
			continue
		}
		s.entries[op.Key] = store.Entry{Key: op.Key, Value: bytes.Clone(op.Value), Rev: s.rev}
	}
	return s.rev, nil
}

func (s *shelved) Close() error {
	s.open = false
	if s.shelf.forgets && s.before != nil {
		s.entries = s.before
	}
	if s.shelf.undeletes {
		maps.Copy(s.entries, s.deleted)
	}
	if s.shelf.renumbers {
		s.rev = 0
	}
	return nil
}

func TestDurableRulesSeeWrongStores(t *testing.T) {
	for want, s := range map[string]*shelf{
		"entries and revisions outlive a close":         {forgets: true},
		"deletions outlive a close":                     {undeletes: true},
		"revisions go on growing after a close":         {renumbers: true},
		"a second opener is ErrLocked and does no harm": {unlocked: true},
	} {
		var failed []string
		for _, r := range durableRules {
			if judge(t.Context(), func(t tb) { r.check(t, r.name, s.Open) }).failed {
				failed = append(failed, r.name)
			}
		}
		require.Contains(t, failed, want)
	}
}

func TestRunDurable(t *testing.T) {
	RunDurable(t, new(shelf).Open, nil)
}

func TestRunDurableSkipsWhatIsLacking(t *testing.T) {
	RunDurable(t, (&shelf{unlocked: true}).Open, &Lacks{Lock: true})
}
