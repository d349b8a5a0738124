package identity

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/key"
)

// ImportReport says what Import did.
type ImportReport struct {
	Version    int // of the document: 1 or 2
	Facts      int // that it held
	Added      int
	Merged     int // into facts that were there, or that came before them
	Kept       int // nothing new about them
	Damaged    int // with fields that could not be read, which are kept as they came
	Unreadable int // entries without a content, kept in Profile.Extra["unreadable"]
	Events     int // that were new
}

// incoming is what a document holds, ready to be stored.
type incoming struct {
	version    int
	facts      []Fact
	profile    Profile
	rejections []Rejection
	events     []noted
	rollups    map[string]rollup
	unreadable []json.RawMessage
}

// Import takes in a document of version 2, as Export writes it, or of version
// 1, and merges it with what is there. Nothing that either held is lost, and
// importing the same again changes nothing. Two identities merge to the same facts,
// rejections, profile and events, whichever is imported into the other.
//
// Of two states of a fact, the one that was updated last is kept. Facts that say the
// same and are of one category become one, under the id of the one that was learned
// first, and the others stay visible there as Variants. What either has rejected is
// rejected, unless the rejection was taken back since. Of two names, roles and
// settings, those that were updated last are kept; unknown fields are kept, and so are
// the raw values of fields that cannot be read: a bad date, or one in the
// future, counts as the next best one that the fact has, and a confidence beyond [0,1]
// as the limit. A visibility that is not known is taken for Local.
//
// A document is taken at its word: what it calls proven is proven.
//
// Of version 1 every text becomes a fact, of the visibility that its privacy
// lists give it, and the whole document is kept as Profile.Extra["v1"].
//
// A document that is neither is ErrFormat, one over maxDocument or deeper than
// 64 a [*store.LimitError], and one with a fact that cannot be kept gives the
// error of Add: nothing is stored then. After an error of the store a part may
// be: import it again.
func (x *Identity) Import(ctx context.Context, data []byte) (ImportReport, error) {
	in, err := x.read(data)
	if err != nil {
		return ImportReport{}, fmt.Errorf("identity: import: %w", err)
	}
	report := ImportReport{Version: in.version, Facts: len(in.facts), Unreadable: len(in.unreadable)}
	for i := range in.facts {
		report.Damaged += number(len(in.facts[i].Damaged) > 0)
	}
	if err := x.change(ctx, func(b *batch) error { return x.importProfile(ctx, b, in) }); err != nil {
		return report, err
	}
	for more := true; more; {
		tally := report
		err := x.alone(ctx, func(b *batch) (err error) {
			tally = report
			more, err = x.importFacts(ctx, b, in.facts, &tally)
			return err
		})
		if err != nil {
			return report, err
		}
		report = tally
	}
	for _, r := range in.rejections {
		if err := x.change(ctx, func(b *batch) error { return x.importRejection(ctx, b, r) }); err != nil {
			return report, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in.rollups)) {
		if err := x.change(ctx, func(b *batch) error { return x.importRollup(ctx, b, name, in.rollups[name]) }); err != nil {
			return report, err
		}
	}
	report.Events, err = x.append(ctx, in.events)
	return report, err
}

// read takes a document apart, and checks all that is to be stored.
func (x *Identity) read(data []byte) (*incoming, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if err := checkDocument(data); err != nil {
		return nil, err
	}
	given := left(data)
	if given == nil {
		return nil, fmt.Errorf("%w: not a JSON object", ErrFormat)
	}
	in := &incoming{rollups: map[string]rollup{}}
	version := plain(given["version"])
	switch {
	case strings.HasPrefix(version, "2.") || version == "2":
		in.version = 2
		x.readV2(data, in)
	case given["version"] == nil && isV1(given):
		in.version = 1
		x.readV1(data, in)
	default:
		return nil, fmt.Errorf("%w: version %.16q", ErrFormat, version)
	}
	for i, raw := range in.unreadable {
		in.unreadable[i] = slices.Clone(x.sanitize.JSON(raw))
	}
	for i := range in.facts {
		b := &batch{x: x}
		b.putFact(row[Fact]{}, &in.facts[i]) // so that it cannot fail half-way
		if err := cmp.Or(in.facts[i].check(), b.err); err != nil {
			return nil, fmt.Errorf("fact %d: %w", i, err)
		}
	}
	return in, x.cleanProfile(&in.profile)
}

