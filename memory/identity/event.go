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

// What an event weighs by its Dwell, in minutes: a look at a page says little, and an
// open tab no more than a visit that was read.
const (
	leastWeight = 0.2
	mostWeight  = 3
)

// Limits of the events.
const (
	rollupAfter = 30 * day        // age at which an event becomes part of its day's counts
	markFor     = 2 * rollupAfter // how long a Key is remembered
	maxMarks    = 4096            // keys of a day's events that are remembered
	maxTopics   = 80              // things that a day counts one by one
	groupEvents = 16              // events that one commit adds or rolls up
	maxEvent    = 128 << 10       // of one event; what a commit adds in events
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
	imported bool // the earlier of two under one mark is kept
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
		if !within(hostOf(e.Address), p.Settings.ExcludedDomains) {
			kept = append(kept, e)
		}
	}
	return x.append(ctx, kept)
}

// append stores events in groups.
func (x *Identity) append(ctx context.Context, events []noted) (stored int, err error) {
	for len(events) > 0 {
		n, size := 0, 0
		for ; n < min(len(events), groupEvents); n++ {
			if size += events[n].size(); n > 0 && size > maxEvent {
				break
			}
		}
		var fresh int
		err := x.alone(ctx, func(b *batch) (err error) {
			fresh, err = x.appendGroup(ctx, b, events[:n])
			return err
		})
		if err != nil {
			return stored, err
		}
		stored, events = stored+fresh, events[n:]
	}
	return stored, nil
}

func (x *Identity) appendGroup(ctx context.Context, b *batch, events []noted) (fresh int, err error) {
	ring, err := each[Event](ctx, x, eventPart)
	if err != nil {
		return 0, err
	}
	days, err := x.days(ctx)
	if err != nil {
		return 0, err
	}
	marks, there := map[string]bool{}, map[string]row[Event]{}
	for _, r := range ring {
		marks[r.name()], there[r.name()] = true, r
	}
	for _, d := range days {
		for _, m := range d.v.Marks {
			marks[m] = true
		}
	}
	for _, e := range events {
		for e.mark == "" {
			if m := x.draw(); !marks[m] {
				e.mark = m
			}
		}
		r := there[e.mark]
		switch earlier := e.At.Before(r.v.At); {
		case !marks[e.mark]:
			fresh++
			b.putEvent(r, e.mark, &e.Event)
		case e.imported && r.stored() && earlier:
			b.putEvent(r, e.mark, &e.Event)
		}
		marks[e.mark] = true
	}
	if fresh > 0 {
		x.roll(b, days, ring, len(ring)+fresh-maxEvents)
	}
	return fresh, nil
}

func (b *batch) putEvent(was row[Event], mark string, e *Event) {
	put(b, was, memory.Record{ID: idOf(eventPart, mark), Thread: eventPart, At: e.At}, e)
}

// roll takes the first n events out of the ring, and those that are old enough, at most
// groupEvents, and adds them to the counts of their days. It returns how many.
func (x *Identity) roll(b *batch, days map[string]row[rollup], ring []row[Event], n int) int {
	old := x.clock().Add(-rollupAfter)
	for n = max(n, 0); n < len(ring) && ring[n].v.At.Before(old); n++ {
	}
	out := ring[:min(n, len(ring), groupEvents)]
	changed := map[string]rollup{}
	for _, r := range out {
		b.remove(r.was)
		name := r.v.At.Format(time.DateOnly)
		next, ok := changed[name]
		if !ok {
			next = days[name].v.dup()
		}
		next.add(countOf(&r.v))
		if r.v.Key != "" {
			next.Marks = lastOf(append(next.Marks, r.name()), maxMarks)
		}
		changed[name] = next
	}
	for name, next := range changed {
		b.putRollup(days[name], name, &next)
	}
	return len(out)
}

// rollup is what is left of a day's events.
type rollup struct {
	Counts []count  `json:"counts,omitempty" cbor:"1,keyasint"`
	Others int      `json:"others,omitempty" cbor:"2,keyasint,omitempty"` // beyond maxTopics
	Marks  []string `json:"marks,omitempty" cbor:"-"`                     // of events with a Key
}

