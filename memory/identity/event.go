package identity

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity/internal/lists"
	"github.com/arc-learn/arc/memory/identity/internal/rollup"
	"github.com/arc-learn/arc/memory/identity/internal/rows"
	"github.com/arc-learn/arc/memory/identity/internal/sites"
	"github.com/arc-learn/arc/memory/identity/internal/v2"
	"github.com/arc-learn/arc/memory/internal/ident"
)

const day = 24 * time.Hour

// Limits of the events.
const (
	rollupAfter = 30 * day        // age at which an event becomes part of its day's counts
	markFor     = 2 * rollupAfter // how long a Key is remembered
	groupEvents = 16              // events that one commit adds or rolls up
	maxEvent    = 320 << 10       // of one event as it is kept
)

// Event is something that happened, from which candidates may be inferred: a
// visited page, a tool that was used, a subject that came up.
type Event struct {
	// Kind says what happened, such as "page_visit". "": "event".
	Kind string `json:"type,omitempty" cbor:"2,keyasint,omitempty"`
	// Address is what was visited, if anything: a URL, or a host.
	Address string `json:"url,omitempty" cbor:"3,keyasint,omitempty"`
	// Topic is what it is about, in the words of a fact. "": that of the site
	// at Address, if it is known.
	Topic string `json:"topic,omitempty" cbor:"4,keyasint,omitempty"`
	// Category is that of the fact that Topic would make. "": Expertise.
	Category Category `json:"category,omitempty" cbor:"5,keyasint,omitempty"`
	// Text is what else there is to say. Infer does not use it.
	Text string `json:"text,omitempty" cbor:"6,keyasint,omitempty"`
	// Key makes it idempotent, for 60 days at least. "": none; at most 256
	// bytes.
	Key string `json:"key,omitempty" cbor:"8,keyasint,omitempty"`
	// At is when it happened. Zero: now.
	At time.Time `json:"timestamp" cbor:"7,keyasint"`
	// Dwell is how long it lasted, which weighs in Infer. 0: not known.
	Dwell time.Duration `json:"dwell,omitempty" cbor:"130,keyasint,omitempty"`
	// Extra holds fields of an imported event that this package does not know.
	Extra map[string]json.RawMessage `json:"extra,omitempty" cbor:"9,keyasint,omitempty"`
}

// String names the event without its texts, which are not sanitised yet.
func (e Event) String() string { return fmt.Sprintf("event of %s", e.At.Format(time.RFC3339)) }

// GoString is String: no verb of package fmt prints the texts.
func (e Event) GoString() string { return e.String() }

// noted is an event that was checked, with the mark by which it is known again: its Key
// decides it, or else it is drawn when the event is stored.
type noted struct {
	mark     string
	imported bool   // the earlier of two under one mark is kept
	host     string // of its address as it came
	Event
}

// Observe appends events and returns how many were new. Those of an excluded
// domain are dropped, and those whose Key is known are not counted again. At most
// maxEvents are kept one by one: beyond that the oldest become part of the counts of
// their day, which Infer reads as well, and so do those that are 30 days old, with
// Maintain.
//
// If an event is bad, nothing is stored: the errors are ErrValue,
// [memory.ErrEmpty] for one that says nothing, [memory.ErrID] and
// [*store.LimitError]. After another error some events may be stored; give
// them a Key, and call it again.
func (x *Identity) Observe(ctx context.Context, events ...Event) (int, error) {
	p, err := x.Profile(ctx)
	if err != nil {
		return 0, err
	}
	var kept []noted
	for i := range events {
		e, err := x.event(events[i])
		if err != nil {
			return 0, fmt.Errorf("identity: event %d: %w", i, err)
		}
		if !sites.Within(e.host, p.Settings.ExcludedDomains) {
			kept = append(kept, e)
		}
	}
	return x.append(ctx, kept)
}

// Recent returns the last n events that are kept one by one, the newest first. n 0: all.
func (x *Identity) Recent(ctx context.Context, n int) ([]Event, error) {
	list, err := rows.All[Event](ctx, x.rows, eventPart)
	var out []Event
	for _, r := range slices.Backward(list) {
		if out = append(out, r.Value); len(out) == n {
			break
		}
	}
	return out, err
}

