package arc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/parcel"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// scan is all that a store holds, once what is pending was written.
func scan(t *testing.T, a *arc.Agent, st store.Store) map[string]string {
	t.Helper()
	if a != nil {
		require.NoError(t, a.Flush(t.Context()))
	}
	all := map[string]string{}
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		all[e.Key] = string(e.Value)
	}
	return all
}

// lacks is what one scan has and another lacks, or has otherwise.
func lacks(one, other map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range one {
		if w, ok := other[k]; !ok || v != w {
			out[k] = v
		}
	}
	return out
}

func disk(t *testing.T) store.Store {
	t.Helper()
	st, err := badger.Open(t.TempDir(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	return st
}

// populate fills a store with all that an Agent keeps of several scopes.
func populate(t *testing.T, st store.Store) *arc.Agent {
	t.Helper()
	s, c := &script{}, newClock()
	a, err := arc.New(t.Context(), st, s.host("one", "two"), &arc.Options{
		Now: c.Now, Seed: 1, Attempts: 2, Scope: "ajax", Learn: learn.Options{Holdout: 0.3}, Maintain: -1,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	for _, scope := range []memory.Scope{"acme/anna", "acme/anna/deep", "acme/annabel", "acme/ben", "ajax", "ajax/anna"} {
		sing(t, &choir{of: string(scope)}, a, s, scope)
		c.Add(time.Hour)
		_, err := a.In(scope).Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "a vector of " + string(scope), Vector: []float32{1, 2, 3}})
		require.NoError(t, err)
		_, err = a.Maintain(t.Context(), scope)
		require.NoError(t, err)
	}
	w := new(goal.World)
	k := keep(t, a, w, &goal.Options{Actions: []goal.Action{{Name: "mend", Skill: "work", Effects: []goal.Change{{Effect: reason.Effect{Domain: "cache", Path: "data.broken"}, Value: false}}}}}, broken("cache"))
	require.NoError(t, w.Set("cache", goal.Snapshot{Data: map[string]any{"broken": true}, At: c.Now()}))
	_, err = k.Tick(t.Context())
	require.NoError(t, err)
	require.NoError(t, k.Wait(t.Context()))
	k.Close()
	return a
}

// empty is an Agent over a store that holds nothing.
func empty(t *testing.T, st store.Store) *arc.Agent {
	t.Helper()
	return agentOn(t, st, (&script{}).host("one", "two"), &arc.Options{Maintain: -1, Learn: learn.Options{Holdout: 0.3}})
}

func export(t *testing.T, a *arc.Agent, scope memory.Scope) []byte {
	t.Helper()
	var file bytes.Buffer
	require.NoError(t, a.Export(t.Context(), scope, &file))
	return file.Bytes()
}

// TestExportIsWhatEraseRemoves has what Erase takes out of one store arrive in another, by a scan of both: the two
// cannot drift apart.
func TestExportIsWhatEraseRemoves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
	}{{"mem", "badger"}, {"badger", "mem"}} {
		for _, scope := range []memory.Scope{"acme/anna", "ajax"} {
			t.Run(c.from+" to "+c.to+" "+string(scope), func(t *testing.T) {
				t.Parallel()
				var from, to store.Store = store.NewMem(), disk(t)
				if c.from == "badger" {
					from, to = to, from
				}
				a, b := populate(t, from), empty(t, to)
				file := export(t, a, scope)
				before := scan(t, a, from)
				require.Equal(t, string(file), string(export(t, a, scope)), "exported twice, it differs")
				require.Equal(t, before, scan(t, a, from), "Export writes")

				got, err := b.Import(t.Context(), bytes.NewReader(file))
				require.NoError(t, err)
				require.Equal(t, scope, got)
				there := scan(t, b, to)
				require.NoError(t, a.Erase(t.Context(), scope))
				gone := lacks(before, scan(t, a, from))
				require.Greater(t, len(gone), 300)
				for k, v := range gone {
					if counted(k, scope) {
						continue
					}
					require.Equal(t, v, there[k], "%q", k)
					delete(there, k)
				}
				for k := range there {
					require.True(t, counted(k, scope), "%q was not asked for", k)
				}
				compareStatistics(t, scope, gone, to)

				// Everything is in use, and the file again changes nothing.
				there = scan(t, b, to)
				_, err = b.Import(t.Context(), bytes.NewReader(file))
				require.NoError(t, err)
				require.Equal(t, there, scan(t, b, to))
				hits, err := b.In(scope).Memory().Recall(t.Context(), memory.Query{Text: "a vector of", K: 1})
				require.NoError(t, err)
				require.Len(t, hits, 1)
				if scope == "ajax" {
					require.Equal(t, string(file), string(export(t, b, scope)))
				}
				for _, in := range []memory.Scope{scope, scope + "/anna"} {
					run(t, b, arc.Objective{Text: "go on", Scope: in})
				}
			})
		}
	}
}

