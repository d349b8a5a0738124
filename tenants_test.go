package arc_test

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

var tenantOps = flag.Int("tenant.ops", 1500, "random operations of TestTenantsAgainstAModel")

// hostile are ids that a store could take for something else.
var hostile = []string{
	"", "a", "a/b", "a/1", "../x", "arc/run", "run", "tenant", "status", "delivered", "a|b", "über", "ｒｕｎ", "a b", "%00", `\x00`,
	strings.Repeat("x", 256), strings.Repeat("y", 200) + "/1", "01a20381-2885-784f-8b5a-111c601e3d1a",
}

// modelRun is what the model knows of a run.
type modelRun struct {
	text, session string
	scope         memory.Scope
	status        arc.Status
	began         time.Time
}

// world is an Agent of several tenants, and what it should hold.
type world struct {
	t     *testing.T
	r     *rand.Rand
	c     *clock
	s     *script
	st    store.Store
	a     *arc.Agent
	runs  map[string]map[string]*modelRun // by tenant and id
	texts int
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, r: rand.New(rand.NewPCG(seed, 1)), c: newClock(), s: &script{}, runs: map[string]map[string]*modelRun{}}
	for n := range 8 {
		w.runs[fmt.Sprintf("tenant%d", n)] = map[string]*modelRun{}
	}
	w.s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
		of := b.Objective[:strings.IndexByte(b.Objective, ' ')]
		for _, h := range slices.Concat(b.Memories, b.Background) {
			require.True(t, strings.HasPrefix(string(h.Record.Scope)+"/", of+"/"), "%s was shown to %s", h.Record.Scope, of)
		}
		if strings.Contains(b.Objective, "unclear") && len(b.Answers) == 0 {
			return reason.Decision{Complexity: reason.Unclear, Questions: []string{"which?"}}, nil
		}
		return plan(b.Objective), nil
	}
	w.s.judge = func(k act.Work, _ act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: !strings.Contains(k.Objective, "hopeless"), Complaint: "no"}, nil
	}
	w.st = store.NewMem()
	w.a = agentOn(t, w.st, w.s.host("one", "two"), &arc.Options{Now: w.c.Now, Attempts: 1, Learn: learn.Options{FireAfter: -1}})
	return w
}

// pick draws from a list.
func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

func (w *world) tenant() string { return pick(w.r, slices.Sorted(maps.Keys(w.runs))) }

func (w *world) view(tenant string) arc.View { return w.a.In(memory.Scope(tenant)) }

// run begins a run, or goes on with one.
func (w *world) run(ctx context.Context, tenant, id string) {
	w.texts++
	text := fmt.Sprintf("%s wants the %s thing %d", tenant, pick(w.r, []string{"simple", "unclear", "hopeless"}), w.texts%40)
	o := arc.Objective{ID: id, Text: text, Session: pick(w.r, hostile), Scope: memory.Scope(tenant + pick(w.r, []string{"", "/anna", "/ben"}))}
	known := w.runs[tenant][id]
	if known != nil && id != "" && known.text != text {
		_, err := w.a.Run(ctx, o)
		require.ErrorIs(w.t, err, arc.ErrTaken)
		o.Text = known.text
	}
	if known != nil && id != "" && known.scope != o.Scope {
		_, err := w.a.Run(ctx, o)
		require.ErrorIs(w.t, err, arc.ErrTaken)
		o.Scope = known.scope
	}
	r, err := w.a.Run(ctx, o)
	require.NoError(w.t, err)
	if known == nil || id == "" {
		known = &modelRun{text: text, session: o.Session, scope: o.Scope, began: w.c.Now().UTC(), status: arc.Delivered}
		if strings.Contains(text, "unclear") {
			known.status = arc.Asking
		} else if strings.Contains(text, "hopeless") {
			known.status = arc.Blocked
		}
		if known.session == "" {
			known.session = r.ID
		}
		w.runs[tenant][r.ID] = known
	}
	w.same(r.ID, known, r)
}

func (w *world) same(id string, want *modelRun, got *arc.Report) {
	require.Equal(w.t, []any{id, want.text, want.session, want.scope, want.status, want.began},
		[]any{got.ID, got.Objective, got.Session, got.Scope, got.Status, got.Started})
}

