// Package sites knows what well-known sites are about, and reads the host out of an address.
package sites

import (
	_ "embed" // of the table of sites
	"slices"
	"strings"
	"sync"

	"github.com/arc-learn/arc/internal/key"
)

// Site is what repeated visits to a site say about a person.
type Site struct {
	Content  string // of the fact
	Category string
}

//go:embed sites.txt
var siteTable string

// known returns what domains are about, nothing if that is everything, and words that
// names have, both of which must not be changed.
var known = sync.OnceValues(func() (domains map[string]Site, named []Site) {
	domains = map[string]Site{}
	for line := range strings.Lines(siteTable) {
		left, content, _ := strings.Cut(line, "=")
		of := Site{Content: strings.TrimSpace(content)}
		for i, w := range strings.Fields(left) {
			switch {
			case i == 0:
				of.Category = w
			case of.Category == "named":
				named = append(named, Site{of.Content, w})
			default:
				domains[w] = of
			}
		}
	}
	return domains, named
})

// Of tells what a host is about: the host itself or the domains above it
// in the table, else the words in its name.
func Of(host string) Site {
	domains, named := known()
	for domain := host; domain != ""; _, domain, _ = strings.Cut(domain, ".") {
		if s, ok := domains[domain]; ok {
			return s
		}
	}
	labels := strings.Split(host, ".")
	for _, in := range named {
		for _, label := range labels[:len(labels)-1] {
			if w := in.Category; strings.HasPrefix(label, w) || strings.HasSuffix(label, w) {
				return Site{in.Content, "focus"}
			}
		}
	}
	return Site{}
}

// HostOf returns the host of an address, in lower case, without "www.": as a browser
// reads it, however wrong the rest of the address is.
func HostOf(address string) string {
	s := strings.NewReplacer("\\", "/", "。", ".", "．", ".").Replace(strings.TrimSpace(address))
	if i := strings.Index(s, "://"); i >= 0 && !strings.ContainsAny(s[:i], "/?#") {
		s = s[i+1:]
	} else if scheme, rest, ok := strings.Cut(s, ":"); ok && strings.HasPrefix(strings.ToLower(scheme), "http") {
		s = rest
	}
	s = strings.TrimLeft(s, "/")
	if i := strings.IndexAny(s, "/?# "); i >= 0 {
		s = s[:i]
	}
	s = s[strings.LastIndexByte(s, '@')+1:]
	if i := strings.LastIndexByte(s, ']'); i < 0 {
		s, _, _ = strings.Cut(s, ":")
	} else {
		s = strings.TrimPrefix(s[:i], "[")
	}
	if len(s) > 253 { // RFC 1035
		return ""
	}
	return domain(s)
}

// Within reports whether a host is one of the domains, or below one.
func Within(host string, domains []string) bool {
	return host != "" && slices.ContainsFunc(domains, func(d string) bool {
		return host == d || strings.HasSuffix(host, "."+d)
	})
}

// domain is the form in which domains are compared; "": it is none.
func domain(s string) string {
	s = strings.TrimPrefix(strings.Trim(strings.ToLower(strings.TrimSpace(s)), "."), "www.")
	if key.CheckID("", s) != nil {
		return ""
	}
	return s
}
