package identity

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/depth"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/identity/internal/lists"
	"github.com/arc-learn/arc/memory/identity/internal/loosejson"
	"github.com/arc-learn/arc/memory/identity/internal/rollup"
	"github.com/arc-learn/arc/memory/identity/internal/rows"
	"github.com/arc-learn/arc/memory/identity/internal/sites"
	"github.com/arc-learn/arc/memory/identity/internal/v1"
	"github.com/arc-learn/arc/memory/identity/internal/v2"
	"github.com/arc-learn/arc/memory/identity/internal/wording"
	"github.com/arc-learn/arc/memory/internal/ident"
)

// ImportReport says what Import did.
type ImportReport struct {
	Version int // of the document: 1 or 2
	Facts   int // that it held
	Added   int
	Merged  int // into facts that were there, or came before them
	Kept    int // nothing new about them
	Damaged int // with fields that could not be read: kept raw
	// Unreadable are those without a content, and rejections with more than their
	// fields: in Profile.Extra["unreadable"].
	Unreadable int
	Events     int // that were new
}

// incoming is what a document holds, ready to be stored.
type incoming struct {
	version    int
	facts      []Fact
	profile    *Profile
	rejections []Rejection
	events     []noted
	rollups    map[string]*rollup.Day
	suggested  map[string]suggestion // only of a former version
	unreadable []json.RawMessage
}

func newIncoming() *incoming {
	return &incoming{rollups: map[string]*rollup.Day{}, suggested: map[string]suggestion{}}
}

// day is the roll-up of a day, to add to.
func (in *incoming) day(name string) *rollup.Day {
	if in.rollups[name] == nil {
		in.rollups[name] = new(rollup.Day)
	}
	return in.rollups[name]
}

// check tells what of it cannot be kept, so that it does not fail half-way.
func (in *incoming) check() error {
	var b rows.Batch
	for i := range in.facts {
		f := &in.facts[i]
		putFact(&b, rows.Row[Fact]{}, f)
		if err := cmp.Or(f.check(), b.Err()); err != nil || strings.HasPrefix(string(f.ID), own) {
			return fmt.Errorf("fact %d: %w", i, cmp.Or(err, bad("id", f.ID)))
		}
	}
	for i := range in.rejections {
		rows.Put(&b, rows.Row[Rejection]{}, rejectionPart, "", time.Time{}, &in.rejections[i])
	}
	return b.Err()
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
		report.Damaged += lists.Number(len(in.facts[i].Damaged) > 0)
	}
	if err = cmp.Or(x.unify(ctx, in, &report), x.dropCounted(ctx, in)); err == nil {
		var p Profile
		if p, err = x.Profile(ctx); err == nil {
			in.events = slices.DeleteFunc(in.events, func(e noted) bool {
				return sites.Within(e.host, p.Settings.ExcludedDomains)
			})
			report.Events, err = x.append(ctx, in.events)
		}
	}
	return report, err
}

// unify merges all but the events of a document, which have an order of their own, with
// what is there: first the facts and the profile, which may be more than can be kept.
func (x *Identity) unify(ctx context.Context, in *incoming, report *ImportReport) error {
	for more, counted := true, false; more; counted = true {
		if err := x.rows.Alone(ctx, func(b *rows.Batch) (err error) {
			if !counted {
				err = x.dropTakenBack(ctx, b)
			}
			if in.profile != nil && err == nil {
				merge := func(p *Profile) time.Time { return p.merge(in.profile) }
				err = rows.MergeIn(ctx, x.rows, b, profilePart, "", merge)
			}
			var r ImportReport
			if err == nil {
				r, more, err = x.importFacts(ctx, b, in.facts)
			}
			if !counted {
				report.Added, report.Merged, report.Kept = r.Added, r.Merged, r.Kept
			}
			return err
		}); err != nil {
			return err
		}
	}
	stand, err := x.standing(ctx)
	for i := 0; i < len(in.rejections) && err == nil; i++ {
		o := in.rejections[i]
		if stand(&o); o.Content != "" {
			err = rows.Merge(ctx, x.rows, rejectionPart, rejectionName(o.Content), func(r *Rejection) time.Time {
				o.At = cmp.Or(o.At, r.At)
				stand(r)
				return r.merge(o, x.clock())
			})
		}
	}
	for _, day := range slices.Sorted(maps.Keys(in.rollups)) {
		if err == nil {
			err = rows.Merge(ctx, x.rows, rollupPart, day, func(r *rollup.Day) time.Time {
				r.Merge(in.rollups[day])
				return rollup.TimeOf(day)
			})
		}
	}
	return err
}

