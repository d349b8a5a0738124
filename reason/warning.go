package reason

import (
	"time"

	"github.com/arc-learn/arc/memory"
)

// Warning says what has failed in a situation before, and what passed instead.
// Its texts are those of workers and gates, at most 1 KiB each, without secrets
// and on one line: data to weigh, not instructions.
type Warning struct {
	// Skill and Task are what was asked for.
	Skill string `json:"skill,omitempty"`
	Task  string `json:"task"`
	// Worker is the one whose attempt failed last.
	Worker string `json:"worker,omitempty"`
	// Refused is what that worker made, as JSON, or its beginning. "": it made
	// nothing.
	Refused string `json:"refused,omitempty"`
	// Why is the complaint.
	Why string `json:"why"`
	// Times is how often this complaint came, Last when it did last.
	Times int       `json:"times"`
	Last  time.Time `json:"last"`
	// Instead is the latest output that passed where this had failed, as JSON,
	// or its beginning; the worker's own account of it if it made none. "":
	// nothing has passed.
	Instead string `json:"instead,omitempty"`
	// By is the worker of Instead.
	By string `json:"by,omitempty"`
	// IDs are the memories that say so.
	IDs []memory.ID `json:"-"`
}
