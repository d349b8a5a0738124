package reason_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/reason"
)

func ExampleSignals() {
	for _, objective := range []string{
		"update the handler",
		"fix the cache, then test every package",
		"maybe use Redis or something?",
	} {
		e := reason.Signals(objective)
		fmt.Print(e.Complexity, " ", e.Parts)
		for _, s := range e.Evidence {
			fmt.Printf(", %s %q", s.Kind, s.Text)
		}
		fmt.Println()
	}
	// Output:
	// simple 1, change "update"
	// complex 2, fix "fix", part "then", scope "every", file "package"
	// unclear 1, hedge "maybe", choice "or", hedge "something", question "?"
}

func TestSignalsFollowTheSeedOnWholeWords(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/complexity.json")
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			Objective  string
			Want, Ours map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.Len(t, file.Cases, 8)
	for _, c := range file.Cases {
		maps.Copy(c.Want, c.Ours)
		e := reason.Signals(c.Objective)
		got := map[string]any{
			"word_count": float64(e.Words), "has_multiple_parts": e.Parts > 1, "mentions_files": e.Has(reason.SignalFile),
			"is_question": e.Has(reason.SignalQuestion), "is_fix": e.Has(reason.SignalFix), "is_add": e.Has(reason.SignalAdd),
			"is_change": e.Has(reason.SignalChange), "level": string(e.Complexity), "suggested_decomposition": e.Complexity != reason.Simple,
		}
		require.Equal(t, keep(c.Want, got), keep(got, c.Want), c.Objective)
	}
}

// keep returns the entries of m whose keys are in of.
func keep(m, of map[string]any) map[string]any {
	out := maps.Clone(m)
	maps.DeleteFunc(out, func(k string, _ any) bool { _, ok := of[k]; return !ok })
	return out
}

func TestSignalsCountWhatIsSetApart(t *testing.T) {
	t.Parallel()
	for objective, want := range map[string]struct {
		complexity reason.Complexity
		parts      int
	}{
		"":                                       {reason.Unclear, 0},
		" ?! ":                                   {reason.Unclear, 0},
		"and then":                               {reason.Simple, 1},
		"and fix it and":                         {reason.Simple, 1},
		"fix it and then also test it":           {reason.Moderate, 2},
		"fix it; and then test it":               {reason.Moderate, 2},
		"Fix the cache. Update the docs.":        {reason.Moderate, 2},
		"The build fails. It did not before.":    {reason.Simple, 1},
		"The build fails. Fix it.":               {reason.Moderate, 2},
		"- one\n- two\n- three":                  {reason.Moderate, 3},
		"1. one\n2. two\n3) three\n4) four":      {reason.Complex, 4},
		"wait 10 - 20 seconds":                   {reason.Simple, 1},
		"sort and/or filter":                     {reason.Moderate, 2},
		"mend survey.go":                         {reason.Simple, 1},
		"mend survey.go and test it":             {reason.Complex, 2},
		"rename every id":                        {reason.Moderate, 1},
		"rename every id and test it":            {reason.Complex, 2},
		"Is this ok?":                            {reason.Simple, 1},
		"Should it be A or B?":                   {reason.Moderate, 1},
		"somehow make it better, maybe":          {reason.Unclear, 1},
		"andThen, orElse, android":               {reason.Simple, 1},
		"AND THEN x AND y":                       {reason.Moderate, 2},
		strings.Repeat("word ", 20):              {reason.Simple, 1},
		strings.Repeat("word ", 21):              {reason.Moderate, 1},
		strings.Repeat("word ", 41):              {reason.Complex, 1},
		"maybe maybe" + strings.Repeat(" w", 60): {reason.Complex, 1},
	} {
		e := reason.Signals(objective)
		require.Equal(t, want.complexity, e.Complexity, objective)
		require.Equal(t, want.parts, e.Parts, objective)
	}
	e := reason.Signals(strings.Repeat("all ", 100))
	require.Len(t, e.Evidence, 64)
	require.Equal(t, reason.Signal{Kind: reason.SignalScope, Text: "all", At: 4}, e.Evidence[1])
	require.Equal(t, []reason.Signal{{Kind: reason.SignalQuestion, Text: "?", At: 3}}, reason.Signals("how???").Evidence)
	for _, kind := range []reason.SignalKind{reason.SignalPart, reason.SignalHedge, reason.SignalChoice} {
		require.True(t, reason.Signals("maybe this or that and more").Has(kind), kind)
	}
}

var (
	plainWord  = rapid.SampledFrom([]string{"cache", "handler", "android", "understand", "standard", "profile", "authentication", "order", "oral", "wall", "Größe", "日本", "x1"})
	signalWord = rapid.SampledFrom([]string{"and", "then", "also", "plus", "file", "module", "all", "every", "maybe", "or", "fix", "bug", "add", "make", "change", "update"})
	anyWord    = rapid.OneOf(plainWord, signalWord)
)

// Letters around a signal make another word of it, and one word that is no
// signal is as good as any other.
func TestSignalsAreWholeWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(anyWord, 1, 12).Draw(t, "words")
		i := rapid.IntRange(0, len(list)-1).Draw(t, "i")
		hidden, plain := slices.Clone(list), slices.Clone(list)
		hidden[i] = "zq" + signalWord.Draw(t, "signal") + rapid.StringMatching("[a-z]{0,5}").Draw(t, "end")
		plain[i] = strings.Repeat("q", len(hidden[i]))
		want, got := reason.Signals(strings.Join(plain, " ")), reason.Signals(strings.Join(hidden, " "))
		require.Equal(t, want, got, hidden[i])
	})
}

func TestEvidenceStandsWhereItSays(t *testing.T) {
	t.Parallel()
	rank := map[reason.Complexity]int{reason.Unclear: -1, reason.Simple: 0, reason.Moderate: 1, reason.Complex: 2}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.OneOf(anyWord, rapid.SampledFrom([]string{"?", ";", ". ", "\n- ", "1."}))),
			func(ws []string) string { return strings.Join(ws, " ") })).Draw(t, "text")
		e := reason.Signals(text)
		require.Equal(t, e, reason.Signals(text))
		at, parts := 0, 0
		for _, s := range e.Evidence {
			require.GreaterOrEqual(t, s.At, at)
			at = s.At
			require.True(t, strings.HasPrefix(text[s.At:], s.Text))
			if s.Kind == reason.SignalPart {
				parts++
			}
		}
		if len(e.Evidence) < 64 {
			require.Equal(t, e.Parts, min(e.Words, parts+1))
		}
		require.Equal(t, e.Words == 0, e.Parts == 0)
		more := reason.Signals(text + " and then mend it")
		if e.Words > 0 && more.Complexity != reason.Unclear {
			require.GreaterOrEqual(t, rank[more.Complexity], rank[e.Complexity], "a further part does not make it simpler")
		}
		require.Equal(t, e.Complexity, reason.Signals("  \t"+text).Complexity)
	})
}
