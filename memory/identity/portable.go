package identity

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/arc-learn/arc/store"
)

// formatVersion is the version of the documents that Export writes.
const formatVersion = "2.0.0"

// The JSON of version 2. The fields up to Settings are those of the format;
// the others are what this package keeps beside them, and fields that it does
// not know are kept and written again.
type document struct {
	Version  string       `json:"version"`
	UserID   string       `json:"userId,omitempty"`
	DeviceID string       `json:"deviceId"`
	Facts    []factJSON   `json:"facts"`
	Core     coreJSON     `json:"core"`
	Settings settingsJSON `json:"settings"`

	Blocked []rejectionJSON `json:"blocked,omitempty"`
	Events  []eventJSON     `json:"events,omitempty"`
	Rollups []rollupJSON    `json:"rollups,omitempty"`
	extra   map[string]json.RawMessage
}

type coreJSON struct {
	Name       string     `json:"name,omitempty"`
	Role       string     `json:"role,omitempty"`
	Visibility Visibility `json:"visibility,omitempty"`
	extra      map[string]json.RawMessage
}

type settingsJSON struct {
	DecayHalfLifeDays float64              `json:"decayHalfLifeDays"`
	HalfLives         map[Category]float64 `json:"categoryHalfLifeDays,omitempty"`
	AutoInfer         bool                 `json:"autoInfer"`
	ExcludedDomains   []string             `json:"excludedDomains"`
	extra             map[string]json.RawMessage
}

type factJSON struct {
	ID              ID                         `json:"id"`
	Category        Category                   `json:"category"`
	Content         string                     `json:"content"`
	Confidence      float64                    `json:"confidence"`
	LastValidated   *time.Time                 `json:"lastValidated,omitempty"`
	ValidationCount int                        `json:"validationCount"`
	Maturity        Maturity                   `json:"maturity"`
	Source          Source                     `json:"source"`
	SourceRef       string                     `json:"sourceRef,omitempty"`
	Visibility      Visibility                 `json:"visibility"`
	CreatedAt       *time.Time                 `json:"createdAt,omitempty"`
	UpdatedAt       *time.Time                 `json:"updatedAt,omitempty"`
	Subject         string                     `json:"subject,omitempty"`
	Slot            string                     `json:"slot,omitempty"`
	HeldSince       *time.Time                 `json:"heldSince,omitempty"`
	DemotedAt       *time.Time                 `json:"demotedAt,omitempty"`
	ArchivedAt      *time.Time                 `json:"archivedAt,omitempty"`
	RejectedAt      *time.Time                 `json:"rejectedAt,omitempty"`
	Evidence        []evidenceJSON             `json:"evidence,omitempty"`
	Past            []pastJSON                 `json:"past,omitempty"`
	Variants        []variantJSON              `json:"variants,omitempty"`
	Damaged         map[string]json.RawMessage `json:"damaged,omitempty"`
	extra           map[string]json.RawMessage
}

