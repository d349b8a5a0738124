// Package advice says what evidence suggests: changes of workers, goals and memories
// that a person may approve. It is a function of what it is given, and applies
// nothing.
package advice

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/reason/goal"
)

// Post is what a worker does for a skill.
type Post struct {
	Worker string `json:"worker"`
	Skill  string `json:"skill"`
}

// The standings of a worker at a post.
const (
	InTurn    = ""       // as it is ranked
	TriedLast = "last"   // after the others
	Paused    = "paused" // not at all
)

// Worker is the change of a proposal of kind executor or config.
type Worker struct {
	Post
	Standing string `json:"standing"`
}

// Memory is the change of a proposal of kind memory.
type Memory struct {
	Scope    memory.Scope `json:"scope"`
	Memory   memory.ID    `json:"memory"`
	Archived bool         `json:"archived"`
}

// Goal is the change of a proposal of kind goal or action.
type Goal struct {
	Controller string `json:"controller"`
	goal.Override
}

// Same reports whether two changes are of the same goal or action.
func (g *Goal) Same(h *Goal) bool {
	return g.Controller == h.Controller && g.Goal == h.Goal && g.Action == h.Action
}

// Decode reads a change, all of whose fields must be known.
func Decode(raw json.RawMessage, change any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(change); err != nil {
		return fmt.Errorf("the change cannot be read: %w", err)
	}
	return nil
}

// appendChange appends a proposal of a change.
func appendChange(out []proposal.Proposal, p proposal.Proposal, change any) []proposal.Proposal {
	var err error
	if p.Change, err = json.Marshal(change); err != nil {
		return out // of texts and finite numbers: never
	}
	return append(out, p)
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
