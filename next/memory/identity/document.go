package identity

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/internal/schema"
	"github.com/arc-learn/arc/next/store"
)

const (
	version2  = "2.0.0"
	maxImport = 2000           // facts of a document
	maxAhead  = 24 * time.Hour // of the clock of another device
)

// document is an identity as JSON: that of the Arete v2 design.
type document struct {
	Version string `json:"version"`
	profile
	Facts []fact `json:"facts"`
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
	return json.MarshalIndent(document{version2, p, append([]fact{}, facts...)}, "", "  ")
}

// Import takes in a document of version 2 or 1, and returns how many facts it took, and of how many it kept what was
// there: that is as new or newer, or was rejected here. Of two facts with one id the one with the later updatedAt
// stays, so documents may be taken in again and in any order; an updatedAt of more than a day ahead is an error. Names
// and settings of the profile are taken where there are none yet, and of other fields nothing is kept. A document that
// is no such JSON, or has one bad fact, is an error, and nothing is taken in.
func (x *Identity) Import(ctx context.Context, data []byte) (taken, kept int, err error) {
	var head struct {
		Version string
		Meta    json.RawMessage
	}
	data = x.clean.Data(data)
	if err := cmp.Or((*schema.Schema)(nil).Check(data), json.Unmarshal(data, &head)); err != nil {
		return 0, 0, fmt.Errorf("identity: no document: %w", err)
	}
	var d document
	switch {
	case strings.HasPrefix(head.Version, "2."):
		if err = json.Unmarshal(data, &d); err == nil && d.Settings.HalfLifeDays < 0 {
			err = fmt.Errorf("a half-life of %v days", d.Settings.HalfLifeDays)
		}
	case head.Version == "" && head.Meta != nil:
		d, err = x.readV1(data)
	default:
		err = errors.New("1 and 2 are known")
	}
	if err != nil {
		return 0, 0, fmt.Errorf("identity: document of version %q: %w", head.Version, err)
	}
	err = store.Limit("facts of a document", len(d.Facts), maxImport)
	for i := 0; i < len(d.Facts) && err == nil; i++ {
		f := &d.Facts[i]
		f.Content, f.SourceRef, f.Reason = strings.TrimSpace(x.clean.Prose(f.Content)), x.clean.Prose(f.SourceRef), x.clean.Prose(f.Reason)
		if err = f.check(); err == nil && f.UpdatedAt.After(x.clock().Add(maxAhead)) {
			err = fmt.Errorf("identity: fact %s was updated at %v, and would win over each change to come", f.ID, f.UpdatedAt)
		}
	}
	if err != nil {
		return 0, 0, err
	}
	err = x.group.Update(ctx, func(b *store.Batch) (err error) {
		taken, err = x.take(ctx, b, d.profile, d.Facts)
		return err
	})
	return taken, len(d.Facts) - taken, err
}

func (x *Identity) take(ctx context.Context, b *store.Batch, p profile, facts []fact) (taken int, err error) {
	key := x.scope.Key(stateKind, "profile")
	was, c, err := codec.Load[profile](ctx, b, key)
	if err != nil {
		return 0, err
	}
	if c == store.Absent {
		was.Settings = p.Settings
	}
	was.UserID, was.DeviceID = cmp.Or(was.UserID, p.UserID), cmp.Or(was.DeviceID, p.DeviceID)
	was.Core.Name, was.Core.Role = cmp.Or(was.Core.Name, p.Core.Name), cmp.Or(was.Core.Role, p.Core.Role)
	err = codec.Put(b, key, was, c)
	for i := 0; i < len(facts) && err == nil; i++ {
		f, key := facts[i], x.scope.Key(factKind, facts[i].ID)
		have, c, err2 := codec.Load[fact](ctx, b, key)
		_, refused, err3 := codec.Load[rejection](ctx, b, x.scope.Key(blockedKind, blockName(f.Content)))
		err = cmp.Or(err2, err3)
		if refused != store.Absent && f.Source != Manual || !f.UpdatedAt.After(have.UpdatedAt) { // of the document as well
			continue
		}
		if err == nil {
			err = codec.Put(b, key, f, c)
		}
		taken++
	}
	return taken, err
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

// readV1 makes proven facts of what a document of version 1 lists. Their ids follow from their words, so that it may
// be taken in again.
func (x *Identity) readV1(data []byte) (out document, err error) {
	var d version1
	if err := json.Unmarshal(data, &d); err != nil {
		return out, err
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
			s = prefix + s
			f := fact{CreatedAt: created, UpdatedAt: created, Fact: Fact{ID: nameOf("v1", category, s), Category: category, Content: s,
				Confidence: 1, LastValidated: now, ValidationCount: 5, Maturity: Proven, Source: Manual}}
			if !slices.ContainsFunc(out.Facts, func(o fact) bool { return o.ID == f.ID }) {
				out.Facts = append(out.Facts, f)
			}
		}
	}
	add("expertise", "", d.Expertise...)
	add("preference", "Communication style: ", d.Communication.Style...)
	add("preference", "Avoid: ", d.Communication.Avoid...)
	for i, raw := range d.CurrentFocus.Projects {
		var project struct{ Name, Description string }
		if json.Unmarshal(raw, &project.Name) != nil {
			if err := json.Unmarshal(raw, &project); err != nil {
				return out, fmt.Errorf("project %d: %w", i, err)
			}
		}
		if project.Description != "" {
			project.Name += " - " + project.Description
		}
		add("focus", "Project: ", project.Name)
	}
	add("focus", "Goal: ", d.CurrentFocus.Goals...)
	add("context", "", slices.Concat(d.Context.Personal, d.Context.Professional)...)
	out.DeviceID, out.Core.Name, out.Core.Role = d.Meta.DeviceID, d.Core.Name, d.Core.Role
	return out, nil
}
