package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/store"
)

// Limits of the events.
const (
	maxEvents   = 1000 // that are kept one by one; older ones are left in the counts of their day only
	rollupAfter = 30 * 24 * time.Hour
	maxTopics   = 80 // of a day
	maxEvent    = 16 << 10

	defaultLookback = 7 // days of events from which Infer suggests
	maxLookback     = 100 * 365
	maxSuggested    = 5
	enoughWeight    = 3
)

// Event is something that happened, of which facts may be inferred: a visited page, a tool that was used, a
// subject that came up. It has at most 16 KiB.
type Event struct {
	Kind    string        `json:"type"`            // such as "page_visit"; "": "event"
	Address string        `json:"url,omitempty"`   // what was visited: a URL or a host
	Topic   string        `json:"topic,omitempty"` // in the words of a fact, at most 4 KiB; "": visits to a host
	Text    string        `json:"text,omitempty"`  // what else there is to say; Infer does not use it
	At      time.Time     `json:"timestamp"`       // zero: now
	Dwell   time.Duration `json:"dwell,omitempty"` // how long it lasted; 0: not known
}

// ring has the numbers of the first event that is kept and of the next.
type ring struct{ First, Next uint64 }

// count is what a day has of a topic at a place.
type count struct {
	Topic, Ref string
	N          int
	Weight     float64
}

func eventID(n uint64) string { return fmt.Sprintf("%020d", n) }

// Observe appends events and returns how many it has kept: all but those of excluded domains and, where there
// are such, of an Address whose host cannot be told. At most 1,000 are kept one by one. It is one commit, of
// at most 4 MiB and some 4,000 events: after an error none is kept, or, if the answer was lost, all are.
func (x *Identity) Observe(ctx context.Context, events ...Event) (kept int, err error) {
	p, err := x.Profile(ctx)
	if err != nil {
		return 0, err
	}
	var clean []Event
	for _, e := range events {
		host := hostOf(e.Address)
		e.Kind, e.Address = cmp.Or(x.clean.Prose(e.Kind), "event"), x.clean.Prose(e.Address)
		e.Topic, e.Text = strings.TrimSpace(x.clean.Prose(e.Topic)), x.clean.Prose(e.Text)
		e.At = cmp.Or(e.At.UTC().Truncate(time.Millisecond), x.clock())
		switch size := len(e.Address) + len(e.Topic) + len(e.Text) + len(e.Kind); {
		case size > maxEvent || len(e.Topic) > maxContent:
			return 0, cmp.Or(store.Limit("event", size, maxEvent), store.Limit("topic", len(e.Topic), maxContent))
		case e.Address+e.Topic+e.Text == "", e.Dwell < 0, e.At.Year() < 1, e.At.Year() > 9999:
			return 0, fmt.Errorf("identity: %w: an event without a word, or of no time or dwell", store.ErrInvalid)
		case excluded(host, p.ExcludedDomains), host == "" && e.Address != "" && len(p.ExcludedDomains) > 0:
		default:
			clean = append(clean, e)
		}
	}
	if err := x.group.Update(ctx, func(b *store.Batch) error { return x.append(ctx, b, clean) }); err != nil {
		return 0, err
	}
	return len(clean), nil
}

// append counts events and keeps them, in place of the oldest ones.
func (x *Identity) append(ctx context.Context, b *store.Batch, events []Event) error {
	key := x.scope.Key(stateKind, "events")
	r, c, err := codec.Load[ring](ctx, b, key)
	for i := 0; i < len(events) && err == nil; i++ {
		kept := x.scope.Key(eventKind, eventID(r.Next))
		err = cmp.Or(x.count(ctx, b, events[i]), codec.Put(b, kept, events[i], store.Any))
		r.Next++
	}
	for ; err == nil && r.Next-r.First > maxEvents; r.First++ {
		err = b.Delete(x.scope.Key(eventKind, eventID(r.First)), store.Any)
	}
	return cmp.Or(err, codec.Put(b, key, r, c))
}

