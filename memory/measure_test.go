package memory_test

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// data reads the file that a variable of the environment names, or skips the test: see docs/benchmarks.md.
func data(t *testing.T, variable string, v any) {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Skip("no data: set " + variable)
	}
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		r, err = gzip.NewReader(f)
		require.NoError(t, err)
	}
	require.NoError(t, json.NewDecoder(r).Decode(v))
}

// chat is a conversation of LoCoMo or REALTALK in a Space, with the questions about it.
type chat struct {
	memory.Space
	turns     map[memory.ID]string
	speakers  []string
	questions []question
}

type question struct {
	Question string
	Evidence []string
	Category int
}

func chats(t *testing.T, variable string) (out []chat) {
	var raw []struct {
		Conversation map[string]json.RawMessage
		QA           []question
	}
	data(t, variable, &raw)
	for _, r := range raw {
		s, c := space(t)
		chat := chat{Space: s, turns: map[memory.ID]string{}}
		for n := range len(r.Conversation) {
			session := fmt.Sprintf("session_%d", n)
			var turns []struct {
				Speaker, Text string
				ID            string `json:"dia_id"`
				Caption       string `json:"blip_caption"`
				Date          string `json:"date_time"`
			}
			var date string
			if r.Conversation[session] == nil {
				continue
			}
			require.NoError(t, json.Unmarshal(r.Conversation[session], &turns))
			require.NoError(t, json.Unmarshal(r.Conversation[session+"_date_time"], &date))
			at, err := time.Parse("3:04 pm on 2 January, 2006", date)
			require.NoError(t, err)
			for i, turn := range turns {
				c.now = at.Add(time.Duration(i) * time.Second)
				if turn.Date != "" {
					c.now, err = time.Parse("2006-01-02T15:04:05", turn.Date)
					require.NoError(t, err)
				}
				id := remember(t, s, memory.Draft{Kind: memory.Episode, Actor: turn.Speaker, Thread: session, At: c.now,
					Content: cmp.Or(strings.TrimSpace(turn.Caption+"\n"+turn.Text), "-"), Key: turn.ID})
				chat.turns[id] = turn.ID
				if !slices.Contains(chat.speakers, turn.Speaker) {
					chat.speakers = append(chat.speakers, turn.Speaker)
				}
			}
		}
		known := map[string]bool{}
		for _, id := range chat.turns {
			known[id] = true
		}
		for _, q := range r.QA {
			q.Evidence = slices.DeleteFunc(q.Evidence, func(e string) bool { return !known[e] })
			if len(q.Evidence) > 0 {
				chat.questions = append(chat.questions, q)
			}
		}
		out = append(out, chat)
	}
	return out
}

// share is how much of a question's evidence the hits have.
func (c *chat) share(q question, hits []memory.Hit) (n float64) {
	for _, h := range hits {
		if slices.Contains(q.Evidence, c.turns[h.Record.ID]) {
			n++
		}
	}
	return n / float64(len(q.Evidence))
}

// answer is how likely the best hit answers a question.
func (c *chat) answer(t *testing.T, q string) float64 {
	hits, err := c.Recall(t.Context(), memory.Query{Text: q})
	require.NoError(t, err)
	best := 0.0
	for _, h := range hits {
		best = max(best, h.Parts.Relevance)
	}
	return best
}

