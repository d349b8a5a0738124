package arc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Whatever the order in which scopes are worked in, carried to another store and erased, over
// stores that fail anywhere, and beside runs that are live: what was acknowledged is there, what
// was erased is nowhere, other tenants stand as they stood, and what was carried reads as before.
func TestInAnyPlace(t *testing.T) {
	t.Parallel()
	reached := map[string]int{}
	checkInBubble(t, func(rt *rapid.T) {
		w := newAnyPlace(rt, reached)
		defer w.close()
		rt.Repeat(map[string]func(*rapid.T){
			"run": w.run, "run it": w.run, "run this": w.run, "answer": w.answer, "judge": w.judge, "retry": w.retry, "rule": w.rule,
			"resume": w.resume, "remember": w.remember, "person": w.person, "enqueue": w.enqueue, "maintain": w.maintain,
			"delete": w.delete, "prune": w.prune, "erase": w.erase, "carry": w.carry, "carry it": w.carry, "restart": w.restart, "": w.check,
		})
	})
	t.Log(reached)
	if reached["delivered"] < 100 {
		return // one case was run again
	}
	for _, what := range []string{"asking", "blocked", "erased", "carried", "broken off", "erased beside", "carried beside"} {
		require.NotZero(t, reached[what], what)
	}
}

// site is a store with an Agent, and what was acknowledged there.
type site struct {
	*arc.Agent
	mem   *store.Mem
	st    *moody
	lossy bool              // the store may have what the Agent has not heard of
	runs  map[string]string // reports, by tenant and id
	notes map[memory.Scope][]memory.ID
}

type anyPlace struct {
	reached map[string]int
	sites   [2]*site
	*site   // at hand
	opts    arc.Options

	mu    sync.Mutex
	deck  []byte
	n     int
	hold  chan struct{} // a worker waits for it
	held  chan struct{} // is closed once it does
	holds memory.Scope  // whose
}

var placed = []memory.Scope{"a", "a/x", "a/x/deep", "a/xy", "b", "b/x"}

// markOf is in every text of a scope, and in no other's.
func markOf(s memory.Scope) string { return "mark" + strings.ReplaceAll(string(s), "/", "of") + "end" }

func newAnyPlace(t *rapid.T, reached map[string]int) *anyPlace {
	w := &anyPlace{reached: reached, opts: arc.Options{Attempts: 2, Patience: -1, Retention: arc.Retention{Age: -1}, Seed: 1, Maintain: -1}}
	w.opts.Learn.Holdout = rapid.SampledFrom([]float64{0, 0.3}).Draw(t, "holdout")
	w.opts.Memory.IndexBytes = rapid.SampledFrom([]int64{0, 0, 9000}).Draw(t, "bytes")
	w.opts.Attended = rapid.Bool().Draw(t, "attended")
	if rapid.Bool().Draw(t, "bounds") {
		many := arc.Budget{Steps: 1e6}
		w.opts.Bounds = arc.Bounds{Session: many, Scope: many, Day: many}
	}
	for i := range w.sites {
		w.sites[i] = &site{mem: store.NewMem(), runs: map[string]string{}, notes: map[memory.Scope][]memory.ID{}}
		w.open(t, w.sites[i])
	}
	w.site = w.sites[0]
	return w
}

func (w *anyPlace) open(t *rapid.T, at *site) {
	at.st, at.lossy = &moody{Store: at.mem}, false
	var err error
	at.Agent, err = arc.New(context.Background(), at.st, w.host(), &w.opts)
	require.NoError(t, err)
}

func (w *anyPlace) close() {
	w.release()
	for _, at := range w.sites {
		at.st.set(0, 0, false)
		_ = at.Close()
	}
}

func (w *anyPlace) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hold != nil {
		close(w.hold)
		w.hold = nil
	}
}

func (w *anyPlace) draw(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.deck) == 0 {
		return 0
	}
	d := int(w.deck[0]) % n
	w.deck = w.deck[1:]
	return d
}

