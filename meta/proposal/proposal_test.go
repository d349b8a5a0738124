package proposal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

var start = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// world is an Agent with proposals, and a clock that tests move.
type world struct {
	*testing.T
	mu    sync.Mutex // held by who writes now, and by who reads it beside the test
	now   time.Time
	st    store.Store
	agent *arc.Agent
	view  arc.View
	book  *proposal.Book
	model reason.Model
}

// pass has time go by.
func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func open(t *testing.T, workers ...act.Worker) *world {
	w := &world{T: t, now: start, st: store.NewMem()}
	clock := func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.now
	}
	if workers == nil {
		workers = []act.Worker{new(arctest.Worker).As("worker")}
	}
	var err error
	w.book, err = proposal.Open(t.Context(), store.NewGroup(store.Sub(w.st, "t/acme/")), "acme", clock)
	require.NoError(t, err)
	w.agent, err = arc.New(t.Context(), w.st, arc.Host{Workers: workers}, &arc.Options{
		Scope: "acme", Now: clock, Policy: w.book.Policy(func(ctx context.Context) (rank.Policy, error) {
			figures, err := w.view.Book(ctx)
			if err != nil {
				return nil, err
			}
			return figures.Learned(), nil
		}),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.agent.Close()) })
	w.view = w.agent.In("acme")
	return w
}

// observe has a worker make attempts, of which some are delivered.
func (w *world) observe(worker, skill string, delivered, failed int, usd float64) {
	book, err := w.view.Book(w.Context())
	require.NoError(w, err)
	for i := range delivered + failed {
		s := rank.Sample{Candidate: worker, Task: rank.Task{Skill: skill}, Outcome: rank.Failed, At: w.now}
		if s.CostUSD = &usd; i < delivered {
			s.Outcome = rank.Delivered
		}
		require.NoError(w, book.Observe(w.Context(), s))
	}
}

// news are the kinds and subjects of what Analyse returns, and the proposals.
func (w *world) news() (subjects []string, all []proposal.Proposal) {
	w.Helper()
	all, err := w.book.Analyse(w.Context(), w.view, w.model)
	require.NoError(w, err)
	for _, p := range all {
		subjects = append(subjects, p.Kind+": "+p.Subject)
	}
	return subjects, all
}

// The cases of outcome-analysis, but for its totals of a lifetime: here the newest days count.
func TestAlerts(t *testing.T) {
	for _, tt := range []struct {
		delivered, failed int
		want              bool
	}{{0, 9, false}, {0, 10, true}, {5, 5, false}, {4, 6, true}} {
		w := open(t)
		w.observe("worker", "x", tt.delivered, tt.failed, 0)
		for _, at := range []struct {
			after time.Duration
			tells bool
		}{{0, tt.want}, {5 * time.Minute, false}, {time.Hour - time.Millisecond, false}, {time.Hour, tt.want}} {
			w.pass(start.Add(at.after).Sub(w.now))
			got, _ := w.news()
			require.Equal(t, at.tells, slices.Equal(got, []string{"goal: success of x"}), "%+v after %v: %v", tt, at.after, got)
		}
	}
	w := open(t)
	w.observe("worker", "x", 0, 100, 0)
	w.pass(24 * time.Hour)
	w.observe("worker", "x", 60, 0, 0)
	got, _ := w.news()
	require.Empty(t, got, "it has recovered")
}

