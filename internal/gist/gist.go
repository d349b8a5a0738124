// Package gist compares texts of a model without regard to how they are written.
package gist

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/cooldown"
	"github.com/arc-learn/arc/reason"
)

// Fold returns a text in lower case, with single blanks, trimmed, and without a final full stop.
func Fold(s string) string {
	return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(s), " ")), ".!")
}

// Same reports whether two texts fold to the same.
func Same(a, b string) bool { return a == b || Fold(a) == Fold(b) }

// Listed reports whether an approach is the same as one of a list.
func Listed(approaches []string, approach string) bool {
	return slices.ContainsFunc(approaches, func(s string) bool { return Same(s, approach) })
}

// Sum returns a digest of texts in order. It is never 0.
func Sum(texts ...string) uint64 {
	h := fnv.New64a()
	for _, s := range texts {
		var n [8]byte
		h.Write(append(binary.BigEndian.AppendUint64(n[:0], uint64(len(s))), s...))
	}
	return max(1, h.Sum64())
}

// Plan returns a digest of tasks without their workers.
func Plan(tasks []reason.Task) uint64 {
	var texts []string
	for i := range tasks {
		k := &tasks[i]
		effect := ""
		if k.Effect != nil {
			effect = fmt.Sprint(*k.Effect)
		}
		texts = append(texts, Fold(k.Objective), k.Skill, cooldown.Action("", k.Inputs), effect)
	}
	return Sum(texts...)
}

// Approach returns a digest of an approach, or of the tasks if it has no name.
func Approach(approach string, tasks []reason.Task) uint64 {
	if approach = Fold(approach); approach != "" {
		return Sum(approach)
	}
	return Plan(tasks)
}