// TestDialogues reports recall at 1, 5, 10, 50 and within 1,000 tokens, and how well Relevance tells questions that
// have no answer: of category 5, and of another conversation with the names exchanged.
func TestDialogues(t *testing.T) {
	for _, variable := range []string{"ARC_LOCOMO", "ARC_REALTALK"} {
		t.Run(variable, func(t *testing.T) {
			cs := chats(t, variable)
			var sums [5]float64
			var answered, unanswered, others []float64
			n := 0.0
			for i, c := range cs {
				for _, q := range c.questions {
					hits, err := c.Recall(t.Context(), memory.Query{Text: q.Question, K: 50})
					require.NoError(t, err)
					n++
					for i, k := range []int{1, 5, 10, 50} {
						sums[i] += c.share(q, hits[:min(k, len(hits))])
					}
					budget, m := 1000, 0
					for ; m < len(hits); m++ {
						if budget -= (len(hits[m].Record.Content) + 3) / 4; budget < 0 {
							break
						}
					}
					sums[4] += c.share(q, hits[:m])
					if p := c.answer(t, q.Question); q.Category == 5 {
						unanswered = append(unanswered, p)
					} else {
						answered = append(answered, p)
					}
				}
				other := cs[(i+1)%len(cs)]
				names := strings.NewReplacer(other.speakers[0], c.speakers[0], other.speakers[1], c.speakers[1])
				for _, q := range other.questions {
					others = append(others, c.answer(t, names.Replace(q.Question)))
				}
			}
			for i := range sums {
				sums[i] *= 100 / n
			}
			t.Logf("%.0f questions: R@1 %.1f, R@5 %.1f, R@10 %.1f, R@50 %.1f, in 1,000 tokens %.1f",
				n, sums[0], sums[1], sums[2], sums[3], sums[4])
			t.Logf("AUROC: category 5 %.3f, of others %.3f", auroc(answered, unanswered), auroc(answered, others))
		})
	}
}

// auroc is how likely one of yes is greater than one of no.
func auroc(yes, no []float64) float64 {
	wins := 0.0
	for _, y := range yes {
		for _, n := range no {
			wins += float64(cmp.Compare(y, n)+1) / 2
		}
	}
	return wins / float64(len(yes)*len(no))
}

// facts returns a Space with Facts of contents at increasing times, the last of them thirty days later.
func facts(t *testing.T, later time.Duration, contents ...string) (memory.Space, []memory.ID) {
	s, c := space(t)
	var ids []memory.ID
	for i, content := range contents {
		if i == len(contents)-1 {
			c.add(30 * 24 * time.Hour)
		}
		c.add(time.Hour)
		ids = append(ids, fact(t, s, content))
	}
	c.add(later)
	return s, ids
}

// place returns where a memory comes for a question, from 0 on; -1: it does not.
func place(t *testing.T, s memory.Space, q string, id memory.ID) int {
	hits, err := s.Recall(t.Context(), memory.Query{Text: q})
	require.NoError(t, err)
	return slices.IndexFunc(hits, func(h memory.Hit) bool { return h.Record.ID == id })
}

// TestLetta reports how often the changed fact comes first for its question, and how often another fact stays before a
// change that is not of it: looked at once, and asked three years later.
func TestLetta(t *testing.T) {
	var groups []struct {
		Facts   []string
		Updates []struct {
			Question string
			Old      int
			New      string
		}
	}
	data(t, "ARC_LETTA", &groups)
	for _, later := range []time.Duration{0, 3 * 365 * 24 * time.Hour} {
		n, current, others, kept, before := 0, 0, 0, 0, 0
		for _, g := range groups {
			for i, u := range g.Updates {
				s, ids := facts(t, later, append(slices.Clone(g.Facts), u.New)...)
				n++
				if s, ids := facts(t, 0, g.Facts...); place(t, s, u.Question, ids[u.Old]) == 0 {
					before++
				}
				if place(t, s, u.Question, ids[len(ids)-1]) == 0 {
					current++
				}
				for j, o := range g.Updates {
					if i == j || o.Old == u.Old {
						continue
					}
					others++
					was, is := place(t, s, o.Question, ids[o.Old]), place(t, s, o.Question, ids[len(ids)-1])
					if was >= 0 && (is < 0 || was < is) {
						kept++
					}
				}
			}
		}
		t.Logf("%v later: of %d changes %.1f %% first (the old one before %.1f %%); of %d others %.1f %% kept", later, n,
			100*float64(current)/float64(n), 100*float64(before)/float64(n), others, 100*float64(kept)/float64(others))
	}
}