func (x *Identity) readV2(data []byte, in *incoming) {
	var d document
	o, _ := read(data, &d)
	delete(o.damaged, "version") // which was checked
	p := &in.profile
	p.UserID, p.DeviceID = d.UserID, d.DeviceID
	part := func(field string, raw json.RawMessage, v any) (object, bool) {
		po, ok := read(raw, v)
		if raw != nil && !ok {
			o.damage(field)
		}
		return po, ok
	}
	keep := func(field string, po object) {
		if rest, err := json.Marshal(po.rest()); err == nil && len(po.rest()) > 0 { // they were valid when they were read
			o.left[field] = rest
		}
	}
	var core coreJSON
	co, _ := part("core", d.Core, &core)
	name(&co, "visibility", &core.Visibility, ranked[Visibility])
	p.Name, p.Role, p.Visibility, p.Updated = core.Name, core.Role, core.Visibility, core.Updated
	keep("core", co)
	var s struct {
		HalfLifeDays    float64              `json:"decayHalfLifeDays"`
		HalfLives       map[Category]float64 `json:"categoryHalfLifeDays"`
		AutoInfer       bool                 `json:"autoInfer"`
		ExcludedDomains []json.RawMessage    `json:"excludedDomains"`
	}
	so, _ := part("settings", d.Settings, &s)
	so.clamp("decayHalfLifeDays", &s.HalfLifeDays, 0, mostDays)
	p.Settings = Settings{HalfLife: lasting(s.HalfLifeDays), AutoInfer: s.AutoInfer, HalfLives: map[Category]time.Duration{}}
	for c, d := range s.HalfLives {
		if isName(string(c)) && d > 0 && d <= mostDays {
			p.Settings.HalfLives[c] = lasting(d)
		}
	}
	for _, raw := range s.ExcludedDomains {
		if d := strings.Trim(strings.ToLower(strings.TrimSpace(plain(raw))), "."); d != "" && isID(d) {
			p.Settings.ExcludedDomains = append(p.Settings.ExcludedDomains, d)
		}
	}
	keep("settings", so)
	seen := map[ID]bool{}
	for _, raw := range d.Facts {
		fact, ok := x.readFact(raw)
		if !ok {
			in.unreadable = append(in.unreadable, raw)
			continue
		}
		if fact.ID == "" {
			fact.ID = numbered(len(in.facts), &fact)
		}
		if seen[fact.ID] { // another fact under the same id: both are kept
			fact.ID = ID(digest("imported", string(fact.ID), string(fact.Category), canonical(fact.Content)))
		}
		seen[fact.ID] = true
		in.facts = append(in.facts, fact)
	}
	in.readRest(x, d.Blocked, d.Events, d.Rollups)
	for field, raw := range o.damaged {
		o.left["damaged."+field] = raw
	}
	p.Extra = o.left
}

const mostDays = 36500.0 // a hundred years

func lasting(days float64) time.Duration {
	return time.Duration(days * float64(day)).Round(time.Second)
}

func isID(s string) bool { return key.CheckID("", s) == nil }

// ranked reports whether s is one of a ranked vocabulary.
func ranked[T interface {
	~string
	rank() int
}](s string) bool {
	return T(s).rank() > 0
}

