package arc_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/store"
)

// A run that was kept before its aims had a Planner is read: at 5 to 7 and at 23 they had what is true or false.
func TestRunThatIsOlder(t *testing.T) {
	st := store.NewMem()
	a, _ := agent(t, st, arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("ann")}}, nil)
	want := run(t, a, arc.Objective{ID: "7", Text: "write"})
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		if !strings.HasSuffix(e.Key, "//run/7") {
			continue
		}
		var record map[any]cbor.RawMessage
		var aims []map[any]any
		require.NoError(t, codec.Unmarshal(e.Value, &record))
		require.NoError(t, cbor.Unmarshal(record[uint64(16)], &aims))
		aims[0][5], aims[0][6], aims[0][7], aims[0][23] = true, true, true, true
		record[uint64(16)], err = cbor.Marshal(aims)
		require.NoError(t, err)
		raw, err := codec.Marshal(record)
		require.NoError(t, err)
		_, err = st.Commit(t.Context(), store.Op{Key: e.Key, Value: raw})
		require.NoError(t, err)
	}
	got, err := a.In("").Report(t.Context(), "7")
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// What is due by an entry that is none of its run, as one that an earlier arc has made, is not looked at for ever.
func TestDueOfAnEarlierArc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &scans{Store: store.NewMem()}
		w := (&arctest.Worker{}).As("ann")
		w.Mode = act.Gated
		a, _ := agent(t, st, arc.Host{Workers: []act.Worker{w}}, &arc.Options{ApprovalTimeout: time.Hour})
		run(t, a, arc.Objective{ID: "7", Text: "write"})
		for e, err := range st.Scan(t.Context(), store.Range{Prefix: "due/"}) {
			require.NoError(t, err)
			_, of, _ := strings.Cut(strings.TrimPrefix(e.Key, "due/"), "/")
			_, err = st.Commit(t.Context(), store.Op{Key: "due/00000000000000000001/" + of, Value: e.Value})
			require.NoError(t, err)
		}
		time.Sleep(10 * time.Minute)
		require.Less(t, st.n.Load(), int64(200))
		r, err := a.In("").Report(t.Context(), "7")
		require.NoError(t, err)
		require.Equal(t, arc.Waiting, r.Status)
	})
}
