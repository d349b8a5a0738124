package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Bounds of a difference that is shown.
const (
	maxShown     = 20  // lines
	maxShownLine = 200 // bytes
)

// linesOf is a request, as encode writes it, in lines that say what they are.
func linesOf(key string) []string {
	var r request
	if err := json.Unmarshal([]byte(key), &r); err != nil {
		return []string{key}
	}
	var lines []string
	add := func(name, text string) {
		for line := range strings.Lines(text) {
			lines = append(lines, name+": "+strings.TrimRight(line, "\n"))
		}
	}
	add("system", r.System)
	for _, m := range r.Messages {
		add(m.Role, m.Text)
		if m.Text == "" {
			lines = append(lines, m.Role+":")
		}
	}
	add("schema", string(r.Schema))
	if r.MaxTokens != 0 {
		add("max_tokens", fmt.Sprint(r.MaxTokens))
	}
	if r.Temperature != nil {
		add("temperature", fmt.Sprint(*r.Temperature))
	}
	return lines
}

// difference shows how b differs from a, and in how many lines. What is the same
// at both ends is passed over, and in between what occurs in both: lines that
// only moved show as such if nothing else differs.
func difference(a, b []string) (shown string, n int) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	x, y := without(a, b), without(b, a)
	if len(x)+len(y) == 0 {
		x, y = a, b
	}
	var out []string
	for _, l := range x {
		out = append(out, "- "+l)
	}
	for i, l := range y {
		at := min(len(out), 2*i+1)
		out = slices.Insert(out, at, "+ "+l)
	}
	n = len(out)
	for i, l := range out {
		if len(l) > maxShownLine {
			out[i] = strings.ToValidUTF8(l[:maxShownLine], "") + "…"
		}
	}
	if n > maxShown {
		out = append(out[:maxShown], fmt.Sprintf("… and %d more lines", n-maxShown))
	}
	return strings.Join(out, "\n"), n
}

// without returns the lines of a that are not in b, as often as they are not.
func without(a, b []string) []string {
	in := map[string]int{}
	for _, l := range b {
		in[l]++
	}
	var out []string
	for _, l := range a {
		if in[l] > 0 {
			in[l]--
			continue
		}
		out = append(out, l)
	}
	return out
}
