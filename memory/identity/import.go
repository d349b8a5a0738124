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

	"github.com/arc-learn/arc/internal/codec"
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
	settings   bool // it has some
	rejections []storedRejection
	events     []storedEvent
	rollups    map[string]rollup
	unreadable []json.RawMessage
}

// Import takes in a document of version 2, as Export writes it, or of version
// 1, and merges it with what is there. Nothing that either held is lost, and
// importing the same again changes nothing.
//
// Of two states of a fact, the one that was updated last is kept, the present
// one on a tie. A fact that says the same as another one of its category is
// merged into it, and stays visible there as a Variant. Name, role, ids and
// settings that are there already stay; unknown fields are kept, and so are
// the raw values of fields that cannot be read: a bad date, or one in the
// future, counts as the next best one that the fact has, and a confidence beyond [0,1] as the limit. A
// visibility that is not known is taken for Local.
//
// A document is taken at its word: what it calls proven is proven.
//
// Of version 1 every text becomes a fact, of the visibility that its privacy
// lists give it, and the whole document is kept as Profile.Extra["v1"].
//
// A document that is neither is ErrFormat, one over MaxDocument or deeper than
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
	if err := x.importProfile(ctx, in); err != nil {
		return report, err
	}
	for _, f := range in.facts {
		var outcome *int
		err := x.change(ctx, func(b *batch) (err error) {
			outcome, err = x.importFact(ctx, b, f, &report)
			return err
		})
		if err != nil {
			return report, err
		}
		*outcome++
	}
	for _, r := range in.rejections {
		err := x.change(ctx, func(b *batch) error { return x.importRejection(ctx, b, r) })
		if err != nil {
			return report, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in.rollups)) {
		err := x.change(ctx, func(b *batch) error { return x.importRollup(ctx, b, name, in.rollups[name]) })
		if err != nil {
			return report, err
		}
	}
	report.Events, err = x.append(ctx, in.events)
	return report, err
}

// read takes a document apart, and checks all that is to be stored.
func (x *Identity) read(data []byte) (*incoming, error) {
	if err := checkDocument(data); err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	f, ok := open(data)
	if !ok {
		return nil, fmt.Errorf("%w: not a JSON object", ErrFormat)
	}
	in := &incoming{rollups: map[string]rollup{}}
	version := plain(f.left["version"])
	switch {
	case strings.HasPrefix(version, "2.") || version == "2":
		in.version = 2
		f.take("version")
		x.readV2(f, in)
	case f.left["version"] == nil && isV1(f):
		in.version = 1
		x.readV1(data, f, in)
	default:
		return nil, fmt.Errorf("%w: version %.16q", ErrFormat, version)
	}
	for i, raw := range in.unreadable {
		in.unreadable[i] = slices.Clone(x.sanitize.JSON(raw))
	}
	for i := range in.facts {
		if err := in.facts[i].check(); err != nil {
			return nil, fmt.Errorf("fact %d: %w", i, err)
		}
		b := &batch{x: x}
		if b.putFact(0, in.facts[i]); b.err != nil { // so that it cannot fail half-way
			return nil, fmt.Errorf("fact %d: %w", i, b.err)
		}
	}
	return in, x.cleanProfile(&in.profile)
}