// resume looks at a run of any tenant's id.
func (w *world) resume(ctx context.Context, tenant, id string) {
	r, err := w.view(tenant).Resume(ctx, id)
	if known := w.runs[tenant][id]; known != nil {
		require.NoError(w.t, err)
		w.same(id, known, r)
		return
	}
	require.ErrorIs(w.t, err, store.ErrNotFound)
}

func (w *world) answer(ctx context.Context, tenant, id string) {
	r, err := w.view(tenant).Answer(ctx, id, "the red one")
	known := w.runs[tenant][id]
	switch {
	case known == nil:
		require.ErrorIs(w.t, err, store.ErrNotFound)
	case known.status != arc.Asking:
		require.ErrorIs(w.t, err, arc.ErrNotAsking)
	default:
		require.NoError(w.t, err)
		known.status = arc.Delivered
		w.same(id, known, r)
	}
}

func (w *world) delete(ctx context.Context, tenant, id string) {
	err := w.view(tenant).Delete(ctx, id)
	if w.runs[tenant][id] == nil {
		require.ErrorIs(w.t, err, store.ErrNotFound)
		return
	}
	require.NoError(w.t, err)
	delete(w.runs[tenant], id)
}

// list compares a page of runs.
func (w *world) list(ctx context.Context, tenant string) {
	f := arc.Filter{Limit: w.r.IntN(4)}
	if w.r.IntN(2) == 0 {
		f.Status = pick(w.r, []arc.Status{arc.Asking, arc.Delivered, arc.Blocked, arc.Running})
	}
	if w.r.IntN(2) == 0 {
		f.Session = pick(w.r, hostile)
	}
	if w.r.IntN(2) == 0 {
		f.Scope = memory.Scope(tenant + pick(w.r, []string{"", "/anna", "/ben"}))
	}
	if w.r.IntN(3) == 0 {
		f.Since = w.c.Now().Add(-time.Duration(w.r.IntN(100)) * time.Minute)
	}
	if w.r.IntN(3) == 0 {
		f.Until = w.c.Now().Add(-time.Duration(w.r.IntN(100)) * time.Minute)
	}
	var want []string
	ids := slices.SortedFunc(maps.Keys(w.runs[tenant]), func(a, b string) int {
		return w.runs[tenant][b].began.Compare(w.runs[tenant][a].began)
	})
	if len(ids) > 0 && w.r.IntN(3) == 0 {
		f.After = pick(w.r, ids)
	}
	behind := f.After == ""
	for _, id := range ids {
		x := w.runs[tenant][id]
		in := (f.Status == "" || x.status == f.Status) && (f.Session == "" || x.session == f.Session) &&
			(f.Scope == "" || x.scope == f.Scope || strings.HasPrefix(string(x.scope), string(f.Scope)+"/")) &&
			(f.Since.IsZero() || !x.began.Before(f.Since)) && (f.Until.IsZero() || !x.began.After(f.Until))
		if in && behind && (f.Limit == 0 || len(want) < f.Limit) {
			want = append(want, id)
		}
		behind = behind || id == f.After
	}
	var got []string
	for r, err := range w.view(tenant).Runs(ctx, f) {
		require.NoError(w.t, err)
		w.same(r.ID, w.runs[tenant][r.ID], r)
		got = append(got, r.ID)
	}
	require.Equal(w.t, want, got, "%+v", f)
}

// others looks at what is not about a run.
func (w *world) others(ctx context.Context, tenant string) {
	space := w.a.In(memory.Scope(tenant + "/anna")).Memory()
	hits, err := space.Recall(ctx, memory.Query{Text: "wants the thing"})
	require.NoError(w.t, err)
	for _, h := range hits {
		require.Equal(w.t, memory.Scope(tenant+"/anna"), h.Record.Scope)
		require.Contains(w.t, h.Record.Content+h.Record.Trigger, tenant)
	}
	as, err := w.view(tenant).Assess(ctx, pick(w.r, hostile[1:]))
	require.NoError(w.t, err)
	if as.Approach != "" {
		require.Equal(w.t, "just do it", as.Approach)
	}
}

