package identity

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// rollupAfter is the age at which an event becomes part of its day's counts.
const rollupAfter = 30 * 24 * time.Hour

// What an event weighs by its Dwell, in minutes: a look at a page says little, and an
// open tab no more than a visit that was read.
const (
	leastWeight = 0.2
	mostWeight  = 3
)

// Limits of the events.
const (
	markFor     = 2 * rollupAfter // how long a Key is remembered
	maxTopics   = 80              // things that a day counts one by one
	groupEvents = 16              // events that one commit adds or rolls up; with maxTopics, its largest size
	maxEvent    = 128 << 10       // of one event; what a commit adds in events
)

// Event is something that happened, from which candidates may be inferred: a
// visited page, a tool that was used, a subject that came up.
type Event struct {
	// Key makes it idempotent, for 60 days at least. "": none; at most 256
	// bytes.
	Key string
	// Kind says what happened, such as "page_visit". "": "event".
	Kind string
	// Address is what was visited, if anything: a URL, or a host.
	Address string
	// Topic is what it is about, in the words of a fact. "": that of the site
	// at Address, if it is known.
	Topic string
	// Category is that of the fact that Topic would make. "": Expertise.
	Category Category
	Text     string        // what else there is to say; not used by Infer
	Dwell    time.Duration // how long it lasted, which weighs in Infer; 0: not known
	At       time.Time     // zero: now
	// Extra holds fields of an imported event that this package does not know.
	Extra map[string]json.RawMessage
}

// String names the event without its texts, which are not sanitised yet.
func (e Event) String() string { return fmt.Sprintf("event of %s", e.At.Format(time.RFC3339)) }

// GoString is String: no verb of package fmt prints the texts.
func (e Event) GoString() string { return e.String() }

// storedEvent is an Event on disk. Mark is its name, by which it is known
// again: its Key decides it, or else it is drawn when the event is stored.
type storedEvent struct {
	Mark     string                     `cbor:"1,keyasint"`
	Kind     string                     `cbor:"2,keyasint,omitempty"`
	Address  string                     `cbor:"3,keyasint,omitempty"`
	Topic    string                     `cbor:"4,keyasint,omitempty"`
	Category Category                   `cbor:"5,keyasint,omitempty"`
	Text     string                     `cbor:"6,keyasint,omitempty"`
	At       time.Time                  `cbor:"7,keyasint"`
	Key      string                     `cbor:"8,keyasint,omitempty"`
	Extra    map[string]json.RawMessage `cbor:"9,keyasint,omitempty"`
	Dwell    time.Duration              `cbor:"130,keyasint,omitempty"`
}

func (e *storedEvent) open() Event {
	return Event{e.Key, e.Kind, e.Address, e.Topic, e.Category, e.Text, e.Dwell, e.At, e.Extra}
}

// ring is the state of the events: every writer of them writes it, so that
// they follow one another.
type ring struct {
	Next  uint64 `cbor:"1,keyasint"` // number of the next event
	Count int    `cbor:"2,keyasint"`
}

// mark remembers that an event was added.
type mark struct {
	At time.Time `cbor:"1,keyasint"` // of the event
}

// Observe appends events and returns how many were new. Those of an excluded
// domain are dropped, and those whose Key is known are not counted again. The
// ring holds MaxEvents: beyond that the oldest become part of the counts of
// their day, which Infer reads as well, and so do those that are 30 days old,
// little by little as others come, or all with Maintain.
//
// If an event is bad, nothing is stored: the errors are ErrValue,
// [memory.ErrEmpty] for one that says nothing, [memory.ErrID] and
// [*store.LimitError]. After another error some events may be stored; give
// them a Key, and call it again.
func (x *Identity) Observe(ctx context.Context, events ...Event) (int, error) {
	kept := make([]storedEvent, 0, len(events))
	for i := range events {
		e, err := x.event(&events[i])
		if err != nil {
			return 0, fmt.Errorf("identity: event %d: %w", i, err)
		}
		kept = append(kept, e)
	}
	p, err := x.Profile(ctx)
	if err != nil {
		return 0, err
	}
	kept = slices.DeleteFunc(kept, func(e storedEvent) bool {
		return within(hostOf(e.Address), p.Settings.ExcludedDomains)
	})
	return x.append(ctx, kept)
}