// count adds an event to the counts of its day: the minutes that it lasted, from .2 to 3; not known, 1.
func (x *Identity) count(ctx context.Context, b *store.Batch, e Event) error {
	n := count{Topic: e.Topic, Ref: hostOf(e.Address), N: 1, Weight: 1}
	if e.Dwell > 0 {
		n.Weight = min(max(e.Dwell.Minutes(), 0.2), 3)
	}
	if n.Topic == "" && n.Ref != "" {
		n.Topic = "visits " + n.Ref
	}
	key := x.scope.Key(dayKind, e.At.Format(time.DateOnly))
	day, c, err := codec.Load[[]count](ctx, b, key)
	if err != nil || n.Topic == "" {
		return err
	}
	i := slices.IndexFunc(day, func(o count) bool { return o.Topic == n.Topic && o.Ref == n.Ref })
	switch {
	case i >= 0:
		day[i].N, day[i].Weight = day[i].N+1, day[i].Weight+n.Weight
	case len(day) < maxTopics:
		day = append(day, n)
	}
	return codec.Put(b, key, day, c)
}

// Recent returns the last n events that are kept one by one, the newest first. n 0: all.
func (x *Identity) Recent(ctx context.Context, n int) ([]Event, error) {
	_, out, err := all[Event](ctx, x, eventKind)
	slices.Reverse(out)
	if n > 0 {
		out = out[:min(n, len(out))]
	}
	return out, err
}

// Infer returns what the events of today and the days before (0: 7, in UTC) speak for, five candidates at
// most, the best founded first. Nothing is added to the facts: Validate makes one a fact, Reject bars it.
//
// A topic needs events of a weight of three, where an event weighs as many minutes as its Dwell, from .2 to
// 3, or 1. Confidence is .4 + .05·weight, at most .8; the category is expertise. The topic is that of the
// event, or else "visits HOST". Left out is what was rejected, or is said by a fact in use.
func (x *Identity) Infer(ctx context.Context, days int) ([]Fact, error) {
	found, err := x.infer(ctx, cmp.Or(min(max(days, 0), maxLookback), defaultLookback))
	return found[:min(len(found), maxSuggested)], err
}

// suggested returns what Infer suggests under an id.
func (x *Identity) suggested(ctx context.Context, id string) (Fact, error) {
	found, err := x.infer(ctx, maxLookback)
	for _, f := range found {
		if f.ID == id {
			return f, nil
		}
	}
	return Fact{}, cmp.Or(err, fmt.Errorf("identity: fact %s: %w", id, store.ErrNotFound))
}

// infer returns all that the events of some days speak for, the best founded first.
func (x *Identity) infer(ctx context.Context, days int) (out []Fact, err error) {
	p, err := x.Profile(ctx)
	dates, counts, err2 := all[[]count](ctx, x, dayKind)
	known, err3 := x.List(ctx)
	refused, _, err4 := all[string](ctx, x, blockedKind)
	if err := errors.Join(err, err2, err3, err4); err != nil {
		return nil, err
	}
	now := x.clock()
	from, today := now.AddDate(0, 0, -days).Format(time.DateOnly), now.Format(time.DateOnly)
	topics := map[string]*count{}
	for i, date := range dates {
		for _, c := range counts[i] {
			if date < from || date > today || excluded(c.Ref, p.ExcludedDomains) {
				continue
			}
			t := cmp.Or(topics[blockName(c.Topic)], &count{Topic: c.Topic, Ref: c.Ref})
			t.N, t.Weight = t.N+c.N, t.Weight+c.Weight
			topics[blockName(c.Topic)] = t
		}
	}
	var words []map[string]bool // of facts in use
	for _, f := range known {
		if f.ArchivedAt.IsZero() {
			words = append(words, x.wordsOf(f.Content))
		}
	}
	for _, t := range topics {
		if t.Weight < enoughWeight || slices.Contains(refused, blockName(t.Topic)) {
			continue
		}
		topic := slices.Collect(maps.Keys(x.wordsOf(t.Topic)))
		if slices.ContainsFunc(words, func(fact map[string]bool) bool {
			return !slices.ContainsFunc(topic, func(w string) bool { return !fact[w] })
		}) {
			continue
		}
		out = append(out, Fact{
			ID: nameOf("suggestion", blockName(t.Topic)), Category: "expertise", Content: t.Topic, Maturity: Candidate,
			Confidence: math.Round(100*min(0.8, 0.4+0.05*t.Weight)) / 100, LastValidated: now,
			Source: Inferred, SourceRef: fmt.Sprintf("browsing:%s:%d", t.Ref, t.N),
		})
	}
	slices.SortFunc(out, func(a, b Fact) int {
		return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), strings.Compare(a.ID, b.ID))
	})
	return out, nil
}

