package arc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Bounds are budgets that runs share. An attempt reserves what its worker takes
// on average before it begins, and what it took is settled after. Zero fields are
// unbounded, Steps too.
type Bounds struct {
	Session Budget // of all runs of a session
	Scope   Budget // of all runs of a scope
	Day     Budget // of all runs of a tenant in a day, by UTC
}

// ledgerKeys lead from what shares a budget to what it has used.
const ledgerKeys = "ledger"

// ledger is what the runs have used that share a budget.
type ledger struct {
	Runs int    `cbor:"75,keyasint,omitempty"`
	Used Budget `cbor:"76,keyasint,omitempty"`
	Day  int64  `cbor:"77,keyasint,omitempty"` // that it is of; 0: of all

	reserved Budget // by attempts under way
}

// ledgers are those of a tenant.
type ledgers struct {
	sync.Mutex
	at map[string]*ledger
}

// drop forgets a ledger, and returns what deletes it.
func (l *ledgers) drop(name string) store.Op {
	l.Lock()
	defer l.Unlock()
	delete(l.at, name)
	return store.Op{Key: name, Delete: true}
}

// share is a ledger that a run has a share in, with its bound.
type share struct {
	name  string
	bound Budget
	day   int64
	each  float64 // of a purse: US dollars a run
}

// shares returns the ledgers of the run.
func (t *turn) shares() []share {
	o, all := &t.a.o, []share(nil)
	add := func(bound Budget, day int64, kind string, name string) {
		if bound != (Budget{}) {
			all = append(all, share{name: key.Under(t.own.name, ledgerKeys, kind, name), bound: bound, day: day})
		}
	}
	add(o.Bounds.Session, 0, "session", t.s.Session)
	add(o.Bounds.Scope, 0, "scope", string(t.s.Objective.Scope))
	add(o.Bounds.Day, o.Now().UTC().Unix()/int64(24*time.Hour/time.Second), "day", "")
	if o.Spend > 0 {
		all = append(all, share{name: key.Under(t.own.name, ledgerKeys, "spend", ""), each: o.Spend})
	}
	return all
}

// ledgerLocked returns a ledger, from the store unless it is in memory.
func (t *turn) ledgerLocked(ctx context.Context, s share) (*ledger, error) {
	if t.own.ledgers.at == nil {
		t.own.ledgers.at = make(map[string]*ledger)
	}
	l := t.own.ledgers.at[s.name]
	if l == nil {
		l = new(ledger)
		e, err := t.a.st.Get(ctx, s.name)
		if err == nil {
			err = codec.Decode(e, l)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("budget: %w", err)
		}
		t.own.ledgers.at[s.name] = l
	}
	if l.Day != s.day {
		*l = ledger{Day: s.day, reserved: l.reserved}
	}
	return l, nil
}

// or returns b with the bounds of d where b has none.
func (b Budget) or(d Budget) Budget {
	if b.Steps == 0 {
		b.Steps = d.Steps
	}
	if b.Wall == 0 {
		b.Wall = d.Wall
	}
	if b.Tokens == 0 {
		b.Tokens = d.Tokens
	}
	if b.CostUSD == 0 {
		b.CostUSD = d.CostUSD
	}
	return b
}

// check returns an error for bounds that are negative or not a number.
func (b Budget) check() error {
	if b.Steps < 0 || b.Wall < 0 || b.Tokens < 0 || !(b.CostUSD >= 0) {
		return errors.New("budget: negative or not a number")
	}
	return nil
}

// left is how much of Wall is left after spent, at least 1; 0: Wall is unbounded.
func (b Budget) left(spent Budget) time.Duration {
	if b.Wall == 0 {
		return 0
	}
	return max(1, b.Wall-spent.Wall)
}

// reached says which bound spent has reached, or "".
func (b Budget) reached(spent Budget) string {
	switch {
	case b.Steps > 0 && spent.Steps >= b.Steps:
		return fmt.Sprintf("budget of %d steps is spent", b.Steps)
	case b.Wall > 0 && spent.Wall >= b.Wall:
		return fmt.Sprintf("budget of %v is spent", b.Wall)
	case b.Tokens > 0 && spent.Tokens >= b.Tokens:
		return fmt.Sprintf("budget of %d tokens is spent", b.Tokens)
	case b.CostUSD > 0 && spent.CostUSD >= b.CostUSD:
		return fmt.Sprintf("budget of $%g is spent", b.CostUSD)
	}
	return ""
}

