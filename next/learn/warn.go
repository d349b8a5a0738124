package learn

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
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

// warning is a class of complaint about a skill or tool in a situation, with what came of it, the latest last.
type warning struct {
	Skill, Class string
	Said         string   // the complaint, with {path} for inputs and … for what names something, see lesson
	Own          []string // its words that the case may have brought
	Events       []event
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
	return digest(cmp.Or(c.Situation, "\x00"+s.folded))
}

// warnings are those of a situation: of a case's scope, and those that two scopes of its Lessons came to.
func (l *Layer) warnings(ctx context.Context, c *Case, s *shape, id string) (out []reason.Warning, err error) {
	load := func(scope memory.Scope) *record {
		r, no := l.at(ctx, scope, warnKind, id)
		err = cmp.Or(err, no)
		return r
	}
	kept := []*record{load(c.Scope)}
	up := kept[0]
	if c.Lessons != c.Scope {
		up = load(c.Lessons)
	}
	for _, scope := range up.Scopes {
		if scope != c.Scope {
			kept = append(kept, load(scope))
		}
	}
	all, from := &record{}, make(map[*warning]int)
	for i, r := range kept {
		for _, o := range r.Refused {
			w := all.warning(o)
			w.Events = append(w.Events, o.Events...)
			if from[w]++; i == 0 {
				from[w]++ // one's own is enough
			}
		}
	}
	for _, w := range all.Refused {
		told := reason.Warning{Skill: w.Skill, Complaint: w.tell(append(textsOf(c, s), c.Situation))}
		slices.SortStableFunc(w.Events, func(a, b event) int { return a.At.Compare(b.At) })
		for _, e := range w.Events {
			if told.Instead = e.Instead; !e.Over { // it is open while its last event is a complaint
				told.Times++
			}
		}
		if from[w] > 1 && told.Times > 0 && len(out) < maxTold {
			out = append(out, told)
		}
	}
	return out, err
}

// warning returns the one of a skill and class, a new one where there is none.
func (r *record) warning(like *warning) *warning {
	i := slices.IndexFunc(r.Refused, func(w *warning) bool { return w.Skill == like.Skill && w.Class == like.Class })
	if i < 0 {
		i, r.Refused = len(r.Refused), append(r.Refused, &warning{Skill: like.Skill, Class: like.Class, Said: like.Said, Own: like.Own})
	}
	return r.Refused[i]
}

func (w *warning) add(e event) {
	w.Events = append(w.Events, e)
	w.Events = w.Events[max(0, len(w.Events)-maxEvents):]
}

// refuse takes in what was refused, and what passed where something had been refused; or takes it back.
func (l *Layer) refuse(ctx context.Context, b *store.Batch, g *given, s *shape, strangers []string, by int) error {
	c, o, id := &g.Case, &g.Outcome, situationKey(&g.Case, s)
	refused := slices.Clone(o.Failed)
	if o.Verdict == Failed && o.Complaint != "" && (len(refused) == 0 || !g.Judged.IsZero()) {
		refused = append(refused, reason.Failure{Task: reason.Task{Skill: c.Skill, Worker: o.Worker}, Complaint: o.Complaint})
	}
	changed, last := len(refused) > 0, &warning{}
	err := edit(ctx, b, c.Scope.Key(warnKind, id), func(r *record) (bool, error) {
		if by < 0 {
			for _, w := range r.Refused {
				w.Events = slices.DeleteFunc(w.Events, func(e event) bool { return e.Advice == c.ID })
			}
			r.Refused = slices.DeleteFunc(r.Refused, func(w *warning) bool { return len(w.Events) == 0 })
			return true, nil
		}
		for i, f := range refused {
			last = lesson(f.Complaint, c, s, strangers)
			last.Skill = cmp.Or(f.Task.Skill, f.Worker)
			r.warning(last).add(event{Advice: c.ID, At: g.At.Add(time.Duration(i - len(refused)))})
		}
		r.Refused = r.Refused[max(0, len(r.Refused)-maxWarnings):]
		instead := "it passed once that was heeded"
		if o.Plan != nil && len(o.Plan.Calls) > 0 {
			instead = summary(o.Plan.Calls)
		}
		for _, w := range r.Refused {
			made := func(call reason.PlanCall) bool { return call.Name == w.Skill }
			did := o.Plan == nil || w.Skill == "" || w.Skill == o.Worker || slices.ContainsFunc(o.Plan.Calls, made)
			if o.Verdict == Delivered && did && !w.Events[len(w.Events)-1].Over {
				w.add(event{Advice: c.ID, At: g.At, Over: true, Instead: instead})
				changed = true
			}
		}
		return changed, nil
	})
	if by < 0 && g.Made != "" {
		err = cmp.Or(err, l.bank.In(c.Scope).Stage(b).Forget(ctx, g.Made))
		g.Made = ""
	}
	if by < 0 || !changed || err != nil {
		return err
	}
	if o.Verdict == Failed && last.Said != "" { // for cases that are like it: nobody vouches for words of whoever refused it
		r, err := l.bank.In(c.Scope).Stage(b).Remember(ctx, memory.Draft{Kind: memory.Failure, Trigger: triggerOf(c, s),
			Content: last.tell(nil), Plan: encode(last), At: g.At, Source: memory.Source{Origin: memory.Executor, Run: c.ID, Ref: refusedRef}})
		if err != nil {
			return err
		}
		if r.Strengthened == 0 {
			g.Made = r.ID
		}
	}
	if c.Lessons == c.Scope {
		return nil
	}
	return edit(ctx, b, c.Lessons.Key(warnKind, id), func(up *record) (bool, error) {
		up.share(c.Scope)
		return true, nil
	})
}

