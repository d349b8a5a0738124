package memory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
)

// The orders in which the first program recalled. Its cosine is here the share
// of the query's words that a record holds, and its failures are misleading. It
// had no gate of relevance: where an unrelated record came first, it does not.
func TestRecallCases(t *testing.T) {
	t.Parallel()
	var file struct {
		Cases []struct {
			Name  string
			Input struct {
				Rows []struct {
					Name, Type     string
					Cosine         float64
					Helped, Failed int
					Days           int `json:"age_days"`
				}
				Limit int
				Type  memory.Kind
				Text  bool `json:"query_embedding"`
			}
			Want struct{ Order []string }
		}
	}
	read(t, "testdata/recall.json", &file)
	require.NotEmpty(t, file.Cases)
	words := strings.Fields("alpha bravo charlie delta echo foxtrot golf hotel india juliet")
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s, clock := space(t)
			now := clock.now()
			names := map[memory.ID]string{}
			for i, r := range c.Input.Rows {
				clock.move(now.Sub(clock.now()) - time.Duration(r.Days)*day)
				content := strings.Join(words[:int(r.Cosine*10)], " ")
				id := remember(t, s, memory.Draft{
					Kind: memory.Kind(r.Type), Trigger: fmt.Sprintf("situation s%d row%s", i, strings.Repeat(" filler", 10-int(r.Cosine*10))),
					Content: strings.TrimSpace(content + " end"),
				})
				names[id] = r.Name
				used(t, s, r.Helped, "helped"+r.Name, id)
				for k := range r.Failed {
					feedback(t, s, memory.Feedback{Key: fmt.Sprint("failed", r.Name, k), Misled: []memory.ID{id}})
				}
			}
			clock.move(now.Sub(clock.now()))
			q := memory.Query{K: c.Input.Limit}
			if c.Input.Text {
				q.Text = strings.Join(words, " ")
			}
			if c.Input.Type != "" {
				q.Kinds = []memory.Kind{c.Input.Type}
			}
			var got []string
			for _, h := range recall(t, s, q) {
				got = append(got, names[h.Record.ID])
			}
			want := c.Want.Order
			if strings.Contains(c.Name, "no relevance floor") {
				want = []string{"relevant"}
			}
			require.Equal(t, want, got)
		})
	}
}
