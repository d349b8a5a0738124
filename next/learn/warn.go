package learn

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/store"
)

// warnings are what was refused in a situation, in one scope. At a scope that is the Lessons of others, they name
// the scopes instead.
type warnings struct {
	Of     []warning
	Scopes []memory.Scope
}

// warning is a class of complaint about a skill or tool, with what came of it, the latest last.
type warning struct {
	Skill, Class    string
	Complaint, Said string // as everybody may read it, and with the words of the case
	Events          []event
}

type event struct {
	Advice  string
	At      time.Time
	Over    bool   // it passed
	Instead string // what passed
}

// Bounds of what is kept and told of a situation.
const (
	maxWarnings = 16
	maxEvents   = 8
	maxTold     = 8
	maxLesson   = 600 // bytes of a complaint
)

// situationKey is what warnings are kept by: the situation that the host names, or else the words of the case with
// {name} for its inputs.
func situationKey(c *Case, s *shape) string {
	if c.Situation != "" {
		return digest("situation " + c.Situation)
	}
	return digest("text " + fold(s.template))
}

// warn adds the warnings of a case's situation: its scope's, and those that two scopes of its Lessons came to.
func (l *Layer) warn(ctx context.Context, a *Advice, s *shape) error {
	c, st, id := &a.Case, l.group.Store(), situationKey(&a.Case, s)
	up, _, err := load[warnings](ctx, st, c.Lessons.Key(warnKind, id))
	if err != nil {
		return err
	}
	var all []*warning
	from := make(map[*warning]int)
	scopes := slices.DeleteFunc(up.Scopes, func(o memory.Scope) bool { return o == c.Scope })
	for i, scope := range append([]memory.Scope{c.Scope}, scopes...) {
		of, _, err := load[warnings](ctx, st, scope.Key(warnKind, id))
		if err != nil {
			return err
		}
		for _, w := range of.Of {
			at := slices.IndexFunc(all, func(o *warning) bool { return o.Class == w.Class && o.Skill == w.Skill })
			if at < 0 {
				at, all = len(all), append(all, &warning{Skill: w.Skill, Class: w.Class, Complaint: restore(w.Complaint, w.Said, c, s)})
			}
			all[at].Events = append(all[at].Events, w.Events...)
			if from[all[at]]++; i == 0 {
				from[all[at]]++ // one's own is enough
			}
		}
	}
	for _, w := range all {
		if told := w.told(); from[w] > 1 && told.Times > 0 && len(a.Warnings) < maxTold {
			a.Warnings = append(a.Warnings, told)
		}
	}
	return nil
}

// told is a warning as it is shown. It is open while its last event is a complaint.
func (w *warning) told() reason.Warning {
	out := reason.Warning{Skill: w.Skill, Complaint: w.Complaint}
	events := slices.SortedStableFunc(slices.Values(w.Events), func(a, b event) int { return a.At.Compare(b.At) })
	for _, e := range events {
		if e.Over {
			out.Instead = e.Instead
		} else {
			out.Times, out.Instead = out.Times+1, ""
		}
	}
	return out
}

// stageWarnings takes in what was refused, and what passed where something had been refused; or takes it back.
func (l *Layer) stageWarnings(ctx context.Context, b *store.Batch, g *given, s *shape, untrusted []string, by int) error {
	c, o := &g.Case, &g.Outcome
	key := c.Scope.Key(warnKind, situationKey(c, s))
	w, rev, err := load[warnings](ctx, b, key)
	if err != nil {
		return err
	}
	if by < 0 {
		for i := range w.Of {
			w.Of[i].Events = slices.DeleteFunc(w.Of[i].Events, func(e event) bool { return e.Advice == g.ID })
		}
		w.Of = slices.DeleteFunc(w.Of, func(o warning) bool { return len(o.Events) == 0 })
		if err := l.unmake(ctx, b, g); err != nil {
			return err
		}
		return put(b, key, &w, rev)
	}
	refused := slices.Clone(o.Failed)
	if o.Verdict == Failed && o.Complaint != "" {
		refused = append(refused, reason.Failure{Task: reason.Task{Skill: c.Skill}, Worker: o.Worker, Complaint: o.Complaint})
	}
	lesson := ""
	for i, f := range refused {
		lesson = lessonOf(c, s, f.Complaint, untrusted)
		skill := cmp.Or(f.Task.Skill, f.Worker)
		class := classOf(lesson)
		at := slices.IndexFunc(w.Of, func(o warning) bool { return o.Skill == skill && o.Class == class })
		if at < 0 {
			w.Of = append(w.Of, warning{Skill: skill, Class: class, Complaint: lesson, Said: lesson})
			w.Of = w.Of[max(0, len(w.Of)-maxWarnings):]
			at = len(w.Of) - 1
		}
		w.Of[at].Complaint = hide(c, s, w.Of[at].Complaint)
		w.Of[at].add(event{Advice: g.ID, At: g.At.Add(time.Duration(i - len(refused)))})
	}
	over := 0
	for i := range w.Of {
		of := &w.Of[i]
		did := o.Plan == nil || of.Skill == "" || of.Skill == o.Worker || slices.ContainsFunc(o.Plan.Calls, func(call reason.PlanCall) bool { return call.Name == of.Skill })
		if o.Verdict == Delivered && did && !of.Events[len(of.Events)-1].Over {
			of.add(event{Advice: g.ID, At: g.At, Over: true, Instead: instead(g, of.Skill)})
			over++
		}
	}
	if g.Learned.Warnings = len(refused) + over; g.Learned.Warnings == 0 {
		return nil
	}
	if o.Verdict == Failed && lesson != "" {
		if err := l.keepFailure(ctx, b, g, s, lesson); err != nil {
			return err
		}
	}
	if err := put(b, key, &w, rev); err != nil || c.Lessons == c.Scope {
		return err
	}
	key = c.Lessons.Key(warnKind, situationKey(c, s))
	up, rev, err := load[warnings](ctx, b, key)
	if err != nil || slices.Contains(up.Scopes, c.Scope) {
		return err
	}
	up.Scopes = append(up.Scopes, c.Scope)
	up.Scopes = up.Scopes[max(0, len(up.Scopes)-maxScopes):]
	return put(b, key, &up, rev)
}