// counted reports whether a key is of a user's statistics, which the tenant counts with its own, or of what the user's
// runs have taught in other scopes.
func counted(k string, scope memory.Scope) bool {
	p := key.Split(k)
	switch {
	case string(scope) == scope.Tenant():
		return false
	case p[0] == "memory":
		return !memory.Scope(p[2]).Within(scope)
	}
	return p[2] == "rank" || p[2] == "meta" && (p[3] == "seen" || p[3] == "slot" || p[3] == "totals" || p[3] == "odds" || p[3] == "proposal" || p[3] == "past" && !memory.Scope(p[4]).Within(scope))
}

// compareStatistics compares the samples and outcomes that are gone from one store with those in another.
func compareStatistics(t *testing.T, scope memory.Scope, gone map[string]string, to store.Store) {
	t.Helper()
	book, err := rank.Open(t.Context(), to, &rank.Options{Tenant: scope.Tenant()})
	require.NoError(t, err)
	defer func() { require.NoError(t, book.Close()) }()
	n := 0
	for s, err := range book.Samples(t.Context(), time.Time{}) {
		require.NoError(t, err)
		require.Contains(t, gone, key.Under(scope.Tenant(), "rank", "seen", s.Key))
		n++
	}
	for k := range gone {
		if p := key.Split(k); len(p) > 3 && p[2] == "rank" && p[3] == "seen" {
			n--
		}
	}
	require.Zero(t, n, "samples are missing")
	here := scan(t, nil, to)
	for k, v := range gone {
		if p := key.Split(k); len(p) > 3 && p[2] == "meta" && (p[3] == "totals" || p[3] == "seen") {
			require.Equal(t, v, here[k], "%q", k)
		}
	}
}

// A record that the store has otherwise refuses the whole file.
func TestImportConflict(t *testing.T) {
	t.Parallel()
	a, to := populate(t, store.NewMem()), store.NewMem()
	b := empty(t, to)
	file := export(t, a, "acme/anna")
	_, err := b.Import(t.Context(), bytes.NewReader(file))
	require.NoError(t, err)
	f := memory.Feedback{Key: "later", Delivered: true}
	for r, err := range b.In("acme/anna").Memory().All(t.Context()) {
		require.NoError(t, err)
		f.Injected, f.Utilized = append(f.Injected, r.ID), append(f.Utilized, r.ID)
	}
	require.NoError(t, b.In("acme/anna").Memory().Feedback(t.Context(), f))
	before := scan(t, b, to)
	_, err = b.Import(t.Context(), bytes.NewReader(file))
	require.ErrorIs(t, err, store.ErrConflict)
	require.ErrorContains(t, err, "line ")
	require.Equal(t, before, scan(t, b, to))
	require.NoError(t, b.Erase(t.Context(), "acme/anna"))
	_, err = b.Import(t.Context(), bytes.NewReader(file))
	require.NoError(t, err)
	require.NotEqual(t, before, scan(t, b, to))
}

// A file that is cut, anywhere, or that cannot be read, is refused whole.
func TestImportRefusesWhatIsCut(t *testing.T) {
	t.Parallel()
	a, to := populate(t, store.NewMem()), store.NewMem()
	b := empty(t, to)
	file := export(t, a, "acme/anna")
	for i := range 60 {
		n := len(file) * i / 60
		if i == 59 {
			n = len(file) - 1
		}
		_, err := b.Import(t.Context(), bytes.NewReader(file[:n]))
		require.Error(t, err)
		_, err = b.Import(t.Context(), io.MultiReader(bytes.NewReader(file[:n]), failing{}))
		require.ErrorIs(t, err, errBoom)
		wrong := bytes.Clone(file)
		wrong[n] ^= 1
		_, err = b.Import(t.Context(), bytes.NewReader(wrong))
		require.Error(t, err)
	}
	require.Empty(t, scan(t, b, to))
	_, err := b.Import(t.Context(), bytes.NewReader(file))
	require.NoError(t, err)
}

