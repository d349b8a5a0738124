package arc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// Upkeep is what [Agent.Maintain] did.
type Upkeep struct {
	learn.MaintenanceReport
	// Proposals are those that the analysis has made, or found made before, and
	// that no person has decided about.
	Proposals []meta.Proposal
}

// Maintain keeps a scope in order, and looks what should change. It archives
// memories that are old and unused, merges those that say the same, and analyses
// what the workers of the scope's tenant did, what people were asked, and which
// memories mislead. What keeps failing becomes proposals, about which a person
// decides: see [View.Proposals]. Of the scope's tenant it deletes what
// Options.Retention does not keep. Maintain changes nothing else. The scope "" is
// Options.Scope. Maintain is idempotent, and may run beside everything else.
func (a *Agent) Maintain(ctx context.Context, scope memory.Scope) (up Upkeep, err error) {
	scope = cmp.Or(scope, a.o.Scope)
	own, err := a.tenant(ctx, scope)
	if err != nil {
		return up, err
	}
	defer a.handBack(own)
	if err := a.pruneTenant(ctx, scope, a.o.Now()); err != nil {
		return up, fmt.Errorf("maintain: %w", err)
	}
	if up.MaintenanceReport, err = own.learner.Maintain(ctx, scope); err != nil {
		return up, err
	}
	drafts, err := a.analyse(ctx, own, scope)
	if err != nil {
		return up, fmt.Errorf("maintain: %w", err)
	}
	for _, d := range drafts {
		p, err := own.monitor.Propose(ctx, d)
		if err != nil {
			return up, fmt.Errorf("maintain: %w", err)
		}
		if p.Decided.IsZero() {
			up.Proposals = append(up.Proposals, p)
		}
	}
	return up, nil
}

// Proposals yields the proposals of the scope's tenant, those about one subject in
// the order in which they were made, decided and expired ones too. It ends after
// the first error.
func (v View) Proposals(ctx context.Context) iter.Seq2[meta.Proposal, error] {
	return func(yield func(meta.Proposal, error) bool) {
		own, err := v.a.tenant(ctx, v.scope)
		if err != nil {
			yield(meta.Proposal{}, err)
			return
		}
		defer v.a.handBack(own)
		own.monitor.Proposals(ctx)(yield)
	}
}

// Approve makes the change of an open proposal, all of it or nothing, in the name of
// a person. It returns the proposal as "applied", or as "failed" with the reason in
// Note. The error is store.ErrNotFound for an id that the scope's tenant has not,
// and store.ErrConflict for a proposal that is decided, lacks evidence, or is advice
// only.
func (v View) Approve(ctx context.Context, id, by, note string) (meta.Proposal, error) {
	return v.decide(ctx, id, "approve", by, note)
}

// Reject closes a proposal that is undecided. The same is not proposed again for
// seven days, unless the evidence has doubled. The errors are Approve's.
func (v View) Reject(ctx context.Context, id, by, note string) (meta.Proposal, error) {
	return v.decide(ctx, id, "reject", by, note)
}

// Undo takes the change of an applied proposal back, unless a later one about the
// same was applied. It returns the proposal as "undone", or as still "applied" with
// the reason in Note. The errors are Approve's.
func (v View) Undo(ctx context.Context, id, by, note string) (meta.Proposal, error) {
	return v.decide(ctx, id, "undo", by, note)
}

func (v View) decide(ctx context.Context, id, verdict, by, note string) (p meta.Proposal, err error) {
	own, err := v.a.tenant(ctx, v.scope)
	if err != nil {
		return p, err
	}
	defer v.a.handBack(own)
	own.deciding.Lock()
	defer own.deciding.Unlock()
	p, err = own.monitor.Decide(ctx, id, verdict, by, note)
	return p, errors.Join(err, own.heed(ctx))
}

// workerChange is the change of a proposal of kind executor.
type workerChange struct {
	Worker   string `json:"worker"`
	Skill    string `json:"skill"`
	Standing string `json:"standing"`
}

// memoryChange is the change of a proposal of kind memory.
type memoryChange struct {
	Scope    memory.Scope `json:"scope"`
	Memory   memory.ID    `json:"memory"`
	Archived bool         `json:"archived"`
}

// heed has the standings follow from the proposals that are applied: these alone
// are stored.
func (own *tenant) heed(ctx context.Context) error {
	var applied []meta.Proposal
	for p, err := range own.monitor.Proposals(ctx) {
		if err != nil {
			return fmt.Errorf("proposals: %w", err)
		}
		if p.Kind == "executor" && p.Status == "applied" {
			applied = append(applied, p)
		}
	}
	slices.SortStableFunc(applied, func(a, b meta.Proposal) int { return a.Decided.Compare(b.Decided) })
	standings := make(map[post]string)
	for _, p := range applied {
		var c workerChange
		if decodeChange(p.Change, &c) == nil {
			standings[post{c.Worker, c.Skill}] = c.Standing
		}
	}
	own.standings.Store(&standings)
	return nil
}