// readFact reads one fact; false: it has no content.
func (x *Identity) readFact(raw json.RawMessage) (f Fact, ok bool) {
	if raw[0] == '"' { // a bare text
		raw = fmt.Appendf(nil, `{"content":%s}`, raw)
	}
	o, _ := read(raw, &f)
	scrub(x.sanitize, &f)
	if strings.TrimSpace(f.Content) == "" {
		return f, false
	}
	name(&o, "id", &f.ID, func(s string) bool { return isID(s) && !strings.HasPrefix(s, own) })
	name(&o, "sourceRef", &f.Ref, isID)
	name(&o, "category", &f.Category, isName)
	name(&o, "source", &f.Source, isName)
	name(&o, "maturity", &f.Maturity, ranked[Maturity])
	name(&o, "visibility", &f.Visibility, ranked[Visibility])
	name(&o, "subject", &f.Subject, isID)
	name(&o, "slot", &f.Slot, isID)
	if f.Visibility == "" && o.given["visibility"] != nil {
		f.Visibility = Local
	}
	f.Visibility, f.Source = cmp.Or(f.Visibility, Trusted), cmp.Or(f.Source, Imported)
	now := x.clock()
	for field, t := range map[string]*time.Time{
		"lastValidated": &f.Validated, "createdAt": &f.Created, "updatedAt": &f.Updated, "demotedAt": &f.Demoted,
		"archivedAt": &f.Archived, "rejectedAt": &f.Rejected, "restoredAt": &f.Restored,
	} {
		if t.After(now) {
			o.damage(field)
			*t = time.Time{}
		}
	}
	n := float64(f.Validations)
	o.clamp("confidence", &f.Confidence, 0, 1)
	o.clamp("validationCount", &n, 0, 1<<31-1)
	first := f
	if begin(&f); isNumber(o.given["confidence"]) {
		f.Confidence = first.Confidence
	}
	if isNumber(o.given["validationCount"]) {
		f.Validations = int(n)
	}
	f.Damaged, f.Extra = union(cleanExtra(x.sanitize, o.damaged), f.Damaged), cleanExtra(x.sanitize, o.left)
	f.settle(now)
	return f, true
}

func isNumber(raw json.RawMessage) bool {
	_, ok := parseNumber(raw)
	return ok && string(bytes.TrimSpace(raw)) != "null"
}

// numbered is the id of a fact that came without one: the same whenever it is
// imported again, and in the order of the document.
func numbered(n int, f *Fact) ID {
	return ID(fmt.Sprintf("n%05d%s", n, digest("imported", string(f.Category), canonical(f.Content))))
}

// settle fills what a fact has to have and did not bring, from what is next
// to it.
func (f *Fact) settle(now time.Time) {
	f.Category = cmp.Or(f.Category, categorize(f.Content))
	first := func(times ...time.Time) time.Time {
		for _, t := range times {
			if !t.IsZero() {
				return t
			}
		}
		return now
	}
	f.Created = first(f.Created, f.Updated, f.Validated)
	f.Updated = first(f.Updated, f.Validated, f.Created)
	f.Validated = first(f.Validated, f.Updated)
	f.At = first(f.At, f.Created)
	if !f.Rejected.IsZero() {
		f.reject(f.Rejected)
	}
	if canonical(f.Slot) == "" {
		f.Subject, f.Slot = "", ""
	}
	for i := range f.Evidence {
		f.Evidence[i].At = keptTime(f.Evidence[i].At)
	}
	for i := range f.Past {
		f.Past[i].Until = keptTime(f.Past[i].Until)
	}
	// As a merge leaves them, so that importing it again changes nothing.
	f.Evidence = lastOf(both(f.Evidence, nil, Evidence.order), maxEvidence)
	f.Past, f.Variants = once(f.Past, Past.order), both(f.Variants, nil, Variant.order)
}