func (r rollup) dup() rollup {
	return rollup{slices.Clone(r.Counts), r.Others, slices.Clone(r.Marks)}
}

func (b *batch) putRollup(was row[rollup], day string, r *rollup) {
	at, _ := time.Parse(time.DateOnly, day) // every name is a day
	put(b, was, memory.Record{ID: idOf(rollupPart, day), Thread: rollupPart, At: at}, r)
}

// days are the roll-ups by their day.
func (x *Identity) days(ctx context.Context) (map[string]row[rollup], error) {
	rows, err := each[rollup](ctx, x, rollupPart)
	out := make(map[string]row[rollup], len(rows))
	for _, r := range rows {
		out[r.name()] = r
	}
	return out, err
}

// count is how often there were events about the same.
type count struct {
	Kind     string   `json:"type,omitempty" cbor:"1,keyasint,omitempty"`
	Host     string   `json:"host,omitempty" cbor:"2,keyasint,omitempty"`
	Topic    string   `json:"topic,omitempty" cbor:"3,keyasint,omitempty"`
	Category Category `json:"category,omitempty" cbor:"4,keyasint,omitempty"`
	N        int      `json:"n" cbor:"5,keyasint"`
	More     float64  `json:"more,omitempty" cbor:"130,keyasint,omitempty"` // weight beyond N, for Dwell
}

func countOf(e *Event) count {
	c := count{e.Kind, hostOf(e.Address), e.Topic, e.Category, 1, 0}
	if e.Dwell > 0 {
		c.More = roundOff(min(max(e.Dwell.Minutes(), leastWeight), mostWeight) - 1)
	}
	return c
}

func (c count) order(o count) int {
	return cmp.Or(cmp.Compare(c.Kind, o.Kind), cmp.Compare(c.Host, o.Host), cmp.Compare(c.Topic, o.Topic), cmp.Compare(c.Category, o.Category))
}

// counted returns the count of the same things as c, nil if there is none.
func (r *rollup) counted(c count) *count {
	if i := slices.IndexFunc(r.Counts, func(o count) bool { return c.order(o) == 0 }); i >= 0 {
		return &r.Counts[i]
	}
	return nil
}

func (r *rollup) add(c count) {
	if o := r.counted(c); o != nil {
		o.N, o.More = o.N+c.N, roundOff(o.More+c.More)
		return
	}
	if len(r.Counts) >= maxTopics {
		r.Others += c.N
		return
	}
	r.Counts = append(r.Counts, c)
	slices.SortFunc(r.Counts, count.order)
}

// event checks an event and returns what is kept of it.
func (x *Identity) event(e Event) (noted, error) {
	out := noted{Event: e}
	if e.Key != "" {
		out.mark = digest("event", e.Key)
	}
	scrub(x.sanitize.WithEmails(), &out.Event)
	out.Kind, out.Topic, out.At = cmp.Or(out.Kind, "event"), strings.TrimSpace(out.Topic), keptTime(e.At)
	if out.At.IsZero() {
		out.At = x.clock()
	}
	for _, s := range []struct {
		field, text string
		limit       int
	}{{"text", out.Text, maxContent}, {"address", out.Address, maxContent}, {"topic", out.Topic, key.MaxID}} {
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

func (e *Event) size() int {
	n := 256 + len(e.Address) + len(e.Topic) + len(e.Text) + len(e.Key)
	for name, raw := range e.Extra {
		n += len(name) + len(raw)
	}
	return n
}

// Recent returns the last n events that are kept one by one, the newest first. n 0: all.
func (x *Identity) Recent(ctx context.Context, n int) ([]Event, error) {
	rows, err := each[Event](ctx, x, eventPart)
	var out []Event
	for _, r := range slices.Backward(rows) {
		out = append(out, r.v)
	}
	if n > 0 && n < len(out) {
		out = out[:n]
	}
	return out, err
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
