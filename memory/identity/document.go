package identity

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/arc-learn/arc/memory/identity/internal/loosejson"
	"github.com/arc-learn/arc/memory/identity/internal/rollup"
	"github.com/arc-learn/arc/memory/identity/internal/rows"
	"github.com/arc-learn/arc/memory/identity/internal/v2"
)

// eventMore is what an event has in a document beside its fields.
type eventMore struct {
	ID      string  `json:"id"`
	Seconds float64 `json:"dwellSeconds,omitempty"`
}

// Export writes the identity as JSON of version 2, with what may be seen
// within a visibility ("": Trusted). With Local it is complete: archived and
// rejected facts, what was rejected, events, and every field that an import
// brought. Otherwise it holds the facts within the visibility, the profile if
// it is, and neither events, rejections, nor unknown fields.
func (x *Identity) Export(ctx context.Context, limit Visibility) ([]byte, error) {
	if limit = cmp.Or(limit, Trusted); limit.rank() == 0 {
		return nil, bad("visibility", limit)
	}
	p, err := x.Profile(ctx)
	facts, err2 := x.all(ctx)
	d := v2.Document{
		UserID: p.UserID, DeviceID: p.DeviceID,
		Core: v2.Core{Name: p.Name, Role: p.Role, Visibility: string(p.Visibility), Updated: p.Updated},
		Settings: v2.Settings{
			HalfLife: p.Settings.halfLife(""), HalfLives: map[string]time.Duration{},
			AutoInfer: p.Settings.AutoInfer, ExcludedDomains: p.Settings.ExcludedDomains,
		},
		Extra: p.Extra,
	}
	for c, life := range p.Settings.HalfLives {
		d.HalfLives[string(c)] = life
	}
	if !cmp.Or(p.Visibility, Trusted).Within(limit) {
		d.Core = v2.Core{}
	}
	all := limit == Local
	if all {
		err = cmp.Or(err, x.exportRest(ctx, &d))
	} else {
		d.Extra, d.ExcludedDomains, d.Updated = nil, nil, time.Time{}
	}
	for _, r := range facts {
		if f := r.Value; f.Visibility.Within(limit) {
			extra := f.Extra
			if f.Extra = nil; !all { // whose visibility is not known
				extra, f.Damaged, f.Evidence, f.Past, f.Variants = nil, nil, nil, nil, nil
			}
			d.Facts = append(d.Facts, loosejson.With(f, extra))
		}
	}
	if err = errors.Join(err, err2); err != nil {
		return nil, err
	}
	return d.JSON()
}

func (x *Identity) exportRest(ctx context.Context, d *v2.Document) error {
	refused, err := x.Rejections(ctx)
	for _, r := range refused {
		d.Blocked = append(d.Blocked, loosejson.With(r, nil))
	}
	ring, err2 := rows.All[Event](ctx, x.rows, eventPart)
	kept := map[string]bool{} // one by one
	for _, r := range ring {
		kept[r.Name()] = true
		e := r.Value
		more := loosejson.With(eventMore{r.Name(), e.Dwell.Seconds()}, e.Extra)
		e.Dwell, e.Extra = 0, nil
		d.Events = append(d.Events, loosejson.With(e, loosejson.FieldsOf(more)))
	}
	days, err3 := rows.All[rollup.Day](ctx, x.rows, rollupPart)
	for _, r := range days {
		r.Value.Marks = slices.DeleteFunc(r.Value.Marks, func(m string) bool { return kept[m] }) // by a former version
		slices.Sort(r.Value.Marks)
		if day := r.Value; len(day.Counts)+day.Others+len(day.Marks) > 0 {
			d.Rollups = append(d.Rollups, loosejson.With(rollup.Dated{Date: r.Name(), Day: day}, nil))
		}
	}
	return errors.Join(err, err2, err3)
}
