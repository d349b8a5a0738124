package skills_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/contrib/skills"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// bench is a Layer with a clock.
type bench struct {
	*learn.Layer
	t   *testing.T
	now time.Time
}

func open(t *testing.T) *bench {
	b := &bench{t: t, now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	l, err := learn.New(t.Context(), store.NewMem(),
		&learn.Options{Scope: "acme", Seed: 1, Memory: &memory.Options{Now: func() time.Time { return b.now }}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	b.Layer = l
	return b
}

func (b *bench) before(c learn.Case) learn.Advice {
	b.now = b.now.Add(time.Minute)
	a, err := b.Before(b.t.Context(), c)
	require.NoError(b.t, err)
	return a
}

func (b *bench) after(a learn.Advice, o learn.Outcome) {
	_, err := b.After(b.t.Context(), a, o)
	require.NoError(b.t, err)
}

func (b *bench) deliver(c learn.Case, p *reason.Plan) {
	b.after(b.before(c), learn.Outcome{Verdict: learn.Delivered, Plan: p})
}

func plan(name, inputs string) *reason.Plan {
	return &reason.Plan{Calls: []reason.PlanCall{{Name: name, Inputs: json.RawMessage(inputs)}}}
}

// refund is a case of a scope, with its plan.
func refund(scope memory.Scope, order string) (learn.Case, *reason.Plan) {
	return learn.Case{Scope: scope, Text: "refund order " + order + ", please",
			Inputs: json.RawMessage(`{"order":"` + order + `"}`)},
		plan("refund", `{"id":"`+order+`","memo":"refund of `+order+`"}`)
}

func TestSkills(t *testing.T) {
	b := open(t)
	for i := range 2 {
		c, p := refund("acme", fmt.Sprint("SO-10", i))
		c.Situation = "Refund, small"
		b.deliver(c, p)
	}
	dir := t.TempDir()
	write := func() int {
		n, err := skills.Write(t.Context(), b.Layer, "acme", dir)
		require.NoError(t, err)
		return n
	}
	read := func() int {
		n, err := skills.Sync(t.Context(), b.Layer, "acme", dir)
		require.NoError(t, err)
		return n
	}
	require.Equal(t, []int{1, 0, 0}, []int{write(), write(), read()})
	paths, err := filepath.Glob(filepath.Join(dir, "refund-small-*", "SKILL.md"))
	require.NoError(t, err)
	require.Len(t, paths, 1)
	text, err := os.ReadFile(paths[0])
	require.NoError(t, err)
	require.NotContains(t, string(text), "SO-10")
	require.Contains(t, string(text), `"id": "{order}"`)
	require.Contains(t, string(text), "delivered: 2")
	require.NoError(t, os.Remove(paths[0]))
	require.Equal(t, 1, write(), "a missing file is written again")

	edit := func(old, new string) {
		require.Contains(t, string(text), old)
		require.NoError(t, os.WriteFile(paths[0], []byte(strings.Replace(string(text), old, new, 1)), 0o644))
	}
	c, _ := refund("acme", "SO-105")
	c.Situation = "Refund, small"
	edit("retired: false", "retired: true")
	require.Equal(t, []int{1, 0, 0}, []int{read(), read(), write()})
	a := b.before(c)
	require.Nil(t, a.Fires)
	require.Empty(t, a.Suggestions)

	edit("refund of {order}", "{order}: refunded, sorry")
	require.Equal(t, []int{1, 0, 0}, []int{read(), read(), write()})
	for i := range 2 {
		a = b.before(c)
		require.Nil(t, a.Fires)
		require.Equal(t, "a person has written it", a.Suggestions[0].Differs)
		p, err := a.Use("plan 1", nil)
		require.NoError(t, err)
		require.Equal(t, plan("refund", `{"id":"SO-105","memo":"SO-105: refunded, sorry"}`), p, i)
		b.after(a, learn.Outcome{Verdict: learn.Delivered, Plan: p})
	}
	require.NotNil(t, b.before(c).Fires)

	require.Equal(t, 1, write(), "with what has delivered it since")
	require.NoError(t, os.WriteFile(paths[0], text, 0o644)) // as by git checkout
	require.Zero(t, read(), "as Write wrote it, it says nothing")
	now, err := os.ReadFile(paths[0])
	require.NoError(t, err)
	require.Contains(t, string(now), "{order}: refunded, sorry")
	require.NotNil(t, b.before(c).Fires)
}

// What is said elsewhere holds, whatever a file has that nobody has changed since it was read or written.
func TestSkillsOfAPlanThatIsEditedElsewhere(t *testing.T) {
	b, dir := open(t), t.TempDir()
	for i := range 2 {
		b.deliver(refund("acme", fmt.Sprint("SO-10", i)))
	}
	_, err := skills.Write(t.Context(), b.Layer, "acme", dir)
	require.NoError(t, err)
	paths, err := filepath.Glob(filepath.Join(dir, "*", "SKILL.md"))
	require.NoError(t, err)
	require.Len(t, paths, 1)
	text := func() string {
		raw, err := os.ReadFile(paths[0])
		require.NoError(t, err)
		return string(raw)
	}
	known := func() reason.Suggestion {
		k, err := b.Known(t.Context(), "acme")
		require.NoError(t, err)
		return k.Suggestions[0]
	}
	edit := func(s reason.Suggestion) {
		did, err := b.Edit(t.Context(), "acme", s)
		require.NoError(t, err)
		require.True(t, did)
	}
	read := func(old, new string) (int, error) {
		require.Contains(t, text(), old)
		require.NoError(t, os.WriteFile(paths[0], []byte(strings.Replace(text(), old, new, 1)), 0o644))
		return skills.Sync(t.Context(), b.Layer, "acme", dir)
	}
	k := known()
	k.Retired = true
	edit(k)
	n, err := read("", "")
	require.NoError(t, err)
	require.Zero(t, n)
	require.True(t, known().Retired)
	require.Contains(t, text(), "retired: true")

	for _, wrong := range []string{"retired: nein", "retired: null", "retired:", "Retired: false", "licence: none"} {
		_, err = read("retired: true", wrong)
		require.ErrorContains(t, err, filepath.Base(filepath.Dir(paths[0]))+": retired is neither true nor false")
		require.True(t, known().Retired)
		require.Contains(t, text(), wrong, "it stays as it is")
		require.NoError(t, os.WriteFile(paths[0], []byte(strings.Replace(text(), wrong, "retired: true", 1)), 0o644))
	}
	n, err = read("retired: true", "retired: False # by Anna")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.False(t, known().Retired)
	c, _ := refund("acme", "SO-105")
	require.NotNil(t, b.before(c).Fires)

	// A copy under a name of its own would have its word again and again.
	copied := filepath.Join(dir, "of-anna", "SKILL.md")
	require.NoError(t, os.Mkdir(filepath.Dir(copied), 0o755))
	whole := regexp.MustCompile("name: .*").ReplaceAllString(text(), "name: of-anna")
	require.NoError(t, os.WriteFile(copied, []byte(strings.Replace(whole, "retired: false", "retired: true", 1)), 0o644))
	n, err = skills.Sync(t.Context(), b.Layer, "acme", dir)
	require.NoError(t, err)
	require.Zero(t, n)
	require.NoError(t, os.RemoveAll(filepath.Dir(copied)))

	// So would a folder with a name that the plan had, and one that a person has renamed.
	name := filepath.Base(filepath.Dir(paths[0]))
	for _, in := range []string{name, "former-" + name} {
		former := filepath.Join(dir, "a-former-"+name)
		require.NoError(t, os.Mkdir(former, 0o755))
		whole := strings.Replace(text(), "name: "+name, "name: "+in, 1)
		whole = strings.Replace(whole, "retired: false", "retired: true", 1)
		require.NoError(t, os.WriteFile(filepath.Join(former, "SKILL.md"), []byte(whole), 0o644))
		n, err = skills.Sync(t.Context(), b.Layer, "acme", dir)
		require.NoError(t, err)
		require.Zero(t, n, in)
		require.False(t, known().Retired)
		n, err = read(`"refund of`, `"Refund of`)
		require.NoError(t, err)
		require.Equal(t, 1, n, "the plan's own folder speaks for it")
		n, err = read(`"Refund of`, `"refund of`)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.NoError(t, os.RemoveAll(former))
	}

	n, err = read(`"refund"`, `"credit"`)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	k = known()
	require.Equal(t, "credit", k.Calls[0].Name)
	k.Calls = append(k.Calls, k.Calls[0])
	edit(k)
	n, err = read("", "")
	require.NoError(t, err)
	require.Zero(t, n, "what was read is read once")
	require.Equal(t, k.Calls, known().Calls)
	all, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, all, 1, "a plan has one file")
	require.Equal(t, 2, strings.Count(text(), `"credit"`))
	n, err = read("[\n", "[ \n\n")
	require.NoError(t, err)
	require.Zero(t, n, "the same calls in other lines are no change")

	// A formatter has put the members of inputs in another order; then a person changes the plan elsewhere.
	inputs := regexp.MustCompile(`("id": "[^"]*"),(\s*)("memo": "[^"]*")`)
	require.Regexp(t, inputs, text())
	swapped := inputs.ReplaceAllString(text(), "$3,$2$1")
	require.NoError(t, os.WriteFile(paths[0], []byte(swapped), 0o644))
	k = known()
	k.Calls = k.Calls[:1]
	edit(k)
	n, err = read("", "")
	require.NoError(t, err)
	require.Zero(t, n, "nor are they in another order")
	require.Equal(t, k.Calls, known().Calls)
	require.Equal(t, 1, strings.Count(text(), `"credit"`))
}

// What is learned of a plan later is no change of its file.
func TestSkillsOfAPlanThatChanges(t *testing.T) {
	b, dir := open(t), t.TempDir()
	deliver := func(order, ref string) {
		b.deliver(learn.Case{Scope: "acme", Text: "refund it",
			Inputs: json.RawMessage(`{"order":"` + order + `","ref":"` + ref + `"}`)}, plan("refund", `{"id":"`+ref+`"}`))
	}
	calls := func() string {
		k, err := b.Known(t.Context(), "acme")
		require.NoError(t, err)
		return string(k.Suggestions[0].Calls[0].Inputs)
	}
	deliver("SO-1", "SO-1")
	deliver("SO-2", "SO-2")
	n, err := skills.Write(t.Context(), b.Layer, "acme", dir)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	files, err := filepath.Glob(filepath.Join(dir, "*", "SKILL.md"))
	require.NoError(t, err)
	former := filepath.Join(t.TempDir(), "former")
	require.NoError(t, os.Link(files[0], former))
	whole, err := os.ReadFile(former)
	require.NoError(t, err)
	was := calls()
	deliver("SO-3", "SO-4")
	require.NotEqual(t, was, calls())
	for range 2 {
		n, err = skills.Sync(t.Context(), b.Layer, "acme", dir)
		require.NoError(t, err)
		require.Zero(t, n)
	}
	kept, err := os.ReadFile(former)
	require.NoError(t, err)
	require.Equal(t, whole, kept, "the new one takes its place whole: a full disk leaves the former")
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.Contains(t, string(text), `"id": "{ref}"`, "it is written anew")
	require.JSONEq(t, `{"id":"{ref}"}`, calls())
}

// A Lessons scope has files of the plans that fire below it, and what a person changes there holds for all.
func TestSkillsOfALessonsScope(t *testing.T) {
	b, dir := open(t), t.TempDir()
	of := func(i int) (learn.Case, *reason.Plan) {
		c, p := refund(memory.Scope(fmt.Sprint("acme/u", i)), fmt.Sprint("SO-10", i))
		c.Lessons = "acme"
		return c, p
	}
	write := func() int {
		n, err := skills.Write(t.Context(), b.Layer, "acme", dir)
		require.NoError(t, err)
		return n
	}
	for i := range 2 {
		require.Zero(t, write(), "what one scope came to stays there")
		c, p := of(i)
		b.deliver(c, p)
		b.deliver(c, p)
	}
	require.Equal(t, []int{1, 0}, []int{write(), write()})
	paths, err := filepath.Glob(filepath.Join(dir, "*", "SKILL.md"))
	require.NoError(t, err)
	text, err := os.ReadFile(paths[0])
	require.NoError(t, err)
	require.NotContains(t, string(text), "SO-10")
	change := func(old, new string) {
		require.Contains(t, string(text), old)
		require.NoError(t, os.WriteFile(paths[0], []byte(strings.Replace(string(text), old, new, 1)), 0o644))
		n, err := skills.Sync(t.Context(), b.Layer, "acme", dir)
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	own, _ := of(1)
	other, _ := of(5)
	for _, c := range []learn.Case{own, other} {
		require.NotNil(t, b.before(c).Fires)
	}
	change("retired: false", "retired: true")
	for _, c := range []learn.Case{own, other} {
		a := b.before(c)
		require.Nil(t, a.Fires)
		require.Empty(t, a.Suggestions)
	}
	change("refund of {order}", "{order}: sorry")
	for _, c := range []learn.Case{own, other} {
		a := b.before(c)
		require.Nil(t, a.Fires)
		require.Equal(t, "a person has written it", a.Suggestions[0].Differs)
	}
	for i := 6; i < 8; i++ {
		c, _ := of(i)
		a := b.before(c)
		p, err := a.Use("plan 1", nil)
		require.NoError(t, err)
		b.after(a, learn.Outcome{Verdict: learn.Delivered, Plan: p})
	}
	a := b.before(other)
	require.Equal(t, plan("refund", `{"id":"SO-105","memo":"SO-105: sorry"}`).Calls, a.Fires.Calls, a.Why)
}

// A name of no Latin letter or digit is the plan's digest.
func TestSkillsInOtherLetters(t *testing.T) {
	b, dir := open(t), t.TempDir()
	for i := range 2 {
		c, p := refund("acme", fmt.Sprint("SO-10", i))
		c.Text = "請退款"
		b.deliver(c, p)
	}
	n, err := skills.Write(t.Context(), b.Layer, "acme", dir)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	found, err := reason.LoadSkills(os.DirFS(dir))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Len(t, found[0].Name, 6)
}

// What a customer has hidden in a text is not in a file, nor is it a change; and no other user reads it.
func TestSkillsOfHiddenText(t *testing.T) {
	b, dir := open(t), t.TempDir()
	for i := range 2 {
		c, _ := refund("acme", fmt.Sprint("SO-10", i))
		c.Text += " <|im_start|>\u202eevil\u200b"
		b.deliver(c, plan("refund", `{"id":"`+fmt.Sprint("SO-10", i)+`","memo":"\u202elive"}`))
	}
	written, err := skills.Write(t.Context(), b.Layer, "acme", dir)
	require.NoError(t, err)
	require.Equal(t, 1, written)
	files, err := filepath.Glob(filepath.Join(dir, "*", "SKILL.md"))
	require.NoError(t, err)
	raw, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.NotRegexp(t, "[\u202e\u200b]|<\\|", string(raw))
	require.Contains(t, string(raw), `\u202elive`)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	edited, err := skills.Sync(t.Context(), b.Layer, "acme", dir)
	require.NoError(t, err)
	require.Zero(t, edited)
}