// append stores events in groups.
func (x *Identity) append(ctx context.Context, events []storedEvent) (int, error) {
	stored := 0
	for len(events) > 0 {
		n, size := 0, 0
		for n < len(events) && n < groupEvents {
			size += events[n].size()
			if n > 0 && size > maxEvent {
				break
			}
			n++
		}
		var fresh int
		err := x.change(ctx, func(b *batch) (err error) {
			fresh, err = x.appendGroup(ctx, b, events[:n])
			return err
		})
		if err != nil {
			return stored, err
		}
		stored += fresh
		events = events[n:]
	}
	return stored, nil
}

func (x *Identity) appendGroup(ctx context.Context, b *batch, events []storedEvent) (int, error) {
	head, err := fetch[ring](ctx, x, headPart, "")
	if err != nil {
		return 0, err
	}
	group := map[string]bool{}
	fresh := 0
	for i := range events {
		e := events[i]
		if e.Mark == "" {
			e.Mark = x.draw()
		}
		m, err := fetch[mark](ctx, x, markPart, e.Mark)
		if err != nil {
			return 0, err
		}
		if m.rev != 0 || group[e.Mark] {
			if events[i].Mark == "" {
				return 0, fmt.Errorf("drawn before: %w", store.ErrConflict) // another draw will do
			}
			continue
		}
		group[e.Mark] = true
		b.put(markPart, e.Mark, 0, mark{e.At})
		b.put(eventPart, eventName(head.v.Next), 0, e)
		head.v.Next++
		head.v.Count++
		fresh++
	}
	if fresh == 0 {
		return 0, nil
	}
	n, err := x.roll(ctx, b, max(head.v.Count-MaxEvents, 0), groupEvents)
	if err != nil {
		return 0, err
	}
	head.v.Count -= n
	b.put(headPart, "", head.rev, head.v)
	return fresh, nil
}

func eventName(n uint64) string { return fmt.Sprintf("%016x", n) }

// roll looks at the first events of the ring (0: all), takes the first n of
// them out, and those that are old enough, groupEvents at most, and adds them
// to the counts of their days. It returns how many.
func (x *Identity) roll(ctx context.Context, b *batch, n, look int) (int, error) {
	old := x.clock().Add(-rollupAfter)
	var out []row[storedEvent]
	seen := 0
	for r, err := range each[storedEvent](ctx, x, eventPart, look) {
		if err != nil {
			return 0, err
		}
		if seen++; seen <= n || r.v.At.Before(old) {
			out = append(out, r)
		}
		if len(out) == groupEvents {
			break
		}
	}
	days := map[string][]storedEvent{}
	for _, r := range out {
		b.remove(eventPart, r.name, r.rev)
		day := r.v.At.Format(time.DateOnly)
		days[day] = append(days[day], r.v)
	}
	for day, events := range days {
		r, err := fetch[rollup](ctx, x, rollupPart, day)
		if err != nil {
			return 0, err
		}
		for i := range events {
			r.v.add(countOf(&events[i]))
		}
		b.put(rollupPart, day, r.rev, r.v)
	}
	return len(out), nil
}

// rollup is what is left of a day's events.
type rollup struct {
	Counts []count `cbor:"1,keyasint"`
	Others int     `cbor:"2,keyasint,omitempty"` // beyond maxTopics
}

// count is how often there were events about the same.
type count struct {
	Kind     string   `cbor:"1,keyasint,omitempty"`
	Host     string   `cbor:"2,keyasint,omitempty"`
	Topic    string   `cbor:"3,keyasint,omitempty"`
	Category Category `cbor:"4,keyasint,omitempty"`
	N        int      `cbor:"5,keyasint"`
	More     float64  `cbor:"130,keyasint,omitempty"` // weight beyond N, for Dwell
}

func countOf(e *storedEvent) count {
	c := count{e.Kind, hostOf(e.Address), e.Topic, e.Category, 1, 0}
	if e.Dwell > 0 {
		c.More = roundOff(min(max(e.Dwell.Minutes(), leastWeight), mostWeight) - 1)
	}
	return c
}

