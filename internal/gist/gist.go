// Package gist compares what a model says by what it says, and not by how it is written.
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

// Fold is a text of a model without what says nothing: case, blanks beside
// others and at the ends, and the full stop.
func Fold(s string) string {
	return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(s), " ")), ".!")
}

// Same reports whether two texts of a model fold to one.
func Same(a, b string) bool { return a == b || Fold(a) == Fold(b) }

// Listed reports whether an approach is one of those listed.
func Listed(approaches []string, approach string) bool {
	return slices.ContainsFunc(approaches, func(s string) bool { return Same(s, approach) })
}

// Sum is a digest of texts in order, and not 0.
func Sum(texts ...string) uint64 {
	h := fnv.New64a()
	for _, s := range texts {
		var n [8]byte
		h.Write(append(binary.BigEndian.AppendUint64(n[:0], uint64(len(s))), s...))
	}
	return max(1, h.Sum64())
}

// Plan is the digest of what tasks ask for, by any worker.
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

// Approach is the digest of an approach; of one without a name, its tasks'.
func Approach(approach string, tasks []reason.Task) uint64 {
	if approach = Fold(approach); approach != "" {
		return Sum(approach)
	}
	return Plan(tasks)
}
