package identity

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// v1Parts are the fields by which a document of version 1 is known.
var v1Parts = []string{"meta", "core", "communication", "expertise", "currentFocus", "context", "privacy", "custom", "sources"}

// isV1 reports whether an object without a version is one of version 1. One
// that has facts of its own is something else.
func isV1(given raws) bool {
	return given["facts"] == nil && slices.ContainsFunc(v1Parts, func(p string) bool { return given[p] != nil })
}

// fields are those of an object of version 1 that were not read yet.
type fields map[string]json.RawMessage

// open returns the fields of an object, and whether it is one.
func open(raw json.RawMessage) (fields, bool) {
	if f := left(raw); f != nil {
		return f, true
	}
	return fields{}, false
}

// text takes a text; anything else stays.
func (f fields) text(name string) (s string) {
	if json.Unmarshal(f[name], &s) == nil {
		delete(f, name)
	}
	return s
}

// list takes an array. A single value is an array of one, and null is none.
func (f fields) list(name string) (out []json.RawMessage) {
	raw := f[name]
	if delete(f, name); raw == nil || string(raw) == "null" {
		return nil
	}
	if json.Unmarshal(raw, &out) != nil {
		return []json.RawMessage{raw}
	}
	return out
}

// migration collects the facts of a document of version 1.
type migration struct {
	x       *Identity
	in      *incoming
	first   Fact                  // what all facts have alike
	private map[string]Visibility // by the names in the privacy lists
	seen    map[string]int        // places in in.facts by category and canonical form
}

// v1Steps say which fields of which section become facts, in this order; "*" are those
// that are left, as "Name: value".
var v1Steps = []struct {
	section, part, label string
	category             Category
}{
	{"", "expertise", "", Expertise},
	{"communication", "style", "Communication style: ", Preference},
	{"communication", "avoid", "Avoid: ", Preference},
	{"communication", "format", "Communication format: ", Preference},
	{"currentFocus", "projects", "", Focus}, {"currentFocus", "goals", "Goal: ", Focus}, {"currentFocus", "*", "", Focus},
	{"context", "personal", "", Context}, {"context", "professional", "", Context},
	{"communication", "*", "", Context}, {"context", "*", "", Context}, {"core", "*", "", Core}, {"custom", "*", "", Context},
}

// readV1 makes facts of the texts of a document of version 1, in the order of
// its fields: what the person had written down themselves is proven, and what
// they were at just then established. Whatever has no place in a fact is in
// the document, which is kept whole.
func (x *Identity) readV1(data []byte, in *incoming) {
	f, _ := open(data)
	in.profile.Extra = raws{"v1": compact(data)}
	meta, _ := open(f["meta"])
	now := x.clock()
	in.profile.DeviceID, in.profile.UserID = meta.text("deviceId"), meta.text("userId")
	m := &migration{x: x, in: in, private: privacyLists(f["privacy"]), seen: map[string]int{}}
	m.first = Fact{Confidence: 1, Maturity: Proven, Validations: provenAt, Source: Manual, Updated: now, Validated: now}
	var ok bool
	if m.first.Created, ok = parseTime(meta["lastModified"]); !ok || m.first.Created.After(now) {
		m.first.Created = now
	}
	m.first.At = m.first.Created

	core, _ := open(f["core"])
	in.profile.Name, in.profile.Role = core.text("name"), core.text("role")
	for _, name := range []string{"name", "role"} {
		if v := m.visibility("core", name); v.rank() > in.profile.Visibility.rank() {
			in.profile.Visibility = v
		}
	}
	sections := map[string]fields{"": f, "core": core}
	for _, s := range v1Steps {
		if sections[s.section] == nil {
			sections[s.section], _ = open(f[s.section])
		}
		f := sections[s.section]
		if s.part != "*" {
			m.read(f, s.category, s.section, s.part, s.label)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(f)) {
			first := min(1, len(name))
			m.read(f, s.category, s.section, name, strings.ToUpper(name[:first])+name[first:]+": ")
		}
	}
}

// read makes facts of a field of a section.
func (m *migration) read(f fields, c Category, section, part, prefix string) {
	for _, raw := range f.list(part) {
		o, object := open(raw)
		switch name := o.text("name"); {
		case section == "":
			if len(o) > 0 || name == "" {
				name = plain(raw)
			}
			m.add(c, name, nil, part)
		case section == "currentFocus" && part == "projects" && object:
			var extra raws
			if rest, err := json.Marshal(o); err == nil && len(o) > 0 {
				extra = raws{"project": rest} // apart, as its names may be those of a fact
			}
			m.add(c, cmp.Or(name, plain(o["description"]), plain(raw)), extra, section, part, name)
		default:
			m.add(c, label(prefix, raw), nil, section, part)
		}
	}
}

// add makes a fact, or adds to the one that says the same. The path names it
// in the privacy lists.
func (m *migration) add(c Category, content string, extra raws, path ...string) {
	content = strings.TrimSpace(m.x.clean(content))
	if content == "" {
		return
	}
	f := m.first
	f.Category, f.Content, f.Visibility = c, content, m.visibility(path...)
	f.Extra = cleanExtra(m.x.sanitize, extra)
	if slices.Contains(path, "projects") {
		f.Maturity, f.Validations = Established, establishedAt
	}
	f.ID = numbered(len(m.in.facts), &f)
	if at, seen := m.seen[f.claim()]; seen {
		have := &m.in.facts[at]
		if have.Content != content || len(f.Extra) > 0 {
			have.Variants = both(have.Variants, []Variant{{Content: content, Extra: f.Extra}}, Variant.order)
		}
		if f.Visibility.rank() > have.Visibility.rank() {
			have.Visibility = f.Visibility
		}
		have.Extra = union(have.Extra, f.Extra)
		return
	}
	m.seen[f.claim()] = len(m.in.facts)
	m.in.facts = append(m.in.facts, f)
}

// label puts a label before a text, unless that is empty.
func label(l string, raw json.RawMessage) string {
	if s := strings.TrimSpace(plain(raw)); s != "" && s != "null" {
		return l + s
	}
	return ""
}

// privacyLists reads what is public, private (for trusted ones), and local.
func privacyLists(raw json.RawMessage) map[string]Visibility {
	out := map[string]Visibility{}
	f, _ := open(raw)
	for _, l := range []struct {
		name string
		v    Visibility
	}{{"public", Public}, {"private", Trusted}, {"localOnly", Local}} { // the strictest last
		for _, raw := range f.list(l.name) {
			out[strings.ToLower(strings.TrimSpace(plain(raw)))] = l.v
		}
	}
	return out
}

// visibility is the strictest that a list gives to a field, to its section, or
// to its path.
func (m *migration) visibility(path ...string) Visibility {
	var v Visibility
	for i, name := range path {
		for _, n := range []string{name, strings.Join(path[:i+1], ".")} {
			if o := m.private[strings.ToLower(n)]; o.rank() > v.rank() {
				v = o
			}
		}
	}
	if v == "" {
		return Trusted
	}
	return v
}