// TestPairs reports of changes in other hands' words how often the new statement comes first, and of pairs that both
// hold, how often either is hidden.
func TestPairs(t *testing.T) {
	for _, variable := range []string{"ARC_PAIRS_A", "ARC_PAIRS_B"} {
		t.Run(variable, func(t *testing.T) {
			var pairs []struct {
				Both               bool
				Old, New, Question string
				Others             []string
			}
			data(t, variable, &pairs)
			var n, first, both, hidden int
			for _, p := range pairs {
				s, ids := facts(t, 3*365*24*time.Hour, append(slices.Clone(p.Others), p.Old, p.New)...)
				before, _ := facts(t, 0, append(slices.Clone(p.Others), p.Old)...)
				old, new := ids[len(ids)-2], ids[len(ids)-1]
				if p.Both {
					both++
					if place(t, before, p.Question, old) >= 0 && place(t, s, p.Question, old) < 0 {
						hidden++
					}
				} else if n++; place(t, s, p.Question, new) == 0 {
					first++
				}
			}
			t.Logf("of %d changes %d first; of %d that both hold %d hidden", n, first, both, hidden)
		})
	}
}

// TestPrecision counts the cases of PrecisionMemBench whose set is recalled exactly: beliefs are Rules, with their
// names and aliases as phrases, and with their names alone.
func TestPrecision(t *testing.T) {
	type belief struct {
		ID           string `json:"_id"`
		User         string `json:"user_id"`
		Type         string
		Name         string `json:"canonical_name"`
		Aliases      []string
		Content      string
		Scope        []string
		Pinned       bool
		SupersededBy string `json:"superseded_by"`
		ResolvedAt   string `json:"resolved_at"`
		Participants []string
	}
	var set struct {
		Beliefs []belief
		Cases   []struct {
			Case, Query, User string
			Scope, Exact      []string
			Max               int
		}
	}
	data(t, "ARC_PRECISIONMEMBENCH", &set)
	in := func(user, scope string) memory.Scope {
		return memory.Scope("bench/" + user + "/" + strings.ReplaceAll(scope, ":", "."))
	}
	for _, aliases := range []bool{true, false} {
		b, _ := open(t, store.NewMem(), memory.Options{})
		byID, ids := map[string]*belief{}, map[memory.ID]*belief{}
		for i := range set.Beliefs {
			v := &set.Beliefs[i]
			byID[v.ID] = v
			if v.ResolvedAt != "" {
				continue // forgotten
			}
			phrases := []string{v.Name}
			if aliases {
				phrases = append(phrases, v.Aliases...)
			}
			id := remember(t, b.In(in(v.User, v.Scope[0])), memory.Draft{Kind: memory.Rule, Content: v.Content, Key: v.ID,
				Trigger: strings.Join(phrases, "\n")})
			ids[id] = v
		}
		for id, v := range ids {
			for by, w := range ids {
				if w.ID == v.SupersededBy {
					require.NoError(t, supersede(t.Context(), b.In(in(v.User, v.Scope[0])), id, by))
				}
			}
		}
		active, empty, passed, silent := 0, 0, 0, 0
		for _, c := range set.Cases {
			var also []memory.Scope
			for _, s := range c.Scope[1:] {
				also = append(also, in(c.User, s))
			}
			pinned := 0
			for _, v := range set.Beliefs {
				if v.Pinned && v.ResolvedAt == "" && v.User == c.User && slices.Contains(c.Scope, v.Scope[0]) {
					pinned++
				}
			}
			hits, err := b.In(in(c.User, c.Scope[0])).Recall(t.Context(), memory.Query{Text: c.Query,
				Kinds: []memory.Kind{memory.Rule}, Also: also})
			require.NoError(t, err)
			var got []string
			add := func(v *belief) {
				if !v.Pinned && v.Type != "open_question" && slices.Contains(c.Scope, v.Scope[0]) && !slices.Contains(got, v.ID) {
					got = append(got, v.ID)
				}
			}
			for _, h := range hits {
				v := ids[h.Record.ID]
				add(v)
				for _, p := range v.Participants {
					add(byID[p])
				}
			}
			got = got[:min(len(got), max(0, c.Max-pinned))]
			slices.Sort(got)
			slices.Sort(c.Exact)
			exact := slices.Equal(got, c.Exact)
			if len(c.Exact) == 0 {
				empty++
				if exact {
					silent++
				}
			} else if active++; exact {
				passed++
			}
			if !exact && aliases {
				t.Logf("%s: %q: got %v, not %v", c.Case, c.Query, got, c.Exact)
			}
		}
		t.Logf("aliases %v: exact %d of %d, nothing where there is nothing %d of %d", aliases, passed, active, silent, empty)
	}
}
