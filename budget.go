package arc

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/ledger"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// left returns how much of its Wall the run has left, at least 1 ns; 0: Wall is unbounded.
func (t *turn) left() time.Duration {
	wall := t.s.Objective.Budget.Wall
	if wall == 0 {
		return 0
	}
	return max(1, wall-t.s.spent(t.a.o.Now()).Wall)
}

// shares returns the ledgers of the run.
func (t *turn) shares() []ledger.Share {
	o, all := &t.a.o, []ledger.Share(nil)
	add := func(bound Budget, day int64, kind string, name string) {
		if bound != (Budget{}) {
			k := key.Under(t.own.name, ledger.Keys, kind, name)
			all = append(all, ledger.Share{Key: k, Bound: ledger.Amount(bound), Day: day})
		}
	}
	add(o.Bounds.Session, 0, "session", t.s.Session)
	add(o.Bounds.Scope, 0, "scope", partOf(t.s.Objective.Scope))
	add(o.Bounds.Day, o.Now().UTC().Unix()/int64(24*time.Hour/time.Second), "day", "")
	if o.Spend > 0 {
		all = append(all, t.purse())
	}
	return all
}

// purse returns the ledger for Options.Spend.
func (t *turn) purse() ledger.Share {
	return ledger.Share{Key: key.Under(t.own.name, ledger.Keys, "spend", ""), Each: t.a.o.Spend}
}

// sharing reports whether replicas share the budgets from which the run reserves. Then the run has
// to be in the store before it reserves: a replica that takes it over releases the reservation.
func (t *turn) sharing() bool { return t.a.leases != nil && len(t.shares()) > 0 }

// pay calls keep to commit the run, and adds what the run has used since the last call to its
// ledgers. It releases the run's reservation unless the attempt is yet to be made.
func (t *turn) pay(ctx context.Context, begins bool, keep ledger.Commit) error {
	used := t.s.used(t.a.o.Now())
	paid, err := t.own.ledgers.Settle(ctx, t.shares(), ledger.Bill{
		Run: t.s.ID, Begins: begins, Since: used.Less(t.paid), Done: t.s.Phase != phaseAct,
	}, keep)
	if paid {
		t.paid = used
	}
	return err
}

// priced returns the situation of an attempt with its worth, and with the workers that have failed
// at the current task, if there is one.
func (t *turn) priced(ctx context.Context, at rank.Situation) (rank.Situation, error) {
	at.Worth = t.a.o.Worth
	if len(t.s.Aims) > 0 {
		at.Failed = t.s.aim().failedAt()
	}
	if t.a.o.Spend == 0 {
		return at, nil
	}
	p, err := t.own.ledgers.Purse(ctx, t.purse())
	if err == nil {
		at.Worth = p.Worth(at.Worth)
	}
	return at, err
}

// unpriced logs, once, that a budget in US dollars has no effect: the run has used tokens, and no
// part has reported their cost.
func (t *turn) unpriced() {
	o, u, b := &t.a.o, &t.s.Usage, &t.a.o.Bounds
	usd := t.s.Objective.Budget.CostUSD + b.Session.CostUSD + b.Scope.CostUSD + b.Day.CostUSD + o.Spend
	tokens := int64(u.TokensIn + u.TokensOut - t.s.Before.Tokens)
	if usd == 0 || u.CostUSD != 0 || tokens == 0 {
		return
	}
	if t.a.unpriced.Add(tokens) == tokens {
		o.Logger.Warn("a budget in US dollars binds nothing: no part says what its tokens cost", "run", t.s.ID)
	}
}

// afford removes from the ranking the workers whose attempt is not worth its price or exceeds a
// budget. It returns why none is left. The price is what the worker's attempts have cost on average:
// a worker of whom nothing is known costs nothing here, and is bounded by what it then uses.
func (t *turn) afford(
	ctx context.Context, task *reason.Task, ranking []rank.Scored,
) (left []rank.Scored, cause Cause, why string, err error) {
	own := t.s.Objective.Budget
	own.Steps = 0
	if own == (Budget{}) && t.shares() == nil && ranking[0].Parts.Basis != rank.Priced {
		return ranking, "", "", nil
	}
	cause, why = CauseWorth, fmt.Sprintf("another attempt at task %d is not worth its price", t.s.aim().Next+1)
	for _, r := range ranking {
		if r.Parts.Basis == rank.Priced && r.Score <= 0 {
			continue
		}
		price, err := t.price(ctx, task, &r)
		if err != nil {
			return nil, "", "", err
		}
		over := t.s.bounds().Lacks("the run", t.s.spent(t.a.o.Now()), ledger.Amount{}, price)
		if over == "" {
			over, err = t.own.ledgers.Lacks(ctx, t.shares(), t.s.Usage.CostUSD, price)
		}
		if err != nil {
			return nil, "", "", err
		}
		if over != "" {
			cause, why = CauseBudget, fmt.Sprintf("an attempt of %s %s", r.Candidate.Name, over)
			continue
		}
		left = append(left, r)
	}
	return left, cause, why, nil
}

// price returns what an attempt of the worker uses on average.
func (t *turn) price(ctx context.Context, task *reason.Task, r *rank.Scored) (ledger.Amount, error) {
	s, err := t.own.book.Stats(ctx, r.Candidate.Name, task.Skill)
	if err != nil {
		return ledger.Amount{}, fmt.Errorf("budget: %w", err)
	}
	p := ledger.Amount{Wall: s.Wall, Tokens: int(s.TokensIn + s.TokensOut), CostUSD: s.CostUSD}
	if r.Parts.Basis == rank.Priced {
		p.CostUSD = r.Parts.Cost
	}
	return p, nil
}

// reserve reserves the price of the worker's attempt until it is paid. It reports false if other
// runs have meanwhile reserved too much. Without it, runs side by side would each see the same money
// left, and spend it together.
func (t *turn) reserve(ctx context.Context, task *reason.Task, worker string, ranking []rank.Scored) (bool, error) {
	shares := t.shares()
	if len(shares) == 0 {
		return true, nil
	}
	i := slices.IndexFunc(ranking, func(r rank.Scored) bool { return r.Candidate.Name == worker })
	price, err := t.price(ctx, task, &ranking[i])
	if err != nil {
		return false, err
	}
	return t.own.ledgers.Reserve(ctx, shares, t.s.ID, t.s.Usage.CostUSD, price)
}

// holdAgain reserves the price of an attempt that was cut off, or waited, and may have lost its
// share. It reports false if there is no room for it any more: then another has to be assigned.
func (t *turn) holdAgain(ctx context.Context) (bool, error) {
	g, c := t.s.aim(), t.s.Current
	as := []rank.Scored{{Candidate: rank.Candidate{Name: c.Worker}}}
	held, err := t.reserve(ctx, &g.Tasks[g.Next], c.Worker, as)
	if err != nil {
		return false, err
	}
	if t.unheld = false; !held {
		t.s = t.s.fork()
		t.s.aim().Tries--
		t.s.Current = nil
	}
	return held, nil
}

// unreserve releases what the run has reserved and will not use.
func (t *turn) unreserve(ctx context.Context) error {
	return t.own.ledgers.Release(ctx, t.shares(), t.s.ID)
}

// failedAt returns the workers that have failed at the current task, each as often as it has.
func (g *aim) failedAt() []string {
	var names []string
	for _, f := range g.Failed[max(0, len(g.Failed)-g.Tries):] {
		names = append(names, f.Worker)
	}
	return names
}
