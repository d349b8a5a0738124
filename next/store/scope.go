package store

import "strings"

// Scope names whose something is: segments separated by "/", the first of which is the tenant: "acme/anna". The
// empty scope is the tenant "_". A scope contains those that continue it by a segment: "acme" contains
// "acme/anna", and "acme/an" does not.
type Scope string

// Tenant returns the first segment, or "_" for the empty scope.
func (s Scope) Tenant() string {
	first, _, _ := strings.Cut(string(s), "/")
	if first == "" {
		return "_"
	}
	return first
}