type evidenceJSON struct {
	Key    string    `json:"key,omitempty"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
}

type pastJSON struct {
	Content string    `json:"content"`
	Until   time.Time `json:"until"`
}

type variantJSON struct {
	ID      ID     `json:"id,omitempty"`
	Content string `json:"content,omitempty"`
	Ref     string `json:"sourceRef,omitempty"`

	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

type rejectionJSON struct {
	Content string    `json:"content"`
	Reasons []string  `json:"reasons,omitempty"`
	At      time.Time `json:"at"`
}

type eventJSON struct {
	ID       string    `json:"id"`
	Kind     string    `json:"type,omitempty"`
	Address  string    `json:"url,omitempty"`
	Topic    string    `json:"topic,omitempty"`
	Category Category  `json:"category,omitempty"`
	Text     string    `json:"text,omitempty"`
	Key      string    `json:"key,omitempty"`
	Dwell    float64   `json:"dwellSeconds,omitempty"`
	At       time.Time `json:"timestamp"`
	extra    map[string]json.RawMessage
}

type rollupJSON struct {
	Day    string      `json:"day"`
	Counts []countJSON `json:"counts,omitempty"`
	Others int         `json:"others,omitempty"`
}

type countJSON struct {
	Kind     string   `json:"type,omitempty"`
	Host     string   `json:"host,omitempty"`
	Topic    string   `json:"topic,omitempty"`
	Category Category `json:"category,omitempty"`
	N        int      `json:"n"`
	More     float64  `json:"more,omitempty"`
}

// with adds fields to the JSON of v, but for those that it has already.
func with(v any, extra map[string]json.RawMessage) ([]byte, error) {
	own, err := json.Marshal(v)
	if err != nil || len(extra) == 0 {
		return own, err
	}
	var has map[string]json.RawMessage
	if err := json.Unmarshal(own, &has); err != nil {
		return nil, err
	}
	out := bytes.TrimSuffix(own, []byte("}"))
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if _, taken := has[name]; taken {
			continue
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted...), ':'), extra[name]...)
	}
	return append(out, '}'), nil
}

// MarshalJSON writes the document with its unknown fields.
func (d document) MarshalJSON() ([]byte, error) {
	type plain document
	return with(plain(d), d.extra)
}

// MarshalJSON writes the core with its unknown fields.
func (c coreJSON) MarshalJSON() ([]byte, error) {
	type plain coreJSON
	return with(plain(c), c.extra)
}

// MarshalJSON writes the settings with their unknown fields.
func (s settingsJSON) MarshalJSON() ([]byte, error) {
	type plain settingsJSON
	return with(plain(s), s.extra)
}

// MarshalJSON writes the fact with its unknown fields.
func (f factJSON) MarshalJSON() ([]byte, error) {
	type plain factJSON
	return with(plain(f), f.extra)
}

// MarshalJSON writes the event with its unknown fields.
func (e eventJSON) MarshalJSON() ([]byte, error) {
	type plain eventJSON
	return with(plain(e), e.extra)
}

// Export writes the identity as JSON of version 2, with what may be seen
// within a visibility ("": Trusted). With Local it is complete: archived and
// rejected facts, what was rejected, events, and every field that an import
// brought. Otherwise it holds the facts within the visibility, the profile if
// it is, and neither events, rejections, nor unknown fields.
func (x *Identity) Export(ctx context.Context, limit Visibility) ([]byte, error) {
	limit = cmp.Or(limit, Trusted)
	if limit.rank() == 0 {
		return nil, fmt.Errorf("identity: %w: visibility %.32q", ErrValue, string(limit))
	}
	p, err := x.Profile(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := x.all(ctx)
	if err != nil {
		return nil, err
	}
	d := document{Version: formatVersion, UserID: p.UserID, DeviceID: p.DeviceID, Facts: []factJSON{}, Settings: settingsOf(p.Settings)}
	if cmp.Or(p.Visibility, Trusted).Within(limit) {
		d.Core = coreJSON{Name: p.Name, Role: p.Role, Visibility: p.Visibility}
	}
	for i := range rows {
		if f := &rows[i].v; f.Visibility.Within(limit) {
			d.Facts = append(d.Facts, factOf(f, limit == Local))
		}
	}
	if limit == Local {
		d.extra = p.Extra
		for name, extra := range map[string]*map[string]json.RawMessage{"core": &d.Core.extra, "settings": &d.Settings.extra} {
			f, _ := open(p.Extra[name])
			*extra = f.left
		}
		if err := x.exportRest(ctx, &d); err != nil {
			return nil, err
		}
	} else {
		d.Settings.ExcludedDomains = []string{}
	}
	return json.MarshalIndent(d, "", " ")
}

func (x *Identity) exportRest(ctx context.Context, d *document) error {
	refused, err := x.Rejections(ctx)
	if err != nil {
		return err
	}
	for _, r := range refused {
		d.Blocked = append(d.Blocked, rejectionJSON(r))
	}
	for r, err := range each[storedEvent](ctx, x, eventPart, 0) {
		if err != nil {
			return err
		}
		e := r.v
		d.Events = append(d.Events, eventJSON{e.Mark, e.Kind, e.Address, e.Topic, e.Category, e.Text, e.Key, e.Dwell.Seconds(), e.At, e.Extra})
	}
	for r, err := range each[rollup](ctx, x, rollupPart, 0) {
		if err != nil {
			return err
		}
		out := rollupJSON{Day: r.name, Others: r.v.Others}
		for _, c := range r.v.Counts {
			out.Counts = append(out.Counts, countJSON(c))
		}
		d.Rollups = append(d.Rollups, out)
	}
	return nil
}

const day = 24 * time.Hour

func settingsOf(s Settings) settingsJSON {
	out := settingsJSON{DecayHalfLifeDays: s.halfLife("").Hours() / 24, AutoInfer: s.AutoInfer, ExcludedDomains: slices.Clone(s.ExcludedDomains)}
	if out.ExcludedDomains == nil {
		out.ExcludedDomains = []string{}
	}
	for c, d := range s.HalfLives {
		if out.HalfLives == nil {
			out.HalfLives = map[Category]float64{}
		}
		out.HalfLives[c] = d.Hours() / 24
	}
	return out
}

// factOf is the JSON of a fact. Only a complete export has unknown fields and
// former wordings, whose visibility nobody knows.
func factOf(f *Fact, complete bool) factJSON {
	out := factJSON{
		ID: f.ID, Category: f.Category, Content: f.Content, Confidence: f.Confidence, LastValidated: date(f.Validated),
		ValidationCount: f.Validations, Maturity: f.Maturity, Source: f.Source, SourceRef: f.Ref, Visibility: f.Visibility,
		CreatedAt: date(f.Created), UpdatedAt: date(f.Updated), Subject: f.Subject, Slot: f.Slot, HeldSince: date(f.At),
		DemotedAt: date(f.Demoted), ArchivedAt: date(f.Archived), RejectedAt: date(f.Rejected),
	}
	if !complete {
		return out
	}
	for _, e := range f.Evidence {
		out.Evidence = append(out.Evidence, evidenceJSON(e))
	}
	for _, p := range f.Past {
		out.Past = append(out.Past, pastJSON(p))
	}
	for _, v := range f.Variants {
		out.Variants = append(out.Variants, variantJSON(v))
	}
	out.Damaged, out.extra = f.Damaged, f.Extra
	return out
}

func date(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// checkDocument checks the size and the depth of JSON before it is read.
func checkDocument(data []byte) error {
	if len(data) > MaxDocument {
		return &store.LimitError{Field: "document", Limit: MaxDocument, Got: len(data)}
	}
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	if deepest > maxDepth {
		return &store.LimitError{Field: "depth of the document", Limit: maxDepth, Got: deepest}
	}
	return nil
}

const maxDepth = 64
