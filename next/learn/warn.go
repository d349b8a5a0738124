package learn

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/store"
)

// warning is a class of complaint about a skill or tool in a situation, with what came of it, the latest last.
type warning struct {
	Skill, Class string
	Said         string // with its case's words marked, see mark
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
	return digest(cmp.Or(c.Situation, "\x00"+fold(s.template)))
}

// warnings are those of a situation: of a case's scope, and those that two scopes of its Lessons came to.
func (l *Layer) warnings(ctx context.Context, c *Case, s *shape, id string) (out []reason.Warning, err error) {
	st := l.group.Store()
	up, _, err := codec.Load[record](ctx, st, c.Lessons.Key(warnKind, id))
	if err != nil {
		return nil, err
	}
	all := &record{}
	from := make(map[*warning]int)
	scopes := slices.DeleteFunc(up.Scopes, func(o memory.Scope) bool { return o == c.Scope })
	for i, scope := range append([]memory.Scope{c.Scope}, scopes...) {
		r, _, err := codec.Load[record](ctx, st, scope.Key(warnKind, id))
		if err != nil {
			return nil, err
		}
		for _, o := range r.Refused {
			w := all.warning(o.Skill, o.Class, o.Said)
			w.Events = append(w.Events, o.Events...)
			if from[w]++; i == 0 {
				from[w]++ // one's own is enough
			}
		}
	}
	for _, w := range all.Refused {
		told := reason.Warning{Skill: w.Skill, Complaint: tell(w.Said, c, s)}
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
	return out, nil
}

// warning returns a class of complaint, a new one where there is none.
func (r *record) warning(skill, class, said string) *warning {
	i := slices.IndexFunc(r.Refused, func(w *warning) bool { return w.Skill == skill && w.Class == class })
	if i < 0 {
		i, r.Refused = len(r.Refused), append(r.Refused, &warning{Skill: skill, Class: class, Said: said})
	}
	return r.Refused[i]
}

// refuse takes in what was refused, and what passed where something had been refused; or takes it back.
func (l *Layer) refuse(ctx context.Context, b *store.Batch, g *given, s *shape, strangers []string, by int) error {
	c, o, id := &g.Case, &g.Outcome, situationKey(&g.Case, s)
	refused := slices.Clone(o.Failed)
	if o.Verdict == Failed && o.Complaint != "" {
		refused = append(refused, reason.Failure{Task: reason.Task{Skill: c.Skill, Worker: o.Worker}, Complaint: o.Complaint})
	}
	changed, lesson := len(refused) > 0, ""
	err := edit(ctx, b, c.Scope.Key(warnKind, id), func(r *record) (bool, error) {
		if by < 0 {
			for _, w := range r.Refused {
				w.Events = slices.DeleteFunc(w.Events, func(e event) bool { return e.Advice == c.ID })
			}
			r.Refused = slices.DeleteFunc(r.Refused, func(w *warning) bool { return len(w.Events) == 0 })
			return true, nil
		}
		for i, f := range refused {
			text := head(template(unmarked.Replace(f.Complaint), s.in), maxLesson)
			if quotes(spelt(f.Complaint), "", spelt(strings.Join(strangers, "\n"))) {
				text = "it was refused, and the reason quotes what a stranger said"
			}
			lesson = mark(text, c, s)
			w := r.warning(cmp.Or(f.Task.Skill, f.Worker), classOf(lesson), lesson)
			w.add(event{Advice: c.ID, At: g.At.Add(time.Duration(i - len(refused)))})
		}
		r.Refused = r.Refused[max(0, len(r.Refused)-maxWarnings):]
		for _, w := range r.Refused {
			made := func(call reason.PlanCall) bool { return call.Name == w.Skill }
			did := o.Plan == nil || w.Skill == "" || w.Skill == o.Worker || slices.ContainsFunc(o.Plan.Calls, made)
			if o.Verdict == Delivered && did && !w.Events[len(w.Events)-1].Over {
				w.add(event{Advice: c.ID, At: g.At, Over: true, Instead: instead(g, w.Skill)})
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
	if o.Verdict == Failed && lesson != "" { // for cases that are like it: nobody vouches for words of whoever refused it
		r, err := l.bank.In(c.Scope).Stage(b).Remember(ctx, memory.Draft{Kind: memory.Failure, Trigger: triggerOf(c, s),
			Content: tell(lesson, &Case{}, &shape{}), Plan: encode(lesson), At: g.At, Source: memory.Source{Origin: memory.Executor, Run: c.ID, Ref: refusedRef}})
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
	return cmp.Or(c.Situation, unmarked.Replace(mark(head(s.template, maxLesson), c, s)))
}

func (w *warning) add(e event) {
	w.Events = append(w.Events, e)
	w.Events = w.Events[max(0, len(w.Events)-maxEvents):]
}

// instead says what passed where something had been refused: the call of that skill with {name} for the inputs.
func instead(g *given, skill string) string {
	var r record
	if g.Outcome.Plan != nil {
		r.add(&delivery{Text: g.Case.Text, Inputs: g.Case.Inputs, Calls: g.Outcome.Plan.Calls}, nil)
	}
	for _, p := range r.read("") {
		sg, _ := p.suggestion(&shape{}, "")
		for _, call := range sg.Plan.Calls {
			if call.Name == skill && len(call.Inputs) > 0 {
				return fmt.Sprintf("%s %s passed", skill, call.Inputs)
			}
		}
	}
	return "it passed once that was heeded"
}

// classOf is the class of a complaint: its words, where each that holds a digit, a {name} or a name is any.
func classOf(lesson string) string {
	words := strings.Fields(strings.ToLower(unmarked.Replace(lesson)))
	for i, w := range words {
		if strings.ContainsFunc(w, unicode.IsNumber) || strings.ContainsAny(w, "{}…") {
			words[i] = "#"
		}
	}
	return digest(fold(strings.Join(words, " ")))
}

// mark puts … for each word of a lesson that names something in the case: one with a digit, a capital or an @ in it.
// Each other word that the case may have brought it puts between two signs, and tell says it where the case at hand
// has it, too: one with a part that begins as a word of three letters or more of the case does, or the other way round
// ("Krüger's", "Krüger-Konto"), or is a part of a name. In scripts without spaces each letter is a word.
func mark(lesson string, c *Case, s *shape) string {
	own, names, parts := pieces(textsOf(c, s)...), make(map[string]bool), make(map[string]bool)
	for _, w := range strings.Fields(strings.Join(textsOf(c, s), " ")) {
		if w = strings.TrimFunc(w, isMark); strings.ContainsFunc(w, naming) {
			names[strings.ToLower(w)] = true
			maps.Copy(parts, pieces(w))
		}
	}
	brought := func(p string) bool {
		if parts[p] || own[p] && unicode.In(first(p), unspaced...) {
			return true
		}
		for o := range own {
			if min(utf8.RuneCountInString(o), utf8.RuneCountInString(p)) >= 3 && (strings.HasPrefix(o, p) || strings.HasPrefix(p, o)) {
				return true
			}
		}
		return false
	}
	return words.ReplaceAllStringFunc(lesson, func(w string) string {
		core := strings.TrimFunc(w, isMark)
		switch {
		case names[strings.ToLower(core)] && !strings.Contains(w, "{"):
			return strings.Replace(w, core, "…", 1)
		case slices.ContainsFunc(wordsOf(braced.ReplaceAllString(w, " ")), brought):
			return "\x01" + w + "\x02"
		}
		return w
	})
}

// tell returns a lesson as it is told for a case: with … for each marked word that has a part which the case has not.
func tell(lesson string, c *Case, s *shape) string {
	now := pieces(append(textsOf(c, s), c.Situation)...)
	out := marked.ReplaceAllStringFunc(lesson, func(w string) string {
		w = w[1 : len(w)-1]
		if slices.ContainsFunc(wordsOf(braced.ReplaceAllString(w, " ")), func(p string) bool { return !now[p] }) {
			return "…"
		}
		return w
	})
	return gaps.ReplaceAllString(out, "…")
}

// words are what is between spaces, and single letters of scripts without them.
var (
	words  = regexp.MustCompile(`[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]|[^\s\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+`)
	marked = regexp.MustCompile("\x01[^\x02]*\x02")
	gaps   = regexp.MustCompile(`…{2,}`)

	unmarked = strings.NewReplacer("\x01", "", "\x02", "")
)

// textsOf are the texts of a case.
func textsOf(c *Case, s *shape) []string {
	texts := append(said(s.in), c.Text)
	for _, t := range c.Turns {
		texts = append(texts, t.Text)
	}
	return texts
}

func isMark(r rune) bool { return class(r) == sign && r != '@' }

// How many letters and digits must be equal where spaces, signs and case are not compared: of a value as a whole, and
// of a part of one.
const (
	minSpelt = 8
	minQuote = 24
)

// tainted returns why a plan is not learned: a stranger's words stand in a call, and not in the case; or a call quotes
// what it was refused with. Another spelling does not matter. What is translated or encoded is not seen, nor a value
// of fewer than eight letters and digits that is written otherwise ("5.000").
func tainted(c *Case, s *shape, calls []reason.PlanCall, strangers, complaints []string) string {
	mine := append(said(s.in), c.Text)
	all := strings.Join(strangers, "\n")
	own, theirs, refused := spelt(strings.Join(mine, "\n")), spelt(all), spelt(strings.Join(complaints, "\n"))
	foreign := func(w string) bool { return !strings.Contains(own, w) && strings.Contains(theirs, w) }
	for _, call := range calls {
		v, err := decode(call.Inputs)
		if err != nil {
			return call.Name + ": " + err.Error()
		}
		for _, l := range append(leaves(v), leaf{"its words", call.Text}) {
			w := word(l.v)
			value := spelt(w)
			copied := func(t string) bool { return !strings.Contains(own, t) && strings.Contains(value, t) }
			if slices.ContainsFunc(mine, func(t string) bool { return holds(t, w) }) {
				continue
			}
			if holds(all, w) || utf8.RuneCountInString(value) >= minSpelt && foreign(value) || quotes(value, own, theirs, refused) ||
				slices.ContainsFunc(addresses(w), foreign) || slices.ContainsFunc(addresses(all), copied) {
				return fmt.Sprintf("%s: %s says what somebody else said", call.Name, l.path)
			}
		}
	}
	return ""
}

// quotes reports whether a text has a run of letters and digits of one of the others that own has not. All are spelt.
func quotes(text, own string, others ...string) bool {
	mine := make(map[string]bool)
	runs := func(text string, f func(run string) bool) bool {
		runes := []rune(text)
		for i := 0; i+minQuote <= len(runes); i++ {
			if f(string(runes[i : i+minQuote])) {
				return true
			}
		}
		return false
	}
	runs(text, func(run string) bool { mine[run] = true; return false })
	return len(mine) > 0 && slices.ContainsFunc(others, func(o string) bool {
		return runs(o, func(run string) bool {
			hit := mine[run]
			delete(mine, run)
			return hit && !strings.Contains(own, run)
		})
	})
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
		made := func(r rune) bool {
			return unicode.IsNumber(r) || class(r) == sign && unicode.IsPrint(r) && !strings.ContainsRune("-'’", r)
		}
		if t := spelt(w); utf8.RuneCountInString(t) >= minSpelt && strings.ContainsFunc(strings.TrimFunc(w, isMark), made) {
			out = append(out, t)
		}
	}
	return out
}