func (w *warning) add(e event) {
	w.Events = append(w.Events, e)
	w.Events = w.Events[max(0, len(w.Events)-maxEvents):]
}

// instead says what passed where something had been refused: the call of that skill with {name} for the inputs.
func instead(g *given, skill string) string {
	for _, call := range g.plainly("") {
		if call.Name == skill && len(call.Inputs) > 0 {
			return fmt.Sprintf("%s %s passed", skill, call.Inputs)
		}
	}
	return "it passed once that was heeded"
}

// classOf is the class of a complaint: its words, where each word that holds a digit or a {name} is any.
func classOf(lesson string) string {
	var words []string
	for _, w := range strings.Fields(strings.ToLower(lesson)) {
		if strings.ContainsFunc(w, unicode.IsNumber) || strings.ContainsAny(w, "{}…") {
			w = "#"
		}
		words = append(words, w)
	}
	return digest(fold(strings.Join(words, " ")))
}

// lessonOf is a complaint as it is kept: {name} for the values of the inputs, and … for every other word of the case
// that names something, which is one with a digit, a capital or an @ in it. A complaint that quotes a stranger's text,
// the case's included, is not kept.
func lessonOf(c *Case, s *shape, complaint string, untrusted []string) string {
	if quotes(complaint, append([]string{c.Text}, untrusted...)) {
		return quotesStranger
	}
	return plainly(c, s, complaint)
}

const quotesStranger = "it was refused, and the reason quotes what a stranger said"

// plainly returns a text about a case without what is the case's own.
func plainly(c *Case, s *shape, text string) string {
	words := strings.Fields(template(text, s.in))
	names := named(c, s)
	for i, w := range words {
		if core := strings.TrimFunc(w, isMark); names[strings.ToLower(core)] && !strings.Contains(w, "{") {
			words[i] = strings.Replace(w, core, "…", 1)
		}
	}
	out := strings.Join(words, " ")
	return head(out, maxLesson)
}

// hide puts … for each word of a lesson that the case may have brought: one with a part that begins as a word of three
// letters or more of the case does, or the other way round ("Krüger's", "Krüger-Konto"), or is a name of it. So also
// plain words go; they come back where the case at hand has them, too.
func hide(c *Case, s *shape, lesson string) string {
	if lesson == quotesStranger {
		return lesson
	}
	own, names := pieces(textsOf(c, s)...), make(map[string]bool)
	for n := range named(c, s) {
		maps.Copy(names, pieces(n))
	}
	brought := func(p string) bool {
		if names[p] {
			return true
		}
		for o := range own {
			if min(utf8.RuneCountInString(o), utf8.RuneCountInString(p)) >= 3 && (strings.HasPrefix(o, p) || strings.HasPrefix(p, o)) {
				return true
			}
		}
		return false
	}
	words := strings.Fields(lesson)
	for i, w := range words {
		if slices.ContainsFunc(wordsOf(braced.ReplaceAllString(w, " ")), brought) {
			words[i] = "…"
		}
	}
	return strings.Join(words, " ")
}