// TestTenantsAgainstAModel has eight tenants use the same hostile ids. No call
// returns what another tenant has, and each what the model says.
func TestTenantsAgainstAModel(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t, 1), t.Context()
	for range *tenantOps {
		w.c.Add(time.Minute)
		tenant, id := w.tenant(), pick(w.r, hostile)
		switch w.r.IntN(8) {
		case 0, 1, 2:
			w.run(ctx, tenant, id)
		case 3:
			w.resume(ctx, tenant, id)
		case 4:
			w.answer(ctx, tenant, id)
		case 5:
			w.delete(ctx, tenant, id)
		case 6:
			w.list(ctx, tenant)
		case 7:
			w.others(ctx, tenant)
		}
	}
	// Each key of a tenant's space speaks of that tenant alone.
	for e, err := range w.st.Scan(ctx, store.Range{}) {
		require.NoError(t, err)
		for other := range w.runs {
			own := strings.Contains(e.Key, "\x00"+other+"\x00") || strings.Contains(e.Key, "\x00"+other+"/")
			require.True(t, own || !strings.Contains(e.Key+string(e.Value), other), "%q speaks of %s", e.Key, other)
		}
	}
	// What is deleted leaves no key behind, but what it has taught.
	for tenant, runs := range w.runs {
		for id := range runs {
			require.NoError(t, w.view(tenant).Delete(ctx, id))
		}
	}
	require.NoError(t, w.a.Close())
	for e, err := range w.st.Scan(t.Context(), store.Range{Prefix: "tenant\x00"}) {
		require.NoError(t, err)
		part := strings.Split(e.Key, "\x00")[2:4]
		if part[0] == "upkeep" {
			continue // when the Agent has maintained a scope, if the test took that long
		}
		require.Contains(t, []string{"rank slot", "rank head", "rank arm", "rank setting", "rank left", "meta odds", "meta past", "told "}, strings.Join(part, " "), "%q", e.Key)
	}
	for e := range w.st.Scan(t.Context(), store.Range{Prefix: "memory\x00f\x00"}) {
		require.Fail(t, "a marker of a run that was deleted", "%q", e.Key)
	}
	receipts := 0
	for range w.st.Scan(t.Context(), store.Range{Prefix: "memory\x00k\x00"}) {
		receipts++
	}
	require.LessOrEqual(t, receipts, 3*8, "of general patterns: one a template, however many runs")
}

// moody is a store that fails where it is told to: at a read, in a scan, or at a commit, which may
// have taken place.
type moody struct {
	store.Store
	mu      sync.Mutex
	from    int // calls that are well
	many    int // calls that fail then
	applied bool
	failed  int
}

func (m *moody) fails() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.from--; m.from >= 0 || m.many <= 0 {
		return false
	}
	m.many--
	m.failed++
	return true
}

func (m *moody) set(from, many int, applied bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.from, m.many, m.applied = from, many, applied
}

func (m *moody) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if !m.fails() {
		return m.Store.Commit(ctx, ops...)
	}
	if m.applied {
		_, _ = m.Store.Commit(ctx, ops...)
	}
	return 0, errBoom
}

func (m *moody) Get(ctx context.Context, k string) (store.Entry, error) {
	if m.fails() {
		return store.Entry{}, errBoom
	}
	return m.Store.Get(ctx, k)
}

func (m *moody) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range m.Store.Scan(ctx, r) {
			if m.fails() {
				yield(store.Entry{}, errBoom)
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// A store that fails once, wherever, while an Agent meets a tenant fails that call alone: another
// tenant's calls, and the next one of this, are as ever.
func TestStoreThatFailsOnceAsATenantBegins(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		st := &moody{Store: store.NewMem()}
		a := agentOn(t, st, (&script{}).host(), &arc.Options{Maintain: -1})
		st.set(n, 1, false)
		_, err := a.Run(t.Context(), arc.Objective{Text: "mend it", Scope: "acme/anna"})
		if st.failed == 0 {
			require.NoError(t, err)
			require.Greater(t, n, 10)
			return
		}
		require.ErrorIs(t, err, errBoom, "call %d", n)
		for _, scope := range []memory.Scope{"acme/anna", "ajax"} {
			_, err = a.Run(t.Context(), arc.Objective{Text: "mend it", Scope: scope})
			require.NoError(t, err, "call %d", n)
			require.NoError(t, a.Erase(t.Context(), scope), "call %d", n)
		}
	}
}