// dropCounted removes the events that the roll-ups of a document have counted.
func (x *Identity) dropCounted(ctx context.Context, in *incoming) error {
	counted := map[string]bool{}
	for _, d := range in.rollups {
		for _, m := range d.Marks {
			counted[m] = true
		}
	}
	return x.rows.Change(ctx, func(b *rows.Batch) error {
		ring, err := rows.All[Event](ctx, x.rows, eventPart)
		for _, r := range ring {
			if counted[r.Name()] {
				b.Remove(r.Was)
			}
		}
		return err
	})
}

// dropTakenBack empties the rejections that were taken back, and keeps their dates: of a fact that is
// merged with another state less may be known of how it read then, and an export has none of them.
func (x *Identity) dropTakenBack(ctx context.Context, b *rows.Batch) error {
	list, err := rows.All[Rejection](ctx, x.rows, rejectionPart)
	stand, err2 := x.standing(ctx)
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	for _, r := range list {
		is := r.Value
		if stand(&is); is.Content != r.Value.Content {
			name, at := rejectionName(r.Value.Content), r.Value.At
			rows.Put(b, r, rejectionPart, name, at, &Rejection{At: at})
		}
	}
	return nil
}

// read takes a document apart, and checks all that is to be stored.
func (x *Identity) read(data []byte) (*incoming, error) {
	data = bytes.ToValidUTF8(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\ufffd"))
	if err := over("document", len(data), maxDocument); err != nil {
		return nil, err
	}
	if err := over("depth of the document", depth.Of(data), maxDepth); err != nil {
		return nil, err
	}
	given := loosejson.FieldsOf(data)
	if given == nil {
		return nil, fmt.Errorf("%w: not a JSON object", ErrFormat)
	}
	clean := x.sanitize.JSON(data)
	data = encoded(&clean) // compact
	in := newIncoming()
	version := loosejson.Plain(given["version"])
	switch {
	case strings.HasPrefix(version, "2.") || version == "2":
		in.version = 2
		x.readV2(data, in)
	case given["version"] == nil && v1.Is(given):
		in.version = 1
		x.readV1(data, in)
	default:
		return nil, fmt.Errorf("%w: version %.16q", ErrFormat, version)
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	if lost := append(loosejson.Elements(in.profile.Extra[unreadable]), in.unreadable...); len(lost) > 0 {
		in.profile.Extra = loosejson.Union(loosejson.Fields{unreadable: encoded(&lost)}, in.profile.Extra)
	}
	return in, in.profile.check()
}

func (x *Identity) readV2(data []byte, in *incoming) {
	d := v2.Read(data, x.clock())
	in.profile = &Profile{
		Name: d.Name, Role: d.Role, Visibility: Visibility(d.Visibility), UserID: d.UserID, DeviceID: d.DeviceID,
		Settings: Settings{d.HalfLife, map[Category]time.Duration{}, d.AutoInfer, d.ExcludedDomains},
		Extra:    d.Extra, Updated: d.Updated,
	}
	for c, life := range d.HalfLives {
		in.profile.Settings.HalfLives[Category(c)] = life
	}
	seen := map[ID]bool{}
	for _, raw := range d.Facts {
		f, ok := x.readFact(raw)
		if !ok {
			in.unreadable = append(in.unreadable, raw)
			continue
		}
		if f.ID == "" {
			f.ID = numbered(len(in.facts), &f)
		}
		if seen[f.ID] { // another fact under the same id: both are kept
			f.ID = ID(ident.Name("imported", string(f.ID), string(f.Category), wording.Canonical(f.Content)))
		}
		seen[f.ID] = true
		in.facts = append(in.facts, f)
	}
	in.readRest(x, &d)
}

// ranked reports whether v is one of a ranked vocabulary.
func ranked[T interface{ rank() int }](v T) bool { return v.rank() > 0 }

// readFact reads one fact; false: it has no content.
func (x *Identity) readFact(raw json.RawMessage) (Fact, bool) {
	if raw[0] == '"' { // a bare text
		raw = fmt.Appendf(nil, `{"content":%s}`, raw)
	}
	f := Fact{Confidence: math.NaN(), Validations: -1} // none
	o, _ := loosejson.Read(raw, &f)
	if strings.TrimSpace(f.Content) == "" {
		return f, false
	}
	loosejson.Expect(&o, "id", &f.ID, func(id ID) bool { return v2.IsID(id) && !strings.HasPrefix(string(id), own) })
	loosejson.Expect(&o, "sourceRef", &f.Ref, v2.IsID)
	loosejson.Expect(&o, "category", &f.Category, v2.IsName)
	loosejson.Expect(&o, "source", &f.Source, v2.IsName)
	loosejson.Expect(&o, "maturity", &f.Maturity, ranked)
	loosejson.Expect(&o, "visibility", &f.Visibility, ranked)
	loosejson.Expect(&o, "subject", &f.Subject, v2.IsID)
	loosejson.Expect(&o, "slot", &f.Slot, v2.IsID)
	o.Clamp("confidence", &f.Confidence, 0, 1)
	now := x.clock()
	for field, t := range map[string]*time.Time{
		"lastValidated": &f.Validated, "createdAt": &f.Created, "updatedAt": &f.Updated, "demotedAt": &f.Demoted,
		"archivedAt": &f.Archived, "rejectedAt": &f.Rejected, "restoredAt": &f.Restored,
	} {
		o.Past(field, t, now)
	}
	n, past := len(f.Evidence), len(f.Past)
	if f.Evidence = slices.DeleteFunc(f.Evidence, func(e Evidence) bool { return e.At.After(now) }); len(f.Evidence) < n {
		o.Damage("evidence")
	}
	if f.Past = slices.DeleteFunc(f.Past, func(p Past) bool { return p.Until.After(now) }); len(f.Past) < past {
		o.Damage("past")
	}
	if f.Visibility == "" && o.Given["visibility"] != nil {
		f.Visibility = Local
	}
	f.Visibility, f.Source = cmp.Or(f.Visibility, Trusted), cmp.Or(f.Source, Imported)
	f.Category = cmp.Or(f.Category, Category(wording.Category(f.Content)))
	usual := Fact{Source: f.Source}
	usual.begin()
	if math.IsNaN(f.Confidence) {
		f.Confidence = usual.Confidence
	}
	if f.Validations < 0 {
		f.Validations = usual.Validations
	}
	f.Maturity = cmp.Or(f.Maturity, usual.Maturity)
	// What it has to have and did not bring follows from what is next to it.
	f.Created = cmp.Or(f.Created, f.Updated, f.Validated, now)
	f.Updated = cmp.Or(f.Updated, f.Validated, f.Created)
	f.Validated = cmp.Or(f.Validated, f.Updated)
	f.At = cmp.Or(f.At, f.Created)
	if _, ok := loosejson.Time(o.Given["rejectedAt"]); ok { // also by a clock that is ahead
		f.reject(cmp.Or(f.Rejected, later(f.Updated, f.Restored)))
	}
	if wording.Canonical(f.Slot) == "" {
		f.Subject, f.Slot = "", ""
	}
	// As a merge leaves them, so that importing it again changes nothing.
	f.Evidence = lists.Latest(lists.Union(f.Evidence, nil, Evidence.order), maxEvidence)
	f.Past = lists.Latest(lists.Once(f.Past, Past.order), maxPast)
	f.Variants = lists.Union(f.Variants, nil, Variant.order)
	f.Damaged, f.Extra = loosejson.Union(o.Damaged, f.Damaged), o.Left
	return f, true
}

// numbered is the id of a fact that came without one: the same whenever it is
// imported again, and in the order of the document.
func numbered(n int, f *Fact) ID {
	return ID(fmt.Sprintf("n%05d%s", n, ident.Name("imported", string(f.Category), wording.Canonical(f.Content))))
}

// readRest reads rejections, events and roll-ups. What cannot be read stays
// among the unknown fields.
func (in *incoming) readRest(x *Identity, d *v2.Document) {
	for _, raw := range d.Blocked {
		var r Rejection
		o, ok := loosejson.Read(raw, &r)
		if o.Past("at", &r.At, x.clock()); !ok {
			_ = json.Unmarshal(raw, &r.Content) // a list of texts; else it is unreadable
		}
		if slices.ContainsFunc(r.Reasons, func(s string) bool { return len(s) > maxContent }) {
			r.Reasons = nil
			o.Damage("reasons")
		}
		blank := fence.Blank(r.Content) || len(r.Content) > maxContent
		if !blank {
			in.rejections = append(in.rejections, r)
		}
		if blank || len(o.Left)+len(o.Damaged) > 0 {
			in.unreadable = append(in.unreadable, raw)
		}
	}
	for i, raw := range d.Events {
		if e, ok := x.readEvent(i, raw); ok {
			in.events = append(in.events, e)
		} else {
			in.unreadable = append(in.unreadable, raw)
		}
	}
	for _, raw := range d.Rollups {
		date, day, whole := rollup.Read(raw)
		if date != "" {
			in.day(date).Merge(day)
		}
		if !whole {
			in.unreadable = append(in.unreadable, raw)
		}
	}
}

func (x *Identity) readEvent(n int, raw json.RawMessage) (noted, bool) {
	var e struct {
		Event
		eventMore
	}
	o, ok := loosejson.Read(raw, &e)
	if !ok {
		return noted{}, false
	}
	loosejson.Expect(&o, "type", &e.Kind, v2.IsName)
	loosejson.Expect(&o, "category", &e.Category, v2.IsName)
	loosejson.Expect(&o, "key", &e.Key, v2.IsID)
	loosejson.Expect(&o, "id", &e.ID, v2.IsID)
	o.Clamp("dwellSeconds", &e.Seconds, 0, day.Seconds())
	if raw := o.Given["dwell"]; raw != nil { // which is not the Dwell of ours
		o.Left["dwell"] = raw
		delete(o.Damaged, "dwell")
	}
	e.Dwell, e.Extra = time.Duration(e.Seconds*float64(time.Second)), o.Rest()
	out, err := x.event(e.Event)
	switch out.imported = true; {
	case e.ID != "":
		out.mark = e.ID
	case e.Key == "":
		out.mark = ident.Name("imported", strconv.Itoa(n), string(raw))
	}
	return out, err == nil && len(out.mark) <= maxMark
}

// maxDepth is how deep a document may be nested.
const maxDepth = 64

// maxMark leaves room for the name of the part in an id.
const maxMark = key.MaxID - len(eventPart) - 1

// importFacts merges facts with those that are there, and tells what becomes of them; more:
// beyond those that it has written there are some for another commit.
func (x *Identity) importFacts(ctx context.Context, b *rows.Batch, in []Fact) (n ImportReport, more bool, err error) {
	list, err := x.all(ctx)
	was := map[ID]rows.Row[Fact]{}
	here := make([]Fact, len(list))
	for i, r := range list {
		was[r.Value.ID], here[i] = r, r.Value
	}
	var rest rows.Batch // so that no later commit fails
	gone, same, holder := maps.Clone(was), map[ID]bool{}, map[ID]ID{}
	for _, f := range join(here, in) {
		r := was[f.ID]
		delete(gone, f.ID)
		known := r.Stored()
		for _, v := range f.Variants {
			holder[v.ID] = f.ID
			known = known || was[v.ID].Value.ID != ""
		}
		n.Added += lists.Number(!known)
		same[f.ID] = r.Stored() && bytes.Equal(encoded(&f), encoded(&r.Value))
		switch err = cmp.Or(err, f.check()); {
		case same[f.ID]:
		case b.Full():
			more = true
			putFact(&rest, r, &f)
		default:
			putFact(b, r, &f)
		}
	}
	if !more {
		for _, id := range slices.Sorted(maps.Keys(gone)) {
			b.Remove(gone[id].Was)
		}
	}
	for i := range in {
		id := in[i].ID
		if _, leads := same[id]; !leads {
			id = holder[id]
		}
		n.Kept += lists.Number(same[id])
	}
	n.Merged = len(in) - n.Added - n.Kept
	return n, more, cmp.Or(err, rest.Err())
}

// readV1 makes facts of the texts of a document of version 1: what the person had written
// down themselves is proven, and what they were at just then established. Whatever has no
// place in a fact is in the document, which is kept whole.
func (x *Identity) readV1(data []byte, in *incoming) {
	now := x.clock()
	d := v1.Read(data, now)
	in.profile = &Profile{
		Name: d.Name, Role: d.Role, Visibility: Visibility(d.Visibility), UserID: d.UserID, DeviceID: d.DeviceID,
		Extra: loosejson.Fields{"v1": data},
	}
	var facts []Fact
	for i, s := range d.Statements {
		f := Fact{
			Category: Category(s.Category), Content: s.Content, Visibility: Visibility(s.Visibility), Source: Manual,
			Confidence: 1, Maturity: Proven, Validations: provenAt,
			At: d.Modified, Created: d.Modified, Updated: now, Validated: now,
		}
		if s.Current {
			f.Maturity, f.Validations = Established, establishedAt
		}
		if s.Project != nil { // apart, as its names may be those of a fact
			f.Extra = loosejson.Fields{"project": s.Project}
		}
		f.ID = numbered(i, &f)
		facts = append(facts, f)
	}
	in.facts = join(facts, nil)
}
