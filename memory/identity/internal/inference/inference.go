// Package inference tells what the events of a time speak for: the topics that came up often
// enough, of which no statement is known yet.
package inference

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/identity/internal/rollup"
	"github.com/arc-learn/arc/memory/identity/internal/sites"
	"github.com/arc-learn/arc/memory/identity/internal/wording"
)

// The rules.
const (
	from  = 3   // weight of the events about a topic
	base  = 0.4 // confidence without any
	step  = 0.05
	most  = 0.8
	usual = "expertise" // category of a topic without
)

// Developing is the word that stands behind the topic of a site in what it says of a person.
const Developing = " development"

// Topic is what several events are about.
type Topic struct {
	sites.Site         // what they say of a person
	Name       string  // the topic in words
	Ref        string  // browsing:host:count, by the host with the most events
	Confidence float64 // in Content
	Count      int     // of the events
	Days       int     // on which there were any, in UTC

	weight float64
	days   map[string]bool
	hosts  map[string]int
}

// Events are counted by topic. Those outside of the time are not, nor those of the domains
// that it is without.
type Events struct {
	From, To time.Time
	Without  []string

	topics map[string]*Topic
}

// Add counts events of a time about the same.
func (e *Events) Add(c rollup.Count, at time.Time) {
	of, name := sites.Site{Content: c.Topic, Category: cmp.Or(c.Category, usual)}, c.Topic
	if c.Topic == "" {
		of = sites.Of(c.Host)
		name = strings.TrimSuffix(of.Content, Developing)
	}
	if fence.Blank(of.Content) || sites.Within(c.Host, e.Without) || at.Before(e.From) || at.After(e.To) {
		return
	}
	k := of.Category + "\x00" + wording.Canonical(of.Content)
	t := e.topics[k]
	if t == nil {
		t = &Topic{Site: of, Name: name, days: map[string]bool{}, hosts: map[string]int{}}
		if e.topics == nil {
			e.topics = map[string]*Topic{}
		}
		e.topics[k] = t
	}
	if of.Content < t.Content { // of several spellings, one
		t.Site, t.Name = of, name
	}
	t.Count += c.N
	t.weight = rollup.Round(t.weight + float64(c.N) + c.More)
	if t.days[at.Format(time.DateOnly)] = true; c.Host != "" {
		t.hosts[c.Host] += c.N
	}
}

// Topics returns the topics that came up often enough and that none of the statements
// mentions by whole words, the best founded first.
func (e *Events) Topics(known []string) (out []Topic) {
	for _, t := range e.topics {
		if t.weight < from || slices.ContainsFunc(known, func(s string) bool {
			return wording.Overlap(s, t.Name) || wording.Overlap(s, t.Content)
		}) {
			continue
		}
		t.Ref, t.Days = t.ref(), len(t.days)
		t.Confidence = min(rollup.Round(base+step*t.weight), most)
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b Topic) int {
		return cmp.Or(b.Count-a.Count, b.Days-a.Days,
			cmp.Compare(a.Content, b.Content), cmp.Compare(a.Category, b.Category))
	})
	return out
}

func (t *Topic) ref() string {
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