// A worker that fails 79 of 87 times, beside another one, is proposed to be tried last, and it is once a
// person says so.
func TestWorker(t *testing.T) {
	w := open(t)
	w.observe("good", "review", 80, 7, 0)
	for range 8 { // it rests, and comes to its evidence all the same
		w.observe("bad", "review", 1, 4, 0)
		w.pass(3 * 24 * time.Hour)
		w.news()
	}
	w.observe("bad", "review", 0, 47, 0)
	w.observe("good", "review", 80, 7, 0)
	w.pass(time.Hour)
	got, ps := w.news()
	require.Equal(t, []string{"worker: bad at review"}, got)
	p := ps[0]
	require.Equal(t, proposal.Ready, p.Status)
	require.Equal(t, `{"worker":"bad","skill":"review","standing":"last"}`, p.Change)

	order := func() (names []string) {
		fixed := rankPolicy(func(cs []rank.Candidate) (out []rank.Scored) {
			for _, c := range cs {
				out = append(out, rank.Scored{Candidate: c})
			}
			return out
		})
		policy := w.book.Policy(func(context.Context) (rank.Policy, error) { return fixed, nil })
		scored, err := policy.Score(t.Context(), rank.Task{Skill: "review"}, []rank.Candidate{{Name: "bad"}, {Name: "good"}, {Name: "new"}})
		require.NoError(t, err)
		for _, s := range scored {
			names = append(names, s.Name)
		}
		return names
	}
	decide := func(id string, to proposal.Status, by, note string) error {
		_, err := w.book.Decide(t.Context(), id, to, by, note)
		return err
	}
	require.Equal(t, []string{"bad", "good", "new"}, order())
	require.ErrorIs(t, decide(p.ID, proposal.Undone, "anna", ""), store.ErrInvalid)
	require.ErrorIs(t, decide(p.ID, proposal.Approved, "", ""), store.ErrInvalid)
	require.ErrorIs(t, decide("none", proposal.Approved, "anna", ""), store.ErrNotFound)
	require.NoError(t, decide(p.ID, proposal.Approved, "anna", "seen"))
	require.Equal(t, []string{"good", "new", "bad"}, order())
	seat, err := w.book.Propose(t.Context(), proposal.Proposal{Kind: "worker", Subject: "new", Samples: 50,
		Change: `{"worker":"new","skill":"review","standing":"first"}`})
	require.NoError(t, err)
	pause, err := w.book.Propose(t.Context(), proposal.Proposal{Kind: "config", Subject: "good", Samples: 50,
		Change: `{"worker":"good","skill":"review","standing":"paused"}`})
	require.NoError(t, err)
	require.NoError(t, decide(seat.ID, proposal.Approved, "anna", ""))
	require.NoError(t, decide(pause.ID, proposal.Approved, "anna", ""))
	text, err := w.book.Propose(t.Context(), proposal.Proposal{Kind: "action", Subject: "a text",
		Change: `{"worker":"bad","skill":"review","standing":"first"}`})
	require.NoError(t, err)
	w.pass(time.Minute)
	require.NoError(t, decide(text.ID, proposal.Approved, "anna", ""))
	require.Equal(t, []string{"new", "bad"}, order(), "an action changes nobody's standing, whatever it says")

	require.NoError(t, decide(p.ID, proposal.Undone, "anna", ""))
	require.NoError(t, decide(seat.ID, proposal.Undone, "anna", ""))
	require.NoError(t, decide(pause.ID, proposal.Undone, "anna", ""))
	require.Equal(t, []string{"bad", "good", "new"}, order())
	w.pass(2 * time.Hour)
	got, _ = w.news()
	require.Empty(t, got, "what was undone rests")
	w.pass(8 * 24 * time.Hour)
	got, _ = w.news()
	require.Equal(t, []string{"worker: bad at review"}, got)

	other, err := proposal.Open(t.Context(), store.NewGroup(store.Sub(w.st, "t/acme/")), "acme", func() time.Time { return w.now })
	require.NoError(t, err)
	ready := func() []proposal.Proposal {
		all, err := other.List(t.Context(), proposal.Ready)
		require.NoError(t, err)
		return all
	}
	require.Len(t, ready(), 1)
	w.pass(8 * 24 * time.Hour)
	require.Empty(t, ready())
	require.ErrorIs(t, decide(p.ID, proposal.Approved, "anna", ""), store.ErrInvalid, "it has expired")
}

