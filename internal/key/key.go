// Package key builds the keys under which arc's packages keep their records.
//
// A key is a sequence of parts joined by a NUL byte. No part holds a NUL (ids
// and scopes are checked by [CheckID] and by memory), so two different
// sequences never share a key, and the keys below one prefix of parts are the
// keys that begin with [Prefix] of it: "a" never matches "ab".
package key

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

const sep = "\x00"

// MaxID is the largest number of bytes in an id that a host gives.
const MaxID = 256

// ErrID is the error of an id that is not valid UTF-8, or holds control
// characters or a token of an issuer.
var ErrID = errors.New("bad id")

// Join returns the key of the parts.
func Join(parts ...string) string { return strings.Join(parts, sep) }

// Block makes the keys of one write side by side, in one piece of memory if it
// was grown to hold them. The zero Block is ready.
type Block struct{ keys strings.Builder }

// Grow makes room for keys of n bytes together.
func (b *Block) Grow(n int) { b.keys.Grow(n) }

// Join is the function of that name. The keys made before stay valid.
func (b *Block) Join(parts ...string) string {
	start := b.keys.Len()
	for i, part := range parts {
		if i > 0 {
			b.keys.WriteString(sep)
		}
		b.keys.WriteString(part)
	}
	return b.keys.String()[start:]
}

// tenants is the first part of every key that belongs to a tenant; the tenant
// is the second.
const tenants = "tenant"

// Tenants is the prefix of all keys that belong to a tenant. Its name follows.
func Tenants() string { return Prefix(tenants) }

// Under returns the key of the parts below those of a tenant; without a tenant,
// that of the parts alone.
func Under(tenant string, parts ...string) string {
	n := len(tenants) + len(tenant) + len(parts) + 1
	for _, part := range parts {
		n += len(part)
	}
	var b Block
	b.Grow(n)
	return b.Under(tenant, parts...)
}

// Under is the function of that name. The keys made before stay valid.
func (b *Block) Under(tenant string, parts ...string) string {
	start := b.keys.Len()
	if tenant != "" {
		b.Join(tenants, tenant, "")
	}
	b.Join(parts...)
	return b.keys.String()[start:]
}

// Prefix returns the prefix of all keys whose first parts are parts.
func Prefix(parts ...string) string { return strings.Join(parts, sep) + sep }

// Split returns the parts of a key.
func Split(key string) []string { return strings.Split(key, sep) }

// CheckID returns nil if id can be part of a key: at most MaxID bytes of
// valid UTF-8 without control characters, and no token of an issuer. An empty id passes; whether one is
// allowed is the caller's to say. Field names the id in the error.
func CheckID(field, id string) error {
	if len(id) > MaxID {
		return &store.LimitError{Field: field, Limit: MaxID, Got: len(id)}
	}
	if kind := redact.Issued(id); kind != "" {
		return fmt.Errorf("%s: %w: it has the form of a secret (%s), and ids are kept as they are", field, ErrID, kind)
	}
	if printable(id) {
		return nil
	}
	if !utf8.ValidString(id) {
		return fmt.Errorf("%s: %w: not valid UTF-8", field, ErrID)
	}
	for _, r := range id {
		if unicode.IsControl(r) {
			return fmt.Errorf("%s: %w: control character %U", field, ErrID, r)
		}
	}
	return nil
}

// printable reports whether id is of printable ASCII, as ids most often are.
func printable(id string) bool {
	for i := range len(id) {
		if id[i] < ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}