func (x *Identity) readV2(f *fields, in *incoming) {
	p := &in.profile
	p.UserID, p.DeviceID = f.text("userId"), f.text("deviceId")
	if raw, ok := f.take("core"); ok {
		core, object := open(raw)
		if !object {
			f.damage("core", raw)
		}
		p.Name, p.Role = core.text("name"), core.text("role")
		p.Visibility = Visibility(core.name("visibility", func(s string) bool { return Visibility(s).rank() > 0 }))
		keepUnder(f, "core", core)
	}
	if raw, ok := f.take("settings"); ok {
		s, object := open(raw)
		if !object {
			f.damage("settings", raw)
		}
		in.settings = object
		readSettings(s, &p.Settings)
		keepUnder(f, "settings", s)
	}
	seen := map[ID]bool{}
	for _, raw := range f.list("facts") {
		fact, ok := x.readFact(raw)
		if ok && fact.ID == "" {
			fact.ID = numbered(len(in.facts), &fact)
		}
		if !ok {
			in.unreadable = append(in.unreadable, raw)
			continue
		}
		if seen[fact.ID] { // another fact under the same id: both are kept
			fact.ID = ID(digest("imported", string(fact.ID), string(fact.Category), canonical(fact.Content)))
		}
		seen[fact.ID] = true
		in.facts = append(in.facts, fact)
	}
	in.readRest(x, f)
	for name, raw := range f.damaged {
		f.left["damaged."+name] = raw
	}
	if len(f.left) > 0 {
		p.Extra = f.left
	}
}

// keepUnder keeps what was not understood of an object among the unknown
// fields, under its name.
func keepUnder(f *fields, name string, part *fields) {
	maps.Copy(part.left, part.damaged)
	if len(part.left) == 0 {
		return
	}
	if raw, err := json.Marshal(part.left); err == nil { // they were valid when they were read
		f.left[name] = raw
	}
}

func readSettings(f *fields, s *Settings) {
	const longest = 36500.0 // days: a hundred years
	if d, ok := f.number("decayHalfLifeDays", 0, longest); ok {
		s.HalfLife = time.Duration(d * float64(day)).Round(time.Second)
	}
	var lives map[Category]float64
	if f.into("categoryHalfLifeDays", &lives) {
		for c, d := range lives {
			if isName(string(c)) && d > 0 && d <= longest {
				if s.HalfLives == nil {
					s.HalfLives = map[Category]time.Duration{}
				}
				s.HalfLives[c] = time.Duration(d * float64(day)).Round(time.Second)
			}
		}
	}
	f.into("autoInfer", &s.AutoInfer)
	for _, raw := range f.list("excludedDomains") {
		d := strings.Trim(strings.ToLower(strings.TrimSpace(plain(raw))), ".")
		if d != "" && key.CheckID("", d) == nil {
			s.ExcludedDomains = append(s.ExcludedDomains, d)
		}
	}
}

// readFact reads one fact; false: it has no content.
func (x *Identity) readFact(raw json.RawMessage) (Fact, bool) {
	f, ok := open(raw)
	if !ok {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return Fact{}, false
		}
		f.left = map[string]json.RawMessage{"content": raw}
	}
	now := x.clock()
	fact := Fact{
		ID:      ID(f.name("id", func(s string) bool { return key.CheckID("", s) == nil })),
		Content: x.clean(f.text("content")), Ref: x.clean(f.name("sourceRef", isID)),
		Category: Category(x.cleanName(f.name("category", isName))), Source: Source(cmp.Or(x.cleanName(f.name("source", isName)), string(Imported))),
		Maturity:   Maturity(f.name("maturity", func(s string) bool { return Maturity(s).rank() > 0 })),
		Visibility: readVisibility(f),
		Subject:    x.clean(f.name("subject", isID)), Slot: x.clean(f.name("slot", isID)),
		Validated: f.until("lastValidated", now), Created: f.until("createdAt", now), Updated: f.until("updatedAt", now), At: f.time("heldSince"),
		Demoted: f.until("demotedAt", now), Archived: f.until("archivedAt", now), Rejected: f.until("rejectedAt", now),
	}
	if strings.TrimSpace(fact.Content) == "" {
		return Fact{}, false
	}
	count, counted := f.number("validationCount", 0, 1<<31-1)
	confidence, known := f.number("confidence", 0, 1)
	fact.Confidence = confidence
	begin(&fact)
	if known {
		fact.Confidence = confidence
	}
	if counted {
		fact.Validations = int(count)
	}
	x.readHistory(f, &fact)
	fact.settle(now)
	fact.Extra, fact.Damaged = cleanExtra(x.sanitize, f.left), cleanExtra(x.sanitize, f.damaged)
	return fact, true
}