// What is approved decides whom an Agent asks.
func TestAgent(t *testing.T) {
	a, b := new(arctest.Worker), new(arctest.Worker)
	w := open(t, a.As("a"), b.As("b"))
	for i, tt := range []struct {
		standing string
		calls    int // of b, in all
	}{{"first", 1}, {"last", 1}, {"paused", 1}} {
		p, err := w.book.Propose(t.Context(), proposal.Proposal{Kind: "worker", Subject: tt.standing, Samples: 50,
			Change: fmt.Sprintf(`{"worker": "b", "skill": "", "standing": %q}`, tt.standing)})
		require.NoError(t, err)
		w.pass(time.Minute)
		_, err = w.book.Decide(t.Context(), p.ID, proposal.Approved, "anna", "")
		require.NoError(t, err)
		_, err = w.agent.Run(t.Context(), arc.Objective{ID: fmt.Sprint(i), Text: "do it", Fresh: true})
		require.NoError(t, err)
		require.Equal(t, []int{tt.calls, i}, []int{len(b.Calls()), len(a.Calls())}, tt.standing)
	}
}

type rankPolicy func(cs []rank.Candidate) []rank.Scored

func (f rankPolicy) Score(_ context.Context, _ rank.Task, cs []rank.Candidate) ([]rank.Scored, error) {
	return f(cs), nil
}

func TestEvidence(t *testing.T) {
	w := open(t)
	w.observe("dear", "review", 40, 10, .40)
	w.observe("cheap", "review", 41, 9, .20)
	w.observe("a", "write", 0, 49, 0)
	w.observe("b", "write", 9, 0, 0)
	got, ps := w.news()
	require.Equal(t, []string{"config: dear at review", "goal: success of write", "worker: a at write"}, got)
	require.Equal(t, []proposal.Status{proposal.Ready, proposal.Ready, proposal.Gathering},
		[]proposal.Status{ps[0].Status, ps[1].Status, ps[2].Status}, "a worker needs 50 samples")
	_, err := w.book.Decide(t.Context(), ps[2].ID, proposal.Approved, "anna", "")
	require.ErrorIs(t, err, store.ErrInvalid)
	_, err = w.book.Decide(t.Context(), ps[2].ID, proposal.Rejected, "anna", "")
	require.ErrorIs(t, err, store.ErrInvalid, "a rejection says why")
	rejected, err := w.book.Decide(t.Context(), ps[2].ID, proposal.Rejected, "anna", "it was the network")
	require.NoError(t, err)
	require.Equal(t, "anna: it was the network", rejected.Note)
	w.observe("a", "write", 0, 1, 0)
	w.pass(2 * time.Hour)
	got, _ = w.news()
	require.Equal(t, []string{"config: dear at review", "goal: success of write"}, got, "what was rejected rests")
	w.observe("a", "write", 0, 50, 0)
	w.pass(2 * time.Hour)
	got, _ = w.news()
	require.Contains(t, got, "worker: a at write", "the samples have doubled")
	bare := proposal.Proposal{Kind: "action", Subject: "s", Reason: "nobody has counted"}
	for _, want := range []proposal.Status{proposal.Ready, proposal.Rejected} {
		kept, err := w.book.Propose(t.Context(), bare)
		require.NoError(t, err)
		require.Equal(t, want, kept.Status)
		_, _ = w.book.Decide(t.Context(), kept.ID, proposal.Rejected, "anna", "no")
	}
	for _, p := range []proposal.Proposal{
		{}, {Kind: "goal"}, {Kind: "x", Subject: "s"}, {Kind: "worker", Subject: "s", Change: `{"worker":"w","standing":"up"}`},
		{Kind: "goal", Subject: "s", Samples: -1},
	} {
		_, err := w.book.Propose(t.Context(), p)
		require.ErrorIs(t, err, store.ErrInvalid)
	}
}

// drafter is a model that drafts, and counts how often.
type drafter struct {
	calls int
	says  string
}

func (d *drafter) Generate(_ context.Context, r *reason.Request) (*reason.Response, error) {
	d.calls++
	return &reason.Response{Text: fmt.Sprintf(`{"yaml": %q}`, d.says)}, nil
}

