// Package rows writes a report of labels and texts, at most 80 columns wide.
package rows

import (
	"fmt"
	"strings"

	"github.com/arc-learn/arc/internal/fence"
)

// Columns.
const (
	label = 11
	width = 80
)

// Write writes a text behind its label, broken between words. A word that is
// longer than a line is broken, too.
func Write(b *strings.Builder, name, text string) {
	column := label
	fmt.Fprintf(b, "%-*s", label, name)
	for i, word := range strings.Fields(fence.Visible(text)) {
		runes := []rune(word)
		if i > 0 && column+1+len(runes) <= width {
			b.WriteByte(' ')
			column++
		} else if i > 0 {
			fmt.Fprintf(b, "\n%*s", label, "")
			column = label
		}
		for column+len(runes) > width {
			n := width - column
			fmt.Fprintf(b, "%s\n%*s", string(runes[:n]), label, "")
			runes, column = runes[n:], label
		}
		b.WriteString(string(runes))
		column += len(runes)
	}
	b.WriteByte('\n')
}

// Spark draws values in [0,1].
func Spark(values []float64) string {
	const bars = "▁▂▃▄▅▆▇█"
	var b strings.Builder
	for _, v := range values {
		b.WriteRune([]rune(bars)[min(7, max(0, int(v*8)))])
	}
	return b.String()
}