// cleanName returns a name without secrets, "" if that is none any more.
func (x *Identity) cleanName(s string) string {
	if s = x.clean(s); isName(s) {
		return s
	}
	return ""
}

// numbered is the id of a fact that came without one: the same whenever it is
// imported again, and in the order of the document.
func numbered(n int, f *Fact) ID {
	return ID(fmt.Sprintf("n%05d%s", n, digest("imported", string(f.Category), canonical(f.Content))))
}

func isID(s string) bool { return key.CheckID("", s) == nil }

func readVisibility(f *fields) Visibility {
	if _, given := f.left["visibility"]; !given {
		return Trusted
	}
	return cmp.Or(Visibility(f.name("visibility", func(s string) bool { return Visibility(s).rank() > 0 })), Local)
}

// settle fills what a fact has to have and did not bring, from what is next
// to it.
func (f *Fact) settle(now time.Time) {
	f.Category = cmp.Or(f.Category, Categorize(f.Content))
	firstTime := func(times ...time.Time) time.Time {
		for _, t := range times {
			if !t.IsZero() {
				return t
			}
		}
		return now
	}
	f.Created = firstTime(f.Created, f.Updated, f.Validated)
	f.Updated = firstTime(f.Updated, f.Validated, f.Created)
	f.Validated = firstTime(f.Validated, f.Updated)
	f.At = firstTime(f.At, f.Created)
	if !f.Rejected.IsZero() && f.Archived.IsZero() {
		f.Archived = f.Rejected
	}
	if canonical(f.Slot) == "" {
		f.Subject, f.Slot = "", ""
	}
}

// readHistory reads what led to a fact.
func (x *Identity) readHistory(f *fields, fact *Fact) {
	var evidence []evidenceJSON
	if f.into("evidence", &evidence) {
		for _, e := range evidence[max(0, len(evidence)-maxEvidence):] {
			fact.Evidence = append(fact.Evidence, Evidence{x.clean(e.Key), x.clean(e.Reason), keptTime(e.At)})
		}
	}
	var past []pastJSON
	if f.into("past", &past) {
		for _, p := range past {
			fact.Past = append(fact.Past, Past{x.clean(p.Content), keptTime(p.Until)})
		}
	}
	var variants []variantJSON
	if f.into("variants", &variants) {
		for _, v := range variants {
			fact.Variants = append(fact.Variants, Variant{ID(x.clean(string(v.ID))), x.clean(v.Content), x.clean(v.Ref), cleanExtra(x.sanitize, v.Extra)})
		}
	}
	var damaged map[string]json.RawMessage
	if f.into("damaged", &damaged) {
		for name, raw := range damaged {
			f.damage(name, raw)
		}
	}
}

// readRest reads rejections, events and roll-ups. What cannot be read stays
// among the unknown fields.
func (in *incoming) readRest(x *Identity, f *fields) {
	for _, raw := range f.list("blocked") {
		var r rejectionJSON
		if json.Unmarshal(raw, &r) != nil {
			r = rejectionJSON{}
			_ = json.Unmarshal(raw, &r.Content) // a list of texts; else it is unreadable
		}
		if strings.TrimSpace(r.Content) == "" || len(r.Content) > MaxContent {
			in.unreadable = append(in.unreadable, raw)
			continue
		}
		out := storedRejection{x.clean(r.Content), nil, keptTime(r.At)}
		for _, reason := range r.Reasons[max(0, len(r.Reasons)-maxReasons):] {
			out.Reasons = append(out.Reasons, x.clean(reason))
		}
		in.rejections = append(in.rejections, out)
	}
	for i, raw := range f.list("events") {
		e, ok := x.readEvent(i, raw)
		if !ok {
			in.unreadable = append(in.unreadable, raw)
			continue
		}
		in.events = append(in.events, e)
	}
	for _, raw := range f.list("rollups") {
		var r rollupJSON
		if json.Unmarshal(raw, &r) != nil || !isDay(r.Day) {
			in.unreadable = append(in.unreadable, raw)
			continue
		}
		out := rollup{Others: max(r.Others, 0)}
		for _, c := range r.Counts {
			if c.N > 0 && len(c.Kind) <= 64 && len(c.Host) <= 253 && len(c.Topic) <= key.MaxID && len(c.Category) <= 64 {
				out.add(count{x.clean(c.Kind), x.clean(c.Host), x.clean(c.Topic), Category(x.clean(string(c.Category))), c.N, c.More})
			}
		}
		in.rollups[r.Day] = out
	}
}

