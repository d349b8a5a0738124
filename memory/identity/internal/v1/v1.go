// Package v1 reads documents of version 1 of the format: sections of texts about a person,
// and lists of which of them are private.
package v1

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/arc-learn/arc/memory/identity/internal/loosejson"
)

// Document is what a document says. A visibility is "public", "trusted" or "local".
type Document struct {
	Name, Role       string
	Visibility       string // of both
	UserID, DeviceID string
	Modified         time.Time // when it was read, unless it says
	Statements       []Statement
}

// Statement is one text of a document, as a statement about the person.
type Statement struct {
	Category, Content, Visibility string
	Current                       bool            // what they are at just then
	Project                       json.RawMessage // what a project has beside its name; nil: none
}

// parts are the fields by which a document is known.
var parts = []string{
	"meta", "core", "communication", "expertise", "currentFocus", "context", "privacy", "custom", "sources",
}

// Is reports whether an object without a version is a document of version 1. One that has
// facts of its own is something else.
func Is(given loosejson.Fields) bool {
	return given["facts"] == nil && slices.ContainsFunc(parts, func(p string) bool { return given[p] != nil })
}

// steps say which fields of which section become statements, in this order; "*" are those
// that are left, as "Name: value".
var steps = []struct{ section, part, label, category string }{
	{"", "expertise", "", "expertise"},
	{"communication", "style", "Communication style: ", "preference"},
	{"communication", "avoid", "Avoid: ", "preference"},
	{"communication", "format", "Communication format: ", "preference"},
	{"currentFocus", "projects", "", "focus"}, {"currentFocus", "goals", "Goal: ", "focus"},
	{"currentFocus", "*", "", "focus"}, {"context", "personal", "", "context"},
	{"context", "professional", "", "context"}, {"communication", "*", "", "context"}, {"context", "*", "", "context"},
	{"core", "*", "", "core"}, {"custom", "*", "", "context"},
}

// reader reads a document.
type reader struct {
	Document
	private map[string]level // by the names in the privacy lists
}

// level is how private something is; 0: nothing says it.
type level int

const trusted level = 2

func (v level) String() string { return [...]string{"", "public", "trusted", "local"}[v] }

// lists are those of the privacy section, by their level.
var lists = []string{1: "public", trusted: "private", 3: "localOnly"}

// Read takes a document apart at a time, in the order of its fields.
func Read(data []byte, now time.Time) Document {
	f := loosejson.FieldsOf(data)
	meta, core, privacy := loosejson.FieldsOf(f["meta"]), loosejson.FieldsOf(f["core"]), loosejson.FieldsOf(f["privacy"])
	r := reader{Document{Modified: now}, map[string]level{}}
	for v, list := range lists {
		for _, raw := range loosejson.Elements(privacy[list]) {
			name := strings.ToLower(strings.TrimSpace(loosejson.Plain(raw)))
			r.private[name] = max(r.private[name], level(v))
		}
	}
	r.Name, r.Role = loosejson.Pluck(core, "name"), loosejson.Pluck(core, "role")
	r.UserID, r.DeviceID = loosejson.Pluck(meta, "userId"), loosejson.Pluck(meta, "deviceId")
	r.Visibility = max(r.level("core", "name"), r.level("core", "role")).String()
	if at, ok := loosejson.Time(meta["lastModified"]); ok && !at.After(now) {
		r.Modified = at
	}
	sections := map[string]loosejson.Fields{"": f, "core": core}
	for _, s := range steps {
		if sections[s.section] == nil {
			sections[s.section] = loosejson.FieldsOf(f[s.section])
		}
		fields := sections[s.section]
		if s.part != "*" {
			r.field(fields, s.category, s.section, s.part, s.label)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			_, first := utf8.DecodeRuneInString(name)
			r.field(fields, s.category, s.section, name, strings.ToUpper(name[:first])+name[first:]+": ")
		}
	}
	return r.Document
}

// field makes statements of a field of a section, and takes it out.
func (r *reader) field(fields loosejson.Fields, category, section, part, label string) {
	values := loosejson.Elements(fields[part])
	delete(fields, part)
	for _, raw := range values {
		text, o := strings.TrimSpace(loosejson.Plain(raw)), loosejson.FieldsOf(raw)
		name := loosejson.Pluck(o, "name")
		if len(o) == 0 {
			text = cmp.Or(name, text)
		}
		if text == "" {
			continue
		}
		s := Statement{Category: category, Content: label + text, Visibility: r.level(section, part).String()}
		if s.Current = section == "currentFocus" && part == "projects"; s.Current && (len(o) > 0 || name != "") {
			s.Content = cmp.Or(name, loosejson.Plain(o["description"]), text)
			s.Visibility = r.level(section, part, name).String()
			s.Project, _ = json.Marshal(o) // fields that came as JSON
		}
		r.Statements = append(r.Statements, s)
	}
}

// level is the highest that a list gives to a field, to its section, or to its path.
func (r *reader) level(path ...string) level {
	var v level
	for i, name := range path {
		for _, n := range []string{name, strings.TrimPrefix(strings.Join(path[:i+1], "."), ".")} {
			v = max(v, r.private[strings.ToLower(n)])
		}
	}
	return cmp.Or(v, trusted)
}