// refusedRef is the Ref of memories of what was refused. Their Trigger is what their cases are found by.
const refusedRef = "refused"

func triggerOf(c *Case, s *shape) string {
	if c.Situation != "" {
		return c.Situation
	}
	return lesson(s.template, c, s, nil).Said
}

// lesson returns a complaint without what it names of the case, or of what strangers said beside it: … for each such
// word with a digit, a capital or an @ in it. Of other words that the case may have brought tell decides: those with a
// part that is one of the case, or begins as one of three letters or more does, or the other way round ("Krügers",
// "Krüger-Konto"). In scripts without spaces each letter is a word. The class of a lesson is what it says, where each
// word with a digit, a {name} or a … is any.
func lesson(complaint string, c *Case, s *shape, strangers []string) *warning {
	w := &warning{}
	own, theirs := pieces(textsOf(c, s)...), pieces(strangers...)
	brought := func(p string) bool {
		for o := range own {
			if o == p || min(utf8.RuneCountInString(o), utf8.RuneCountInString(p)) >= 3 && (strings.HasPrefix(o, p) || strings.HasPrefix(p, o)) {
				return true
			}
		}
		return false
	}
	w.Said = gaps.ReplaceAllString(words.ReplaceAllStringFunc(head(template(complaint, s.in), maxLesson), func(word string) string {
		mine, foreign, says := false, false, false
		for p := range pieces(braced.ReplaceAllString(word, " ")) {
			mine, foreign = mine || brought(p), foreign || theirs[p]
			letters := utf8.RuneCountInString(p) // of an alphabet, two say nothing ("of"); in Chinese one does
			says = says || brought(p) && (letters >= 3 || len(p) > 2*letters)
		}
		if (mine || foreign) && !strings.Contains(word, "{") && strings.ContainsFunc(word, naming) {
			return "…"
		}
		if says {
			w.Own = append(w.Own, word)
		}
		return word
	}), "…")
	class := strings.Fields(strings.ToLower(w.Said))
	for i, word := range class {
		if strings.ContainsFunc(word, unicode.IsNumber) || strings.ContainsAny(word, "{}…") {
			class[i] = "#"
		}
	}
	w.Class = digest(fold(strings.Join(class, " ")))
	return w
}

// tell returns a lesson as it is told for a case of these texts: with … for each word of another case with a part that
// these have not.
func (w *warning) tell(texts []string) string {
	now := pieces(texts...)
	return gaps.ReplaceAllString(words.ReplaceAllStringFunc(w.Said, func(word string) string {
		if slices.Contains(w.Own, word) {
			for p := range pieces(braced.ReplaceAllString(word, " ")) {
				if !now[p] {
					return "…"
				}
			}
		}
		return word
	}), "…")
}

// words are what is between spaces, and single letters of scripts without them.
var (
	words = regexp.MustCompile(`[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]|[^\s\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+`)
	gaps  = regexp.MustCompile(`…{2,}`)
)

// textsOf are the texts of a case.
func textsOf(c *Case, s *shape) []string {
	texts := append(said(s.in), c.Text)
	for _, t := range c.Turns {
		texts = append(texts, t.Text)
	}
	return texts
}

// How many letters and digits must be equal where spaces, signs and case are not compared: of what is made to be copied,
// and of a quotation.
const (
	minMade  = 8
	minQuote = 24
)

// tainted returns why a plan is not learned: a call says what a stranger said and the case does not, as a whole value, as
// something that is made to be copied, or as a quotation; or it quotes a complaint. Another spelling does not matter.
// What is translated or encoded is not seen, nor a value of fewer than eight letters and digits that is written
// otherwise ("5.000").
func tainted(c *Case, s *shape, calls []reason.PlanCall, strangers, complaints []string) string {
	mine, all := append(said(s.in), c.Text), strings.Join(strangers, "\n")
	own, theirs, refused := spelt(strings.Join(mine, "\n")), spelt(all), spelt(strings.Join(complaints, "\n"))
	made := addresses(all)
	for _, call := range calls {
		v, err := decode(call.Inputs)
		if err != nil {
			return call.Name + ": " + err.Error()
		}
		for _, l := range append(leaves(v), leaf{"its words", call.Text}) {
			w := word(l.v)
			if slices.ContainsFunc(mine, func(t string) bool { return holds(t, w) }) {
				continue
			}
			value := spelt(w)
			copied := func(from, to string, parts ...string) bool {
				return slices.ContainsFunc(parts, func(p string) bool {
					return utf8.RuneCountInString(p) >= minMade && !strings.Contains(own, p) && strings.Contains(from, p) && strings.Contains(to, p)
				})
			}
			if holds(all, w) || copied(theirs, value, append(addresses(w), value)...) || copied(theirs, value, made...) ||
				quotes(value, own, theirs+"\n"+refused) {
				return fmt.Sprintf("%s: %s says what somebody else said", call.Name, l.path)
			}
		}
	}
	return ""
}

// quotes reports whether a text has a long run of letters and digits of another that own has not. All are spelt.
func quotes(text, own, other string) bool {
	r := []rune(text)
	for i := minQuote; i <= len(r); i++ {
		if run := string(r[i-minQuote : i]); strings.Contains(other, run) && !strings.Contains(own, run) {
			return true
		}
	}
	return false
}

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
		w = strings.TrimFunc(w, func(r rune) bool { return class(r) == sign && r != '@' })
		if strings.ContainsFunc(w, func(r rune) bool {
			return unicode.IsNumber(r) || class(r) == sign && unicode.IsPrint(r) && !strings.ContainsRune("-'’", r)
		}) {
			out = append(out, spelt(w))
		}
	}
	return out
}
