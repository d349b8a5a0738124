package identity

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// DefaultLookback is how far back Infer looks unless told otherwise.
const DefaultLookback = 7 * 24 * time.Hour

// The rules of inference.
const (
	inferFrom    = 3   // events about a topic
	inferBase    = 0.4 // confidence without any
	inferStep    = 0.05
	inferMost    = 0.8
	maxSuggested = 5
	suggestTimes = 2 // how often something is suggested before it is let be
	developing   = " development"
)

// Suggestion is a fact that events speak for. Validate keeps it as a candidate that
// was confirmed once, and Reject as one that was refused. To keep it as it is, Add
// its Draft.
type Suggestion struct {
	ID    ID // by which Validate and Reject make a fact of it; always the same
	Draft Draft
	Topic string
	Count int // visits, or other events
	Days  int // on which there were any, in UTC
}

// suggestion is what was suggested, and how often.
type suggestion struct {
	Times      int      `cbor:"1,keyasint"`
	Content    string   `cbor:"130,keyasint,omitempty"`
	Category   Category `cbor:"131,keyasint,omitempty"`
	Confidence float64  `cbor:"132,keyasint,omitempty"`
	Ref        string   `cbor:"133,keyasint,omitempty"`
	Topic      string   `cbor:"134,keyasint,omitempty"`
}

// Infer returns what the events of the last lookback (0: DefaultLookback) speak
// for, the best founded first, five at most. Nothing is added to the facts.
//
// A topic needs events of a weight of three; its confidence is 0.4 + 0.05 of their
// weight, 0.8 at most. An event weighs as many minutes as its Dwell has, from 0.2 to
// 3, and 1 without. The topic is that of the event, or what is known of the site at its
// address. Left out are topics that were rejected or that a fact in use
// mentions already, both by whole words, and those that were suggested twice
// before: who has not taken them up by then does not want to. The same events
// always give the same suggestions.
func (x *Identity) Infer(ctx context.Context, lookback time.Duration) ([]Suggestion, error) {
	if lookback <= 0 {
		lookback = DefaultLookback
	}
	found, err := x.infer(ctx, lookback)
	if err != nil {
		return nil, err
	}
	out := found[:0]
	for _, s := range found {
		if len(out) == maxSuggested {
			break
		}
		d, fresh := s.Draft, false
		err := x.change(ctx, func(b *batch) error {
			r, err := fetch[suggestion](ctx, x, idOf(suggestionPart, string(s.ID)))
			if fresh = r.v.Times < suggestTimes; err != nil || !fresh {
				return err
			}
			b.putSuggestion(r, string(s.ID), &suggestion{r.v.Times + 1, d.Content, d.Category, d.Confidence, d.Ref, s.Topic})
			return nil
		})
		if err != nil {
			return nil, err
		}
		if fresh {
			out = append(out, s)
		}
	}
	return out, nil
}

func (b *batch) putSuggestion(was row[suggestion], name string, s *suggestion) {
	put(b, was, memory.Record{ID: idOf(suggestionPart, name), Thread: suggestionPart}, s)
}

// suggested returns the fact that a suggestion would make, which is not stored yet, and
// its topic; or the fact that says the same, or store.ErrNotFound.
func (x *Identity) suggested(ctx context.Context, id ID) (r row[Fact], topic string, err error) {
	s, err := fetch[suggestion](ctx, x, idOf(suggestionPart, string(id)))
	if err == nil && s.v.Content == "" {
		err = fmt.Errorf("identity: fact %.64q: %w", string(id), store.ErrNotFound)
	}
	if err != nil {
		return r, "", err
	}
	f, err := x.fact(Draft{Content: s.v.Content, Category: s.v.Category, Confidence: s.v.Confidence, Ref: s.v.Ref, Source: Inferred})
	if err != nil {
		return r, "", err
	}
	if r, err = x.owner(ctx, &f); err == nil && !r.stored() {
		f.ID = id
		r.v = f
	}
	return r, s.v.Topic, err
}

