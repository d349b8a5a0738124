package arc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Bounds are budgets that runs share, those of other replicas too. An attempt reserves
// what its worker takes on average before it begins, and what it took is settled
// after. Zero fields are unbounded, Steps too.
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
	Held []hold `cbor:"240,keyasint,omitempty"`

	rev store.Revision // that it was read at
}

// hold is what a run has reserved for its attempt under way.
type hold struct {
	Run   string `cbor:"241,keyasint,omitempty"`
	Price Budget `cbor:"242,keyasint,omitempty"`
}

// release removes what a run has reserved, and reports whether it had.
func (l *ledger) release(run string) bool {
	n := len(l.Held)
	l.Held = slices.DeleteFunc(l.Held, func(h hold) bool { return h.Run == run })
	return len(l.Held) < n
}

// taken is what was used, and is reserved.
func (l *ledger) taken() Budget {
	all := l.Used
	for _, h := range l.Held {
		all = all.plus(h.Price)
	}
	return all
}

// ledgers are those of a tenant, as they were read last where replicas share them.
type ledgers struct {
	turn chan struct{} // holds one while a goroutine uses at
	at   map[string]*ledger
	keep keepLedgers
}

// keepLedgers writes ledgers: behind, unless they have conditions.
type keepLedgers func(ctx context.Context, ops ...store.Op) (store.Revision, error)

func newLedgers(keep keepLedgers) ledgers {
	return ledgers{make(chan struct{}, 1), make(map[string]*ledger), keep}
}

// Lock and Unlock are those of a mutex. A commit may be waited for in between.
func (l *ledgers) Lock()   { l.turn <- struct{}{} }
func (l *ledgers) Unlock() { <-l.turn }

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

// sharing reports whether replicas share what the run reserves, which then has to be in the
// store before: who takes it over releases what a killed one has reserved.
func (t *turn) sharing() bool { return t.a.leases != nil && len(t.shares()) > 0 }

// counts reports whether a ledger has to have what was used.
func (s *share) counts(used Budget) bool {
	b := &s.bound
	return b.Steps != 0 && used.Steps != 0 || b.Wall != 0 && used.Wall != 0 || b.Tokens != 0 && used.Tokens != 0 ||
		(b.CostUSD != 0 || s.each != 0) && used.CostUSD != 0
}

// lacks says why a ledger has no room for an attempt of a run that has used so much; "": it has.
func (s *share) lacks(l *ledger, used, price Budget) string {
	all := l.taken()
	p := rank.Purse{Each: s.each, Tasks: l.Runs, Spent: all.CostUSD}
	if s.each != 0 && !p.Affords(used.CostUSD, price.CostUSD) {
		return fmt.Sprintf("takes about %s, and %d runs have used %s of a budget of %s each",
			dollars(price.CostUSD), p.Tasks, dollars(p.Spent), dollars(s.each))
	}
	return s.bound.lacks("the "+s.kind(), all, price)
}

// kind is what shares the ledger: a session, a scope, a day.
func (s *share) kind() string {
	parts := key.Split(s.name)
	return parts[len(parts)-2]
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
	add(o.Bounds.Scope, 0, "scope", partOf(t.s.Objective.Scope))
	add(o.Bounds.Day, o.Now().UTC().Unix()/int64(24*time.Hour/time.Second), "day", "")
	if o.Spend > 0 {
		all = append(all, share{name: key.Under(t.own.name, ledgerKeys, "spend", ""), each: o.Spend})
	}
	return all
}

// ledgerLocked returns a ledger, from the store unless it is in memory.
func (t *turn) ledgerLocked(ctx context.Context, s share) (*ledger, error) {
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
		if l.rev = e.Rev; t.a.leases == nil {
			l.Held = nil // by who had the store before
		}
		t.own.ledgers.at[s.name] = l
	}
	if l.Day < s.day { // another replica's clock may be ahead
		*l = ledger{Day: s.day, Held: l.Held, rev: l.rev}
	}
	return l, nil
}

