package learn

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/arc-learn/arc/learn/internal/chunk"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// Case is what distinguishes a goal from others with similar objective and situation.
type Case struct {
	// Vouched: the host has named the situation, and vouches that goals of equal situations share a
	// plan.
	Vouched    bool
	Inputs     json.RawMessage   // of the objective
	Conditions map[string]string // of the objective
	Goals      []string          // above a subgoal, outermost first
	User       string            // who has worded the objective; "": the host
	Facts      []memory.Hit      // about the person or project, as the reasoner is told
}

// chunkCase returns the case of a goal as chunks are matched against it.
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

// Asker returns the source of the objective's words, none if the host has worded it.
func (c Case) Asker() []memory.Source {
	if c.User == "" {
		return nil
	}
	return []memory.Source{{Origin: memory.User, Ref: c.User}}
}

// Ask is a goal for which memories are recalled and a chunk may fire.
type Ask struct {
	GoalKey   string         // of the goal, as in Outcome
	Scope     memory.Scope   // where to recall from
	Also      []memory.Scope // further scopes of the same tenant
	Episodes  []memory.Scope // scopes of the same tenant with episodes
	Situation string
	Objective string
	At        time.Time // when it is asked; zero: unknown
	Case
}

// Chunk is a plan that has delivered a case, matched against another case.
type Chunk struct {
	reason.Suggestion
	// Said are digests of what the host's sources said each time when the reasoner made the plan; 0:
	// nothing. If they say something else now, the chunk must not fire.
	Said  []uint64
	scope memory.Scope
	unfit string // why it must not fire for other cases
	fits  bool   // its conditions hold, and the plan is bound
	moved bool   // bound to other values than it was made with
	since int64  // later facts are news: see chunk.Chunk.Heard
	heard int64  // the latest news
	acted int    // how often it has acted
	told  int    // see chunk.Chunk.Told
}

// Fire returns the chunk that acts without deliberation: the first that has delivered often enough, is
// reliable, and all of whose conditions hold. Similarity does not count: see [Learner.Match]. Chunks
// in except, which have failed for this goal already, do not fire.
func Fire(chunks []Chunk, except []memory.ID) (Chunk, bool) {
	for _, c := range chunks {
		if len(c.Differs) == 0 && !slices.Contains(except, c.ID) {
			return c, true
		}
	}
	return Chunk{}, false
}