// Three runs of a day that need a person for the same have an action drafted; also once they were answered.
func TestEscalations(t *testing.T) {
	gated := new(arctest.Worker).As("deploy")
	gated.Mode = act.Gated
	w := open(t, gated)
	model := &drafter{says: "- id: deploy_alone\n  skill: deploy\n"}
	w.model = model
	ask := func(id string) {
		r, err := w.agent.Run(t.Context(), arc.Objective{ID: id, Text: "deploy " + id})
		require.NoError(t, err)
		require.Equal(t, arc.Waiting, r.Status)
	}
	ask("1")
	ask("2")
	got, _ := w.news()
	require.Empty(t, got)
	for r, err := range w.view.Unfinished(t.Context()) {
		require.NoError(t, err)
		require.NoError(t, w.view.Decide(t.Context(), act.Ruling{Approval: r.Approvals[0].ID, By: "anna", Allow: true}))
	}
	for _, id := range []string{"1", "2"} {
		_, err := w.view.Wait(t.Context(), id)
		require.NoError(t, err)
	}
	ask("3")
	got, ps := w.news()
	require.Equal(t, []string{"action: approval: deploy"}, got)
	require.Equal(t, []any{proposal.Ready, 3, model.says}, []any{ps[0].Status, ps[0].Samples, ps[0].Change})
	w.pass(2 * time.Hour)
	ask("4")
	_, ps = w.news()
	require.Equal(t, []any{4, model.says, 1}, []any{ps[0].Samples, ps[0].Change, model.calls}, "drafted once")
	require.NoError(t, w.view.Cancel(t.Context(), "3", "too late")) // in a day silence would have ended it
	w.pass(23 * time.Hour)
	ask("5")
	got, _ = w.news()
	require.Empty(t, got, "4 and 5 have asked in the last day, and 3 has ended in it")

	_, err := w.book.Propose(t.Context(), proposal.Proposal{Kind: "action", Subject: "goal ci is violated", Reason: "no action serves it"})
	require.NoError(t, err)
	_, ps = w.news()
	require.Equal(t, []any{"goal ci is violated", model.says}, []any{ps[0].Subject, ps[0].Change}, "drafted for whoever proposed it")

	for _, bad := range []string{"- id: [", "just words"} {
		w := open(t)
		w.model = &drafter{says: bad}
		w.observe("worker", "x", 0, 10, 0)
		_, ps := w.news()
		require.Contains(t, ps[0].Change, "- id: success_of_x_", "what is no list is not kept")
	}
}

// Drafts about skills of like names, or of other letters, are of different goals.
func TestDraftsHaveTheirOwnIDs(t *testing.T) {
	w := open(t)
	skills := []string{"c++", "c#", "退款", "报告", strings.Repeat("long ", 40)}
	for _, skill := range skills {
		w.observe("worker", skill, 0, 20, 0)
	}
	_, err := w.book.Propose(t.Context(), proposal.Proposal{Kind: "action", Subject: "a", Reason: strings.Repeat(`"`, 60<<10)})
	require.NoError(t, err)
	_, err = w.book.Analyse(t.Context(), w.view, nil)
	require.NoError(t, err, "a long reason makes no draft that cannot be kept")
	ids := map[string]bool{}
	all, err := w.book.List(t.Context())
	require.NoError(t, err)
	for _, p := range all {
		if p.Kind == "goal" {
			id, _, _ := strings.Cut(p.Change, "\n")
			require.Less(t, len(id), 128)
			ids[id] = true
		}
	}
	require.Len(t, ids, len(skills))
}

// A question that three runs of a day have asked is one escalation, and so is what three were refused.
func TestEscalationsOfOtherKinds(t *testing.T) {
	asks := &arctest.Worker{Turns: []arctest.Turn{{Err: &act.PendingError{Questions: []string{"which\naccount?"}}}}}
	away := &arctest.Worker{Turns: []arctest.Turn{{Err: &reason.Error{Class: reason.Permission, Err: errors.New("no")}}}}
	w := open(t, asks.As("asks", "pay"), away.As("away", "deploy"))
	for i := range 3 {
		for _, skill := range []string{"pay", "deploy"} {
			_, err := w.agent.Run(t.Context(), arc.Objective{
				ID: fmt.Sprint(skill, i), Tasks: []reason.Task{{Objective: "do it", Skill: skill}},
			})
			require.NoError(t, err)
		}
	}
	got, _ := w.news()
	require.Contains(t, got, "action: question: which account?")
	require.Contains(t, got, "action: refused: deploy")
}