// wordsOf returns the words of a text but for function words.
func (x *Identity) wordsOf(s string) map[string]bool {
	words := map[string]bool{}
	for _, t := range x.words.Append(nil, s) {
		if !t.Stop {
			words[t.Text] = true
		}
	}
	return words
}

// Maintain does what time asks for, and returns how many facts and events it changed; call it once a day or
// so. A fact below an effective confidence of .3 loses one step of maturity, once until it is validated
// again; one below .1 is archived, whatever its maturity. Of events that are 30 days old only the counts of
// their day stay. With AutoInfer, what Infer would suggest is added as candidates of ½.
func (x *Identity) Maintain(ctx context.Context) (n int, err error) {
	p, err := x.Profile(ctx)
	ids, facts, err2 := all[fact](ctx, x, factKind)
	if err := errors.Join(err, err2); err != nil {
		return 0, err
	}
	now := x.clock()
	for i, id := range ids {
		if f := facts[i]; !f.ArchivedAt.IsZero() || !f.fade(now, p.HalfLifeDays) {
			continue
		}
		_, err := x.change(ctx, id, func(f *fact) (bool, error) { return f.fade(now, p.HalfLifeDays), nil })
		if err == nil {
			n++
		} else if !errors.Is(err, store.ErrNotFound) { // rejected meanwhile
			return n, err
		}
	}
	events := x.group.Store().Scan(ctx, store.Range{Prefix: x.scope.Key(eventKind, "")})
	rolled, err := codec.Sweep(ctx, x.group, events, func(kept store.Entry) bool {
		var e Event
		return codec.Unmarshal(kept.Value, &e) == nil && now.Sub(e.At) > rollupAfter // the counts of their day stay
	}, false)
	if n += rolled; err != nil || !p.AutoInfer {
		return n, err
	}
	found, err := x.Infer(ctx, 0)
	for _, f := range found {
		f.Confidence = 0 // nobody has looked at it: that of any candidate, whatever the events weigh
		if _, added := x.Add(ctx, f); added == nil {
			n++
		} else if !errors.Is(added, ErrRejected) {
			err = errors.Join(err, added)
		}
	}
	return n, err
}

// fade takes a step of maturity from f, or archives it, if it has faded.
func (f *fact) fade(now time.Time, halfLifeDays float64) (changed bool) {
	c := f.effective(now, halfLifeDays)
	if i := slices.Index(maturities, f.Maturity); c < faded && i > 0 && !f.Demoted {
		f.Maturity, f.Demoted, changed = maturities[i-1], true, true
	}
	if c < expired && f.ArchivedAt.IsZero() {
		f.ArchivedAt, changed = now, true
	}
	return changed
}

// hostOf returns the host of an address, in lower case and without "www.".
func hostOf(address string) string {
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil || len(u.Host) > 256 { // no name is longer
		return ""
	}
	return strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), "www.")
}

// excluded reports whether a host is one of the domains, or below one.
func excluded(host string, domains []string) bool {
	return host != "" && slices.ContainsFunc(domains, func(d string) bool {
		d = hostOf(strings.TrimPrefix(d, "*."))
		return d != "" && (host == d || strings.HasSuffix(host, "."+d))
	})
}