func isDay(s string) bool {
	t, err := time.Parse(time.DateOnly, s)
	return err == nil && goodYear(t)
}

func (x *Identity) readEvent(n int, raw json.RawMessage) (storedEvent, bool) {
	f, ok := open(raw)
	if !ok {
		return storedEvent{}, false
	}
	id := f.name("id", isID)
	dwell, _ := f.number("dwellSeconds", 0, day.Seconds())
	e := Event{
		Dwell: time.Duration(dwell * float64(time.Second)),
		Kind:  f.name("type", isName), Address: f.text("url"), Topic: f.text("topic"), Category: Category(f.name("category", isName)),
		Text: f.text("text"), Key: f.name("key", isID), At: f.time("timestamp"), Extra: f.left,
	}
	out, err := x.event(&e)
	if err != nil {
		return storedEvent{}, false
	}
	switch {
	case id != "":
		out.Mark = x.clean(id)
	case e.Key == "":
		out.Mark = digest("imported", strconv.Itoa(n), string(raw))
	}
	return out, true
}

// importProfile fills what the profile does not have yet.
func (x *Identity) importProfile(ctx context.Context, in *incoming) error {
	was, err := x.Profile(ctx)
	if err != nil {
		return err
	}
	if merged := was; !mergeProfile(&merged, in) {
		return nil
	}
	_, err = x.UpdateProfile(ctx, func(p *Profile) error {
		mergeProfile(p, in)
		return nil
	})
	return err
}

// mergeProfile reports whether it changed anything.
func mergeProfile(p *Profile, in *incoming) bool {
	changed := false
	for _, s := range []struct {
		to   *string
		from string
	}{{&p.Name, in.profile.Name}, {&p.Role, in.profile.Role}, {&p.UserID, in.profile.UserID}, {&p.DeviceID, in.profile.DeviceID}} {
		if *s.to == "" && s.from != "" {
			*s.to, changed = s.from, true
		}
	}
	if v := in.profile.Visibility; v.rank() > p.Visibility.rank() { // the stricter
		p.Visibility, changed = v, true
	}
	if s := in.profile.Settings; in.settings && p.Settings.HalfLife == 0 && len(p.Settings.HalfLives) == 0 && !p.Settings.AutoInfer {
		if s.HalfLife != 0 || len(s.HalfLives) != 0 || s.AutoInfer {
			p.Settings.HalfLife, p.Settings.HalfLives, p.Settings.AutoInfer, changed = s.HalfLife, s.HalfLives, s.AutoInfer, true
		}
	}
	domains := slices.Clone(p.Settings.ExcludedDomains)
	for _, d := range in.profile.Settings.ExcludedDomains {
		if !slices.Contains(domains, d) {
			domains, changed = append(domains, d), true
		}
	}
	p.Settings.ExcludedDomains = domains
	extra := maps.Clone(p.Extra)
	if extra == nil {
		extra = map[string]json.RawMessage{}
	}
	for name, raw := range in.profile.Extra {
		if _, taken := extra[name]; !taken {
			extra[name], changed = raw, true
		}
	}
	changed = mergeUnreadable(extra, in.unreadable) || changed
	p.Extra = extra
	return changed
}

const unreadable = "unreadable"