// The id of a run that was deleted is given to another: what both counted under it is no
// reason to refuse the file.
func TestExportOfAnIDThatWasUsedBefore(t *testing.T) {
	t.Parallel()
	a := agent(t, (&script{}).host(), nil)
	for _, scope := range []memory.Scope{"acme/anna", "acme/ben", "acme/anna"} {
		_ = a.In(scope).Delete(t.Context(), "again")
		r := run(t, a, arc.Objective{ID: "again", Session: "day", Text: "mend it", Scope: scope})
		require.Equal(t, arc.Delivered, r.Status)
	}
	b := empty(t, store.NewMem())
	scope, err := b.Import(t.Context(), bytes.NewReader(export(t, a, "acme/anna")))
	require.NoError(t, err)
	costs, err := b.In(scope).Costs(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Len(t, costs, 1)
	require.Equal(t, 1, costs[0].Samples)
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errBoom }

// A store that fails in the middle leaves a part, and the same file completes it.
func TestImportCanBeRepeated(t *testing.T) {
	t.Parallel()
	a, whole := populate(t, store.NewMem()), store.NewMem()
	file := export(t, a, "acme/anna")
	b := empty(t, whole)
	_, err := b.Import(t.Context(), bytes.NewReader(file))
	require.NoError(t, err)
	want := scan(t, b, whole)
	for n := 1; ; n++ {
		st := &breaking{Store: store.NewMem()}
		st.left.Store(int64(n))
		b := empty(t, st)
		_, err := b.Import(t.Context(), bytes.NewReader(file))
		if err == nil {
			require.Greater(t, n, 4)
			break
		}
		st.left.Store(1 << 30)
		_, err = b.Import(t.Context(), bytes.NewReader(file))
		require.NoError(t, err, "after %d commits", n)
		require.Equal(t, want, scan(t, b, st))
	}
}

// A run is due once all of the file is there, also where the store fails a single time.
func TestImportThatFailedHasNoRunDue(t *testing.T) {
	t.Parallel()
	a := populate(t, store.NewMem())
	entries := opened(t, export(t, a, "acme/anna"))
	for i, e := range entries {
		if arc.IsRun(e.Key) {
			s, err := arc.DecodeState(e)
			require.NoError(t, err)
			s.Status, s.Wait.Due = arc.Waiting, 1<<60
			entries[i] = sealed(t, e.Key, &s)
		}
	}
	file := forged(t, "acme/anna", entries...)
	due := func(st store.Store) (n int) {
		for _, err := range st.Scan(t.Context(), store.Range{Prefix: "arc/due"}) {
			require.NoError(t, err)
			n++
		}
		return n
	}
	for n := 1; ; n++ {
		st := &breaking{Store: store.NewMem(), once: true}
		b := empty(t, st)
		st.left.Store(int64(n))
		_, err := b.Import(t.Context(), bytes.NewReader(file))
		if err == nil {
			require.Greater(t, n, 2)
			require.NotZero(t, due(st))
			break
		}
		for _, e := range entries {
			if _, err := st.Get(t.Context(), e.Key); due(st) > 0 && strings.HasPrefix(e.Key, key.Tenants()) {
				require.NoError(t, err, "commit %d failed", n)
			}
		}
	}
}

// breaking is a store that fails after some commits, or once.
type breaking struct {
	store.Store
	left atomic.Int64
	once bool
}

func (b *breaking) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if left := b.left.Add(-1); left == -1 || left < 0 && !b.once {
		return 0, fmt.Errorf("%w: for a test", store.ErrFull)
	}
	return b.Store.Commit(ctx, ops...)
}