// marked is a text of a scope.
func (w *anyPlace) marked(what string, s memory.Scope) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	return fmt.Sprintf("%s %s %d", what, markOf(s), w.n)
}

func ofWhom(inputs json.RawMessage) (s memory.Scope) {
	var in struct{ Scope memory.Scope }
	_ = json.Unmarshal(inputs, &in)
	return in.Scope
}

func (w *anyPlace) host() arc.Host {
	worker := func(name, skill string, blast act.Blast) act.Worker {
		return act.Worker{Card: rank.Candidate{Name: name, Prior: 0.5}, Skills: []string{skill}, Blast: blast, Executor: act.ExecutorFunc(w.execute)}
	}
	return arc.Host{
		Reasoner: reason.ReasonerFunc(w.reason),
		Workers:  []act.Worker{worker("one", "work", 0), worker("two", "work", 0), worker("careful", "deploy", act.Public)},
		Gates: []act.Gate{act.GateFunc(func(_ context.Context, work act.Work, r act.Result) (act.Verdict, error) {
			if w.draw(4) == 1 {
				return act.Verdict{Complaint: w.marked("complaint", ofWhom(work.Inputs))}, nil
			}
			return act.Verdict{Pass: true}, nil
		})},
	}
}

func (w *anyPlace) reason(_ context.Context, b reason.Brief) (reason.Decision, error) {
	of := ofWhom(b.Inputs)
	d := plan(w.marked("task", of))
	d.Approach = fmt.Sprintf("way %d of %s", w.draw(2), markOf(of))
	d.Tasks[0].Delta, d.Tasks[0].Inputs = w.marked("delta", of), b.Inputs
	for _, m := range b.Memories {
		d.Applied = append(d.Applied, m.Record.ID)
	}
	switch w.draw(8) {
	case 1:
		d.Tasks = append(d.Tasks, reason.Task{Objective: w.marked("then", of), Verify: "it", Skill: "deploy", Inputs: b.Inputs})
	case 2:
		return reason.Decision{Impasse: &reason.Impasse{Kind: "no_approach", Reason: w.marked("locked", of), Subgoal: w.marked("unlock", of)}}, nil
	case 3:
		return reason.Decision{Questions: []string{w.marked("which", of)}}, nil
	case 4:
		return d, errors.New(w.marked("no way", of))
	case 5:
		d.Tasks[0].Skill = "fly"
	}
	return d, nil
}

func (w *anyPlace) execute(ctx context.Context, work act.Work) (act.Result, error) {
	of := ofWhom(work.Inputs)
	w.mu.Lock()
	hold := w.hold
	if w.holds != of {
		hold = nil
	}
	if hold != nil && w.held != nil {
		close(w.held)
		w.held = nil
	}
	w.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return act.Result{}, ctx.Err()
		}
	}
	res := done(fmt.Sprintf("%q", w.marked("output", of)+strings.Repeat("x", w.draw(2)*3000)))
	res.Reflection.Summary = w.marked("did it", of)
	res.Deltas = []reason.Delta{{Domain: w.marked("domain", of), Path: "at", Value: json.RawMessage(`1`)}}
	switch w.draw(6) {
	case 1:
		return act.Result{}, errors.New(w.marked("no luck", of))
	case 2:
		if len(work.Answers) == 0 {
			return act.Result{}, &act.InputRequiredError{Questions: []string{w.marked("where", of)}}
		}
	case 3:
		return act.Result{}, act.ErrDenied
	case 4:
		for _, m := range work.Memories {
			res.Utilized = append(res.Utilized, m.Record.ID)
		}
	}
	return res, nil
}

// begin draws what happens meanwhile.
func (w *anyPlace) begin(t *rapid.T) (fails bool) {
	w.site = w.sites[rapid.IntRange(0, 1).Draw(t, "site")]
	deck := rapid.SliceOfN(rapid.Byte(), 0, 10).Draw(t, "deck")
	w.mu.Lock()
	w.deck = deck
	w.mu.Unlock()
	return w.upset(t, w.site)
}

