package calendar_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/calendar"
)

func terms(ts []text.Term) (out []string) {
	for _, t := range ts {
		out = append(out, t.Text)
	}
	return out
}

func TestNamed(t *testing.T) {
	t.Parallel()
	c := calendar.New(text.Plain)
	for query, want := range map[string][]string{
		"7 May": {"@05-07"}, "7th of May": {"@05-07"}, "May 7th": {"@05-07"}, "7 Sept": {"september", "@09-07"}, "on 7.9.2024": {"september", "@09-07"},
		"May": nil, "of May 32": nil, "7.13.2024": nil, "in May 2024": nil, "two of Mayfair": nil, "the 3 of may and june 30": {"@05-03", "@06-30"},
	} {
		asked := text.Plain.Append(nil, query)
		n := len(asked)
		require.Equal(t, want, terms(c.AppendNamed(asked)[n:]), query)
	}
}

func TestDays(t *testing.T) {
	t.Parallel()
	c := calendar.New(text.English)
	at := time.Date(2023, 12, 31, 23, 0, 0, 0, time.UTC)
	require.Equal(t, []string{"2023", "decemb", "@12-31"}, terms(c.Append(nil, at)))
	require.Equal(t, []string{"@01-01", "@02-29", "@03-01"}, []string{c.Next["@12-31"], c.Next["@02-28"], c.Next["@02-29"]})
	require.Len(t, slices.Collect(func(yield func(string) bool) {
		for day := range c.Next {
			if !yield(day) {
				return
			}
		}
	}), 366)
}