// A run is not stored with more elements in its lists than Export takes for a record that was made up.
func TestWhatIsStoredCanBeExported(t *testing.T) {
	t.Parallel()
	s := &script{do: func(int, act.Work) (act.Result, error) {
		r := done(`1`)
		r.Deltas = make([]act.Delta, 1024)
		return r, nil
	}}
	a := agent(t, s.host(), nil)
	o := arc.Objective{ID: "r", Text: "change the world"}
	for i := range 20 {
		o.Tasks = append(o.Tasks, act.Task{Objective: fmt.Sprint("part ", i), Skill: "work"})
	}
	r := run(t, a, o)
	require.Equal(t, arc.Blocked, r.Status)
	require.Equal(t, arc.CauseInternal, r.Cause)
	require.Contains(t, r.Reason, "outgrown its record")
	require.NotEmpty(t, r.Deliveries)
	require.NoError(t, a.Export(t.Context(), "local", io.Discard))
}

// A run that is live keeps what it touches from leaving.
func TestExportWaitsForNoRun(t *testing.T) {
	t.Parallel()
	var a *arc.Agent
	s := &script{}
	s.judge = fail("")
	var errs []error
	s.decide = func(int, reason.Brief) (reason.Decision, error) {
		for _, scope := range []memory.Scope{"acme/anna", "acme", "acme/ben"} {
			errs = append(errs, a.Export(context.Background(), scope, io.Discard))
		}
		return plan("x"), nil
	}
	a = agent(t, s.host(), &arc.Options{Maintain: -1})
	run(t, a, arc.Objective{Text: "mend the cache", Scope: "acme/anna"})
	require.ErrorIs(t, errs[0], arc.ErrRunning)
	require.ErrorIs(t, errs[1], arc.ErrRunning)
	require.NoError(t, errs[2])
	require.ErrorIs(t, a.Export(t.Context(), "", io.Discard), memory.ErrScope)
	require.ErrorContains(t, a.Export(t.Context(), "acme", nil), "nil")
	_, err := a.Import(t.Context(), (*bytes.Buffer)(nil))
	require.ErrorContains(t, err, "nil")
	require.NoError(t, a.Export(t.Context(), "acme", io.Discard))
	require.True(t, strings.HasPrefix(string(export(t, a, "acme")), `{"arc":"parcel","format":1,"scope":"acme"}`+"\n"))
}

// forged is a file of entries, with a checksum that is right.
func forged(t require.TestingT, scope string, entries ...store.Entry) []byte {
	var file bytes.Buffer
	w, err := parcel.NewWriter(&file, scope)
	require.NoError(t, err)
	for _, e := range entries {
		require.NoError(t, w.Put(e))
	}
	require.NoError(t, w.Close())
	return file.Bytes()
}

// opened are the entries of a file.
func opened(t *testing.T, file []byte) (entries []store.Entry) {
	t.Helper()
	r, err := parcel.NewReader(bytes.NewReader(file))
	require.NoError(t, err)
	require.NoError(t, r.Each(func(e store.Entry) error { entries = append(entries, e); return nil }))
	return entries
}

// sealed is an entry with a checksum that is right.
func sealed(t *testing.T, k string, v any) store.Entry {
	t.Helper()
	value, err := codec.Encode(k, v)
	require.NoError(t, err)
	return store.Entry{Key: k, Value: value}
}

