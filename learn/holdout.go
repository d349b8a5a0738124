package learn

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

// holds draws whether the memories of a goal are withheld. One key always draws the same.
func (l *Learner) holds(goalKey string) bool {
	if l.o.Holdout == 0 {
		return false
	}
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("holdout\x00"+goalKey+"\x00"), l.o.Seed))
	return float64(binary.BigEndian.Uint64(sum[:])>>11)/(1<<53) < l.o.Holdout
}

// Uplift is how much memory helps in a scope.
type Uplift struct {
	// Delivered is what memory adds to the probability that a goal is delivered, AtOnce that it is
	// delivered at the first attempt, and Unasked that a chunk delivers it, without the reasoner.
	Delivered, AtOnce, Unasked meta.Uplift
}

// Uplift returns what Holdout has measured in a scope so far. Goals for which memory had nothing to say do not
// count.
func (l *Learner) Uplift(ctx context.Context, scope memory.Scope) (u Uplift, err error) {
	for what, to := range map[string]*meta.Uplift{"delivered": &u.Delivered, "at once": &u.AtOnce, "unasked": &u.Unasked} {
		if *to, err = l.monitor.Uplift(ctx, treatment(scope, what)); err != nil {
			return u, err
		}
	}
	return u, nil
}

// UpliftOf estimates how much one memory adds to the probability that a goal is delivered for which it is
// among the first 63 recalled. Memories that are withheld together share the credit: only goals that recall
// one without the other tell them apart.
func (l *Learner) UpliftOf(ctx context.Context, scope memory.Scope, id memory.ID) (meta.Uplift, error) {
	return l.monitor.Uplift(ctx, treatment(scope, string(id)))
}

// maxName is the length of the longest name of an experiment, in bytes.
const maxName = 256

// treatment names an experiment within the limit of names.
func treatment(scope memory.Scope, what string) string {
	name := "memory " + string(scope) + " " + what
	if len(name) > maxName {
		name = "memory " + short(string(scope)+"/"+what)
	}
	return name
}

// short returns a path as a path of digests, so that what is below a path is also below its digests.
func short(path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		sum := sha256.Sum256([]byte(parts[i]))
		parts[i] = hex.EncodeToString(sum[:10]) // ten parts fit into a name
	}
	return "#" + strings.Join(parts, "/")
}

// Forget deletes the experiments and the endings of runs of a scope and of the scopes below it.
func (l *Learner) Forget(ctx context.Context, scope memory.Scope) error {
	return l.monitor.ForgetBelow(ctx, string(scope), experiments(scope)...)
}

// Entries yields what Forget deletes, as it is stored.
func (l *Learner) Entries(ctx context.Context, scope memory.Scope) iter.Seq2[store.Entry, error] {
	return l.monitor.EntriesBelow(ctx, string(scope), experiments(scope)...)
}

// experiments returns the prefixes of the names of experiments in a scope, and in the scopes below it.
func experiments(scope memory.Scope) []string {
	name := string(scope)
	return []string{"memory " + name + "/", "memory " + name + " ", "memory " + short(name) + "/"}
}

// Measures reports whether an experiment belongs to a scope, or to one below it.
func Measures(experiment string, scope memory.Scope) bool {
	return slices.ContainsFunc(experiments(scope), func(begin string) bool { return strings.HasPrefix(experiment, begin) })
}

// maxMeasured is how many of a goal's memories, the first that were found, have an experiment each: an episode
// has 64 treatments, and memory as a whole is one of them.
const maxMeasured = 63

// measure adds a goal that has ended to the experiments.
func (l *Learner) measure(ctx context.Context, o *Outcome) error {
	if l.o.Holdout == 0 || o.Goal == Open {
		return nil
	}
	var each []string
	for _, id := range o.Withheld {
		each = append(each, treatment(o.Scope, string(id)))
	}
	for i := range o.Injected {
		each = append(each, treatment(o.Scope, string(o.Injected[i].Record.ID)))
	}
	if len(each) == 0 {
		return nil
	}
	each = each[:min(len(each), maxMeasured)]
	record := func(what string, came bool, also ...string) error {
		return l.monitor.RecordEpisode(ctx, meta.Episode{
			Key: digest(o.GoalKey, what), Treatments: append(also, treatment(o.Scope, what)),
			Treated: len(o.Withheld) == 0, Chance: 1 - l.o.Holdout, Success: o.Goal == Delivered && came,
		})
	}
	return errors.Join(record("delivered", true, each...),
		record("at once", len(o.Failed) == 0), record("unasked", o.Fired != ""))
}
