package identity

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/store"
)

const version2 = "2.0.0"

// document is an identity as JSON: that of the Arete v2 design.
type document struct {
	Version string `json:"version"`
	profile
	Facts []json.RawMessage `json:"facts"`
}

// extra are fields of an imported document, or of one of its facts, that are not known here.
type extra map[string]json.RawMessage

// write returns the JSON of v with the fields.
func (e extra) write(v any) (json.RawMessage, error) {
	raw, err := json.Marshal(v)
	if err != nil || len(e) == 0 {
		return raw, err
	}
	fields := maps.Clone(e)
	if err = json.Unmarshal(raw, &fields); err == nil {
		raw, err = json.Marshal(fields)
	}
	return raw, err
}

// read reads an object into v, and keeps the fields that v does not have.
func (e *extra) read(raw []byte, v any) error {
	if err := cmp.Or(json.Unmarshal(raw, v), json.Unmarshal(raw, e)); err != nil {
		return err
	}
	known, err := json.Marshal(v)
	var fields extra
	err = cmp.Or(err, json.Unmarshal(known, &fields))
	maps.DeleteFunc(*e, func(name string, _ json.RawMessage) bool { return fields[name] != nil })
	return err
}

// Export returns the identity as a document. Events and rejections stay.
func (x *Identity) Export(ctx context.Context) ([]byte, error) {
	p, _, err := x.profile(ctx, x.group.Store())
	_, facts, err2 := all[fact](ctx, x, factKind)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	if p.Settings.ExcludedDomains == nil {
		p.Settings.ExcludedDomains = []string{}
	}
	d := document{version2, p, []json.RawMessage{}}
	for _, f := range facts {
		raw, no := f.Extra.write(f)
		d.Facts, err = append(d.Facts, raw), cmp.Or(err, no)
	}
	raw, no := p.Extra.write(d)
	if err = cmp.Or(err, no); err != nil {
		return nil, err
	}
	return json.MarshalIndent(raw, "", "  ")
}

// Import takes in a document of version 2 or 1. It returns how many facts it took, and how many it left out,
// as the one here is as new or newer, or was rejected. Of two facts with one id the one with the later
// updatedAt stays, so documents may be taken in again and in any order; a fact from a device whose clock was
// ahead fades from now on, and gives way to a change made here. Names and settings of the profile are taken
// where there are none yet. Other fields of version 2 are kept for Export alone. A document that is no such
// JSON, has a bad fact, or more than a commit can hold, is a store.ErrInvalid, and nothing of it is taken.
func (x *Identity) Import(ctx context.Context, data []byte) (taken, kept int, err error) {
	var head struct {
		Version string
		Meta    json.RawMessage
	}
	data = x.clean.Data(data)
	_, err = schema.Read(data) // which has bounds
	if err = cmp.Or(err, json.Unmarshal(data, &head)); err != nil {
		return 0, 0, fmt.Errorf("identity: %w: no document: %w", store.ErrInvalid, err)
	}
	var p profile
	var facts []fact
	switch {
	case strings.HasPrefix(head.Version, "2."):
		p, facts, err = readV2(data)
	case head.Version == "" && head.Meta != nil:
		p, facts, err = x.readV1(data)
	default:
		err = errors.New("1 and 2 are known")
	}
	if err != nil {
		return 0, 0, fmt.Errorf("identity: %w: document of version %q: %w", store.ErrInvalid, head.Version, err)
	}
	for i := range facts {
		f := &facts[i]
		f.Content = strings.TrimSpace(x.clean.Prose(f.Content))
		f.SourceRef, f.Reason = x.clean.Prose(f.SourceRef), x.clean.Prose(f.Reason)
		if err := f.check(); err != nil {
			return 0, 0, err
		}
	}
	err = x.group.Update(ctx, func(b *store.Batch) (err error) {
		taken, err = x.take(ctx, b, p, facts)
		return err
	})
	return taken, len(facts) - taken, err
}