// Files that someone has made up, with every checksum right, change nothing.
func TestImportRefusesWhatIsForged(t *testing.T) {
	t.Parallel()
	from, to := store.NewMem(), store.NewMem()
	a, b := populate(t, from), empty(t, to)
	own, others, all := opened(t, export(t, a, "acme/anna")), opened(t, export(t, a, "acme/ben")), opened(t, export(t, a, "ajax"))
	var run arc.State
	at := -1
	for i, e := range own {
		if arc.IsRun(e.Key) && at < 0 {
			s, err := arc.DecodeState(e)
			require.NoError(t, err)
			run, at = s, i
		}
	}
	runWith := func(change func(*arc.State)) []store.Entry {
		s := run
		s.Aims = slices.Clone(s.Aims)
		change(&s)
		return append(slices.Clone(own[:at]), sealed(t, own[at].Key, &s))
	}
	with := func(e store.Entry) []store.Entry { return append(slices.Clone(own), e) }
	under := func(parts ...string) string { return key.Under("acme", parts...) }
	for name, c := range map[string]struct {
		scope   string
		entries []store.Entry
		is      error
	}{
		"no scope":                  {"acme//x", nil, memory.ErrScope},
		"another's scope":           {"acme/anna", with(others[0]), memory.ErrTenant},
		"another tenant's":          {"acme/anna", with(all[0]), memory.ErrTenant},
		"a tenant's, as a user's":   {"ajax/anna", all, memory.ErrTenant},
		"a scope that begins so":    {"acme/ann", own, memory.ErrTenant},
		"no place":                  {"acme/anna", with(sealed(t, "secrets", 1)), memory.ErrTenant},
		"an index of due":           {"acme/anna", with(store.Entry{Key: "arc/due\x000000000000000001\x00acme\x00x"}), memory.ErrTenant},
		"an index of runs":          {"acme", []store.Entry{{Key: under("status", "asking", "1", "x")}}, memory.ErrTenant},
		"a spool":                   {"acme", []store.Entry{sealed(t, under("import", "0"), 1)}, memory.ErrTenant},
		"a user's proposal":         {"acme/anna", with(sealed(t, under("meta", "proposal", "x"), proposal.Proposal{Kind: "goal", Advice: "x"})), memory.ErrTenant},
		"a user's odds":             {"acme/anna", with(sealed(t, under("meta", "odds", "all"), 1)), store.ErrDamaged},
		"another's past":            {"acme/anna", with(sealed(t, under("meta", "past", "acme/ben"), []meta.Ending{})), memory.ErrTenant},
		"a past of no scope":        {"acme/anna", with(sealed(t, under("meta", "past"), 1)), memory.ErrTenant},
		"an experiment of nothing":  {"acme/anna", with(sealed(t, under("meta", "uplift"), 1)), memory.ErrTenant},
		"an episode of nothing":     {"acme/anna", with(sealed(t, under("meta", "episode"), 1)), memory.ErrTenant},
		"another's upkeep":          {"acme/anna", with(sealed(t, under("upkeep", "acme/ben"), struct{}{})), memory.ErrTenant},
		"another's experiment":      {"acme/anna", with(sealed(t, under("meta", "uplift", "memory acme/ben at once"), struct{}{})), memory.ErrTenant},
		"a user's samples as such":  {"acme/anna", with(sealed(t, under("rank", "slot", "one", "work", "0"), struct{}{})), memory.ErrTenant},
		"an output of another run":  {"acme/anna", with(sealed(t, under("output", "x/1"), "x")), memory.ErrTenant},
		"a checksum":                {"acme/anna", with(store.Entry{Key: under("run", "x"), Value: own[at].Value}), store.ErrDamaged},
		"another type":              {"acme/anna", with(sealed(t, key.Join("memory", "r", "acme/anna", "x"), "text")), store.ErrDamaged},
		"a memory with a long id":   {"acme/anna", with(sealed(t, key.Join("memory", "r", "acme/anna", "x", "y"), 1)), store.ErrDamaged},
		"an unknown kind of memory": {"acme/anna", with(sealed(t, key.Join("memory", "z", "acme/anna", "x"), 1)), store.ErrDamaged},
		"a hash of no scope":        {"acme/anna", with(sealed(t, key.Join("memory", "f", "#abc", "x"), struct{}{})), memory.ErrTenant},
		"no identity":               {"acme/anna", with(sealed(t, key.Join("identity", "f", "acme/anna", "x"), 1)), store.ErrDamaged},
		"another's identity":        {"acme/anna", with(sealed(t, key.Join("identity", "p", "acme/ben"), struct{}{})), memory.ErrTenant},
		"a sample":                  {"acme/anna", with(sealed(t, "sample\x00k", rank.Sample{Key: "k"})), rank.ErrSample},
		"a sample's type":           {"acme/anna", with(sealed(t, "sample\x00k", "text")), store.ErrDamaged},
		"an outcome":                {"acme/anna", with(sealed(t, "outcome\x00k", meta.Outcome{Key: "k"})), meta.ErrInvalid},
		"a sample in another's place": {"acme", []store.Entry{sealed(t, under("rank", "slot", "one", "work", "5"), struct {
			Seq uint64 `cbor:"1,keyasint"`
		}{7})}, store.ErrDamaged},
		"a candidate without figures": {"acme", []store.Entry{
			sealed(t, under("rank", "head", "work"), struct{}{}), sealed(t, under("rank", "arm", "work", "one"), struct{}{}),
		}, store.ErrDamaged},
		"a breaker":     {"acme", []store.Entry{sealed(t, under("breaker", "one"), "text")}, store.ErrDamaged},
		"what was told": {"acme", []store.Entry{sealed(t, under("told", ""), "text")}, store.ErrDamaged},
		"a ledger":      {"acme", []store.Entry{sealed(t, under("ledger", "spend", ""), "text")}, store.ErrDamaged},
		"a head":        {"acme", []store.Entry{sealed(t, under("rank", "head", "work"), struct{}{})}, store.ErrDamaged},
		"a run of another tenant": {"acme/anna", runWith(func(s *arc.State) {
			s.Objective.Also = []memory.Scope{"ajax"}
		}), store.ErrDamaged},
		"a run of another id":  {"acme/anna", runWith(func(s *arc.State) { s.ID = "other" }), store.ErrDamaged},
		"a run without an aim": {"acme/anna", runWith(func(s *arc.State) { s.Aims = nil }), store.ErrDamaged},
		"a run of no session":  {"acme/anna", runWith(func(s *arc.State) { s.Objective.Session = "\xb3" }), store.ErrDamaged},
		"a run of no user":     {"acme/anna", runWith(func(s *arc.State) { s.Objective.User = "\x00" }), store.ErrDamaged},
		"a run in no phase":    {"acme/anna", runWith(func(s *arc.State) { s.Phase = "fly" }), store.ErrDamaged},
		"a run of no status":   {"acme/anna", runWith(func(s *arc.State) { s.Status = "odd" }), store.ErrDamaged},
		"a run that is endless": {"acme/anna", runWith(func(s *arc.State) {
			s.Attempts = 1 << 60
		}), store.ErrDamaged},
		"a run beyond its plan": {"acme/anna", runWith(func(s *arc.State) { s.Aims[0].Next = 99 }), store.ErrDamaged},
		"an attempt at nothing": {"acme/anna", runWith(func(s *arc.State) { s.Phase, s.Current = arc.PhaseVerify, nil }), store.ErrDamaged},
		"a run that reads another's output": {"acme/anna", runWith(func(s *arc.State) {
			s.Deliveries = []arc.Delivery{{Output: arc.Output{Key: key.Under("ajax", "output", "x/1")}}}
		}), store.ErrDamaged},
		"a run of another scope": {"acme/anna", runWith(func(s *arc.State) {
			s.Objective.Scope, s.Objective.Also, s.Objective.Episodes = "acme/ben", nil, nil
		}), memory.ErrTenant},
	} {
		_, err := b.Import(t.Context(), bytes.NewReader(forged(t, c.scope, c.entries...)))
		require.ErrorIs(t, err, c.is, name)
		require.Empty(t, scan(t, b, to), name)
	}
}