// used returns the largest share of a bound that is spent, and names the bound.
// Shares below a half count as 0: metacognition does not ask for them.
func (b Budget) used(spent Budget) (share float64, bound string) {
	shares := [...]float64{
		ratio(float64(spent.Steps), float64(b.Steps)), ratio(float64(spent.Wall), float64(b.Wall)),
		ratio(float64(spent.Tokens), float64(b.Tokens)), ratio(spent.CostUSD, b.CostUSD),
	}
	most := 0
	for i, share := range shares {
		if share > shares[most] {
			most = i
		}
	}
	if shares[most] < 0.5 {
		return 0, ""
	}
	names := [...]string{
		fmt.Sprint(b.Steps, " steps"), b.Wall.String(), fmt.Sprint(b.Tokens, " tokens"), fmt.Sprintf("$%g", b.CostUSD),
	}
	return min(1, shares[most]), names[most]
}

// ratio is the share of a bound; 0: the bound is none.
func ratio(used, bound float64) float64 {
	if bound <= 0 {
		return 0
	}
	return used / bound
}

// plus and less add and subtract what was used.
func (b Budget) plus(d Budget) Budget {
	return Budget{b.Steps + d.Steps, b.Wall + d.Wall, b.Tokens + d.Tokens, b.CostUSD + d.CostUSD}
}

func (b Budget) less(d Budget) Budget {
	return Budget{b.Steps - d.Steps, b.Wall - d.Wall, b.Tokens - d.Tokens, b.CostUSD - d.CostUSD}
}

// bears reports whether so much stays within the bound.
func (b Budget) bears(d Budget) bool {
	return (b.Steps == 0 || d.Steps <= b.Steps) && (b.Wall == 0 || d.Wall <= b.Wall) &&
		(b.Tokens == 0 || d.Tokens <= b.Tokens) && (b.CostUSD == 0 || d.CostUSD <= b.CostUSD)
}

// pay adds what the run has used since to its ledgers, and releases what it has
// reserved unless the attempt is yet to be made.
func (t *turn) pay(ctx context.Context, begins bool) error {
	shares := t.shares()
	if len(shares) == 0 {
		return nil
	}
	used, reserved := t.s.used(t.a.o.Now()), t.reserved
	if t.s.Phase == phaseAct {
		reserved = Budget{}
	}
	since := used.less(t.paid)
	t.paid, t.reserved = used, t.reserved.less(reserved)
	t.own.ledgers.Lock()
	defer t.own.ledgers.Unlock()
	for _, s := range shares {
		l, err := t.ledgerLocked(ctx, s)
		if err != nil {
			return err
		}
		l.Used, l.reserved = l.Used.plus(since), l.reserved.less(reserved)
		if begins {
			l.Runs++
		}
		value, err := codec.Encode(s.name, l)
		if err == nil {
			err = t.a.w.Add(ctx, store.Op{Key: s.name, Value: value})
		}
		if err != nil {
			return fmt.Errorf("budget: %w", err)
		}
	}
	return nil
}

// exhausted says which bound of the run, or of those it has a share in, is
// reached, or "".
func (t *turn) exhausted(ctx context.Context) (string, error) {
	if why := t.s.Objective.Budget.reached(t.s.spent(t.a.o.Now())); why != "" {
		return why, nil
	}
	t.own.ledgers.Lock()
	defer t.own.ledgers.Unlock()
	for _, s := range t.shares() {
		l, err := t.ledgerLocked(ctx, s)
		if err != nil {
			return "", err
		}
		if why := s.bound.reached(l.Used); why != "" {
			return key.Split(s.name)[len(key.Split(s.name))-2] + " " + why, nil
		}
	}
	return "", nil
}

// priced is the situation of an attempt with what it is worth now, and who has
// failed at the task at hand, if there is one.
func (t *turn) priced(ctx context.Context, at rank.Situation) (rank.Situation, error) {
	p, err := t.purse(ctx)
	if at.Worth = t.a.o.Worth; p.Each > 0 {
		at.Worth = p.Worth(at.Worth)
	}
	if len(t.s.Aims) > 0 {
		at.Failed = t.s.aim().failedAt()
	}
	return at, err
}