func (w *anyPlace) upset(t *rapid.T, at *site) bool {
	if rapid.IntRange(0, 3).Draw(t, "fails") != 3 {
		return false
	}
	at.st.set(rapid.IntRange(0, 60).Draw(t, "calls"), rapid.IntRange(1, 3).Draw(t, "many"), rapid.Bool().Draw(t, "applied"))
	return true
}

// ended looks at what a call has returned, and whether the other tenants, and runs that the
// call was not about, stand as they stood.
func (w *anyPlace) ended(t *rapid.T, err error, fails bool, about func(run string) bool, allowed ...error) {
	if w.st.failed > 0 {
		w.reached["broken off"]++
		w.lossy = true
	}
	w.st.set(0, 0, false)
	w.st.failed = 0
	if err != nil && !fails && !slices.ContainsFunc(allowed, func(a error) bool { return errors.Is(err, a) }) {
		t.Fatalf("%v", err)
	}
	w.compare(t, w.site, about)
}

// compare compares all reports with those that were there, except those that a call was about.
func (w *anyPlace) compare(t *rapid.T, at *site, about func(run string) bool) {
	w.mu.Lock()
	live := w.hold != nil
	w.mu.Unlock()
	is := reports(t, at.Agent)
	for k, r := range at.runs {
		if !about(k) && !(live && strings.HasSuffix(k, "-live")) {
			require.Equal(t, r, is[k], "%s", k)
		}
	}
	for k := range is {
		if _, was := at.runs[k]; !was && !about(k) && !(live && strings.HasSuffix(k, "-live")) {
			t.Fatalf("%s has come up", k)
		}
	}
	at.runs = is
}

func this(tenant, id string) func(string) bool {
	return func(k string) bool { return k == tenant+"/"+id }
}

func nothing(string) bool { return false }

// reports are those of all runs.
func reports(t *rapid.T, a *arc.Agent) map[string]string {
	all := map[string]string{}
	for _, tenant := range []memory.Scope{"a", "b"} {
		for r, err := range a.In(tenant).Runs(context.Background(), arc.Filter{}) {
			require.NoError(t, err)
			r, err = a.In(tenant).Report(context.Background(), r.ID)
			require.NoError(t, err)
			all[string(tenant)+"/"+r.ID] = said(t, r)
		}
	}
	return all
}