// A record that someone has made up takes memory in proportion to the file, and no aim of 700 bytes for each of its own.
func TestForgedRunTakesLittleMemory(t *testing.T) { // not in parallel: it measures the process
	from, s := store.NewMem(), &script{}
	run(t, agentOn(t, from, s.host(), nil), arc.Objective{ID: "one", Text: "mend it", Scope: "acme/anna"})
	e, err := from.Get(t.Context(), key.Under("acme", "run", "one"))
	require.NoError(t, err)
	const aims, deliveries, length = 11, 14, 100_000
	for name, forge := range map[string]func(fields map[uint64]any){
		"aims":       func(fields map[uint64]any) { fields[aims] = make([]struct{}, length) },
		"nothing":    func(fields map[uint64]any) { fields[aims] = make([]any, length) },
		"deliveries": func(fields map[uint64]any) { fields[deliveries] = make([]struct{}, length) },
		"tasks": func(fields map[uint64]any) {
			fields[aims] = slices.Repeat([]map[uint64]any{{6: make([]struct{}, 8000)}}, length/8000)
		},
	} {
		var fields map[uint64]any
		require.NoError(t, codec.Decode(e, &fields))
		forge(fields)
		file := forged(t, "acme/anna", sealed(t, e.Key, fields))
		b := empty(t, store.NewMem())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := b.Import(t.Context(), bytes.NewReader(file))
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(12<<20), name)
		require.ErrorIs(t, err, store.ErrDamaged, name)
	}
}

