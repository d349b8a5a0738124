package reasontest

import (
	"context"
	"time"
)

// Rules returns the names of all rules.
func Rules() []string {
	var names []string
	for _, r := range rules() {
		names = append(names, r.name)
	}
	return names
}

// Violations returns in which ways p breaks the rule of that name. What should
// happen at once is not waited for longer than patience.
func Violations(ctx context.Context, p Provider, name string, patience time.Duration) []error {
	for _, r := range rules() {
		if r.name == name {
			return violations(ctx, p, r, patience)
		}
	}
	panic("no rule " + name)
}

// Unknown returns those of names that are no rule's.
func Unknown(names ...string) []string { return unknown(names) }