// take stages what a document has, and returns how many facts of it are new or newer than those here.
func (x *Identity) take(ctx context.Context, b *store.Batch, p profile, facts []fact) (taken int, err error) {
	key := x.scope.Key(stateKind, "profile")
	was, c, err := codec.Load[profile](ctx, b, key)
	if err != nil {
		return 0, err
	}
	if c == store.Absent {
		was.Settings = p.Settings
	}
	was.DeviceID = cmp.Or(was.DeviceID, p.DeviceID)
	was.Core.Name, was.Core.Role = cmp.Or(was.Core.Name, p.Core.Name), cmp.Or(was.Core.Role, p.Core.Role)
	if p.Extra != nil {
		maps.Copy(p.Extra, was.Extra)
		was.Extra = p.Extra
	}
	err = codec.Put(b, key, was, c)
	for i := 0; i < len(facts) && err == nil; i++ {
		f, key := facts[i], x.scope.Key(factKind, facts[i].ID)
		have, c, err2 := codec.Load[fact](ctx, b, key)
		_, refused, err3 := codec.Load[string](ctx, b, x.blocked(f.Content))
		err = cmp.Or(err2, err3)
		rejected := refused != store.Absent && f.Source != Manual
		if rejected || !f.UpdatedAt.After(have.UpdatedAt) { // have may be of the document, too
			continue
		}
		err = cmp.Or(err, codec.Put(b, key, f, c)) // after an error nothing is committed
		taken++
	}
	return taken, err
}

func readV2(data []byte) (profile, []fact, error) {
	var d document
	err := d.Extra.read(data, &d)
	if err == nil && d.Settings.HalfLifeDays < 0 {
		err = fmt.Errorf("a half-life of %v days", d.Settings.HalfLifeDays)
	}
	facts := make([]fact, len(d.Facts))
	for i, raw := range d.Facts {
		err = cmp.Or(err, facts[i].Extra.read(raw, &facts[i]))
	}
	return d.profile, facts, err
}

// version1 is the flat document of before.
type version1 struct {
	Meta struct {
		LastModified string
		DeviceID     string `json:"deviceId"`
	}
	Core          struct{ Name, Role string }
	Expertise     []string
	Communication struct{ Style, Avoid []string }
	CurrentFocus  struct {
		Projects []json.RawMessage // names, or objects
		Goals    []string
	} `json:"currentFocus"`
	Context struct{ Personal, Professional []string }
}

// readV1 makes proven facts of what a document of version 1 lists. Their ids follow from their words, so that
// it may be taken in again.
func (x *Identity) readV1(data []byte) (p profile, facts []fact, err error) {
	var d version1
	if err := json.Unmarshal(data, &d); err != nil {
		return p, nil, err
	}
	now := x.clock()
	created, err := time.Parse(time.RFC3339, d.Meta.LastModified)
	if err != nil { // some have none
		created = now
	}
	add := func(category, prefix string, contents ...string) {
		for _, s := range contents {
			if strings.TrimSpace(s) == "" {
				continue
			}
			facts = append(facts, fact{CreatedAt: created, UpdatedAt: created, Fact: Fact{
				ID: nameOf("v1", category, prefix+s), Category: category, Content: prefix + s, Source: Manual,
				Maturity: Proven, ValidationCount: 5, Confidence: 1, LastValidated: now,
			}})
		}
	}
	add("expertise", "", d.Expertise...)
	add("preference", "Communication style: ", d.Communication.Style...)
	add("preference", "Avoid: ", d.Communication.Avoid...)
	for i, raw := range d.CurrentFocus.Projects {
		var project struct{ Name, Description string }
		if json.Unmarshal(raw, &project.Name) != nil {
			if err := json.Unmarshal(raw, &project); err != nil {
				return p, nil, fmt.Errorf("project %d: %w", i, err)
			}
		}
		if project.Description != "" {
			project.Name += " - " + project.Description
		}
		add("focus", "Project: ", project.Name)
	}
	add("focus", "Goal: ", d.CurrentFocus.Goals...)
	add("context", "", slices.Concat(d.Context.Personal, d.Context.Professional)...)
	p.DeviceID, p.Core.Name, p.Core.Role = d.Meta.DeviceID, d.Core.Name, d.Core.Role
	return p, facts, nil
}
