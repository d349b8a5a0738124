package reason

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

var factsSchema = json.RawMessage(`{"type":"object","additionalProperties":false,
"required":["facts","holds"],"properties":{"holds":{"type":"array","items":{"type":"integer"}},
"facts":{"type":"array","items":{"type":"object","additionalProperties":false,
"required":["content","slot","replaces"],"properties":{"content":{"type":"string"},"slot":{"type":"string"},
"replaces":{"type":"array","items":{"type":"integer"}}}}}}}`)

// RememberFacts has a model write down the facts of a conversation, and remembers each as a copy of d with
// its own Content, Slot and Supersedes. The model is told the day of d.At. Give each turn once: a turn that
// is given again has its facts remembered again, at the later At, even if they were forgotten or replaced
// since. Where several people talk, begin each text with a name. The facts are quarantined until somebody
// vouches for them, and replace no trusted one. The model sees the 12 known facts nearest to the last 8 KiB
// of the conversation. A fact has at most 4 KiB; a model whose answer cannot be used is asked once more.
//
// It returns the IDs of the facts that are new, and of known ones that the conversation confirmed and nobody
// vouches for. The Usage of m is counted for no run: wrap m to count it.
func RememberFacts(
	ctx context.Context, m Model, space memory.Space, turns []Message, d memory.Draft,
) ([]memory.ID, error) {
	d.Kind, d.Source.Origin = memory.Fact, memory.Model
	said := func(t Message) string { return t.Role + ": " + fence.Line(t.Text) }
	text := strings.Join(each(turns, said), "\n")
	last := strings.ToValidUTF8(text[max(0, len(text)-maxAsked):], "")
	known, err := space.Recall(ctx, memory.Query{Text: last, Kinds: []memory.Kind{memory.Fact}, K: 12, At: d.At})
	if err != nil {
		return nil, err
	}
	on := "" // a day that is not known
	if !d.At.IsZero() {
		on = d.At.Format("of Monday, 2006-01-02")
	}
	var facts []string
	for i, h := range known {
		facts = append(facts, fmt.Sprintf("%d. %s", i+1, fence.Line(h.Record.Content)))
	}
	prompt := "Known facts:\n" + strings.Join(facts, "\n") + "\n\n" +
		fence.Block("conversation", fence.Mark(text), on, text)
	type noted struct {
		Facts []struct {
			Content, Slot string
			Replaces      []int
		}
		Holds []int
	}
	answer, _, err := Ask(ctx, m, &Request{System: strings.TrimSpace(factsRules), Schema: factsSchema,
		Messages: []Message{{Role: RoleUser, Text: prompt}}}, func(n *noted) error {
		for i, f := range n.Facts {
			if blank(f.Content) || len(f.Content) > maxSaid || len(f.Slot) > store.MaxID {
				const why = "fact %d has no content, or it has more than %d bytes, or its slot more than %d"
				return fmt.Errorf(why, i+1, maxSaid, store.MaxID)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("facts: %w", err)
	}
	var drafts []memory.Draft
	for _, f := range answer.Facts {
		one := d
		one.Content, one.Slot = f.Content, f.Slot
		for _, n := range f.Replaces {
			if n > 0 && n <= len(known) && !known[n-1].Record.Trusted {
				one.Supersedes = append(one.Supersedes, known[n-1].Record.ID)
			}
		}
		drafts = append(drafts, one)
	}
	for _, n := range answer.Holds { // the same draft again strengthens; who is trusted needs no model's word
		if n > 0 && n <= len(known) {
			now, err := space.Get(ctx, known[n-1].Record.ID) // it may be forgotten, or changed, meanwhile
			now.Key, now.Source = "", d.Source
			if err == nil && !now.Trusted && now.Content == known[n-1].Content {
				drafts = append(drafts, now.Draft)
			}
		}
	}
	kept, err := space.RememberAll(ctx, drafts)
	return each(kept, func(r memory.Record) memory.ID { return r.ID }), err
}