// relieved reports whether a worker that is not paused can do the skill beside the
// one named.
func (a *Agent) relieved(own *tenant, worker, skill string) bool {
	return slices.ContainsFunc(a.runner.Candidates(&reason.Task{Skill: skill}), func(c rank.Candidate) bool {
		return c.Name != worker && own.standing(c.Name, skill) != paused
	})
}

// apply makes the change of a proposal, and returns the one that undoes it. It can be
// called again: what it changes are absolute values. A change of a worker takes
// effect by heed.
func (a *Agent) apply(ctx context.Context, own *tenant, p meta.Proposal) (undo json.RawMessage, err error) {
	switch p.Kind {
	case "executor":
		var c workerChange
		if err := decodeChange(p.Change, &c); err != nil {
			return nil, err
		}
		if !slices.Contains([]string{inTurn, triedLast, paused}, c.Standing) {
			return nil, fmt.Errorf("unknown standing %q", c.Standing)
		}
		if c.Standing != inTurn && !a.relieved(own, c.Worker, c.Skill) {
			return nil, fmt.Errorf("no other worker can take tasks of skill %q", c.Skill)
		}
		c.Standing = own.standing(c.Worker, c.Skill)
		return json.Marshal(c)
	case "memory":
		var c memoryChange
		if err := decodeChange(p.Change, &c); err != nil {
			return nil, err
		}
		if c.Scope.Tenant() != own.name {
			return nil, fmt.Errorf("%w: scope %q", memory.ErrTenant, c.Scope)
		}
		if err := a.bank.In(c.Scope).Archive(ctx, c.Memory, c.Archived); err != nil {
			return nil, err
		}
		c.Archived = !c.Archived
		return json.Marshal(c)
	}
	return nil, fmt.Errorf("an agent makes no changes of kind %q", p.Kind)
}

// decodeChange reads a change, all of whose fields must be known.
func decodeChange(raw json.RawMessage, c any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return fmt.Errorf("the change cannot be read: %w", err)
	}
	return nil
}

// What evidence an analysis asks for.
const (
	evidenceWindow = 7 * 24 * time.Hour // of a worker's samples
	workerNeeds    = 50                 // samples
	minRecent      = 10                 // of them in the last day
	minMisled      = 3                  // times that a memory misled
	maxHarmful     = 0.3                // its effectiveness
)

// analyse returns what should be proposed, by the samples and runs of a tenant and
// the memories of a scope.
func (a *Agent) analyse(ctx context.Context, own *tenant, scope memory.Scope) ([]meta.Proposal, error) {
	now := a.o.Now()
	var attempts []meta.Outcome
	posts := make(map[post][]rank.Sample)
	fleet := a.runner.Workers()
	for s, err := range own.book.Samples(ctx, now.Add(-evidenceWindow)) {
		if err != nil {
			return nil, err
		}
		if s.Unknown || s.At.After(now) || !slices.Contains(fleet, s.Candidate) {
			continue
		}
		attempts = append(attempts, meta.Outcome{Goal: s.Situation.Skill, Success: s.Success, At: s.At})
		at := post{s.Candidate, s.Situation.Skill}
		posts[at] = append(posts[at], s)
	}
	escalated, err := a.escalations(ctx, own.name)
	if err != nil {
		return nil, err
	}
	tallies := meta.Analyse(now, slices.Values(attempts), slices.Values(escalated), nil)
	out := adviseActions(tallies)
	out = append(out, a.proposeWorkers(own, now, posts)...)
	more, err := a.proposeMemories(ctx, scope)
	return append(out, more...), err
}

// escalations are the runs of a tenant that were handed to a person, as outcomes of
// their situation.
func (a *Agent) escalations(ctx context.Context, tenant string) (out []meta.Outcome, err error) {
	day := Filter{Since: a.o.Now().Add(-rank.Day)}
	for s, err := range a.matching(ctx, memory.Scope(tenant), day) {
		if err != nil {
			return nil, err
		}
		if s.escalated() {
			out = append(out, meta.Outcome{Key: s.ID, Goal: s.Objective.Situation, At: at(s.Started)})
		}
	}
	return out, nil
}

// escalated reports whether a person was asked, or only a person can help: by a
// permission, an approval, a worker, or another idea.
func (s *state) escalated() bool {
	if s.Status == Blocked {
		return slices.Contains([]Cause{CauseStuck, CauseDenied, CausePermission, CauseNoWorker}, s.Cause)
	}
	return s.Status == Asking || slices.ContainsFunc(s.Aims, func(g aim) bool { return len(g.Answers) > 0 })
}