// amend has change alter the ledgers of the run that it returns true for, and keep write
// them. Where replicas share them, that is on condition that they are as change has seen
// them, else both are called again.
func (t *turn) amend(
	ctx context.Context, change func(share, *ledger) (bool, error), keep keepLedgers,
) error {
	own := &t.own.ledgers
	own.Lock()
	defer own.Unlock()
	for {
		var ops []store.Op
		var was, is []*ledger
		var of []share // all by the same index
		for _, s := range t.shares() {
			l, err := t.ledgerLocked(ctx, s)
			if err != nil {
				return err
			}
			n := *l
			n.Held = slices.Clone(l.Held)
			changed, err := change(s, &n)
			if err != nil {
				return err
			}
			if !changed {
				continue
			}
			op, kept := store.Op{Key: s.name, If: store.At(l.rev)}, n
			if t.a.leases == nil {
				op.If, kept.Held = store.Any, nil
			}
			if op.Value, err = codec.Encode(s.name, &kept); err != nil {
				return fmt.Errorf("budget: %w", err)
			}
			ops, was, is, of = append(ops, op), append(was, l), append(is, &n), append(of, s)
		}
		for i, s := range of {
			own.at[s.name] = is[i]
		}
		rev, err := keep(ctx, ops...)
		if t.a.leases == nil || err == nil {
			for i := range is {
				is[i].rev = rev
			}
			return err
		}
		others := false
		for i, s := range of {
			delete(own.at, s.name)
			l, look := t.ledgerLocked(ctx, s)
			others = others || look == nil && l.rev != was[i].rev
		}
		if !others || !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
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
		return fmt.Sprintf("budget of %s is spent", dollars(b.CostUSD))
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
		fmt.Sprint(b.Steps, " steps"), b.Wall.String(), fmt.Sprint(b.Tokens, " tokens"), dollars(b.CostUSD),
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

// dollars is an amount to read: to the cent, a small one to four digits.
func dollars(v float64) string {
	digits := max(2, 3-int(math.Floor(math.Log10(max(v, 1e-9)))))
	return "$" + strings.TrimRight(strings.TrimRight(strconv.FormatFloat(v, 'f', digits, 64), "0"), ".")
}

// lacks says which bound an attempt of the price would pass where so much is spent; "": none.
func (b Budget) lacks(who string, spent, price Budget) string {
	all, why := spent.plus(price), ""
	says := func(format string, price, spent, bound any) string {
		format = fmt.Sprintf("takes about %[1]s, and %%s has used %[1]s of its budget of %[1]s", format)
		return fmt.Sprintf(format, price, who, spent, bound)
	}
	switch {
	case b.Steps != 0 && all.Steps > b.Steps:
		why = says("%d steps", price.Steps, spent.Steps, b.Steps)
	case b.Wall != 0 && all.Wall > b.Wall:
		why = says("%v", price.Wall.Round(time.Millisecond), spent.Wall.Round(time.Millisecond), b.Wall)
	case b.Tokens != 0 && all.Tokens > b.Tokens:
		why = says("%d tokens", price.Tokens, spent.Tokens, b.Tokens)
	case b.CostUSD != 0 && all.CostUSD > b.CostUSD:
		why = says("%s", dollars(price.CostUSD), dollars(spent.CostUSD), dollars(b.CostUSD))
	}
	if past := b.reached(spent); why != "" && past != "" { // whatever the attempt takes
		return "comes too late: " + who + "'s " + past
	}
	return why
}

// pay has keep commit the run, and adds what the run has used since to its ledgers. It
// releases what the run has reserved unless the attempt is yet to be made. Replicas write
// the ledgers with the run, if a bound has to do with it.
func (t *turn) pay(ctx context.Context, begins bool, keep keepLedgers) error {
	shares, used := t.shares(), t.s.used(t.a.o.Now())
	if len(shares) == 0 {
		_, err := keep(ctx)
		return err
	}
	since := used.less(t.paid)
	counts := begins || t.a.leases == nil || slices.ContainsFunc(shares, func(s share) bool { return s.counts(since) })
	change := func(_ share, l *ledger) (bool, error) {
		released := t.s.Phase != phaseAct && l.release(t.s.ID)
		if begins {
			l.Runs++
		}
		l.Used = l.Used.plus(since)
		return counts || released, nil
	}
	if t.a.leases != nil {
		return t.amend(ctx, change, func(ctx context.Context, ops ...store.Op) (store.Revision, error) {
			rev, err := keep(ctx, ops...)
			if err == nil && len(ops) > 0 {
				t.paid = used
			}
			return rev, err
		})
	}
	t.paid = used
	var behind error // of what the Writer was handed before, which says nothing of this run
	err := t.amend(ctx, change, func(ctx context.Context, ops ...store.Op) (store.Revision, error) {
		_, behind = t.own.ledgers.keep(ctx, ops...)
		return 0, nil
	})
	if err == nil {
		_, err = keep(ctx)
	}
	return cmp.Or(err, behind)
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
		if t.a.leases != nil {
			delete(t.own.ledgers.at, s.name) // others may have altered it
		}
		l, err := t.ledgerLocked(ctx, s)
		if err != nil {
			return "", err
		}
		if why := s.bound.reached(l.Used); why != "" {
			return s.kind() + " " + why, nil
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
	return rank.Purse{Each: t.a.o.Spend, Tasks: l.Runs, Spent: l.taken().CostUSD}, nil
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
		over, err := t.overspends(ctx, price)
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

// overspends says which budget an attempt of the price does not stay within; "": it does.
func (t *turn) overspends(ctx context.Context, price Budget) (string, error) {
	if why := t.s.Objective.Budget.lacks("the run", t.s.spent(t.a.o.Now()), price); why != "" {
		return why, nil
	}
	t.own.ledgers.Lock()
	defer t.own.ledgers.Unlock()
	for _, s := range t.shares() {
		l, err := t.ledgerLocked(ctx, s)
		if err != nil {
			return "", err
		}
		if why := s.lacks(l, Budget{CostUSD: t.s.Usage.CostUSD}, price); why != "" {
			return why, nil
		}
	}
	return "", nil
}

var errFull = errors.New("the budget has no room")

// reserve sets the price of the worker's attempt aside until it is paid. It reports
// false if others have reserved meanwhile what it would take.
func (t *turn) reserve(ctx context.Context, task *reason.Task, worker string, ranking []rank.Scored) (bool, error) {
	if len(t.shares()) == 0 {
		return true, nil
	}
	i := slices.IndexFunc(ranking, func(r rank.Scored) bool { return r.Candidate.Name == worker })
	price, err := t.price(ctx, task, &ranking[i])
	if err != nil {
		return false, err
	}
	err = t.amend(ctx, func(s share, l *ledger) (bool, error) {
		if s.lacks(l, Budget{CostUSD: t.s.Usage.CostUSD}, price) != "" {
			return false, errFull
		}
		l.release(t.s.ID)
		l.Held = append(l.Held, hold{t.s.ID, price})
		return true, nil
	}, t.own.ledgers.keep)
	if errors.Is(err, errFull) {
		return false, nil
	}
	return err == nil, err
}

// unreserve gives back what the run has reserved and will not use.
func (t *turn) unreserve(ctx context.Context) error {
	return t.amend(ctx, func(_ share, l *ledger) (bool, error) { return l.release(t.s.ID), nil }, t.own.ledgers.keep)
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
