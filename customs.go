package arc

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/internal/breaker"
	"github.com/arc-learn/arc/internal/census"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/ledger"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/store"
)

// customs says of each record of an export whether it can be one of the scope.
type customs struct {
	scope    memory.Scope
	tenant   string
	memories func(store.Entry) error
	// outputs are the keys of those of the last run, episodes the names of its episodes,
	// which follow it.
	outputs, episodes []string
}

func newCustoms(scope memory.Scope) *customs {
	return &customs{scope: scope, tenant: scope.Tenant(), memories: memory.Checker(scope)}
}

// check returns memory.ErrTenant for a record of another scope, and store.ErrDamaged, or
// store.ErrNewer, for one that this version has not written.
func (c *customs) check(e store.Entry) error {
	parts := key.Split(e.Key)
	switch parts[0] {
	case "memory":
		return c.memories(e)
	case "identity":
		return identity.Check(e, c.scope) // of a version before
	}
	if census.Is(e) {
		return codec.Decode(e, new(any)) // a Trial looks closer
	}
	rest, ok := strings.CutPrefix(e.Key, key.Under(c.tenant, ""))
	if ok && len(parts) > 3 {
		return c.checkOwn(e, key.Split(rest))
	}
	return fmt.Errorf("%w: %q is of another scope", memory.ErrTenant, e.Key)
}

// checkOwn is check for what lies under the tenant.
func (c *customs) checkOwn(e store.Entry, parts []string) error {
	ours, err := whole(c.scope), error(nil)
	switch parts[0] {
	case runKeys:
		ours, err = c.checkRun(e)
	case outputKeys:
		ours, err = slices.Contains(c.outputs, e.Key), codec.Decode(e, new(any))
	case upkeepKeys:
		ours, err = upkeepOf(e.Key).Within(c.scope), codec.Decode(e, new(maintainedAt))
	case "meta":
		if parts[1] == "proposal" {
			err = proposal.Check(e)
			break
		}
		switch err = meta.Check(e, c.tenant); parts[1] {
		case "past":
			ours = ours || memory.Scope(parts[2]).Within(c.scope)
		case "uplift":
			ours = ours || learn.Measures(parts[2], c.scope)
		case "episode":
			ours = ours || slices.Contains(c.episodes, parts[2])
		}
	case breaker.Keys:
		err = breaker.Check(e)
	case toldKeys:
		err = codec.Decode(e, new(told))
	case ledger.Keys:
		err = ledger.Check(e)
	case jobKeys:
		return queue.Check(e, c.scope)
	case statusKeys, sessionKeys, spoolKeys:
		ours = false
	default:
		if !bytes.Equal(e.Value, []byte{1}) { // a mark
			err = codec.Decode(e, new(any))
		}
	}
	if err == nil && !ours {
		err = fmt.Errorf("%w: %q is of another scope", memory.ErrTenant, e.Key)
	}
	return err
}

// checkRun reports whether a run touches the scope.
func (c *customs) checkRun(e store.Entry) (bool, error) {
	var s state
	if err := codec.DecodeShort(e, &s); err != nil {
		return false, err
	}
	if err := s.sound(c.tenant); err != nil || e.Key != runKey(c.tenant, s.ID) {
		return false, fmt.Errorf("%w: %q is no run: %v", store.ErrDamaged, e.Key, err)
	}
	attempts, goals := s.names()
	_, episodes := learn.Keys(goals)
	c.outputs, c.episodes = nil, episodes
	for _, k := range attempts {
		c.outputs = append(c.outputs, key.Under(c.tenant, outputKeys, k))
	}
	return s.touches(c.scope), nil
}

// maxNames bounds what names makes of a run from elsewhere.
const maxNames = 1 << 20

// sound returns why a run that comes from elsewhere cannot be gone on with, or nil.
func (s *state) sound(tenant string) error {
	err := errors.Join(key.CheckID("id", s.ID), key.CheckID("session", s.Session), s.bounds().Check())
	for _, scope := range s.scopes() {
		if err = errors.Join(err, scope.Check()); scope.Tenant() != tenant {
			err = errors.Join(err, memory.ErrTenant)
		}
	}
	_, open := phases[s.Phase]
	counts := [...]int{s.Step, s.Seq, s.Attempts, s.Judged, s.Deliberations, s.Objective.Attempts, s.Wait.Tries}
	used := s.Usage.Valid() && ledger.Amount(s.Before).Check() == nil && (s.Current == nil || s.Current.Usage.Valid())
	switch {
	case err != nil:
		return err
	case !used:
		return errors.New("impossible usage")
	case s.ID == "" || s.Session == "" || len(s.Aims) == 0 || s.Started <= 0 || !slices.Contains(statuses[:], s.Status):
		return errors.New("it has no beginning")
	case !open && s.Phase != phaseDone:
		return fmt.Errorf("unknown phase %q", s.Phase)
	case slices.Min(counts[:]) < 0 || s.Attempts > maxNames || s.Judged > maxNames/(1+len(s.Deliveries)):
		return errors.New("impossible counts")
	}
	begun := s.Current != nil || s.Phase == phaseAssign
	for i := range s.Aims {
		g := &s.Aims[i]
		atEnd := begun && i == len(s.Aims)-1 && g.Next == len(g.Tasks)
		wrong := g.Next < 0 || g.Next > len(g.Tasks) || min(g.Cleared, g.Tries) < 0 || g.Cleared > len(g.Failed)
		if wrong || atEnd {
			return errors.New("its plan has no task at hand")
		}
	}
	answered := s.Phase == phaseAsk && s.Status == Running // by a human, to a worker
	if s.Current == nil && (s.Phase == phaseAct || s.Phase == phaseVerify || answered) {
		return errors.New("its attempt is missing")
	}
	outputs := []output{}
	for _, d := range s.Deliveries {
		outputs = append(outputs, d.Output)
	}
	if s.Current != nil {
		outputs = append(outputs, s.Current.Output)
	}
	for _, o := range outputs {
		if o.Key != "" && !strings.HasPrefix(o.Key, key.Under(tenant, outputKeys, s.prefix()+"/")) {
			return fmt.Errorf("%q is not its output", o.Key)
		}
	}
	return nil
}
