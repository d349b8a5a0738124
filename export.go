package arc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/internal/census"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/ledger"
	"github.com/arc-learn/arc/internal/outputs"
	"github.com/arc-learn/arc/internal/parcel"
	"github.com/arc-learn/arc/internal/portable"
	"github.com/arc-learn/arc/internal/register"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
)

// Export writes all data of a scope and of the scopes below it, as JSON lines that Import
// reads: runs that touch the scope (see Erase) with their outputs, jobs of queues with their
// cycles, memories with their vectors, identity, endings, experiments, and the samples and
// outcomes of these runs. For a tenant, a scope of one segment, it writes all statistics,
// proposals, and the ledgers of goals. It leaves out what runs have taught in other scopes of
// the tenant; for a scope below a tenant, also what was used of Options.Bounds. Values are
// written as they are stored, hence without the secrets that were never stored.
//
// The error is ErrRunning while a run that touches the scope is live; until Export returns,
// the tenant's runs cannot begin or continue, and get ErrRunning. After an error the output
// is incomplete, and Import refuses it.
func (a *Agent) Export(ctx context.Context, scope memory.Scope, w io.Writer) error {
	err := errors.Join(store.CheckContext(ctx), scope.Check())
	if err == nil && guard.IsNil(w) {
		err = errors.New("the writer is nil")
	}
	if err == nil {
		err = a.stilled(ctx, scope, false, func(ctx context.Context) error { return a.export(ctx, scope, w) })
	}
	if err != nil {
		return fmt.Errorf("export %q: %w", scope, err)
	}
	return nil
}