// FuzzImport has an Agent take in whatever its checks let through: it goes on, and can erase it.
func FuzzImport(f *testing.F) {
	f.Add(uint16(3), uint16(40), byte(7), true)
	f.Fuzz(func(t *testing.T, entry, at uint16, to byte, whole bool) {
		from, s := store.NewMem(), &script{}
		s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
			if strings.Contains(b.Objective, "ask") && len(b.Answers) == 0 {
				return reason.Decision{Complexity: reason.Unclear, Questions: []string{"which?"}}, nil
			}
			d := plan(b.Objective)
			d.Tasks = append(d.Tasks, d.Tasks[0])
			return d, nil
		}
		s.judge = func(w act.Work, _ act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: len(w.Lineage) == 0 || !strings.Contains(w.Objective, "never"), Complaint: "no"}, nil
		}
		a := agentOn(t, from, s.host(), &arc.Options{Maintain: -1, Learn: learn.Options{Holdout: 0.5}})
		for _, id := range []string{"one", "ask", "never"} {
			run(t, a, arc.Objective{ID: id, Text: "mend " + id, Session: "s", Scope: "acme/anna"})
		}
		scope := memory.Scope("acme/anna")
		if whole {
			scope = "acme"
		}
		entries := opened(t, export(t, a, scope))
		e := &entries[int(entry)%len(entries)]
		if len(e.Value) > 5 {
			e.Value[5+int(at)%(len(e.Value)-5)] = to
			sum := crc32.Checksum(append([]byte(e.Key), e.Value[5:]...), crc32.MakeTable(crc32.Castagnoli))
			binary.BigEndian.PutUint32(e.Value[1:], sum)
		}
		st := store.NewMem()
		b := agentOn(t, st, s.host(), &arc.Options{Maintain: -1})
		if _, err := b.Import(t.Context(), bytes.NewReader(forged(t, string(scope), entries...))); err != nil {
			require.Empty(t, scan(t, b, st), err)
			return
		}
		_, err := b.In(scope).Memory().Recall(t.Context(), memory.Query{Text: "mend one"})
		require.NoError(t, err)
		// What the host asks for may fail, for its own tenant, and ends neither the process nor another's run.
		_, err = b.In(scope).Answer(t.Context(), "ask", "this")
		_, wrong := b.In(scope).Retry(t.Context(), "never", "again")
		_, dead := b.Run(t.Context(), arc.Objective{ID: "three", Text: "mend one", Session: "s", Scope: "acme/anna"})
		t.Log(err, wrong, dead, b.In(scope).Judge(t.Context(), "one", arc.Verdict{}), b.In(scope).Delete(t.Context(), "never"))
		run(t, b, arc.Objective{Text: "mend one", Scope: "ajax"})
		require.NoError(t, b.Erase(t.Context(), "ajax"))
		require.NoError(t, b.Flush(t.Context()))
		b = agentOn(t, st, s.host(), &arc.Options{Maintain: -1})
		require.NoError(t, b.Erase(t.Context(), "acme"))
		require.Empty(t, scan(t, b, st))
	})
}

// Two jobs of one Key in a file are refused before any of it is stored.
func TestImportRefusesTwoJobsOfAKey(t *testing.T) {
	st := store.NewMem()
	a := agentOn(t, st, (&script{}).host(), &arc.Options{Maintain: -1})
	q, err := queue.Open(t.Context(), st, &queue.Options{Scope: "acme"})
	require.NoError(t, err)
	for range 2 {
		_, _, err := q.Enqueue(t.Context(), queue.Draft{Subject: "mend it", Key: "the pump", Scope: "acme/anna"})
		require.NoError(t, err)
	}
	_, _, err = q.Enqueue(t.Context(), queue.Draft{Subject: "mend it", Scope: "acme/anna"})
	require.NoError(t, err)
	entries := opened(t, export(t, a, "acme/anna"))
	require.Len(t, entries, 2)
	var fields map[uint64]any
	require.NoError(t, codec.Decode(entries[1], &fields))
	fields[10] = "the pump"
	to := store.NewMem()
	b := empty(t, to)
	_, err = b.Import(t.Context(), bytes.NewReader(forged(t, "acme/anna", entries[0], sealed(t, entries[1].Key, fields))))
	require.ErrorIs(t, err, store.ErrConflict)
	require.Empty(t, scan(t, b, to))
}
