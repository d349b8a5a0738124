package store

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxID is the bound of a scope and of an id, in bytes.
const MaxID = 256

// Scope names whose something is: segments separated by "/", the first of which is the tenant: "acme/anna".
// The empty scope is the tenant "_". A scope contains those that continue it by a segment: "acme" contains
// "acme/anna", and "acme/an" does not. What belongs to a scope lies in its tenant's part of the store
// ([Scope.TenantPrefix]) under the keys "s/SCOPE//KIND/ID". No segment is empty, so nothing needs to be
// escaped, and a scope with all below it is one range of keys. The segment "_cases" is package learn's.
type Scope string

// Check returns an [ErrInvalid] unless s is empty, or valid UTF-8 of at most [MaxID] bytes without control
// characters and empty segments.
func (s Scope) Check() error {
	if strings.Contains("/"+s.path()+"/", "//") {
		return fmt.Errorf("%w: a scope must have no empty segment", ErrInvalid)
	}
	return checkName("scope", s.path())
}

// CheckID returns an [ErrInvalid] unless id is 1 to [MaxID] bytes of valid UTF-8 without control characters.
func CheckID(id string) error { return checkName("id", id) }

func checkName(what, name string) error {
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("%w: %s must be UTF-8 without control characters, and not empty", ErrInvalid, what)
	}
	return Limit(what, len(name), MaxID)
}

// Tenant returns the first segment, or "_" for the empty scope.
func (s Scope) Tenant() string {
	first, _, _ := strings.Cut(s.path(), "/")
	return first
}

// Contains reports whether t is s or below it. The empty scope and "_" are the same.
func (s Scope) Contains(t Scope) bool {
	rest, is := strings.CutPrefix(t.path(), s.path())
	return is && (rest == "" || rest[0] == '/')
}

func (s Scope) path() string { return cmp.Or(string(s), "_") }

// TenantPrefix returns what the keys of the tenant of s begin with in the whole store: "t/acme/".
func (s Scope) TenantPrefix() string { return "t/" + s.Tenant() + "/" }

// Below returns what the keys of s and of all scopes below it begin with.
func (s Scope) Below() string { return "s/" + s.path() + "/" }

// Key returns the key of an id that has passed its check, or what those of a kind begin with, of the id "".
func (s Scope) Key(kind, id string) string { return "s/" + s.path() + "//" + kind + "/" + id }

// ParseKey is the inverse of [Scope.Key]; ok is false for a key of another form.
func ParseKey(key string) (s Scope, kind, id string, ok bool) {
	path, isScope := strings.CutPrefix(key, "s/")
	path, rest, isKey := strings.Cut(path, "//")
	kind, id, hasID := strings.Cut(rest, "/")
	if path != "_" {
		s = Scope(path)
	}
	return s, kind, id, isScope && isKey && hasID
}