// mergeUnreadable adds entries that could not be read, each once.
func mergeUnreadable(extra map[string]json.RawMessage, entries []json.RawMessage) bool {
	var has []json.RawMessage
	if raw, ok := extra[unreadable]; ok && json.Unmarshal(raw, &has) != nil {
		has = []json.RawMessage{raw}
	}
	for i := range has {
		has[i] = compact(has[i])
	}
	n := len(has)
	for _, raw := range entries {
		raw = compact(raw)
		if !slices.ContainsFunc(has, func(h json.RawMessage) bool { return bytes.Equal(h, raw) }) {
			has = append(has, raw)
		}
	}
	if len(has) == n {
		return false
	}
	raw, err := json.Marshal(has)
	if err != nil {
		return false // they were valid when they were read
	}
	extra[unreadable] = raw
	return true
}

// compact returns JSON as Marshal writes it.
func compact(raw json.RawMessage) json.RawMessage {
	out, err := json.Marshal(raw)
	if err != nil {
		return raw
	}
	return out
}

// importRejection adds the reasons of a rejection to those that are known.
func (x *Identity) importRejection(ctx context.Context, b *batch, in storedRejection) error {
	name := rejectionName(in.Content)
	r, err := fetch[storedRejection](ctx, x, rejectionPart, name)
	if err != nil {
		return err
	}
	if r.rev == 0 {
		if in.At.IsZero() {
			in.At = x.clock()
		}
		b.put(rejectionPart, name, 0, in)
		return nil
	}
	before := len(r.v.Reasons)
	for _, reason := range in.Reasons {
		if !slices.Contains(r.v.Reasons, reason) && len(r.v.Reasons) < maxReasons {
			r.v.Reasons = append(r.v.Reasons, reason)
		}
	}
	if len(r.v.Reasons) > before {
		b.put(rejectionPart, name, r.rev, r.v)
	}
	return nil
}

// importRollup takes the larger of each two counts: they may be of the same
// events.
func (x *Identity) importRollup(ctx context.Context, b *batch, name string, in rollup) error {
	r, err := fetch[rollup](ctx, x, rollupPart, name)
	if err != nil {
		return err
	}
	changed := r.v.Others < in.Others
	r.v.Others = max(r.v.Others, in.Others)
	for _, c := range in.Counts {
		var have count
		for _, o := range r.v.Counts {
			if o.Kind == c.Kind && o.Host == c.Host && o.Topic == c.Topic && o.Category == c.Category {
				have = o
			}
		}
		if c.N > have.N {
			c.N, c.More = c.N-have.N, c.More-have.More
			r.v.add(c)
			changed = true
		}
	}
	if changed {
		b.put(rollupPart, name, r.rev, r.v)
	}
	return nil
}

// importFact stores or merges one fact, and returns the count of the report
// that this adds to.
func (x *Identity) importFact(ctx context.Context, b *batch, f Fact, report *ImportReport) (*int, error) {
	there, err := x.row(ctx, f.ID)
	if err == nil && there.rev == 0 {
		there, err = x.owner(ctx, &f)
	}
	if err != nil {
		return nil, err
	}
	if there.rev == 0 {
		b.putFact(0, f)
		for _, v := range f.Variants {
			if err := x.alias(ctx, b, v.ID, f.ID); err != nil {
				return nil, err
			}
		}
		return &report.Added, x.claim(ctx, b, &f)
	}
	merged := there.v.merge(&f)
	same, err := equal(&merged, &there.v)
	if err != nil || same {
		return &report.Kept, err
	}
	b.putFact(there.rev, merged)
	if f.ID != merged.ID {
		if err := x.alias(ctx, b, f.ID, merged.ID); err != nil {
			return nil, err
		}
	}
	if claimName(&merged) != claimName(&there.v) {
		if err := x.release(ctx, b, &there.v); err != nil {
			return nil, err
		}
		if _, err := x.claimFree(ctx, b, &merged); err != nil {
			return nil, err
		}
	}
	return &report.Merged, nil
}