// adviseActions returns advice on the skills that keep failing, and on what people
// are asked again and again.
func adviseActions(tallies []meta.Tally) (out []meta.Proposal) {
	for _, t := range tallies {
		if t.Alert == "" {
			continue
		}
		p := meta.Proposal{
			Kind: "action", Subject: subject("skill", t.Subject), Reason: t.Alert, Samples: t.Total, Needs: t.Total,
			Advice: "give the skill another worker or a gate whose complaints help, or take it from the reasoner's list",
		}
		if t.Escalated {
			p.Subject = subject("asked about", t.Subject)
			p.Advice = "say in a memory or a skill's text what was answered, or give a worker the means to decide it"
		}
		out = append(out, p)
	}
	return out
}

// proposeWorkers proposes to try those workers last that have come to fail more often
// than not, and to pause those that always fail, where another can do the skill.
func (a *Agent) proposeWorkers(own *tenant, now time.Time, posts map[post][]rank.Sample) (out []meta.Proposal) {
	for at, samples := range posts {
		slices.SortFunc(samples, func(x, y rank.Sample) int { return cmp.Or(y.At.Compare(x.At), cmp.Compare(x.Key, y.Key)) })
		n, successes := chronic(samples)
		day := slices.DeleteFunc(slices.Clone(samples), func(s rank.Sample) bool { return now.Sub(s.At) > rank.Day })
		if recent, _ := chronic(day); recent < minRecent || !a.relieved(own, at.worker, at.skill) {
			continue
		}
		c := workerChange{at.worker, at.skill, triedLast}
		if successes == 0 && n >= workerNeeds {
			c.Standing = paused
		}
		if own.standing(at.worker, at.skill) != inTurn {
			continue
		}
		change, err := json.Marshal(c)
		if err != nil {
			continue // of three strings: never
		}
		out = append(out, meta.Proposal{
			Kind: "executor", Subject: subject(at.worker+" at", at.skill), Change: change, Samples: n, Needs: workerNeeds,
			Reason: fmt.Sprintf("%s succeeded in %d of the last %d attempts at %q", at.worker, successes, n, at.skill),
		})
	}
	slices.SortFunc(out, func(x, y meta.Proposal) int { return cmp.Compare(x.Subject, y.Subject) })
	return out
}

// chronic returns the number of samples, the latest first, up to which fewer than a
// half succeeded, and how many of them did.
func chronic(samples []rank.Sample) (n, successes int) {
	sum := 0
	for i, s := range samples {
		if s.Success {
			sum++
		}
		if 2*sum < i+1 {
			n, successes = i+1, sum
		}
	}
	return n, successes
}

// proposeMemories proposes to archive the memories that mislead, and hands on what
// memory itself has found.
func (a *Agent) proposeMemories(ctx context.Context, scope memory.Scope) (out []meta.Proposal, err error) {
	space := a.bank.In(scope)
	for r, err := range space.All(ctx) {
		if err != nil {
			return nil, err
		}
		if r.Archived || r.Stats.Misled < minMisled || r.Effectiveness() >= maxHarmful {
			continue
		}
		change, err := json.Marshal(memoryChange{scope, r.ID, true})
		if err != nil {
			return nil, err
		}
		out = append(out, meta.Proposal{
			Kind: "memory", Subject: subject(string(scope), string(r.ID)), Change: change,
			Reason:  fmt.Sprintf("it misled %d times and helped %d times: %s", r.Stats.Misled, r.Stats.Helped, clip(r.Content)),
			Samples: r.Stats.Misled, Needs: minMisled,
			Advice: "archive it: it is found when asked for, and not shown by default",
		})
	}
	h, err := space.Health(ctx)
	if err != nil || h.Total == 0 {
		return out, err
	}
	for _, issue := range h.Issues {
		out = append(out, meta.Proposal{
			Kind: "memory", Subject: subject(string(scope), issue.Text), Reason: issue.Text, Advice: issue.Advice,
			Samples: 1, Needs: 1,
		})
	}
	return out, nil
}

// subject names what a proposal is about, within the limit of names.
func subject(what, of string) string {
	const limit = 200 // bytes
	s := fmt.Sprintf("%s %q", what, of)
	if len(s) <= limit {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return strings.ToValidUTF8(s[:limit], "") + " " + hex.EncodeToString(sum[:8])
}

// tells reports whether a proposal may quote runs or memories of a scope: any may
// that does not stand, and is made again on what is left.
func tells(p meta.Proposal, scope memory.Scope) bool {
	var c memoryChange
	return p.Status != "applied" || p.Kind == "memory" && decodeChange(p.Change, &c) == nil && inside(c.Scope, scope)
}

// over reports whether a proposal was decided, and changes nothing any more.
func over(p meta.Proposal) bool {
	return slices.Contains([]string{"rejected", "expired", "failed", "undone"}, p.Status)
}

// waiting counts the proposals that a person can decide about.
func (own *tenant) waiting(ctx context.Context) (n int, err error) {
	for p, err := range own.monitor.Proposals(ctx) {
		if err != nil {
			return 0, err
		}
		if p.Status == "open" {
			n++
		}
	}
	return n, nil
}