// event checks an event and returns what is kept of it.
func (x *Identity) event(e Event) (noted, error) {
	out := noted{Event: e, host: sites.HostOf(e.Address)}
	out.Kind, out.At = cmp.Or(e.Kind, "event"), cmp.Or(keptTime(e.At), x.clock())
	if err := cmp.Or(checkYear(out.At), scrub(x.sanitize.WithEmails(), &out.Event)); err != nil {
		return out, err
	}
	if e.Key != "" {
		out.mark = ident.Name("event", e.Key)
	}
	if out.Topic = strings.TrimSpace(out.Topic); fence.Blank(out.Topic) {
		out.Topic = ""
	}
	switch {
	case !v2.IsName(out.Kind):
		return out, bad("kind", out.Kind)
	case out.Category != "" && !v2.IsName(out.Category):
		return out, bad("category", out.Category)
	case out.Dwell < 0:
		return out, bad("dwell", out.Dwell)
	case fence.Blank(out.Topic + out.Address + out.Text):
		return out, memory.ErrEmpty
	}
	return out, cmp.Or(over("text", len(out.Text), maxContent), over("address", len(out.Address), maxContent),
		over("topic", len(out.Topic), key.MaxID), key.CheckID("key", e.Key),
		over("event", len(encoded(&out.Event)), maxEvent))
}

// append stores events in groups.
func (x *Identity) append(ctx context.Context, events []noted) (stored int, err error) {
	for len(events) > 0 && err == nil {
		n, fresh := lists.Leading(events, groupEvents, maxEvent), 0
		err = x.rows.Alone(ctx, func(b *rows.Batch) (err error) {
			fresh, err = x.appendGroup(ctx, b, events[:n])
			return err
		})
		if err == nil {
			stored, events = stored+fresh, events[n:]
		}
	}
	return stored, err
}

func (x *Identity) appendGroup(ctx context.Context, b *rows.Batch, events []noted) (fresh int, err error) {
	ring, err := rows.All[Event](ctx, x.rows, eventPart)
	if err != nil {
		return 0, err
	}
	days, err := x.days(ctx)
	known := map[string]rows.Row[Event]{} // by mark
	for _, d := range days {
		for _, m := range d.Value.Marks {
			known[m] = rows.Row[Event]{}
		}
	}
	for _, r := range ring {
		known[r.Name()] = r
	}
	for _, e := range events {
		for drawn := e.mark == ""; drawn; _, drawn = known[e.mark] {
			e.mark = x.ids.Draw(x.now())
		}
		r, seen := known[e.mark]
		if seen && (!e.imported || !r.Stored() ||
			cmp.Or(e.At.Compare(r.Value.At), bytes.Compare(encoded(&e.Event), encoded(&r.Value))) >= 0) {
			continue
		}
		if fresh += lists.Number(!seen); seen {
			ring = slices.DeleteFunc(ring, func(o rows.Row[Event]) bool { return o.Name() == e.mark })
		}
		rows.Put(b, r, eventPart, e.mark, e.At, &e.Event)
		known[e.mark] = rows.Row[Event]{}
	}
	if fresh > 0 && err == nil {
		x.roll(b, days, ring, len(ring)+fresh-maxEvents)
	}
	return fresh, err
}

// roll takes the first n events out of the ring, and those that are old enough, at most
// groupEvents, and adds them to the counts of their days. It returns how many.
func (x *Identity) roll(b *rows.Batch, days map[string]rows.Row[rollup.Day], ring []rows.Row[Event], n int) int {
	old := x.clock().Add(-rollupAfter)
	for n = max(n, 0); n < len(ring) && ring[n].Value.At.Before(old); n++ {
	}
	n = min(n, len(ring), groupEvents)
	done := 0
	for done < n && !b.Full() {
		name := ring[done].Value.At.Format(time.DateOnly)
		was := days[name]
		next := was.Value.Clone()
		for ; done < n && ring[done].Value.At.Format(time.DateOnly) == name; done++ {
			b.Remove(ring[done].Was)
			next.Add(countOf(&ring[done].Value))
			next.Mark(ring[done].Name())
		}
		rows.Put(b, was, rollupPart, name, rollup.TimeOf(name), next)
	}
	return done
}

// days are the roll-ups by their day.
func (x *Identity) days(ctx context.Context) (map[string]rows.Row[rollup.Day], error) {
	list, err := rows.All[rollup.Day](ctx, x.rows, rollupPart)
	out := make(map[string]rows.Row[rollup.Day], len(list))
	for _, r := range list {
		out[r.Name()] = r
	}
	return out, err
}

// countOf is what an event counts in the roll-up of its day.
func countOf(e *Event) rollup.Count {
	return rollup.Count{
		Kind: e.Kind, Host: sites.HostOf(e.Address), Topic: e.Topic, Category: string(e.Category),
		N: 1, More: rollup.More(e.Dwell),
	}
}
