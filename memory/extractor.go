package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/internal/backlog"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/phrase"
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

// storedUnread returns the first records of which the store says that they are to be
// read, and whether there may be more. It passes over those that are on their way into
// memory, and those whose records are gone.
func (b *Bank) storedUnread(ctx context.Context) (out []unread, more bool, err error) {
	if err := b.w.Flush(ctx); err != nil {
		return nil, false, err
	}
	for e, err := range b.st.Scan(ctx, store.Range{Prefix: key.Prefix(root, readPart)}) {
		if err != nil || len(out) == backlog.Most {
			return out, true, err
		}
		scope, there, err := b.holder(ctx, e.Key)
		if err != nil {
			return out, true, err
		}
		if there {
			out = append(out, unread{scope: scope, id: ID(key.Split(e.Key)[3])})
		}
	}
	return out, false, nil
}

// holder returns the scope of a record that has a key of another part, and whether the record
// is there: in memory, or in the store if its tenant is not in memory.
func (b *Bank) holder(ctx context.Context, k string) (scope Scope, there bool, err error) {
	p := key.Split(k)
	if len(p) != 4 {
		return "", false, nil
	}
	if sh := b.shardAt(p[2]); sh != nil {
		return sh.scope, sh.entry(ID(p[3])) != nil, nil
	}
	if b.tenants == nil {
		return "", false, nil
	}
	e, err := b.st.Get(ctx, key.Join(root, recordPart, p[2], p[3]))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", false, err
	}
	r, _, err := decodeRecord(e)
	if err != nil {
		return "", false, nil // of a damaged one the tenant's own calls are told
	}
	return r.Scope, !b.tenants.Has(r.Scope.Tenant()), nil
}

// Extract has the Extractor read what it has not yet, without waiting for the Bank
// to do so behind, and returns when all is done or it has failed.
func (b *Bank) Extract(ctx context.Context) error { return b.exhaust(ctx, "extract", b.readNext) }