// export is Export while no run of the scope is live. It writes the memories first, then the jobs,
// then what the root's own records and the statistics hold.
func (a *Agent) export(ctx context.Context, scope memory.Scope, w io.Writer) error {
	if err := a.w.Flush(ctx); err != nil {
		return err
	}
	out, err := parcel.NewWriter(w, string(scope))
	if err != nil {
		return err
	}
	known := portable.NewCustoms(scope, &runRecords{scope: scope})
	give := func(entries iter.Seq2[store.Entry, error]) error {
		for e, err := range entries {
			if err == nil {
				err = known.Check(e) // so that Import accepts it
			}
			if err == nil {
				err = out.Put(e)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := give(a.bank.Entries(ctx, scope)); err != nil {
		return err
	}
	if err := give(queue.Entries(ctx, a.st, scope)); err != nil {
		return err
	}
	if whole(scope) {
		err = a.giveTenant(ctx, scope.Tenant(), give)
	} else {
		err = a.giveUser(ctx, scope, give)
	}
	if err != nil {
		return err
	}
	return out.Close()
}

// giver writes entries to the export.
type giver = func(iter.Seq2[store.Entry, error]) error

// one yields one entry.
func one(e store.Entry) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) { yield(e, nil) }
}

// giveTenant writes what is stored under a tenant, without the indexes of runs.
func (a *Agent) giveTenant(ctx context.Context, tenant string, give giver) error {
	prefix := key.Under(tenant, "")
	for e, err := range a.st.Scan(ctx, store.Range{Prefix: prefix}) {
		part := key.Split(e.Key[min(len(prefix), len(e.Key)):])[0]
		switch apart := []string{register.Statuses, register.Sessions, outputs.Keys, spoolKeys, jobKeys}; {
		case err != nil, slices.Contains(apart, part):
		case part == runKeys:
			_, err = a.giveRun(ctx, e, "", give)
		default:
			err = give(one(e))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// giveUser writes what is stored under the tenant and belongs to a scope below it.
func (a *Agent) giveUser(ctx context.Context, scope memory.Scope, give giver) error {
	tenant := scope.Tenant()
	own, err := a.tenant(ctx, scope)
	if err != nil {
		return err
	}
	defer a.handBack(own)
	if err := give(own.learner.Entries(ctx, scope)); err != nil {
		return err
	}
	for e, err := range a.st.Scan(ctx, store.Range{Prefix: key.Under(tenant, upkeepKeys, string(scope))}) {
		if err == nil && upkeepOf(e.Key).Within(scope) {
			err = give(one(e))
		}
		if err != nil {
			return err
		}
	}
	for e, err := range a.st.Scan(ctx, store.Range{Prefix: key.Under(tenant, taughtKeys, "")}) {
		var of taught
		if err == nil {
			err = codec.Decode(e, &of)
		}
		if err == nil && anyWithin(of.Scopes, scope) {
			err = give(one(e))
		}
		if err != nil {
			return err
		}
	}
	// Of the tenant's statistics those go along that count the user's runs, by their attempts.
	counted := make(map[string]bool)
	for e, err := range a.st.Scan(ctx, store.Range{Prefix: key.Under(tenant, runKeys, "")}) {
		var more []string
		if err == nil {
			more, err = a.giveRun(ctx, e, scope, give)
		}
		if err != nil {
			return err
		}
		for _, k := range more {
			counted[k] = true
		}
	}
	return give(census.Entries(ctx, own.book, own.monitor, func(k string) bool { return counted[k] }))
}

// giveRun writes a run that touches the scope, with its outputs and the marks of its episodes; those
// of a whole tenant (scope "") are among its statistics. It returns the keys by which statistics
// count the run.
func (a *Agent) giveRun(ctx context.Context, e store.Entry, scope memory.Scope, give giver) ([]string, error) {
	var s state
	if err := codec.Decode(e, &s); err != nil || !s.touches(scope) {
		return nil, err
	}
	err := give(one(e))
	if err == nil {
		err = give(a.outputs(ctx, &s))
	}
	attempts, goals := s.names()
	counted, episodes := learn.Keys(goals)
	if scope == "" {
		return nil, err
	}
	for _, name := range episodes {
		mark, miss := a.st.Get(ctx, key.Under(s.Objective.Scope.Tenant(), "meta", "episode", name))
		if miss == nil && err == nil {
			err = give(one(mark))
		} else if miss != nil && !errors.Is(miss, store.ErrNotFound) {
			return nil, miss
		}
	}
	return append(counted, attempts...), err
}

// upkeepOf returns the scope in the key of an upkeep, or its hash if the scope is too long.
func upkeepOf(k string) memory.Scope { return memory.Scope(k[strings.LastIndexByte(k, 0)+1:]) }

// Import stores what Export has written, and returns its scope. It checks the whole file
// before it changes anything; meanwhile the file's content lies in the store, so that it can
// be larger than memory. Imported runs continue from their last commit: one that is Waiting
// is resumed once it is due. Samples and outcomes of a user's runs count among those of the
// tenant. To import a file twice changes nothing. If the store has a record that differs from
// the file's, the error is store.ErrConflict and nothing has changed: to replace the data,
// Erase the scope first.
//
// Import trusts the file as it trusts the host: memories that the file calls trusted are, and
// texts are not sanitised again. What was forgotten, revoked or erased since the export is
// stored again: forget it again. All other errors name the line, and nothing has changed:
// store.ErrDamaged for a file that is truncated or altered, memory.ErrTenant for a record of
// another scope, store.ErrForeign, store.ErrNewer, or a *store.LimitError. After an error of
// the store a part may be stored: call Import again. If the process ends meanwhile, the
// content that was read stays in the store until the next Import into the tenant, or its Erase.
//
// ErrRunning is as with Export. Import of a whole tenant returns ErrRunning while any call of
// the tenant is in progress, and until it returns no other call of the tenant begins, except
// those of its memory. No call may use the memory of the scope meanwhile, and no
// goal.Controller its ledgers.
func (a *Agent) Import(ctx context.Context, r io.Reader) (memory.Scope, error) {
	err := store.CheckContext(ctx)
	if err == nil && guard.IsNil(r) {
		err = errors.New("the reader is nil")
	}
	if err != nil {
		return "", fmt.Errorf("import: %w", err)
	}
	spool := parcel.NewSpool(ctx, a.st)
	in, err := parcel.NewReader(io.TeeReader(r, spool))
	if err != nil {
		return "", fmt.Errorf("import: %w", err)
	}
	scope := memory.Scope(in.Scope)
	if err = scope.Check(); err == nil {
		err = a.stilled(ctx, scope, whole(scope), func(ctx context.Context) error {
			return a.admit(ctx, scope, in, spool)
		})
	}
	if err != nil {
		return "", fmt.Errorf("import %.64q: %w", scope, err)
	}
	a.upkeep.Poke() // imported runs may be due
	return scope, nil
}

// admit checks a file and stores its content. It reads the file once: the spool keeps what was
// checked, in pieces, in the store, and the second pass stores the records from there. Nothing of the
// scope changes before the first pass has come to the end.
//
// The spool is deleted at the end, also after an error. Then memory reads its scope anew, since the
// records were written below it.
func (a *Agent) admit(ctx context.Context, scope memory.Scope, in *parcel.Reader, spool *parcel.Spool) (err error) {
	done, err := a.keepStill(ctx) // the background's Maintain
	if err != nil {
		return err
	}
	defer done()
	spool.Prefix = key.Under(scope.Tenant(), spoolKeys, "")
	if err := a.dropAll(ctx, spool.Prefix); err != nil { // left by an import that was cut off
		return err
	}
	defer func() { err = errors.Join(err, a.dropAll(context.WithoutCancel(ctx), spool.Prefix)) }()
	to := portable.Place{Store: a.st, Scope: scope, Runs: &runRecords{scope: scope}}
	if !whole(scope) {
		own, err := a.tenant(ctx, scope)
		if err != nil {
			return err
		}
		defer a.handBack(own)
		to.Book, to.Monitor = own.book, own.monitor
	}
	if err := errors.Join(portable.Import(ctx, to, in, spool), a.w.Flush(ctx)); err != nil {
		return err
	}
	if err := a.bank.Reload(ctx, scope); err != nil {
		return err
	}
	return identity.Adopt(ctx, a.st, a.bank)
}

// runRecords reads the exported runs of a scope. It implements portable.Runs.
type runRecords struct {
	scope memory.Scope
	// outputs are the keys of the last run's outputs, episodes the names of its episodes, which
	// follow the run in the file.
	outputs, episodes []string
}

// Check implements portable.Runs.
func (r *runRecords) Check(e store.Entry, parts []string) (known, ours bool, err error) {
	switch parts[0] {
	case runKeys:
		ours, err = r.checkRun(e)
	case outputs.Keys:
		ours, err = slices.Contains(r.outputs, e.Key), codec.Decode(e, new(any))
	case upkeepKeys:
		ours, err = upkeepOf(e.Key).Within(r.scope), codec.Decode(e, new(maintainedAt))
	case taughtKeys:
		ours, err = r.checkTaught(e)
	case register.Statuses, register.Sessions, spoolKeys:
	default:
		return false, false, nil
	}
	return true, ours, err
}

// Tells implements portable.Runs.
func (r *runRecords) Tells(episode string) bool { return slices.Contains(r.episodes, episode) }

// Enlist implements portable.Runs.
func (r *runRecords) Enlist(e store.Entry, fresh bool) (with, last []store.Op, err error) {
	if parts := key.Split(e.Key); len(parts) != 4 || parts[2] != runKeys {
		return nil, nil, nil
	}
	var s state
	if err := codec.Decode(e, &s); err != nil {
		return nil, nil, err
	}
	if at := s.Wait.Due; at != 0 {
		last = []store.Op{s.listed().Enlist(at, s.set(s.Wait.Since))}
	}
	if !fresh {
		return nil, last, nil
	}
	with = []store.Op{{Key: s.listed().ByStatus(new(key.Block), string(s.Status)), Value: []byte(s.Objective.Scope)}}
	if k := s.listed().BySession(); k != "" {
		with = append(with, store.Op{Key: k})
	}
	return with, last, nil
}

// checkRun reports whether a run touches the scope.
func (r *runRecords) checkRun(e store.Entry) (bool, error) {
	var s state
	tenant := r.scope.Tenant()
	if err := codec.DecodeShort(e, &s); err != nil {
		return false, err
	}
	if err := s.sound(tenant); err != nil || e.Key != runKey(tenant, s.ID) {
		return false, fmt.Errorf("%w: %q is no run: %v", store.ErrDamaged, e.Key, err)
	}
	attempts, goals := s.names()
	_, episodes := learn.Keys(goals)
	r.outputs, r.episodes = nil, episodes
	for _, k := range attempts {
		r.outputs = append(r.outputs, key.Under(tenant, outputs.Keys, k))
	}
	return s.touches(r.scope), nil
}

// checkTaught reports whether a deleted run has touched the scope.
func (r *runRecords) checkTaught(e store.Entry) (bool, error) {
	var of taught
	if err := codec.Decode(e, &of); err != nil {
		return false, err
	}
	for _, scope := range of.Scopes {
		if err := scope.Check(); err != nil || scope.Tenant() != r.scope.Tenant() {
			return false, fmt.Errorf("%w: %q names a scope of another tenant: %v", store.ErrDamaged, e.Key, err)
		}
	}
	return anyWithin(of.Scopes, r.scope), nil
}

// maxNames bounds how many keys an imported run may name.
const maxNames = 1 << 20

// sound returns an error if an imported run could not be continued. A file is data from outside: a
// run in it may be in a state that the loop never leaves in a store, in which it would index beyond a
// slice, count without end, or name keys of another tenant.
func (s *state) sound(tenant string) error {
	err := s.bounds().Check()
	for _, id := range slices.Concat(s.Jobs, []string{s.ID, s.Session, s.Objective.Session, s.Objective.User}) {
		err = errors.Join(err, key.CheckID("id", id))
	}
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
	case slices.Min(counts[:]) < 0 || s.Attempts > maxNames || s.Judged > maxNames/(2+2*len(s.Deliveries)):
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
	answered := s.Phase == phaseAsk && s.Status == Running // a person has answered the worker
	if s.Current == nil && (s.Phase == phaseAct || s.Phase == phaseVerify || answered) {
		return errors.New("its attempt is missing")
	}
	all := []outputs.JSON{}
	for _, d := range s.Deliveries {
		all = append(all, d.Output)
	}
	if s.Current != nil {
		all = append(all, s.Current.Output)
	}
	for _, o := range all {
		if o.Key != "" && !strings.HasPrefix(o.Key, key.Under(tenant, outputs.Keys, s.prefix()+"/")) {
			return fmt.Errorf("%q is not its output", o.Key)
		}
	}
	return nil
}