// restore puts the words back that hide took, where the case at hand has all of their parts itself.
func restore(hidden, said string, c *Case, s *shape) string {
	now := pieces(append(textsOf(c, s), c.Situation)...)
	words, full := strings.Fields(hidden), strings.Fields(said)
	for i := range min(len(words), len(full)) {
		foreign := func(p string) bool { return !now[p] }
		if words[i] != full[i] && !slices.ContainsFunc(wordsOf(braced.ReplaceAllString(full[i], " ")), foreign) {
			words[i] = full[i]
		}
	}
	return strings.Join(words, " ")
}

// textsOf are the texts of a case.
func textsOf(c *Case, s *shape) []string {
	texts := append(said(s.in), c.Text)
	for _, t := range c.Turns {
		texts = append(texts, t.Text)
	}
	return texts
}

func isMark(r rune) bool { return class(r) == sign && r != '@' }

// named are the words of a case that name something, in lower case.
func named(c *Case, s *shape) map[string]bool {
	out := make(map[string]bool)
	for _, text := range textsOf(c, s) {
		for _, w := range strings.Fields(text) {
			w = strings.TrimFunc(w, isMark)
			if strings.ContainsFunc(w, naming) {
				out[strings.ToLower(w)] = true
			}
		}
	}
	return out
}

// quoted is how many words in a row make a quotation.
const quoted = 6

// quotes reports whether a text repeats six words in a row of one of the others.
func quotes(text string, of []string) bool {
	runs := make(map[string]bool)
	for _, o := range of {
		w := wordsOf(o)
		for i := 0; i+quoted <= len(w); i++ {
			runs[strings.Join(w[i:i+quoted], " ")] = true
		}
	}
	w := wordsOf(text)
	for i := 0; i+quoted <= len(w); i++ {
		if runs[strings.Join(w[i:i+quoted], " ")] {
			return true
		}
	}
	return false
}

// tainted returns why a plan is not learned: a stranger's words stand in a call, and not in the case; or a call quotes
// what it was refused with. Another spelling does not matter, see spelt. What is translated or encoded is not seen, nor
// a value of fewer than eight letters and digits that is written otherwise ("5.000").
func tainted(c *Case, calls []reason.PlanCall, strangers, complaints []string) string {
	mine := c.Text + " " + string(c.Inputs)
	own := []string{spelt(c.Text)}
	if v, err := decode(c.Inputs); err == nil {
		for _, w := range said(leaves(nil, "", v)) {
			own = append(own, spelt(w))
		}
	}
	var texts, tokens []string
	for _, u := range strangers {
		texts, tokens = append(texts, spelt(u)), append(tokens, addresses(u)...)
	}
	in := func(texts []string, w string) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, w) })
	}
	respelt := func(w string) bool {
		value := spelt(w)
		whole := utf8.RuneCountInString(value) >= minSpelt && !in(own, value) && in(texts, value)
		return whole || slices.ContainsFunc(addresses(w), func(t string) bool { return !in(own, t) && in(texts, t) }) ||
			slices.ContainsFunc(tokens, func(t string) bool { return !in(own, t) && strings.Contains(value, t) })
	}
	for _, call := range calls {
		v, err := decode(call.Inputs)
		if err != nil {
			return call.Name + " has inputs that are no JSON"
		}
		for _, l := range append(leaves(nil, "", v), leaf{"its words", call.Text}) {
			w := word(l.v)
			by := func(u string) bool { return holds(u, w) }
			if w != "" && !holds(mine, w) && (slices.ContainsFunc(strangers, by) || quotes(w, slices.Concat(strangers, complaints)) || respelt(w)) {
				return fmt.Sprintf("%s: %s says what somebody else said", call.Name, l.path)
			}
		}
	}
	return ""
}

// minSpelt is how many letters and digits must be equal where spaces and signs are not compared.
const minSpelt = 8

// spelt is a text without what a model changes as it likes: its letters and digits in one case and width.
func spelt(s string) string {
	return strings.Map(func(r rune) rune {
		if class(r) == sign {
			return -1
		}
		return r
	}, strings.ToLower(norm.NFKC.String(s)))
}

// addresses are the words of a text, as spelt, that are made to be copied: they have a digit, or a sign inside that is
// no hyphen or apostrophe. Plain words are anybody's.
func addresses(s string) (out []string) {
	for _, w := range strings.Fields(s) {
		made := func(r rune) bool {
			return unicode.IsNumber(r) || class(r) == sign && unicode.IsPrint(r) && !strings.ContainsRune("-'’", r)
		}
		if t := spelt(w); utf8.RuneCountInString(t) >= minSpelt && strings.ContainsFunc(strings.TrimFunc(w, isMark), made) {
			out = append(out, t)
		}
	}
	return out
}
