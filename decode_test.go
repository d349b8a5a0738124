package arc_test

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// FuzzStoredRun changes bytes of what is stored of a tenant: runs in each status, their
// outputs, memories, samples and sessions. Whatever it is, the Agent opens or says what
// is damaged, and no call panics or goes on for ever.
func FuzzStoredRun(f *testing.F) {
	kept := store.NewMem()
	s := &script{decide: func(_ int, b reason.Brief) (reason.Decision, error) {
		if strings.Contains(b.Objective, "unclear") && len(b.Answers) == 0 {
			return reason.Decision{Complexity: reason.Unclear, Questions: []string{"which?"}}, nil
		}
		return plan(b.Objective), nil
	}}
	s.judge = func(w act.Work, _ act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: !strings.Contains(w.Objective, "hopeless"), Complaint: "no"}, nil
	}
	c := newClock()
	open := func(ctx context.Context, st store.Store) (*arc.Agent, error) {
		return arc.New(ctx, st, s.host("one", "two"), &arc.Options{Now: c.Now, Seed: 1, Maintain: -1, Attempts: 2})
	}
	ids := map[string]string{"done": "mend the cache", "blocked": "a hopeless thing", "asking": "an unclear thing", "again": "mend the cache"}
	a, err := open(f.Context(), kept)
	require.NoError(f, err)
	for id, text := range ids {
		_, err := a.Run(f.Context(), arc.Objective{ID: id, Text: text, Situation: situation})
		require.NoError(f, err)
	}
	_, err = a.Maintain(f.Context(), "")
	require.NoError(f, err)
	require.NoError(f, a.Close())
	var entries []store.Entry
	for e, err := range kept.Scan(f.Context(), store.Range{}) {
		require.NoError(f, err)
		entries = append(entries, e)
	}
	for at := range entries {
		f.Add(binary.BigEndian.AppendUint16(nil, uint16(at)), []byte{0, 1, 0xff, 0xff}, []byte{})
		f.Add(binary.BigEndian.AppendUint16(nil, uint16(at)), []byte{}, []byte{0xa0})
		f.Add(binary.BigEndian.AppendUint16(nil, uint16(at)), []byte{0, 3, 0x9f, 0x1b}, []byte{})
	}
	f.Fuzz(func(t *testing.T, which, flips, instead []byte) {
		st := store.NewMem()
		for i, e := range entries {
			v := slices.Clone(e.Value)
			if len(which) >= 2 && i == int(binary.BigEndian.Uint16(which))%len(entries) {
				for ; len(flips) >= 3 && len(v) > 0; flips = flips[3:] {
					v[int(binary.BigEndian.Uint16(flips))%len(v)] ^= flips[2]
				}
				if len(instead) > 0 {
					v = instead
				}
			}
			_, err := st.Commit(t.Context(), store.Op{Key: e.Key, Value: v})
			require.NoError(t, err)
		}
		a, err := open(t.Context(), st)
		if err != nil {
			return // it says what is damaged
		}
		defer func() { _ = a.Close() }() // what could not be written may be damaged
		view := a.In("")
		for id, text := range ids {
			_, _ = view.Resume(t.Context(), id)
			_, _ = view.Answer(t.Context(), id, "the blue one")
			_, _ = view.Retry(t.Context(), id, "it is mended")
			_ = view.Judge(t.Context(), id, arc.Verdict{Right: true, Source: "qa"})
			_, _ = view.Assess(t.Context(), id)
			_, _ = a.Would(t.Context(), arc.Objective{Text: text, Situation: situation})
		}
		for _, err := range view.Runs(t.Context(), arc.Filter{}) {
			_ = err
		}
		for p, err := range view.Proposals(t.Context()) {
			if err == nil {
				_, _ = view.Approve(t.Context(), p.ID, "ada", "")
				_, _ = view.Undo(t.Context(), p.ID, "ada", "")
			}
		}
		_, _ = a.Health(t.Context(), "")
		_, _ = a.Maintain(t.Context(), "")
		_, _ = a.Run(t.Context(), arc.Objective{ID: "new", Text: "mend the cache", Situation: situation})
	})
}
