package memory

import (
	"errors"
	"fmt"
	"strings"

	"github.com/arc-learn/arc/redact"
)

// Errors of scopes.
var (
	// ErrScope: a scope is not 1 to 8 segments of [A-Za-z0-9_.:@-]{1,128} joined by "/", or has the form of an
	// issuer's token. A ninth segment may be Apart.
	ErrScope = errors.New("bad scope")
	// ErrTenant: a scope has no valid tenant, or belongs to another one.
	ErrTenant = errors.New("bad tenant")
)

// Apart is the last segment of the scopes that memory/identity keeps its records in, so that no recall in
// the scope above finds them. It may be a ninth.
const Apart = "@identity"

const (
	maxSegments = 8
	maxSegment  = 128
	notSegment  = "is not 1 to 128 letters, digits and _.:@-, or looks like a secret"
)

// Scope says whose memories they are, as in "acme/user-42". The first segment is the tenant. Scopes share
// nothing, statistics included. There is no default.
type Scope string

// Tenant returns the first segment.
func (s Scope) Tenant() string {
	tenant, _, _ := strings.Cut(string(s), "/")
	return tenant
}

// Check returns nil for a valid scope, else ErrScope, and ErrTenant too if the tenant is bad.
func (s Scope) Check() error {
	rest, more := string(s), true
	for n := 1; more; n++ {
		if n > maxSegments && rest != Apart {
			return fmt.Errorf("%w: more than %d segments", ErrScope, maxSegments)
		}
		var seg string
		seg, rest, more = strings.Cut(rest, "/")
		switch {
		case seg != "" && len(seg) <= maxSegment && strings.TrimLeft(seg, inSegment) == "" && redact.Issued(seg) == "":
		case n == 1:
			return fmt.Errorf("%w: %w: segment 1 "+notSegment, ErrScope, ErrTenant)
		default:
			return fmt.Errorf("%w: segment %d "+notSegment, ErrScope, n)
		}
	}
	return nil
}

// Within reports whether the scope is another or below it; every scope is within "".
func (s Scope) Within(of Scope) bool {
	return of == "" || s == of || strings.HasPrefix(string(s), string(of)+"/")
}

// inSegment are the characters of segments.
const inSegment = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:@-"
