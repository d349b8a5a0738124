package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/internal/backlog"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/phrase"
	"github.com/arc-learn/arc/memory/internal/search"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/store"
)

const (
	certain       = .9 // confidence from which on a statement hides
	partly        = .4 // most probable that a text is over, of which one value is
	maxStatements = 32 // of a text
	maxReadings   = 8  // of a text that fails
	maxKnown      = 16 // records that an Extractor is shown beside a text
	latestKnown   = 4  // of these, at least
	readingLimit  = 2 * time.Minute
)

// Extracts reports whether the Bank has an Extractor.
func (b *Bank) Extracts() bool { return b.reading.host != nil }

// storedUnread returns the first records that the store marks as to be read, and whether there
// may be more. It passes over records that are on their way into memory, and over marks without
// a record.
func (b *Bank) storedUnread(ctx context.Context) (out []unread, more bool, err error) {
	if err := b.w.Flush(ctx); err != nil {
		return nil, false, err
	}
	for e, err := range b.st.Scan(ctx, store.Range{Prefix: key.Prefix(stored.Root, stored.Unread)}) {
		if err != nil || len(out) == backlog.Most {
			return out, true, err
		}
		scope, id, there, err := b.holder(ctx, e.Key)
		if err != nil {
			return out, true, err
		}
		if there {
			out = append(out, unread{scope: scope, id: id})
		}
	}
	return out, false, nil
}

// holder returns the scope and the id of the record of a key of another part, and whether the
// record exists: in memory, or in the store if its tenant is not in memory.
func (b *Bank) holder(ctx context.Context, k string) (scope Scope, id ID, there bool, err error) {
	_, part, name, ok := stored.Split(k)
	if !ok {
		return "", "", false, nil
	}
	id = ID(name)
	if sh := b.shardAt(part); sh != nil {
		return sh.scope, id, sh.entry(id) != nil, nil
	}
	if b.tenants == nil {
		return "", id, false, nil
	}
	e, err := b.st.Get(ctx, key.Join(stored.Root, stored.Records, part, name))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", id, false, err
	}
	r, _, err := decodeRecord(e)
	if err != nil {
		return "", id, false, nil // of a damaged one the tenant's own calls are told
	}
	if !b.tenants.Has(r.Scope.Tenant()) {
		return r.Scope, id, true, nil
	}
	of := Space{b: b, scope: r.Scope}
	done, err := of.ready(ctx) // it comes, or has just left
	defer done()
	if err == nil {
		_, _, err = of.lookup(id)
	}
	return r.Scope, id, err == nil, nil
}

// Extract has the Extractor read what it has not read yet. It returns when all is read, or with
// the error of the Extractor. The Bank does the same behind.
func (b *Bank) Extract(ctx context.Context) error { return b.exhaust(ctx, "extract", b.readNext) }

