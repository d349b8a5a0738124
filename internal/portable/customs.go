// Package portable checks which records of a file belong to a scope, and stores them.
package portable

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/internal/breaker"
	"github.com/arc-learn/arc/internal/census"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/ledger"
	"github.com/arc-learn/arc/internal/told"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/store"
)

// runs knows the records of runs, which this package does not.
type runs interface {
	// Check reports whether a record, whose key has these parts behind the tenant, is a run or follows
	// from one, and whether it belongs to the scope. A run comes before what follows from it.
	Check(e store.Entry, parts []string) (known, ours bool, err error)
	// Tells reports whether the run that Check saw last has recorded an episode.
	Tells(episode string) bool
	// Enlist returns the index entries of a record: those to be written with it, and those to be written
	// last. Fresh says that the store did not have the record.
	Enlist(e store.Entry, fresh bool) (with, last []store.Op, err error)
}

// Customs check whether the records of a file can belong to a scope.
type Customs struct {
	scope    memory.Scope
	runs     runs
	memories func(store.Entry) error
}

// NewCustoms returns the Customs of a scope.
func NewCustoms(scope memory.Scope, runs runs) *Customs {
	return &Customs{scope: scope, runs: runs, memories: memory.Checker(scope)}
}

// Check returns memory.ErrTenant for a record of another scope, and store.ErrDamaged, or
// store.ErrNewer, for one that this version has not written.
func (c *Customs) Check(e store.Entry) error {
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
	rest, ours := strings.CutPrefix(e.Key, key.Under(c.scope.Tenant(), ""))
	var err error
	if ours = ours && len(parts) > 3; ours {
		ours, err = c.checkOwn(e, append(key.Split(rest), "")) // three at least
	}
	if err == nil && !ours {
		err = fmt.Errorf("%w: %q is of another scope", memory.ErrTenant, e.Key)
	}
	return err
}

// checkOwn is Check for what lies under the tenant.
func (c *Customs) checkOwn(e store.Entry, parts []string) (ours bool, err error) {
	known, ours, err := c.runs.Check(e, parts)
	if known {
		return ours, err
	}
	ours = string(c.scope) == c.scope.Tenant()
	switch parts[0] {
	case "meta":
		if parts[1] == "proposal" {
			return ours, proposal.Check(e)
		}
		switch err = meta.Check(e, c.scope.Tenant()); parts[1] {
		case "past":
			ours = ours || memory.Scope(parts[2]).Within(c.scope)
		case "uplift":
			ours = ours || learn.Measures(parts[2], c.scope)
		case "episode":
			ours = ours || c.runs.Tells(parts[2])
		}
	case breaker.Keys:
		err = breaker.Check(e)
	case told.Keys:
		err = told.Check(e)
	case ledger.Keys:
		err = ledger.Check(e)
	case jobKeys:
		return true, queue.Check(e, c.scope)
	default:
		if !bytes.Equal(e.Value, []byte{1}) { // a marker
			err = codec.Decode(e, new(any))
		}
	}
	return ours, err
}

// jobKeys lead, behind a tenant, to what a Queue stores.
const jobKeys = "queue"
