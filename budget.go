package arc

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Budget bounds what the models of a run take; 0 is no bound. It is looked at before each decision, attempt,
// and try after an outage or an answer, so what is under way is finished, checked and learned from. Not
// counted are what a model does not tell, what gates other than act.Judge take, and a run that an attempt
// calls. An attempt that puts the Usage of such a run into its Result counts it, and the day counts it twice.
type Budget struct {
	Tokens int     // input and output
	USD    float64 // neither the dollars that were reported reach it, nor those that were estimated
}

func (b Budget) check() error {
	if b.Tokens < 0 || !(b.USD >= 0) {
		return fmt.Errorf("%w: a Budget is below 0", store.ErrInvalid)
	}
	return nil
}

// spent says which bound is reached; "": none.
func (b Budget) spent(u *reason.Usage) string {
	if u == nil {
		return ""
	}
	if n := u.Input + u.Output; b.Tokens > 0 && n >= b.Tokens {
		return fmt.Sprintf("it has taken %d tokens of %d", n, b.Tokens)
	}
	for i, usd := range []*float64{u.CostUSD, u.EstimateUSD} {
		if b.USD > 0 && usd != nil && *usd >= b.USD {
			return fmt.Sprintf("it has taken $%.4f (%s) of $%.4f", *usd, []string{"reported", "estimated"}[i], b.USD)
		}
	}
	return ""
}

// bounded is the phase that comes next: the end, where a decision, an attempt, or another try of one after an
// outage or an answer would follow, and nothing more may be spent.
func (t *turn) bounded(ctx context.Context, next phase) (phase, error) {
	if next != reasonPhase && next != assignPhase && (next != actPhase || t.Wait.Tries+len(t.Answers) == 0) {
		return next, nil
	}
	why := t.objective.Budget.spent(t.Usage.Add(t.Current.Usage))
	if daily := t.agent.opts.Daily; why == "" && daily != (Budget{}) {
		day, _, err := codec.Load[reason.Usage](ctx, t.tenant.group.Store(), dayKey(t.Scope, t.now()))
		if err != nil {
			return "", fmt.Errorf("arc: %w", err)
		}
		if why = daily.spent(day.Add(t.spent())); why != "" {
			why = "the tenant's day: " + why
		}
	}
	if why == "" {
		return next, nil
	}
	return t.block(Spent, why), nil
}

// answered is what the answers of the attempt that is under way took, as far as they are kept.
func (t *turn) answered(ctx context.Context) (sum *reason.Usage, err error) {
	for e, err := range (View{agent: t.agent, scope: t.Scope}).Journal(ctx, t.ID) {
		var took *reason.Usage
		switch {
		case err != nil:
			return nil, err
		case e.Kind == "attempt":
			sum = nil
		case e.Kind == "answer" && json.Unmarshal(e.Data, &took) == nil: // else it is a host's own
			sum = sum.Add(took)
		}
	}
	return sum, nil
}

// spent is what the run has taken since its last commit, as far as it is known.
func (t *turn) spent() *reason.Usage { return t.Usage.Add(t.Current.Usage).Since(t.counted) }

func (t *turn) stageDay(ctx context.Context, b *store.Batch, spent *reason.Usage) error {
	if spent == nil || *spent == (reason.Usage{}) || t.agent.opts.Daily == (Budget{}) {
		return nil
	}
	key := dayKey(t.Scope, t.now())
	day, unchanged, err := codec.Load[reason.Usage](ctx, b, key)
	if err != nil {
		return fmt.Errorf("arc: %w", err)
	}
	return codec.Put(b, key, day.Add(spent), unchanged)
}