// readRest reads rejections, events and roll-ups. What cannot be read stays
// among the unknown fields.
func (in *incoming) readRest(x *Identity, blocked, events, rollups []json.RawMessage) {
	for _, raw := range blocked {
		var r Rejection
		if json.Unmarshal(raw, &r) != nil {
			r = Rejection{}
			_ = json.Unmarshal(raw, &r.Content) // a list of texts; else it is unreadable
		}
		if strings.TrimSpace(r.Content) == "" || len(r.Content) > maxContent {
			in.unreadable = append(in.unreadable, raw)
			continue
		}
		r.At, r.Reasons = keptTime(r.At), lastOf(r.Reasons, maxReasons)
		scrub(x.sanitize, &r)
		in.rejections = append(in.rejections, r)
	}
	for i, raw := range events {
		if e, ok := x.readEvent(i, raw); ok {
			in.events = append(in.events, e)
		} else {
			in.unreadable = append(in.unreadable, raw)
		}
	}
	for _, raw := range rollups {
		var r rollupJSON
		if json.Unmarshal(raw, &r) != nil || !isDay(r.Day) {
			in.unreadable = append(in.unreadable, raw)
			continue
		}
		out := rollup{Others: max(r.Others, 0)}
		for _, c := range r.Counts {
			if c.N > 0 && len(c.Kind) <= 64 && len(c.Host) <= 253 && len(c.Topic) <= key.MaxID && len(c.Category) <= 64 {
				scrub(x.sanitize, &c)
				out.add(c)
			}
		}
		in.rollups[r.Day] = out
	}
}

func isDay(s string) bool {
	t, err := time.Parse(time.DateOnly, s)
	return err == nil && goodYear(t)
}

func (x *Identity) readEvent(n int, raw json.RawMessage) (noted, bool) {
	var v struct {
		ID       string    `json:"id"`
		Kind     string    `json:"type"`
		Address  string    `json:"url"`
		Topic    string    `json:"topic"`
		Category Category  `json:"category"`
		Text     string    `json:"text"`
		Key      string    `json:"key"`
		Dwell    float64   `json:"dwellSeconds"`
		At       time.Time `json:"timestamp"`
	}
	o, ok := read(raw, &v)
	if !ok {
		return noted{}, false
	}
	name(&o, "id", &v.ID, isID)
	name(&o, "type", &v.Kind, isName)
	name(&o, "category", &v.Category, isName)
	name(&o, "key", &v.Key, isID)
	o.clamp("dwellSeconds", &v.Dwell, 0, day.Seconds())
	dwell := time.Duration(v.Dwell * float64(time.Second))
	out, err := x.event(Event{v.Kind, v.Address, v.Topic, v.Category, v.Text, v.Key, v.At, dwell, o.left})
	switch out.imported = true; {
	case v.ID != "":
		out.mark = x.clean(v.ID)
	case v.Key == "":
		out.mark = digest("imported", strconv.Itoa(n), string(raw))
	}
	return out, err == nil && len(out.mark) <= maxMark
}

// maxMark leaves room for the name of the part in an id.
const maxMark = key.MaxID - len(eventPart) - 1

// importProfile merges the profile.
func (x *Identity) importProfile(ctx context.Context, b *batch, in *incoming) error {
	r, err := fetch[Profile](ctx, x, profileID)
	if err != nil {
		return err
	}
	next := r.v
	next.merge(in)
	was, err := json.Marshal(r.v)
	is, err2 := json.Marshal(next)
	if !bytes.Equal(was, is) {
		b.putProfile(r, &next)
	}
	return cmp.Or(err, err2)
}