// alias has one id lead to another fact.
func (x *Identity) alias(ctx context.Context, b *batch, from, to ID) error {
	if from == "" || from == to {
		return nil
	}
	name := aliasName(from)
	for _, op := range b.ops {
		if op.Key == x.key(canonPart, name) {
			return nil
		}
	}
	c, err := fetch[claimed](ctx, x, canonPart, name)
	if err == nil && c.rev == 0 {
		b.put(canonPart, name, 0, claimed{to})
	}
	return err
}

func aliasName(id ID) string { return digest("alias", string(id)) }

// equal reports whether two facts are stored as the same bytes.
func equal(a, b *Fact) (bool, error) {
	u, err := codec.Encode("", storedFact(*a))
	if err != nil {
		return false, err
	}
	v, err := codec.Encode("", storedFact(*b))
	return bytes.Equal(u, v), err
}

// merge returns f with what another state of it, or another fact that says the
// same, knows beyond it.
func (f *Fact) merge(other *Fact) Fact {
	out, lost := *f, other
	switch {
	case f.ID != other.ID:
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
		if other.Updated.After(f.Updated) {
			out.Updated, out.Archived, out.Rejected = other.Updated, other.Archived, other.Rejected
		}
		if other.Visibility.rank() > f.Visibility.rank() {
			out.Visibility = other.Visibility
		}
		if f.Slot == "" {
			out.Subject, out.Slot = other.Subject, other.Slot
		}
	case other.Updated.After(f.Updated):
		out, lost = *other, f
	}
	out.Past = slices.Clone(f.Past)
	for _, p := range other.Past {
		if !slices.ContainsFunc(out.Past, func(o Past) bool { return o.Content == p.Content && o.Until.Equal(p.Until) }) {
			out.Past = append(out.Past, p)
		}
	}
	slices.SortStableFunc(out.Past, func(a, b Past) int { return a.Until.Compare(b.Until) })
	out.Evidence = slices.Clone(f.Evidence)
	for _, e := range other.Evidence {
		if !slices.ContainsFunc(out.Evidence, func(o Evidence) bool { return o.Key == e.Key && o.Reason == e.Reason && o.At.Equal(e.At) }) {
			out.Evidence = append(out.Evidence, e)
		}
	}
	slices.SortStableFunc(out.Evidence, func(a, b Evidence) int { return a.At.Compare(b.At) })
	out.Evidence = out.Evidence[max(0, len(out.Evidence)-maxEvidence):]
	out.Variants = slices.Clone(f.Variants)
	for _, v := range append(slices.Clone(other.Variants), lost.variant(out.ID)) {
		out.tell(v)
	}
	if f.ID == other.ID {
		out.Extra, out.Damaged = union(out.Extra, lost.Extra), union(out.Damaged, lost.Damaged)
	}
	return out
}

// variant is what is kept of a fact that another one stands for, or that is
// an older state of it: then the unknown fields are not in it.
func (f *Fact) variant(of ID) Variant {
	v := Variant{ID: f.ID, Content: f.Content, Ref: f.Ref}
	if f.ID != of {
		v.Extra = union(f.Extra, f.Damaged)
	}
	return v
}

// tell adds a variant, unless the fact says all of it already.
func (f *Fact) tell(v Variant) {
	if v.ID == f.ID && (v.Content == f.Content || slices.ContainsFunc(f.Past, func(p Past) bool { return p.Content == v.Content })) {
		return
	}
	if !slices.ContainsFunc(f.Variants, func(o Variant) bool {
		return o.ID == v.ID && o.Content == v.Content && o.Ref == v.Ref &&
			maps.EqualFunc(o.Extra, v.Extra, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
	}) {
		f.Variants = append(f.Variants, v)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// union returns the fields of both, those of a where both have one.
func union(a, b map[string]json.RawMessage) map[string]json.RawMessage {
	if len(b) == 0 {
		return a
	}
	out := maps.Clone(b)
	maps.Copy(out, a)
	return out
}
