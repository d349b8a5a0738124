package learn

import (
	"encoding/json"
	"slices"

	"github.com/arc-learn/arc/learn/internal/chunk"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// Case is what tells a goal from others of like words, beside its objective and
// situation.
type Case struct {
	// Vouched: the host has named the situation, and vouches that goals of equal
	// situations share a plan.
	Vouched    bool
	Inputs     json.RawMessage   // of the objective
	Conditions map[string]string // of the objective
	Goals      []string          // above it, for a subgoal, outermost first
	User       string            // whose words the objective is; "": the host's
	Facts      []memory.Hit      // of the person or project, as the reasoner is told
}

// chunkCase is the case of a goal, as chunks are held against it.
func (c *Case) chunkCase(situation, objective string) chunk.Case {
	of := chunk.Case{
		Situation: situation, Objective: objective, Vouched: c.Vouched,
		Inputs: c.Inputs, Conditions: c.Conditions, Goals: c.Goals,
	}
	for i := range c.Facts {
		of.Facts = append(of.Facts, c.Facts[i].Record.Content)
	}
	return of
}

// Asker is the source of the objective's words, none if it is the host.
func (c Case) Asker() []memory.Source {
	if c.User == "" {
		return nil
	}
	return []memory.Source{{Origin: memory.User, Ref: c.User}}
}

// Ask is a goal that memories are recalled for, and that a chunk may fire for.
type Ask struct {
	GoalKey   string         // of the goal, as in Outcome
	Scope     memory.Scope   // where to recall from
	Also      []memory.Scope // further scopes of the same tenant
	Episodes  []memory.Scope // of the same tenant, where it is told how goals have ended
	Situation string
	Objective string
	Case
}

// Chunk is a plan that delivered a case, held against another one.
type Chunk struct {
	reason.Suggestion
	// Said are what the host's sources said of the plan, as numbers, when the reasoner made
	// it; 0: nothing. Where they say something else, it is not to fire.
	Said  []uint64
	scope memory.Scope
	unfit string // for all cases but its own
	fits  bool   // its conditions hold, and its plan is bound
	moved bool   // to other values than those that it was made with
	since int64  // what is known later is news to it, as chunk.Chunk.Heard
	heard int64  // the latest that is
	acted int    // how often it has
	told  int    // as chunk.Chunk.Told
}

// Fire returns the chunk that acts without deliberation: the first that has a plan
// that may fire, has delivered often enough, is reliable, and all of whose conditions
// hold. How alike a case is does not count: see [Learner.Match]. Chunks in except,
// which have failed for this goal already, do not fire.
func Fire(chunks []Chunk, except []memory.ID) (Chunk, bool) {
	for _, c := range chunks {
		if len(c.Differs) == 0 && !slices.Contains(except, c.ID) {
			return c, true
		}
	}
	return Chunk{}, false
}