// readNext has the next record read, and returns how many it was.
func (b *Bank) readNext(ctx context.Context) (int, error) {
	release, err := b.reading.Alone(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	stored := func() ([]unread, bool, error) { return b.storedUnread(ctx) }
	u, ok, err := b.reading.waiting.Next(stored, func(a, b unread) bool { return a.scope == b.scope && a.id == b.id })
	if err != nil {
		b.reading.Report(b.now(), "", err)
	}
	if !ok {
		return 0, err
	}
	err = b.readOne(ctx, u)
	if ctx.Err() != nil {
		b.reading.again(u)
		return 0, ctx.Err()
	}
	b.reading.Report(b.now(), u.scope.Tenant(), err)
	if err == nil {
		return 1, nil
	}
	if u.tries++; u.tries < maxReadings {
		b.reading.again(u)
		return 1, err
	}
	_, gone := b.add(ctx, store.Op{Key: readKey(u.scope, u.id), Delete: true})
	return 1, errors.Join(err, gone)
}

// readOne has a record read, and keeps what it states.
func (b *Bank) readOne(ctx context.Context, u unread) error {
	s := Space{b: b, scope: u.scope}
	read := store.Op{Key: readKey(u.scope, u.id), Delete: true}
	done, err := s.ready(ctx)
	defer done()
	if err != nil {
		return err
	}
	r, err := s.Get(ctx, u.id)
	if errors.Is(err, store.ErrNotFound) {
		_, err = b.add(ctx, read)
		return err
	}
	if err != nil {
		return err
	}
	known, err := s.before(ctx, &r)
	if err != nil {
		return err
	}
	shown := make([]ID, len(known)) // the host may keep the records
	for i := range known {
		shown[i] = known[i].ID
	}
	all, err := guard.Do(ctx, readingLimit, func(ctx context.Context) ([]Statement, error) {
		return b.reading.host.Extract(ctx, r.Clone(), known)
	})
	if err != nil {
		return fmt.Errorf("extractor: %w", err)
	}
	b.reading.keeping.Lock()
	defer b.reading.keeping.Unlock()
	if _, _, err := s.lookup(u.id); err != nil {
		return nil // forgotten, or erased
	}
	all = all[:min(len(all), maxStatements)]
	if !slices.ContainsFunc(all, func(st Statement) bool { return st.Replaces != nil }) {
		shown = nil // it does not say which of them hold
	}
	for i, st := range all {
		bad := st.check(shown)
		if bad == nil {
			bad = s.state(ctx, &r, &st, i, shown)
		}
		if bad != nil { // the others are kept
			err = errors.Join(err, fmt.Errorf("extractor: statement %d: %w", i, bad))
		}
	}
	s.stay(ctx, r.ID, shown)
	if err == nil {
		_, err = b.add(ctx, read)
	}
	return err
}

// before returns what an Extractor is shown beside a record: the earlier records that it may
// end, those most like it first, then the latest.
func (s Space) before(ctx context.Context, r *Record) (known []Record, err error) {
	sh := s.b.shard(s.scope)
	e := sh.entry(r.ID)
	if e == nil {
		return nil, nil // it has just gone
	}
	add := func(q Query, most int) error {
		q.K, q.Kinds, q.At = 4*maxKnown, []Kind{Fact, Episode}, r.At
		hits, err := s.Recall(ctx, q)
		for _, h := range hits {
			if o := sh.entry(h.Record.ID); len(known) < most && o != nil && e.mayEnd(o) &&
				!slices.ContainsFunc(known, func(k Record) bool { return k.ID == h.Record.ID }) {
				known = append(known, h.Record)
			}
		}
		return err
	}
	if err := add(Query{Text: r.Content}, maxKnown-latestKnown); err != nil {
		return nil, err
	}
	return known, add(Query{}, maxKnown)
}

// mayEnd reports whether what e states may end what o states, which is before it. What is in
// quarantine ends nothing trusted, and would have a say in what a trusted one ends.
func (e *entry) mayEnd(o *entry) bool {
	by, ofRun := name(o.actor), o.flags&isEpisode != 0 && o.from().Origin == Derived
	return e.flags.trusted() == o.flags.trusted() && e.after(o) &&
		o.flags&isPassing == 0 && !ofRun && (by == "" || by == name(e.actor))
}

// stay notes of the records that an Extractor was shown beside a text that those hold which
// the text, or a statement of it, was taken to replace by its words.
func (s Space) stay(ctx context.Context, by ID, shown []ID) {
	sh := s.b.shard(s.scope)
	e := sh.entry(by)
	if e == nil {
		return
	}
	var hold []storedGuess
	sh.mu.Enter()
	for _, id := range shown {
		if slices.ContainsFunc(sh.guesses[ident.Of(id)], func(g guess) bool { return g.by == e.id }) {
			hold = append(hold, storedGuess{id, 0, ByExtractor})
		}
	}
	sh.mu.Leave()
	s.b.suspect(ctx, sh, e, hold)
}

// state keeps the n-th statement of a record as a Fact. Of the records shown it replaces those
// that it names.
func (s Space) state(ctx context.Context, r *Record, st *Statement, n int, shown []ID) error {
	d := Draft{
		Kind: Fact, Content: st.String(), Key: fmt.Sprint("extracted/", r.ID, "/", n), At: st.From, Actor: r.Actor,
		Source: Source{Origin: Derived, Ref: r.Source.Ref, Run: r.Source.Run}, Quotes: r.Quotes, Links: []Link{{To: r.ID}},
	}
	if d.At.IsZero() {
		d.At = r.At
	}
	grounded := quoted(r.Content, st.Value)
	if !grounded {
		d.Quotes = append(slices.Clip(d.Quotes), Source{Origin: Model})
	}
	sure := grounded && st.Confidence >= certain
	sh := s.b.shard(s.scope)
	var texts []storedGuess // that are perhaps replaced
	for _, id := range st.Replaces {
		switch o := sh.entry(id); {
		case o == nil: // it has just gone
		case sure && o.flags&isFact != 0 && o.from().Origin == Derived:
			d.Links = append(d.Links, Link{id, supersedes})
		default:
			texts = append(texts, storedGuess{id, st.Confidence, ByExtractor})
		}
	}
	switch {
	case st.Change == "set" && sure:
		d.Slot = st.Slot
	case st.Change == "remove" && sure:
		for _, old := range sh.stating(st.Slot, r, d.At) {
			if l := (Link{old, supersedes}); !slices.Contains(d.Links, l) {
				d.Links = append(d.Links, l)
			}
		}
	}
	kept, err := s.Remember(ctx, d)
	if err != nil || kept.ID == "" {
		return err
	}
	if by := sh.entry(r.ID); by != nil {
		s.b.suspect(ctx, sh, by, texts)
	}
	s.stay(ctx, kept.ID, shown)
	if st.Change != "add" {
		s.doubt(ctx, sh, r.ID, kept.ID, min(st.Confidence, partly))
	}
	return nil
}

// quoted reports whether the words of a value are in a text, one after another.
func quoted(text, value string) bool {
	return phrase.In(phrase.Words(text), phrase.Words(value)) >= 0
}

// stating returns the records that have stated the value of a slot before, and are
// trusted no more than r.
func (sh *shard) stating(slot Slot, r *Record, at time.Time) (ids []ID) {
	sh.mu.Enter()
	defer sh.mu.Leave()
	value := slot.folded()
	for _, x := range sh.slots[slot.key(r.Actor)] {
		if x.value == value && x.at < at.UnixMicro() && (r.Trusted || !x.flags.trusted()) {
			ids = append(ids, x.name())
		}
	}
	return ids
}

// doubt notes that the record which a fact was drawn from perhaps replaces those
// from which the fact was drawn that it hides.
func (s Space) doubt(ctx context.Context, sh *shard, from, fact ID, p float64) {
	by, e := sh.entry(from), sh.entry(fact)
	if by == nil || e == nil {
		return
	}
	q := all()
	sh.mu.Enter()
	old := q.superseded(sh, e)
	sh.mu.Leave()
	if old == nil {
		return
	}
	var more []storedGuess
	for _, l := range old.links() {
		if o := sh.entry(l.To); l.Rel == "" && o != nil && by.after(o) {
			more = append(more, storedGuess{l.To, p, ByExtractor})
		}
	}
	s.b.suspect(ctx, sh, by, more)
}