// readNext has the Extractor read the next record, and returns 1, or 0 if none waits.
func (b *Bank) readNext(ctx context.Context) (int, error) {
	release, err := b.reading.Alone(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	elsewhere := func() ([]unread, bool, error) { return b.storedUnread(ctx) }
	u, ok, err := b.reading.waiting.Next(elsewhere, func(a, b unread) bool { return a.scope == b.scope && a.id == b.id })
	if err != nil {
		b.reading.Report(b.now(), "", err)
	}
	if !ok {
		return 0, err
	}
	failed, err := b.readOne(ctx, u)
	if ctx.Err() != nil {
		b.reading.again(u)
		return 0, ctx.Err()
	}
	b.reading.Report(b.now(), u.scope.Tenant(), err)
	if err == nil {
		return 1, nil
	}
	if failed || codec.Unreadable(err) {
		u.tries++
	}
	if u.tries < maxReadings {
		b.reading.again(u)
		return 1, err
	}
	_, gone := b.late.Add(ctx, store.Op{Key: stored.Key(stored.Unread, string(u.scope), string(u.id)), Delete: true})
	return 1, errors.Join(err, gone)
}

// readOne has the Extractor read a record, and keeps the statements. Failed says that it is the Extractor that
// has failed, and not the store.
func (b *Bank) readOne(ctx context.Context, u unread) (failed bool, err error) {
	s := Space{b: b, scope: u.scope}
	read := store.Op{Key: stored.Key(stored.Unread, string(u.scope), string(u.id)), Delete: true}
	done, err := s.ready(ctx)
	defer done()
	if err != nil {
		return false, err
	}
	if _, err := b.late.Get(ctx, read.Key); errors.Is(err, store.ErrNotFound) {
		return false, nil // it waited twice, and was read
	}
	r, err := s.Get(ctx, u.id)
	if errors.Is(err, store.ErrNotFound) {
		_, err = b.late.Add(ctx, read)
		return false, err
	}
	if err != nil {
		return false, err
	}
	known, err := s.before(ctx, &r)
	if err != nil {
		return false, err
	}
	shown := make([]ID, len(known)) // the host may keep the records
	for i := range known {
		shown[i] = known[i].ID
	}
	all, err := guard.Do(ctx, readingLimit, func(ctx context.Context) ([]Statement, error) {
		return b.reading.host.Extract(ctx, r.Clone(), known)
	})
	if err != nil {
		return true, fmt.Errorf("extractor: %w", err)
	}
	b.reading.keeping.Lock()
	defer b.reading.keeping.Unlock()
	if _, _, err := s.lookup(u.id); err != nil {
		return false, nil // forgotten, or erased
	}
	all = all[:min(len(all), maxStatements)]
	if !slices.ContainsFunc(all, func(st Statement) bool { return st.Replaces != nil }) {
		shown = nil // it does not say which of them hold
	}
	got := drawn{s: s, sh: b.shard(s.scope), from: &r}
	for i, st := range all {
		bad := st.check(shown)
		failed = failed || bad != nil
		if bad == nil {
			bad = got.state(ctx, &st, i)
			failed = failed || errors.Is(bad, ErrEmpty) || errors.As(bad, new(*store.LimitError))
		}
		if bad != nil { // the others are kept
			err = errors.Join(err, fmt.Errorf("extractor: statement %d: %w", i, bad))
		}
	}
	got.settle(ctx)
	if err != nil {
		return failed, err // what it does not name may be named when it is asked again
	}
	for _, id := range append(got.facts, r.ID) {
		s.stay(ctx, id, shown)
	}
	_, err = b.late.Add(ctx, read)
	return false, err
}

// before returns what an Extractor is shown beside a record: the earlier records that it may end,
// the most alike first, then the latest.
func (s Space) before(ctx context.Context, r *Record) (known []Record, err error) {
	_, e, err := s.lookup(r.ID)
	if err != nil {
		return nil, nil // it has just gone
	}
	var hits []Hit
	seen := make(map[ident.Key]bool)
	add := func(text string, most int, order func(a, b *search.Found) int) error {
		q := Query{Text: text, K: 4 * maxKnown, Kinds: []Kind{Fact, Episode}, At: r.At}
		return s.with(ctx, &q, func(sc *scratch) (err error) {
			// The record itself is what the others are compared with.
			sc.Query.May = func(o *table.Entry) bool { return o.Key == e.Key || !seen[o.Key] && mayEnd(e, o) }
			best := slices.DeleteFunc(sc.Best(order), func(f search.Found) bool { return f.Key == e.Key })
			best = best[:min(len(best), most)]
			for _, f := range best {
				seen[f.Key] = true
			}
			hits, err = s.hits(ctx, sc, hits, best)
			return err
		})
	}
	newer := func(a, b *search.Found) int {
		return cmp.Or(cmp.Compare(b.At, a.At), table.CompareNames(a.Entry, b.Entry))
	}
	if err = add(r.Content, maxKnown-latestKnown, search.Better); err == nil {
		err = add("", maxKnown-len(hits), newer)
	}
	for _, h := range hits {
		known = append(known, h.Record)
	}
	return known, err
}

// mayEnd reports whether what e states may end what the earlier o states. A record in quarantine
// ends no trusted one, and is not shown beside one that may.
func mayEnd(e, o *table.Entry) bool {
	ofRun := o.Flags&table.Episode != 0 && o.Flags&table.Derived != 0
	return e.Flags.Trusted() == o.Flags.Trusted() && e.After(o) &&
		o.Flags&table.Passing == 0 && !ofRun && (table.Value(o.Actor) == "" || o.Actor == e.Actor)
}

// stay notes which of the records that an Extractor was shown beside a text still hold: those that the text,
// or a statement of it, was taken to replace by its words.
func (s Space) stay(ctx context.Context, by ID, shown []ID) {
	sh, e, err := s.lookup(by)
	if err != nil {
		return
	}
	var hold []stored.Guess
	for _, id := range shown {
		if sh.Suspects(e, ident.Of(id)) {
			hold = append(hold, stored.Guess{Old: string(id), Probability: 0, Evidence: table.ByExtractor})
		}
	}
	s.b.suspect(ctx, sh, e, hold)
}

// drawn is what an Extractor has read in a record.
type drawn struct {
	s     Space
	sh    *shard
	from  *Record
	facts []ID           // that it states
	over  []stored.Guess // texts that it ends
	doubt []stored.Guess // texts of which it states another value
}

// state keeps the n-th statement as a Fact.
func (w *drawn) state(ctx context.Context, st *Statement, n int) error {
	r := w.from
	d := Draft{
		Kind: Fact, Content: st.String(), Key: statementKey(r.ID, n), At: st.From, Actor: r.Actor,
		Source: Source{Origin: Derived, Ref: r.Source.Ref, Run: r.Source.Run}, Quotes: r.Quotes, Links: []Link{{To: r.ID}},
	}
	if d.At.IsZero() {
		d.At = r.At
	}
	grounded := phrase.In(phrase.Words(r.Content), phrase.Words(st.Value)) >= 0 // its words are in the text
	if !grounded {
		d.Quotes = append(slices.Clip(d.Quotes), Source{Origin: Model})
	}
	sure := grounded && st.Confidence >= certain
	for _, id := range st.Replaces {
		if l := (Link{id, table.Supersedes}); !sure || !w.s.wasStated(ctx, w.sh, id) {
			w.over = append(w.over, stored.Guess{Old: string(id), Probability: st.Confidence, Evidence: table.ByExtractor})
		} else if !slices.Contains(d.Links, l) {
			d.Links = append(d.Links, l)
		}
	}
	switch {
	case st.Change == "set" && sure:
		d.Slot = st.Slot
	case st.Change == "remove" && sure:
		slot, _ := w.s.b.cleanSlot(st.Slot) // as it is kept
		for _, old := range w.sh.stating(slot, r, d.At) {
			if l := (Link{old, table.Supersedes}); !slices.Contains(d.Links, l) {
				d.Links = append(d.Links, l)
			}
		}
	}
	kept, err := w.s.Remember(ctx, d)
	if err != nil || kept.ID == "" {
		return err
	}
	w.facts = append(w.facts, kept.ID)
	if kept.Disposition != Stored { // into what has no such links
		for _, l := range d.Links {
			if l.Rel == table.Supersedes {
				w.over = append(w.over, stored.Guess{Old: string(l.To), Probability: st.Confidence, Evidence: table.ByExtractor})
			}
		}
	}
	if st.Change != "add" {
		w.doubt = append(w.doubt, w.s.doubt(w.sh, r.ID, kept.ID, min(st.Confidence, partly))...)
	}
	return nil
}

// settle notes what the record perhaps replaces. For each text, it keeps the guess with the most
// confidence; one that follows from a value counts only if the text has no other.
func (w *drawn) settle(ctx context.Context) {
	by := w.sh.entry(w.from.ID)
	if by == nil {
		return
	}
	slices.SortStableFunc(w.over, func(a, b stored.Guess) int { return cmp.Compare(b.Probability, a.Probability) })
	var more []stored.Guess
	for _, g := range append(w.over, w.doubt...) {
		if w.sh.entry(ID(g.Old)) != nil && !slices.ContainsFunc(more, func(o stored.Guess) bool { return o.Old == g.Old }) {
			more = append(more, g)
		}
	}
	w.s.b.suspect(ctx, w.sh, by, more)
}

// statementKey is the Key of the n-th statement of a record.
func statementKey(of ID, n int) string { return fmt.Sprint("extracted/", of, "/", n) }

// wasStated reports whether a record is a statement of an Extractor and not of a host.
func (s Space) wasStated(ctx context.Context, sh *shard, id ID) bool {
	e := sh.entry(id)
	if e == nil || !ident.IsKeyed(string(id)) {
		return false
	}
	r, err := s.b.record(ctx, sh, e)
	if err != nil || slices.ContainsFunc(r.Variants, func(v Variant) bool { return v.Source.Origin != Derived }) {
		return false
	}
	return slices.ContainsFunc(r.Links, func(l Link) bool {
		for n := range maxStatements {
			if l.Rel == "" && id == ID(ident.Keyed(string(s.scope), statementKey(l.To, n))) {
				return true
			}
		}
		return false
	})
}

// stating returns the records before that state the value of the slot and are trusted no more than
// r.
func (sh *shard) stating(s Slot, r *Record, at time.Time) (ids []ID) {
	for _, e := range sh.Stating(table.SlotOf(s.Subject, s.Attribute, s.Value, r.Actor), at.UnixMicro()) {
		if r.Trusted || !e.Flags.Trusted() {
			ids = append(ids, ID(e.Name()))
		}
	}
	return ids
}

// doubt returns what a record perhaps replaces, given a fact drawn from it: the records from which
// the fact that this one hides was drawn.
func (s Space) doubt(sh *shard, from, fact ID, p float64) (more []stored.Guess) {
	by, e := sh.entry(from), sh.entry(fact)
	if by == nil || e == nil {
		return nil
	}
	whole := table.Whole()
	old, _ := whole.Relations(sh.Table, e)
	if old == nil {
		return nil
	}
	for _, l := range linksOf(old) {
		if o := sh.entry(l.To); l.Rel == "" && o != nil && by.After(o) {
			more = append(more, stored.Guess{Old: string(l.To), Probability: p, Evidence: table.ByExtractor})
		}
	}
	return more
}
