package dash

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

const (
	pageOfMemories = 50
	maxMemories    = 500
)

// kinds are those of memories, as a form offers them.
var kinds = [...]memory.Kind{memory.Pattern, memory.Failure, memory.Fact, memory.Episode}

// memoryList is what a search has found.
type memoryList struct {
	Text, Kind string
	Kinds      []memory.Kind
	Archived   string // "": those are left out
	Hits       []memory.Hit
	More       int // how many the next page would show; 0: there is none
}

func (d *desk) memories(q *ask) (any, error) {
	l := memoryList{
		Text: q.query.Get("text"), Kind: q.query.Get("kind"), Kinds: kinds[:], Archived: q.query.Get("archived"),
	}
	n, _ := strconv.Atoi(q.query.Get("n")) // of no number, the default
	n = min(max(n, pageOfMemories), maxMemories)
	find := memory.Query{Text: l.Text, K: n + 1, Archived: l.Archived != ""}
	if l.Kind != "" {
		if !slices.Contains(l.Kinds, memory.Kind(l.Kind)) {
			return nil, fmt.Errorf("%w: no such kind", errBad)
		}
		find.Kinds = []memory.Kind{memory.Kind(l.Kind)}
	}
	hits, err := q.view.Memory().Recall(q.Context(), find)
	if len(hits) > n {
		hits = hits[:n]
		if n < maxMemories {
			l.More = min(4*n, maxMemories)
		}
	}
	l.Hits = hits
	return l, err
}

// memoryPage is one memory with what became of it.
type memoryPage struct {
	memory.Record
	Title  string
	Uplift meta.Uplift
	Chunk  *chunk
	Links  []memory.Link
}

func (d *desk) memory(q *ask) (any, error) {
	rec, err := q.view.Memory().Get(q.Context(), memory.ID(q.query.Get("id")))
	if err != nil {
		return nil, err
	}
	p := memoryPage{Record: rec, Title: title(&rec), Chunk: chunkOf(&rec), Links: rec.Links[:min(len(rec.Links), pageOfMemories)]}
	p.Uplift, err = q.view.Uplift(q.Context(), rec.ID)
	return p, err
}

// tellMemory takes what the viewer says of a memory: that it is right, or that it is to
// be set aside, or not any more.
func (d *desk) tellMemory(q *ask) (path, word string, err error) {
	space, id := q.view.Memory(), memory.ID(q.PostFormValue("id"))
	switch q.PostFormValue("say") {
	case "trust":
		return "/memory", "trusted", space.Trust(q.Context(), id)
	case "archive":
		return "/memory", "archived", space.Archive(q.Context(), id, true)
	case "restore":
		return "/memory", "restored", space.Archive(q.Context(), id, false)
	}
	return "", "", fmt.Errorf("%w: trust, archive or restore", errBad)
}

// whyPage says why a memory is found, or is not.
type whyPage struct {
	Text, Wanted string
	Hits         []memory.Hit
	Candidates   []memory.Hit // which memory may be meant
	About        *memory.Record
	Explained    *memory.Explanation
}

func (d *desk) whyNot(q *ask) (any, error) {
	p := whyPage{Text: q.query.Get("text"), Wanted: q.query.Get("wanted")}
	if p.Text == "" {
		return p, nil
	}
	space, find := q.view.Memory(), memory.Query{Text: p.Text, K: 10}
	var err error
	if p.Hits, err = space.Recall(q.Context(), find); err != nil || p.Wanted == "" {
		return p, err
	}
	rec, err := space.Get(q.Context(), memory.ID(p.Wanted))
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, memory.ErrID) {
		p.Candidates, err = space.Recall(q.Context(), memory.Query{Text: p.Wanted, K: 10, Archived: true})
		return p, err
	} else if err != nil {
		return nil, err
	}
	e, err := space.Explain(q.Context(), find, rec.ID)
	p.About, p.Explained = &rec, &e
	return p, err
}

// chunk is what a page shows of a pattern's plan. It reads the names of a stored
// plan that a reader understands; a plan of another form shows less.
type chunk struct {
	Record     *memory.Record    `json:"-"`
	Situation  string            `json:"situation"`
	Vouched    bool              `json:"vouched"`
	Above      []string          `json:"above"`
	Conditions map[string]string `json:"conditions"`
	Inputs     []struct {
		Path   string `json:"path"`
		Kind   string `json:"kind"`
		Value  string `json:"value"`
		Quoted bool   `json:"quoted"`
	} `json:"inputs"`
	Unfit string `json:"unfit"`
}

// chunkOf returns the chunk that a memory is, nil if it is none.
func chunkOf(r *memory.Record) *chunk {
	c := &chunk{Record: r}
	if len(r.Plan) == 0 || json.Unmarshal(r.Plan, c) != nil {
		return nil
	}
	return c
}

// Delivered counts what it has delivered: the goal that made it too, or those of the
// plans that it was drawn from.
func (c *chunk) Delivered() int {
	made := 0
	for _, l := range c.Record.Links {
		if l.Rel == "generalises" {
			made++
		}
	}
	return max(1, made) + c.Record.Stats.Helped
}

// Reliability is the mean of the Beta posterior over what came of it.
func (c *chunk) Reliability() float64 {
	d := c.Delivered()
	return float64(1+d) / float64(2+d+c.Record.Stats.Misled)
}

// chunkList are the chunks of a scope, and what would fire for an objective.
type chunkList struct {
	Chunks          []*chunk
	Text, Situation string
	Forecast        *arc.Forecast
}

func (d *desk) chunks(q *ask) (any, error) {
	l := chunkList{Text: strings.TrimSpace(q.query.Get("text")), Situation: q.query.Get("situation")}
	hits, err := q.view.Memory().Recall(q.Context(), memory.Query{
		K: maxMemories, Kinds: []memory.Kind{memory.Pattern}, Archived: true,
	})
	if err != nil {
		return nil, err
	}
	for i := range hits {
		if c := chunkOf(&hits[i].Record); c != nil && len(l.Chunks) < 2*pageOfMemories {
			l.Chunks = append(l.Chunks, c)
		}
	}
	if l.Text != "" {
		f, err := d.agent.Would(q.Context(), arc.Objective{Text: l.Text, Situation: l.Situation, Scope: q.scope})
		if errors.Is(err, arc.ErrObjective) {
			err = fmt.Errorf("%w: %w", errBad, err)
		}
		if err != nil {
			return nil, err
		}
		l.Forecast = &f
	}
	return l, nil
}