func said(t *rapid.T, v any) string {
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// one is a run with the status, if there is any.
func (w *anyPlace) one(t *rapid.T, is ...arc.Status) (s memory.Scope, id string) {
	var all [][2]string
	for _, tenant := range []memory.Scope{"a", "b"} {
		for r, err := range w.In(tenant).Runs(context.Background(), arc.Filter{}) {
			require.NoError(t, err)
			if len(is) == 0 || slices.Contains(is, r.Status) {
				all = append(all, [2]string{string(r.Scope), r.ID})
			}
		}
	}
	if len(all) == 0 {
		t.Skip("none")
	}
	one := rapid.SampledFrom(all).Draw(t, "run")
	return memory.Scope(one[0]), one[1]
}

func (w *anyPlace) objective(t *rapid.T, s memory.Scope) arc.Objective {
	in, err := json.Marshal(map[string]any{"scope": s, "n": rapid.IntRange(0, 1).Draw(t, "n")})
	require.NoError(t, err)
	o := arc.Objective{
		Scope: s, Inputs: in, Text: rapid.SampledFrom([]string{"mend", "build"}).Draw(t, "text") + " it for " + markOf(s),
		ID:          fmt.Sprintf("%s-%d", markOf(s), rapid.IntRange(0, 3).Draw(t, "id")),
		Session:     rapid.SampledFrom([]string{"", "day of " + markOf(s)}).Draw(t, "session"),
		Situation:   rapid.SampledFrom([]string{"", "down for " + markOf(s)}).Draw(t, "situation"),
		User:        rapid.SampledFrom([]string{"", "user " + markOf(s)}).Draw(t, "user"),
		Conditions:  map[string]string{"of": markOf(s)},
		Provisional: rapid.IntRange(0, 3).Draw(t, "provisional") == 3, Once: rapid.IntRange(0, 3).Draw(t, "once") == 3,
		Fresh: rapid.IntRange(0, 5).Draw(t, "fresh") == 5,
	}
	if up := strings.LastIndexByte(string(s), '/'); up > 0 && rapid.IntRange(0, 3).Draw(t, "above") == 3 {
		o.Scope, o.Episodes = s[:up], []memory.Scope{s} // of an agent, for a user
	}
	if rapid.IntRange(0, 3).Draw(t, "given") == 3 {
		o.Tasks = []reason.Task{{Objective: w.marked("given", s), Verify: "it", Skill: "work", Inputs: in}}
	}
	return o
}

func (w *anyPlace) run(t *rapid.T) {
	s := rapid.SampledFrom(placed).Draw(t, "scope")
	o := w.objective(t, s)
	fails := w.begin(t)
	_, err := w.Run(context.Background(), o)
	w.ended(t, err, fails, this(s.Tenant(), o.ID), arc.ErrTaken)
	for _, r := range w.runs {
		for _, is := range []string{"delivered", "asking", "blocked", "waiting"} {
			if strings.Contains(r, `"Status":"`+is+`"`) {
				w.reached[is]++
			}
		}
	}
}

func (w *anyPlace) answer(t *rapid.T) {
	fails := w.begin(t)
	w.st.set(0, 0, false)
	s, id := w.one(t, arc.Asking)
	if fails {
		w.upset(t, w.site)
	}
	_, err := w.In(s).Answer(context.Background(), id, w.marked("this one", s)+id)
	w.ended(t, err, fails, this(s.Tenant(), id), arc.ErrLate)
}

func (w *anyPlace) of(t *rapid.T, do func(v arc.View, id, text string) error, is ...arc.Status) {
	w.begin(t)
	w.st.set(0, 0, false)
	s, id := w.one(t, is...)
	fails := w.upset(t, w.site)
	mark, _, _ := strings.Cut(id, "-")
	err := do(w.In(s), id, "said of "+mark)
	w.ended(t, err, fails, this(s.Tenant(), id), arc.ErrLate)
}

func (w *anyPlace) judge(t *rapid.T) {
	right := rapid.Bool().Draw(t, "right")
	w.of(t, func(v arc.View, id, text string) error {
		return v.Judge(context.Background(), id, arc.Verdict{Right: right, Source: text, Why: text})
	}, arc.Delivered)
}

func (w *anyPlace) retry(t *rapid.T) {
	w.of(t, func(v arc.View, id, text string) error {
		_, err := v.Retry(context.Background(), id, text)
		return err
	}, arc.Blocked)
}

func (w *anyPlace) resume(t *rapid.T) {
	w.of(t, func(v arc.View, id, _ string) error {
		_, err := v.Resume(context.Background(), id)
		return err
	}, arc.Running)
}

func (w *anyPlace) rule(t *rapid.T) {
	allow := rapid.Bool().Draw(t, "allow")
	w.of(t, func(v arc.View, id, text string) error {
		r, err := v.Report(context.Background(), id)
		if err != nil || r.Approval == nil {
			return err
		}
		err = v.Rule(context.Background(), arc.Ruling{Run: id, Attempt: r.Approval.Attempt, Allow: allow, By: text, Note: text})
		synctest.Wait()
		return err
	}, arc.Waiting)
}

func (w *anyPlace) delete(t *rapid.T) {
	w.of(t, func(v arc.View, id, _ string) error {
		return v.Delete(context.Background(), id)
	})
}

func (w *anyPlace) prune(t *rapid.T) {
	fails := w.begin(t)
	err := w.Prune(context.Background())
	w.ended(t, err, fails, nothing)
}

func (w *anyPlace) remember(t *rapid.T) {
	s := rapid.SampledFrom(placed).Draw(t, "scope")
	fails := w.begin(t)
	text := w.marked("a fact", s)
	r, err := w.In(s).Memory().Remember(context.Background(), memory.Draft{
		Kind: memory.Fact, Content: text, Actor: markOf(s), Thread: markOf(s), Source: memory.Source{Origin: memory.User, Ref: markOf(s)},
		Slot: memory.Slot{Subject: markOf(s), Attribute: "is", Value: text},
	})
	w.ended(t, err, fails, nothing)
	if err == nil && r.ID != "" {
		w.notes[s] = append(w.notes[s], r.ID)
	}
}

func (w *anyPlace) person(t *rapid.T) {
	s := rapid.SampledFrom(placed).Draw(t, "scope")
	fails := w.begin(t)
	me, err := w.In(s).Identity()
	require.NoError(t, err)
	_, err = me.Add(context.Background(), identity.Draft{Content: w.marked("likes", s)})
	w.ended(t, err, fails, nothing, identity.ErrKnown, identity.ErrRejected)
}

func (w *anyPlace) enqueue(t *rapid.T) {
	s := rapid.SampledFrom(placed).Draw(t, "scope")
	w.begin(t)
	w.st.set(0, 0, false)
	w.n++ // no two queues draw the same ids
	q, err := queue.Open(context.Background(), w.st, &queue.Options{Scope: memory.Scope(s.Tenant()), Seed: uint64(w.n)})
	require.NoError(t, err)
	fails := w.upset(t, w.site)
	d := queue.Draft{
		Subject: w.marked("job", s), Scope: s, Source: markOf(s), Key: rapid.SampledFrom([]string{"", "key of " + markOf(s)}).Draw(t, "key"),
	}
	_, _, err = q.Enqueue(context.Background(), d)
	if err == nil && rapid.Bool().Draw(t, "claims") {
		var l *queue.Lease
		if l, err = q.Claim(context.Background(), 0); err == nil {
			at := l.Job.Scope
			_, err = l.End(context.Background(), queue.Result{Summary: w.marked("ended", at)}, nil)
		} else if d.Key != "" && errors.Is(err, queue.ErrEmpty) {
			err = nil // the job of the key is active still, since its End failed
		}
	}
	w.ended(t, err, fails, nothing)
}

func (w *anyPlace) maintain(t *rapid.T) {
	s := rapid.SampledFrom(placed).Draw(t, "scope")
	fails := w.begin(t)
	_, err := w.Maintain(context.Background(), s)
	w.ended(t, err, fails, nothing)
}

// beside begins a run that is live until the function that it returns is called.
func (w *anyPlace) beside(t *rapid.T) (live memory.Scope, stop func()) {
	if rapid.IntRange(0, 2).Draw(t, "beside") != 2 {
		return "", func() {}
	}
	s := rapid.SampledFrom(placed).Draw(t, "live")
	o := w.objective(t, s)
	o.ID, o.Tasks = markOf(s)+"-live", []reason.Task{{Objective: w.marked("given", s), Verify: "it", Skill: "work", Inputs: o.Inputs}}
	if _, err := w.In(s).Report(context.Background(), o.ID); err == nil {
		return "", func() {}
	}
	held, ended := make(chan struct{}), make(chan error, 1)
	w.mu.Lock()
	w.hold, w.held, w.holds, w.deck = make(chan struct{}), held, s, nil
	w.mu.Unlock()
	at := w.site
	go func() {
		_, err := at.Run(context.Background(), o)
		ended <- err
	}()
	<-held
	return s, func() {
		w.release()
		require.NoError(t, <-ended)
		w.compare(t, at, this(s.Tenant(), o.ID))
	}
}

// heard is how often the texts of a scope, or of those below it, are in the store.
func (w *anyPlace) heard(t *rapid.T, at *site, s memory.Scope) (n int, where string) {
	require.NoError(t, at.Flush(context.Background()))
	mark := []byte("mark" + strings.ReplaceAll(string(s), "/", "of"))
	for e, err := range at.mem.Scan(context.Background(), store.Range{}) {
		require.NoError(t, err)
		for _, after := range []string{"end", "of"} {
			if found := bytes.Count(append([]byte(e.Key), e.Value...), append(mark, after...)); found > 0 {
				n, where = n+found, fmt.Sprintf("%q: %q", e.Key, e.Value)
			}
		}
		for _, part := range key.Split(e.Key) {
			if memory.Scope(part).Within(s) && !slices.Contains(key.Split(e.Key), "upkeep") {
				n, where = n+1, fmt.Sprintf("%q", e.Key)
			}
		}
	}
	return n, where
}

func (w *anyPlace) erase(t *rapid.T) {
	s := rapid.SampledFrom(placed).Draw(t, "scope")
	w.begin(t)
	w.st.set(0, 0, false)
	live, stop := w.beside(t)
	others := w.others(t, w.site, s)
	gone := func(k string) bool { return w.touches(k, s) }
	fails := w.upset(t, w.site)
	err := w.Erase(context.Background(), s)
	w.ended(t, err, fails, gone, arc.ErrRunning)
	// The first call again may only hear of what is gone.
	for calls := 0; err != nil && !errors.Is(err, arc.ErrRunning) && calls < 3; calls++ {
		err = w.Erase(context.Background(), s)
		w.ended(t, err, calls < 2, gone, arc.ErrRunning)
	}
	if err == nil {
		n, where := w.heard(t, w.site, s)
		require.Zero(t, n, "%s was erased: %s", s, where)
		require.Equal(t, others, w.others(t, w.site, s), "another tenant")
		maps.DeleteFunc(w.notes, func(of memory.Scope, _ []memory.ID) bool { return of.Within(s) })
		w.reached["erased"]++
		if live != "" {
			w.reached["erased beside"]++
		}
	}
	stop()
}

// touches reports whether a run is in the scope, or tells there.
func (w *anyPlace) touches(k string, s memory.Scope) bool {
	tenant, id, _ := strings.Cut(k, "/")
	mark, _, _ := strings.Cut(id, "-")
	for _, of := range placed {
		if mark == markOf(of) && (of.Within(s) || string(s) == tenant && of.Tenant() == tenant) {
			return true
		}
	}
	return strings.Contains(w.runs[k], `"Scope":"`+string(s)+`"`) || strings.Contains(w.runs[k], `"Scope":"`+string(s)+`/`)
}

// others is what the store has of tenants other than the scope's.
func (w *anyPlace) others(t *rapid.T, at *site, s memory.Scope) map[string]string {
	require.NoError(t, at.Flush(context.Background()))
	all := map[string]string{}
	for e, err := range at.mem.Scan(context.Background(), store.Range{}) {
		require.NoError(t, err)
		parts := key.Split(e.Key)
		theirs := len(parts) > 1 && parts[0] == "tenant" && parts[1] != s.Tenant()
		if theirs || parts[0] == "memory" && len(parts) > 2 && memory.Scope(parts[2]).Tenant() != s.Tenant() {
			all[e.Key] = string(e.Value)
		}
	}
	return all
}

// carry exports a scope from a site to the other one, which has it erased before.
func (w *anyPlace) carry(t *rapid.T) {
	s := rapid.SampledFrom(placed).Draw(t, "scope")
	w.begin(t)
	w.st.set(0, 0, false)
	from, to := w.site, w.sites[0]
	if from == to {
		to = w.sites[1]
	}
	if w.lossy {
		require.NoError(t, w.Close())
		w.open(t, w.site)
	}
	live, stop := w.beside(t)
	fails := w.upset(t, from)
	var file bytes.Buffer
	err := w.Export(context.Background(), s, &file)
	w.ended(t, err, fails, nothing, arc.ErrRunning)
	was := w.known(t, from, s)
	stop()
	if err != nil {
		return
	}
	if live != "" {
		w.reached["carried beside"]++
	}
	w.site = to
	gone := func(k string) bool { return w.touches(k, s) }
	for calls := 0; w.Erase(context.Background(), s) != nil; calls++ {
		require.Less(t, calls, 3)
	}
	w.ended(t, nil, false, gone)
	maps.DeleteFunc(w.notes, func(of memory.Scope, _ []memory.ID) bool { return of.Within(s) })
	others := w.others(t, to, s)
	for range rapid.IntRange(0, 2).Draw(t, "tries") {
		fails := w.upset(t, to)
		_, err = w.Import(context.Background(), bytes.NewReader(file.Bytes()))
		w.st.set(0, 0, false)
		if err != nil && !fails {
			break
		}
	}
	got, err := w.Import(context.Background(), bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	require.Equal(t, s, got)
	w.ended(t, nil, false, func(k string) bool { return w.touches(k, s) || from.runs[k] != "" && from.touch(w, k, s) })
	require.Equal(t, others, w.others(t, to, s), "another tenant")
	require.Equal(t, was, w.known(t, to, s))
	for of, ids := range from.notes {
		if of.Within(s) {
			to.notes[of] = slices.Clone(ids)
		}
	}
	require.NoError(t, w.Flush(context.Background()))
	before := storedOf(t, to.mem)
	_, err = w.Import(context.Background(), bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	require.NoError(t, w.Flush(context.Background()))
	require.Equal(t, before, storedOf(t, to.mem), "the file again changes nothing")
	w.reached["carried"]++
}

func (at *site) touch(w *anyPlace, k string, s memory.Scope) bool {
	was := w.site
	w.site = at
	defer func() { w.site = was }()
	return w.touches(k, s)
}

func storedOf(t *rapid.T, st store.Store) map[string]string {
	all := map[string]string{}
	for e, err := range st.Scan(context.Background(), store.Range{}) {
		require.NoError(t, err)
		all[e.Key] = string(e.Value)
	}
	return all
}

// known is what a site says of a scope.
func (w *anyPlace) known(t *rapid.T, at *site, s memory.Scope) (out []string) {
	ctx := context.Background()
	for _, of := range placed {
		if !of.Within(s) {
			continue
		}
		v := at.In(of)
		for r, err := range v.Memory().All(ctx) {
			require.NoError(t, err)
			out = append(out, said(t, r))
		}
		me, err := v.Identity()
		require.NoError(t, err)
		facts, err := me.List(ctx, identity.Filter{})
		require.NoError(t, err)
		out = append(out, said(t, facts))
		for r, err := range v.Runs(ctx, arc.Filter{Scope: of}) {
			require.NoError(t, err)
			r, err = v.Report(ctx, r.ID)
			require.NoError(t, err)
			out = append(out, said(t, r))
		}
		if of != memory.Scope(s.Tenant()) {
			continue
		}
		costs, err := v.Costs(ctx, time.Time{})
		require.NoError(t, err)
		claims, err := v.Confidence(ctx)
		require.NoError(t, err)
		out = append(out, said(t, costs), said(t, claims))
		for p, err := range v.Proposals(ctx) {
			require.NoError(t, err)
			out = append(out, said(t, p))
		}
	}
	return out
}

func (w *anyPlace) restart(t *rapid.T) {
	w.begin(t)
	w.st.set(0, 0, false)
	if rapid.Bool().Draw(t, "hard") {
		w.st.set(0, 1<<30, false) // what waits to be written is lost
		_ = w.Close()
	} else {
		require.NoError(t, w.Close())
	}
	w.open(t, w.site)
	w.ended(t, nil, false, nothing)
}

func (w *anyPlace) check(t *rapid.T) {
	for _, at := range w.sites {
		for s, ids := range at.notes {
			for _, id := range ids {
				_, err := at.In(s).Memory().Get(context.Background(), id)
				require.NoError(t, err, "%s of %s was remembered", id, s)
			}
		}
		_, err := at.Verify(context.Background())
		require.NoError(t, err)
	}
}
