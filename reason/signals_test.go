package reason_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/reason"
)

// The size of an objective chooses the model that reads it.
func ExampleSignals() {
	models := map[reason.Complexity]string{reason.Simple: "small", reason.Moderate: "medium", reason.Complex: "large"}
	for _, objective := range []string{
		"update the handler",
		"fix the cache, then test every package",
		"maybe use Redis or something?",
	} {
		size, signs := reason.Signals(objective)
		fmt.Println(cmp.Or(models[size], "ask first"), signs)
	}
	// Output:
	// small [3 words change "update"]
	// large [7 words 2 parts fix "fix" part "then" scope "every" file "package"]
	// ask first [5 words hedge "maybe" choice "or" hedge "something" question "?"]
}

// estimate is what Signals says, taken apart.
type estimate struct {
	Complexity   reason.Complexity
	Words, Parts int
	Signs        []string
}

func signals(t require.TestingT, objective string) estimate {
	c, signs := reason.Signals(objective)
	e := estimate{Complexity: c, Parts: 1, Signs: signs[1:]}
	_, err := fmt.Sscanf(signs[0], "%d word", &e.Words)
	require.NoError(t, err)
	if e.Words == 0 {
		e.Parts = 0
	}
	if len(e.Signs) > 0 && strings.HasSuffix(e.Signs[0], " parts") {
		_, err := fmt.Sscanf(e.Signs[0], "%d parts", &e.Parts)
		require.NoError(t, err)
		e.Signs = e.Signs[1:]
	}
	return e
}

// has reports whether a sign of that kind is among those of an estimate.
func has(e estimate, kind string) bool {
	return slices.ContainsFunc(e.Signs, func(s string) bool { return strings.HasPrefix(s, kind+" ") })
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
		e := signals(t, c.Objective)
		got := map[string]any{
			"word_count": float64(e.Words), "has_multiple_parts": e.Parts > 1, "mentions_files": has(e, "file"),
			"is_question": has(e, "question"), "is_fix": has(e, "fix"), "is_add": has(e, "add"),
			"is_change": has(e, "change"), "level": string(e.Complexity), "suggested_decomposition": e.Complexity != reason.Simple,
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
		e := signals(t, objective)
		require.Equal(t, want.complexity, e.Complexity, objective)
		require.Equal(t, want.parts, e.Parts, objective)
	}
	e := signals(t, strings.Repeat("all ", 100))
	require.Len(t, e.Signs, 63)
	require.Equal(t, `scope "all"`, e.Signs[1])
	require.Equal(t, []string{`question "?"`}, signals(t, "how???").Signs)
	for _, kind := range []string{"part", "hedge", "choice"} {
		require.True(t, has(signals(t, "maybe this or that and more"), kind), kind)
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
		want, got := signals(t, strings.Join(plain, " ")), signals(t, strings.Join(hidden, " "))
		require.Equal(t, want, got, hidden[i])
	})
}

func TestSignsStandInTheText(t *testing.T) {
	t.Parallel()
	rank := map[reason.Complexity]int{reason.Unclear: -1, reason.Simple: 0, reason.Moderate: 1, reason.Complex: 2}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.OneOf(anyWord, rapid.SampledFrom([]string{"?", ";", ". ", "\n- ", "1."}))),
			func(ws []string) string { return strings.Join(ws, " ") })).Draw(t, "text")
		e := signals(t, text)
		require.Equal(t, e, signals(t, text))
		at, parts := 0, 0
		for _, s := range e.Signs {
			kind, quoted, _ := strings.Cut(s, " ")
			word, err := strconv.Unquote(quoted)
			require.NoError(t, err)
			if kind == "part" {
				parts++ // its mark may be the verb that is a sign of its own
				require.Contains(t, text, word)
				continue
			}
			i := strings.Index(text[at:], word)
			require.GreaterOrEqual(t, i, 0, s)
			at += i
		}
		if len(e.Signs) < 60 {
			require.Equal(t, e.Parts, min(e.Words, parts+1))
		}
		require.Equal(t, e.Words == 0, e.Parts == 0)
		more := signals(t, text+" and then mend it")
		if e.Words > 0 && more.Complexity != reason.Unclear {
			require.GreaterOrEqual(t, rank[more.Complexity], rank[e.Complexity], "a further part does not make it simpler")
		}
		require.Equal(t, e.Complexity, signals(t, "  \t"+text).Complexity)
	})
}