func (r *rollup) add(c count) {
	for i := range r.Counts {
		if o := &r.Counts[i]; o.Kind == c.Kind && o.Host == c.Host && o.Topic == c.Topic && o.Category == c.Category {
			o.N, o.More = o.N+c.N, roundOff(o.More+c.More)
			return
		}
	}
	if len(r.Counts) >= maxTopics {
		r.Others += c.N
		return
	}
	r.Counts = append(r.Counts, c)
	slices.SortFunc(r.Counts, func(a, b count) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Category, b.Category))
	})
}

// event checks an event and returns what is kept of it.
func (x *Identity) event(e *Event) (storedEvent, error) {
	san := x.sanitize.WithEmails()
	clean := func(s string) string { return cleanBy(san, s) }
	out := storedEvent{
		Kind: cmp.Or(clean(e.Kind), "event"), Address: clean(e.Address), Topic: strings.TrimSpace(clean(e.Topic)),
		Category: Category(clean(string(e.Category))), Text: clean(e.Text), Dwell: e.Dwell, At: keptTime(e.At), Key: clean(e.Key), Extra: cleanExtra(san, e.Extra),
	}
	if out.At.IsZero() {
		out.At = x.clock()
	}
	if e.Key != "" {
		out.Mark = digest("event", e.Key)
	}
	for _, s := range []struct {
		field, text string
		limit       int
	}{{"text", out.Text, MaxContent}, {"address", out.Address, MaxContent}, {"topic", out.Topic, key.MaxID}} {
		if len(s.text) > s.limit {
			return out, &store.LimitError{Field: s.field, Limit: s.limit, Got: len(s.text)}
		}
	}
	if n := out.size(); n > maxEvent {
		return out, &store.LimitError{Field: "event", Limit: maxEvent, Got: n}
	}
	switch {
	case !isName(out.Kind):
		return out, fmt.Errorf("%w: kind %.32q", ErrValue, out.Kind)
	case out.Category != "" && !isName(string(out.Category)):
		return out, fmt.Errorf("%w: category %.32q", ErrValue, string(out.Category))
	case out.Dwell < 0:
		return out, fmt.Errorf("%w: dwell %v", ErrValue, out.Dwell)
	case !goodYear(out.At):
		return out, &store.LimitError{Field: "year of At", Limit: 9999, Got: out.At.Year()}
	case out.Topic == "" && strings.TrimSpace(out.Address) == "" && strings.TrimSpace(out.Text) == "":
		return out, memory.ErrEmpty
	}
	return out, key.CheckID("key", e.Key)
}

func (e *storedEvent) size() int {
	n := 256 + len(e.Address) + len(e.Topic) + len(e.Text) + len(e.Key)
	for name, raw := range e.Extra {
		n += len(name) + len(raw)
	}
	return n
}

// Recent returns the last n events of the ring, the newest first. n 0: all.
func (x *Identity) Recent(ctx context.Context, n int) ([]Event, error) {
	var out []Event
	for r, err := range each[storedEvent](ctx, x, eventPart, 0) {
		if err != nil {
			return nil, err
		}
		out = append(out, r.v.open())
	}
	slices.Reverse(out)
	slices.SortStableFunc(out, func(a, b Event) int { return b.At.Compare(a.At) })
	if n > 0 && n < len(out) {
		out = out[:n]
	}
	return out, nil
}

// hostOf returns the host of an address, in lower case, without "www.".
func hostOf(address string) string {
	address = strings.TrimSpace(address)
	if address == "" {
		return ""
	}
	if !strings.Contains(address, "://") {
		address = "//" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	host := strings.TrimPrefix(strings.Trim(strings.ToLower(u.Hostname()), "."), "www.")
	if len(host) > 253 { // RFC 1035
		return ""
	}
	return host
}

// within reports whether a host is one of the domains, or below one.
func within(host string, domains []string) bool {
	return host != "" && slices.ContainsFunc(domains, func(d string) bool {
		return host == d || strings.HasSuffix(host, "."+d)
	})
}