// purse is what the tenant's runs may spend on average, and have; zero: they
// share none.
func (t *turn) purse(ctx context.Context) (rank.Purse, error) {
	if t.a.o.Spend == 0 {
		return rank.Purse{}, nil
	}
	t.own.ledgers.Lock()
	defer t.own.ledgers.Unlock()
	l, err := t.ledgerLocked(ctx, share{name: key.Under(t.own.name, ledgerKeys, "spend", "")})
	if err != nil {
		return rank.Purse{}, err
	}
	return rank.Purse{Each: t.a.o.Spend, Tasks: l.Runs, Spent: l.Used.CostUSD + l.reserved.CostUSD}, nil
}

// afford leaves of the ranking those whose attempt is worth its price and fits into
// every budget. It says why none is left.
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
		fits, err := t.fits(ctx, price, false)
		if err != nil {
			return nil, "", "", err
		}
		if !fits {
			cause, why = CauseBudget, fmt.Sprintf("an attempt of %s is over the budget", r.Candidate.Name)
			continue
		}
		left = append(left, r)
	}
	return left, cause, why, nil
}

// price is what an attempt of the worker takes on average.
func (t *turn) price(ctx context.Context, task *reason.Task, r *rank.Scored) (Budget, error) {
	s, err := t.own.book.Stats(ctx, r.Candidate.Name, task.Skill)
	if err != nil {
		return Budget{}, fmt.Errorf("budget: %w", err)
	}
	p := Budget{Wall: s.Wall, Tokens: int(s.TokensIn + s.TokensOut), CostUSD: s.CostUSD}
	if r.Parts.Basis == rank.Priced {
		p.CostUSD = r.Parts.Cost
	}
	return p, nil
}

// fits reports whether an attempt of the price stays within every budget. If so, and
// it is to be reserved, it is set aside until it is paid, before anybody else asks.
func (t *turn) fits(ctx context.Context, price Budget, reserve bool) (bool, error) {
	if !t.s.Objective.Budget.bears(t.s.spent(t.a.o.Now()).plus(price)) {
		return false, nil
	}
	t.own.ledgers.Lock()
	defer t.own.ledgers.Unlock()
	var all []*ledger
	for _, s := range t.shares() {
		l, err := t.ledgerLocked(ctx, s)
		if err != nil {
			return false, err
		}
		p := rank.Purse{Each: s.each, Tasks: l.Runs, Spent: l.Used.CostUSD + l.reserved.CostUSD}
		if !s.bound.bears(l.Used.plus(l.reserved).plus(price)) ||
			s.each > 0 && !p.Affords(t.s.Usage.CostUSD, price.CostUSD) {
			return false, nil
		}
		all = append(all, l)
	}
	if !reserve {
		return true, nil
	}
	for _, l := range all {
		l.reserved = l.reserved.plus(price)
	}
	t.reserved = t.reserved.plus(price)
	return true, nil
}

// reserve sets the price of the worker's attempt aside. It reports false if others
// have reserved meanwhile what it would take.
func (t *turn) reserve(ctx context.Context, task *reason.Task, worker string, ranking []rank.Scored) (bool, error) {
	if len(t.shares()) == 0 {
		return true, nil
	}
	i := slices.IndexFunc(ranking, func(r rank.Scored) bool { return r.Candidate.Name == worker })
	price, err := t.price(ctx, task, &ranking[i])
	if err != nil {
		return false, err
	}
	return t.fits(ctx, price, true)
}

// unreserve gives back what the run has reserved and will not use.
func (t *turn) unreserve() {
	t.own.ledgers.Lock()
	defer t.own.ledgers.Unlock()
	for _, s := range t.shares() {
		if l := t.own.ledgers.at[s.name]; l != nil {
			l.reserved = l.reserved.less(t.reserved)
		}
	}
	t.reserved = Budget{}
}

// failedAt names the workers that have failed at the task at hand, each as often
// as it has.
func (g *aim) failedAt() []string {
	var names []string
	for _, f := range g.Failed[max(0, len(g.Failed)-g.Tries):] {
		names = append(names, f.Worker)
	}
	return names
}