// merge takes in what a document has: of two values that of the later profile, and of
// two as late the smaller.
func (p *Profile) merge(in *incoming) {
	o := &in.profile
	turn := o.Updated.Compare(p.Updated)
	for _, s := range []struct {
		to   *string
		from string
	}{{&p.Name, o.Name}, {&p.Role, o.Role}, {&p.UserID, o.UserID}, {&p.DeviceID, o.DeviceID}} {
		if s.from != "" && (*s.to == "" || turn > 0 || turn == 0 && s.from < *s.to) {
			*s.to = s.from
		}
	}
	if o.Visibility.rank() > p.Visibility.rank() { // the stricter
		p.Visibility = o.Visibility
	}
	s, t := &p.Settings, o.Settings
	say := func(s *Settings) string { return fmt.Sprint(s.halfLife(""), s.HalfLives, s.AutoInfer) }
	is, was, none := say(&t), say(s), say(&Settings{})
	if is != none && (was == none || turn > 0 || turn == 0 && is < was) {
		s.HalfLife, s.HalfLives, s.AutoInfer = t.HalfLife, t.HalfLives, t.AutoInfer
	}
	s.ExcludedDomains = slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.ExcludedDomains, t.ExcludedDomains))))
	first, second := o.Extra, p.Extra
	if turn <= 0 {
		first, second = second, first
	}
	extra := maps.Clone(union(first, second))
	for field, raw := range o.Extra {
		if had := p.Extra[field]; turn == 0 && had != nil && bytes.Compare(compact(raw), compact(had)) < 0 {
			extra[field] = raw
		}
	}
	if lost := slices.Concat(listed(p.Extra), in.unreadable, listed(o.Extra)); len(lost) > 0 {
		for i := range lost {
			lost[i] = compact(lost[i])
		}
		slices.SortFunc(lost, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
		lost = slices.CompactFunc(lost, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
		if raw, err := json.Marshal(lost); err == nil { // they were valid when they were read
			if extra == nil {
				extra = raws{}
			}
			extra[unreadable] = raw
		}
	}
	p.Extra = extra
	if turn > 0 {
		p.Updated = o.Updated
	}
}

// unreadable is the field that holds entries that could not be read.
const unreadable = "unreadable"

func listed(extra raws) (out []json.RawMessage) {
	if raw := extra[unreadable]; raw != nil && json.Unmarshal(raw, &out) != nil {
		return []json.RawMessage{raw}
	}
	return out
}

// importRejection merges a rejection: the reasons of the older one come first.
func (x *Identity) importRejection(ctx context.Context, b *batch, in Rejection) error {
	r, err := fetch[Rejection](ctx, x, rejectionID(in.Content))
	if err != nil {
		return err
	}
	if in.At.IsZero() {
		in.At = cmp.Or(r.v.At, x.clock())
	}
	if !r.stored() {
		b.putRejection(r, &in)
		return nil
	}
	first, last := r.v, in
	if c := cmp.Or(in.At.Compare(r.v.At), cmp.Compare(in.Content, r.v.Content), slices.Compare(in.Reasons, r.v.Reasons)); c < 0 {
		first, last = in, r.v
	}
	next := Rejection{last.Content, more(first.Reasons, last.Reasons), last.At}
	if again := more(last.Reasons, first.Reasons); len(again) == len(last.Reasons) { // it has all of them
		next.Reasons = again
	}
	next.Reasons = lastOf(next.Reasons, maxReasons)
	if next.Content != r.v.Content || !next.At.Equal(r.v.At) || !slices.Equal(next.Reasons, r.v.Reasons) {
		b.putRejection(r, &next)
	}
	return nil
}

// more returns a list with those of another that it lacks.
func more(list, others []string) []string {
	list = slices.Clone(list)
	for _, s := range others {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// importRollup takes the larger of each two counts: they may be of the same
// events.
func (x *Identity) importRollup(ctx context.Context, b *batch, name string, in rollup) error {
	r, err := fetch[rollup](ctx, x, idOf(rollupPart, name))
	if err != nil {
		return err
	}
	next, changed := r.v.dup(), r.v.Others < in.Others || !r.stored()
	next.Others = max(next.Others, in.Others)
	for _, c := range in.Counts {
		if o := next.counted(c); o == nil {
			next.add(c)
			changed = true
		} else if c.N > o.N || c.N == o.N && c.More > o.More {
			*o, changed = c, true
		}
	}
	if changed {
		b.putRollup(r, name, &next)
	}
	return nil
}

// groupFacts is how many facts an import writes in a commit.
const groupFacts = 64

// importFacts merges facts with those that are there, and reports whether there are more
// changes than it has written.
func (x *Identity) importFacts(ctx context.Context, b *batch, facts []Fact, report *ImportReport) (more bool, err error) {
	rows, err := x.all(ctx)
	if err != nil {
		return false, err
	}
	was := make(map[ID]row[Fact], len(rows))
	here := make([]Fact, len(rows))
	for i, r := range rows {
		was[r.v.ID], here[i] = r, r.v
	}
	before := len(b.changes)
	merged := join(here, facts)
	gone := maps.Clone(was)
	for i := range merged {
		f := &merged[i]
		delete(gone, f.ID)
		old := was[f.ID]
		if err := f.check(); err != nil {
			return false, err
		}
		switch {
		case old.stored() && bytes.Equal(encoded(f), encoded(&old.v)):
		case len(b.changes)-before >= groupFacts:
			more = true
		default:
			b.putFact(old, f)
		}
	}
	if !more {
		for _, id := range slices.Sorted(maps.Keys(gone)) {
			b.remove(gone[id].was)
		}
	}
	if report.Added+report.Merged+report.Kept == 0 { // not counted yet
		report.reckon(was, merged, facts)
	}
	return more, nil
}

// reckon says what became of the facts of a document.
func (u *ImportReport) reckon(was map[ID]row[Fact], merged, facts []Fact) {
	holder := map[ID]*Fact{}
	for i := range merged {
		f := &merged[i]
		for _, v := range f.Variants {
			holder[v.ID] = f
		}
	}
	for i := range merged {
		holder[merged[i].ID] = &merged[i]
	}
	taken := map[ID]bool{}
	for id := range was {
		taken[holder[id].ID] = true
	}
	for i := range facts {
		f := holder[facts[i].ID]
		old := was[f.ID]
		switch {
		case !taken[f.ID]:
			u.Added++
		case old.stored() && bytes.Equal(encoded(f), encoded(&old.v)):
			u.Kept++
		default:
			u.Merged++
		}
		taken[f.ID] = true
	}
}

// join merges the facts of two identities. It depends on which facts there are, and on
// nothing else: neither on the order, nor on whose they are.
func join(a, b []Fact) []Fact {
	all := slices.Concat(a, b)
	lead := map[ID]ID{} // of each id, another one of the same fact
	find := func(id ID) ID {
		for lead[id] != "" {
			id = lead[id]
		}
		return id
	}
	for i := range all {
		for _, v := range all[i].Variants {
			if from, to := find(v.ID), find(all[i].ID); v.ID != "" && from != to {
				lead[from] = to
			}
		}
	}
	byID := unite(all, func(f *Fact) string { return string(find(f.ID)) })
	return unite(byID, (*Fact).claim)
}

// unite makes one fact of those with one key, the senior first.
func unite(facts []Fact, keyOf func(*Fact) string) (out []Fact) {
	sorted := slices.Clone(facts)
	slices.SortFunc(sorted, senior)
	at := map[string]int{}
	for i := range sorted {
		f := &sorted[i]
		k := keyOf(f)
		if n, seen := at[k]; seen {
			out[n] = out[n].merge(f)
			continue
		}
		at[k] = len(out)
		out = append(out, *f)
	}
	return out
}

// senior orders facts by which of two that say the same keeps its id and wording: one
// that was made here before one of a document, and then the one that was learned first.
func senior(a, b Fact) int {
	drawn := func(f *Fact) int {
		return number(len(f.ID) != 24 || strings.Trim(string(f.ID), "0123456789abcdefghijklmnopqrstuv") != "")
	}
	return cmp.Or(drawn(&a)-drawn(&b), older(&a, &b), b.Updated.Compare(a.Updated), bytes.Compare(encoded(&a), encoded(&b)))
}

// encoded is a fact as it is stored.
func encoded(f *Fact) []byte {
	raw, err := json.Marshal(f)
	if err != nil { // which its put returns
		return nil
	}
	return raw
}

// merge returns f with what another state of it, or another fact that says the
// same, knows beyond it. Of two states, the senior is the one that was updated last.
func (f *Fact) merge(other *Fact) Fact {
	newer := other.Updated.Compare(f.Updated)
	if f.ID == other.ID && cmp.Or(newer, bytes.Compare(encoded(f), encoded(other))) > 0 {
		f, other = other, f
	}
	out := *f
	if f.ID != other.ID || newer == 0 {
		out.Validations = max(f.Validations, other.Validations)
		if other.Maturity.rank() > f.Maturity.rank() {
			out.Maturity = other.Maturity
		}
		// The surer of the two, compared at one time.
		if at := later(f.Validated, other.Validated); other.Effective(at, 0) > f.Effective(at, 0) {
			out.Confidence, out.Validated, out.Demoted = other.Confidence, other.Validated, other.Demoted
		}
		if other.Created.Before(f.Created) {
			out.Created = other.Created
		}
		switch c := other.Updated.Compare(f.Updated); {
		case c > 0:
			out.Updated, out.Archived = other.Updated, other.Archived
		case c == 0:
			out.Archived = later(f.Archived, other.Archived)
		}
		if other.Visibility.rank() > f.Visibility.rank() {
			out.Visibility = other.Visibility
		}
		if f.Slot == "" {
			out.Subject, out.Slot = other.Subject, other.Slot
		}
	}
	out.Restored, out.Rejected = later(f.Restored, other.Restored), time.Time{}
	if at := later(f.Rejected, other.Rejected); !at.IsZero() && !out.Restored.After(at) {
		out.reject(at)
	}
	out.Past = once(slices.Concat(f.Past, other.Past), Past.order)
	out.Evidence = lastOf(both(f.Evidence, other.Evidence, Evidence.order), maxEvidence)
	lost := Variant{ID: other.ID, Content: other.Content, Ref: other.Ref}
	if f.ID == other.ID {
		out.Extra, out.Damaged = union(out.Extra, other.Extra), union(out.Damaged, other.Damaged)
	} else {
		lost.Extra = union(other.Extra, other.Damaged)
	}
	out.Variants = both(f.Variants, append(slices.Clip(other.Variants), lost), Variant.order)
	out.Variants = slices.DeleteFunc(out.Variants, func(v Variant) bool {
		said := v.Content == out.Content || slices.ContainsFunc(out.Past, func(p Past) bool { return p.Content == v.Content })
		return v.ID == out.ID && said && len(v.Extra) == 0
	})
	return out
}

// both returns what two lists hold, in order: each as often as the list that has it
// more often.
func both[T any](a, b []T, compare func(T, T) int) []T {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortStableFunc(a, compare)
	slices.SortStableFunc(b, compare)
	var out []T
	for len(a) > 0 && len(b) > 0 {
		c := compare(a[0], b[0])
		if c <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out = append(out, b[0])
		}
		if c >= 0 {
			b = b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// once returns a list in order, with each once.
func once[T any](list []T, compare func(T, T) int) []T {
	list = both(list, nil, compare)
	return slices.CompactFunc(list, func(a, b T) bool { return compare(a, b) == 0 })
}

func (p Past) order(o Past) int {
	return cmp.Or(p.Until.Compare(o.Until), cmp.Compare(p.Content, o.Content))
}

func (e Evidence) order(o Evidence) int {
	return cmp.Or(e.At.Compare(o.At), cmp.Compare(e.Key, o.Key), cmp.Compare(e.Reason, o.Reason))
}

func (v Variant) order(o Variant) int {
	c := cmp.Or(cmp.Compare(v.ID, o.ID), cmp.Compare(v.Content, o.Content), cmp.Compare(v.Ref, o.Ref))
	for _, field := range slices.Sorted(maps.Keys(union(v.Extra, o.Extra))) {
		c = cmp.Or(c, bytes.Compare(v.Extra[field], o.Extra[field]))
	}
	return c
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