// topic is what several events are about.
type topic struct {
	site   Site
	topic  string
	n      int
	weight float64
	days   map[string]bool
	hosts  map[string]int
}

// infer returns all that the events speak for, the best founded first.
func (x *Identity) infer(ctx context.Context, lookback time.Duration) ([]Suggestion, error) {
	topics, err := x.topics(ctx, x.clock().Add(-lookback))
	if err != nil {
		return nil, err
	}
	known, err := x.List(ctx, Filter{})
	if err != nil {
		return nil, err
	}
	refused, err := x.Rejections(ctx)
	if err != nil {
		return nil, err
	}
	var out []Suggestion
	for _, t := range topics {
		if t.weight < inferFrom ||
			slices.ContainsFunc(known, func(v View) bool { return overlaps(v.Content, t.topic) || overlaps(v.Content, t.site.Content) }) ||
			slices.ContainsFunc(refused, func(r Rejection) bool { return overlaps(r.Content, t.topic) || overlaps(r.Content, t.site.Content) }) {
			continue
		}
		out = append(out, Suggestion{
			ID: ID(digest("suggestion", string(t.site.Category), canonical(t.site.Content))),
			Draft: Draft{
				Content: t.site.Content, Category: t.site.Category, Source: Inferred, Ref: t.ref(),
				Confidence: min(roundOff(inferBase+inferStep*t.weight), inferMost),
			},
			Topic: t.topic, Count: t.n, Days: len(t.days),
		})
	}
	slices.SortFunc(out, func(a, b Suggestion) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.Days, a.Days), cmp.Compare(a.Draft.Content, b.Draft.Content), cmp.Compare(a.Draft.Category, b.Draft.Category))
	})
	return out, nil
}

// ref is browsing:host:count, by the host with the most events.
func (t *topic) ref() string {
	best := ""
	for host, n := range t.hosts {
		if n > t.hosts[best] || n == t.hosts[best] && host < best {
			best = host
		}
	}
	if ref := fmt.Sprintf("browsing:%s:%d", best, t.hosts[best]); best != "" && len(ref) <= key.MaxID {
		return ref
	}
	return best
}

// topics collects what the events since a time are about, those that were
// rolled up included as far as their whole day is within it.
func (x *Identity) topics(ctx context.Context, since time.Time) (map[string]*topic, error) {
	out := map[string]*topic{}
	add := func(c count, day string) {
		site, name, ok := x.about(&c)
		if !ok {
			return
		}
		k := string(site.Category) + "\x00" + canonical(site.Content)
		t := out[k]
		if t == nil {
			t = &topic{site: site, topic: name, days: map[string]bool{}, hosts: map[string]int{}}
			out[k] = t
		}
		if site.Content < t.site.Content { // of several spellings, one
			t.site, t.topic = site, name
		}
		t.n += c.N
		t.weight = roundOff(t.weight + float64(c.N) + c.More)
		t.days[day] = true
		if c.Host != "" {
			t.hosts[c.Host] += c.N
		}
	}
	ring, err := each[Event](ctx, x, eventPart)
	if err != nil {
		return nil, err
	}
	for i := range ring {
		if e := &ring[i].v; !e.At.Before(since) {
			add(countOf(e), e.At.Format(time.DateOnly))
		}
	}
	days, err := x.days(ctx)
	for _, name := range slices.Sorted(maps.Keys(days)) {
		if day, err := time.Parse(time.DateOnly, name); err == nil && !day.Before(since) {
			for _, c := range days[name].v.Counts {
				add(c, name)
			}
		}
	}
	return out, err
}

// about tells what an event would have one say, and of which topic.
func (x *Identity) about(c *count) (Site, string, bool) {
	if c.Topic != "" {
		return Site{c.Topic, cmp.Or(c.Category, Expertise)}, c.Topic, true
	}
	site, ok := x.siteOf(c.Host)
	return site, strings.TrimSuffix(site.Content, developing), ok
}
