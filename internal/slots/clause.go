package slots

// clauses divides a sentence into clauses and reads each.
func (p *parser) clauses(ts []token) {
	ts = unparenthesized(ts)
	start, verb := 0, false
	dropped := len(ts) > 0 && p.subordinate(ts, 0)
	cut := func(end int) {
		if !dropped {
			p.clause(ts[start:end])
		}
		verb, dropped = false, false
	}
	for i := 0; i < len(ts); i++ {
		t := &ts[i]
		if t.quoted {
			continue
		}
		switch {
		case t.mark && (t.low == ";"), t.low == "but" && i > 0 && (p.clauseAhead(ts, i+1) || ts[i-1].low == ","):
			cut(i)
			start = i + 1
			dropped = start < len(ts) && p.subordinate(ts, start)
		case t.mark && t.low == "," && dropped:
			cut(i)
			start = i + 1
		case t.mark && (t.low == "," || t.low == ":"), t.low == "and", t.low == "so", t.low == "then":
			if t.low == "," && verb && i+1 < len(ts) && (ts[i+1].low == "which" || ts[i+1].low == "who") {
				cut(i)
				start, dropped = i+1, true
				continue
			}
			if verb && p.clauseAhead(ts, i+1) {
				cut(i)
				start = i + 1
				if start < len(ts) && (ts[start].low == "and" || ts[start].low == "so" || ts[start].low == "then") {
					start++
					i++
				}
				dropped = start < len(ts) && p.subordinate(ts, start)
			}
		case verb && i > start && p.subordinate(ts, i):
			cut(i)
			start, dropped = i, true
		default:
			if v, ok := verbs[t.low]; be[t.low] || t.poss && i+1 < len(ts) && be2[ts[i+1].low] || ok && v.form != ing {
				verb = true
			}
		}
	}
	if start < len(ts) {
		cut(len(ts))
	}
}

var be2 = set(`now no not currently based living`)

// subordinate reports whether a clause that depends on another begins at i.
func (p *parser) subordinate(ts []token, i int) bool {
	w := ts[i].low
	if !subordinator[w] || ts[i].quoted {
		return false
	}
	switch w {
	case "since", "once", "after", "before", "until":
		// "since March" is none: it has no verb.
		if times(ts[i:]) > 0 || i > 0 && (ts[i-1].low == "has" || ts[i-1].low == "have") {
			return false
		}
		return p.clauseAhead(ts, i+1) || w != "since" && i+1 < len(ts) && verbs[ts[i+1].low].form == ing
	case "when", "so", "where":
		if w == "where" && i > 0 && be[ts[i-1].low] {
			return false
		}
		if w == "when" && i+3 < len(ts) && ts[i+1].low == "it" && ts[i+2].low == "comes" {
			return false
		}
		return w != "so" && p.clauseAhead(ts, i+1)
	case "if", "while", "because", "although", "though", "whereas", "whenever", "wherever", "unless":
		return true
	}
	return false
}

// clauseAhead reports whether a finite verb comes soon, before the next mark.
func (p *parser) clauseAhead(ts []token, i int) bool {
	for n := 0; i < len(ts) && n < 8; i, n = i+1, n+1 {
		t := &ts[i]
		if t.mark && n > 0 || t.quoted {
			return false
		}
		if be[t.low] || t.low == "has" || t.low == "have" || t.low == "had" || t.low == "doesn" {
			return true
		}
		if v, ok := verbs[t.low]; ok && v.form == base && n > 0 && ts[i-1].low == "now" {
			return true
		}
		if v, ok := verbs[t.low]; ok && (v.form == third || v.form == past && v.event || v.form == past && n > 0 ||
			v.form == base && n > 0 && (ts[i-1].low == "i" || ts[i-1].low == "we" || ts[i-1].low == "they" || ts[i-1].low == "you")) {
			if n > 0 && (ts[i-1].poss || determiner[ts[i-1].low] || fresh[ts[i-1].low] && ts[i-1].low != "now" && ts[i-1].low != "currently") {
				continue
			}
			return true
		}
	}
	return false
}

// unparenthesized leaves out what stands in parentheses, and what follows
// ", who" or ", which" up to a comma before the main verb.
func unparenthesized(ts []token) []token {
	found := false
	for i := range ts {
		if ts[i].mark && (ts[i].low == "(" || ts[i].low == ")") || ts[i].low == "who" || ts[i].low == "which" || ts[i].low == "aged" || i > 1 && bygone[ts[i].low] && ts[i-1].mark {
			found = true
			break
		}
	}
	if !found {
		return ts
	}
	out := make([]token, 0, len(ts))
	for i := 0; i < len(ts); i++ {
		t := &ts[i]
		switch {
		case t.mark && t.low == "(":
			for i < len(ts) && !(ts[i].mark && ts[i].low == ")") {
				i++
			}
		case t.mark && t.low == ")":
		case t.mark && t.low == "," && i+1 < len(ts) && (ts[i+1].low == "who" || ts[i+1].low == "which" || i > 0 && bygone[ts[i+1].low] && i+2 < len(ts)):
			end := i + 2
			for end < len(ts) && !(ts[end].mark && ts[end].low == ",") {
				end++
			}
			if end == len(ts) {
				out = append(out, *t)
				continue
			}
			i = end
		default:
			out = append(out, *t)
		}
	}
	return out
}

// group is a verb with what belongs to it.
type group struct {
	at, end int // tokens from and up to
	verb    verb
	low     string // the verb's word
	passive bool
	past    bool
	neg     bool
	now     bool
	future  bool
	used    bool // used to
}

// clause reads one clause.
func (p *parser) clause(ts []token) {
	ts = trimMarks(ts)
	if len(ts) < 2 {
		return
	}
	p.as, p.of = nil, nil
	if p.aged(ts) || p.dueBy(ts) || p.considered(ts) {
		return
	}
	gone := false
	for i := range ts {
		t := &ts[i]
		if t.quoted || t.mark {
			continue
		}
		if bygone[t.low] || t.low == "used" && i+1 < len(ts) && ts[i+1].low == "to" && (i == 0 || !be[ts[i-1].low]) {
			gone = true
		}
		if hedged(ts, i) {
			return
		}
	}
	for range 4 { // more pairs than a statement has
		ts = joined(ts)
	}
	ts = p.lead(ts)
	if len(ts) < 2 {
		return
	}
	if p.doneWith(ts) || p.itIs(ts) || p.label(ts, gone) {
		return
	}
	if g, ok := p.find(ts); ok {
		g.past, g.used = g.past || gone, g.used || gone
		p.state(ts, g)
	}
}

// itIs reads "I updated the A of S: it's V" and "forget the A of S: it is V".
func (p *parser) itIs(ts []token) bool {
	k := -1
	for i := 1; i+2 < len(ts); i++ {
		if ts[i].mark && ts[i].low == ":" && ts[i+1].low == "it" && (be[ts[i+2].low] || ts[i+1].poss) {
			k = i
			break
		}
	}
	if k < 0 {
		return false
	}
	left := ts[:k]
	for i := range left {
		if v := verbs[left[i].low]; left[i].low == "about" || v.sense == change && v.form == past && i < 4 {
			left = left[i+1:]
			break
		}
	}
	ph := p.phrase(left)
	if !ph.ok || !ph.attributive() {
		return false
	}
	p.topic, p.open = ph.words, true
	g, ok := p.find(ts[k+1:])
	if ok {
		g.now = true
		p.state(ts[k+1:], g)
	}
	return ok
}

// joined makes one token of the first of some pairs ("time zone", "likes best")
// and of what was decided ("decided to move").
func joined(ts []token) []token {
	for i := 0; i+1 < len(ts); i++ {
		one := ""
		switch a, b := ts[i].low, ts[i+1].low; {
		case a == "time" && b == "zone":
			one = "timezone"
		case a == "due" && b == "date":
			one = "deadline"
		case a == "point" && b == "of" && word1(ts, i+2) == "contact":
			return append(append([]token(nil), ts[:i]...), ts[i+2:]...)
		case (a == "likes" || a == "like" || a == "loves" || a == "love") && (b == "best" || b == "most"):
			one = "favorite"
		case (a == "opted" && b == "for" || (a == "settled" || a == "decided" || a == "landed") && b == "on") && i > 0:
			one = "chose"
		case (a == "decided" || a == "had" || a == "chose" || a == "managed" || a == "agreed") && b == "to" && i > 0 && pastOf[word1(ts, i+2)] != "":
			out := append([]token(nil), ts[:i]...)
			v := pastOf[ts[i+2].low]
			return append(append(out, token{text: v, low: v}), ts[i+3:]...)
		}
		if one != "" {
			out := append([]token(nil), ts[:i]...)
			out = append(out, token{text: one, low: one, poss: ts[i+1].poss})
			return append(out, ts[i+2:]...)
		}
	}
	return ts
}

// doneWith reads "we build with `make`" and "tests are run with `make test`".
func (p *parser) doneWith(ts []token) bool {
	q := len(ts) - 1
	for q > 0 && !ts[q].quoted {
		q--
	}
	if q < 2 || ts[q-1].low != "with" && ts[q-1].low != "using" && ts[q-1].low != "via" {
		return false
	}
	var task []token
	for i := range ts[:q-1] {
		switch w := ts[i].low; {
		case w == "we" || w == "you" || w == "i" || w == "can" || w == "must" || w == "should" || be[w] || adverb[w] || w == "not" || w == "it":
			if w == "not" {
				return false
			}
		default:
			task = append(task, ts[i])
		}
	}
	if len(task) == 0 || len(task) > 5 {
		return false
	}
	for i := range task {
		if task[i].mark || task[i].poss {
			return false
		}
	}
	o := p.object(ts[q:], true)
	g := group{past: len(ts) > 1 && (ts[1].low == "was" || ts[1].low == "were")}
	return p.emit(p.task(task), ts[q:q+1], quotedOnly(o.not), &g, o.now, false) || true
}

func hedged(ts []token, i int) bool {
	w := ts[i].low
	if !hedge[w] && w != "may" && w != "will" && w != "going" && w != "not" {
		return false
	}
	next := ""
	if i+1 < len(ts) {
		next = ts[i+1].low
	}
	switch w {
	case "plan", "plans":
		return (next == "to" || next == "on") && !(i > 0 && (nominal(&ts[i-1]) || ts[i-1].proper() && i > 1 && nominal(&ts[i-2])))
	case "will":
		return next != "be" && next != "now" && next != "take" && next != "happen" && next != "not"
	case "guess":
		return next != "what"
	case "planned", "expected":
		return next != "for"
	case "going":
		return next == "to" && i > 0 && be[ts[i-1].low]
	case "may":
		return !ts[i].proper() && !(i > 0 && preposition[ts[i-1].low])
	case "not":
		return next == "sure" || next == "only" || next == "yet"
	case "also":
		return i > 0
	case "too":
		return i == len(ts)-1 || ts[i+1].mark
	case "likes", "suggest", "ask", "supposed", "offer", "need", "needs":
		return true
	}
	return true
}

// aged reads "Alice, aged 35, is well".
func (p *parser) aged(ts []token) bool {
	for i := 1; i+1 < len(ts); i++ {
		if ts[i].low == "aged" && ts[i+1].digits() == len(ts[i+1].text) && ts[i-1].low == "," {
			if ph := p.phrase(ts[:i-1]); ph.ok && ph.names {
				return p.emit(ph.words.with("age"), ts[i+1:i+2], nil, new(group), false, false) || true
			}
		}
	}
	return false
}

// considered reads "Alice considers V her favourite A".
func (p *parser) considered(ts []token) bool {
	c := -1
	for i := range ts {
		if ts[i].low == "considers" {
			c = i
		}
		if c > 0 && i > c+1 && (ts[i].low == "his" || ts[i].low == "her" || ts[i].low == "their") {
			sub := p.phrase(ts[:c])
			ph := p.noun(ts[i:])
			if !sub.ok || !sub.names || !ph.ok {
				return false
			}
			return p.emit(sub.words.with(ph.words...), ts[c+1:i], nil, new(group), false, false) || true
		}
	}
	return false
}

// dueBy reads "we have to finish X by V" and "X must be done by V".
func (p *parser) dueBy(ts []token) bool {
	by := -1
	for i := range ts {
		if ts[i].low == "by" && i+1 < len(ts) && kindOf(ts[i+1:]) == temporal {
			by = i
		}
	}
	if by < 3 {
		return false
	}
	must := false
	for i := range ts[:by] {
		switch ts[i].low {
		case "must", "need", "needs", "have", "has", "should":
			must = must || ts[i].low == "must" || ts[i].low == "should" || ts[i+1].low == "to"
		case "not", "if", "t":
			return false
		case "finish", "complete", "deliver", "submit", "ship", "finished", "done", "completed", "delivered", "submitted", "ready":
			what := ts[i+1 : by]
			if i == by-1 { // X must be done by
				for j := range ts[:i] {
					if w := ts[j].low; w == "must" || w == "has" || w == "needs" || w == "should" || w == "have" || w == "need" {
						what = ts[:j]
						break
					}
				}
			}
			ph := p.phrase(what)
			if !must || !ph.ok || len(what) == 0 {
				return false
			}
			o := p.object(ts[by+1:], true)
			return p.emit(ph.words.with("deadline"), o.core, o.not, new(group), o.now, false) || true
		}
	}
	return false
}

func trimMarks(ts []token) []token {
	for len(ts) > 0 && ts[0].mark || len(ts) > 0 && (ts[0].low == "and" || ts[0].low == "but" || ts[0].low == "so" || ts[0].low == "then") {
		ts = ts[1:]
	}
	for len(ts) > 0 && ts[len(ts)-1].mark {
		ts = ts[:len(ts)-1]
	}
	return ts
}

var marker = set(`update updated correction corrected note fyi reminder edit news heads-up heads breaking info memo change ps nb attention
	important actually ok okay btw hi hello hey well yes no right sorry scratch please alright oh ah so good great big
	small quick just incidentally anyway basically unfortunately fortunately sadly luckily happily finally recently
	currently presently today yesterday tomorrow nowadays now lately honestly meanwhile effective starting beginning
	thanks by as in on at from since for until during after before according to this last next these with to again
	indeed surprisingly remember fun exciting also when status one changes announcement changed regarding guess`)

// lead takes off what stands before the subject: markers, times, and who says
// so.
func (p *parser) lead(ts []token) []token {
	for range 4 {
		n := p.leading(ts)
		if n == 0 || n >= len(ts) {
			break
		}
		ts = trimMarks(ts[n:])
	}
	return ts
}

// leading returns how many tokens go first.
func (p *parser) leading(ts []token) int {
	if len(ts) < 3 {
		return 0
	}
	first := ts[0].low
	for i := range min(len(ts), 9) {
		t := &ts[i]
		if t.mark && (t.low == "," || t.low == ":") {
			if i > 0 && (marker[first] || adverb[first] || reporting[first] || timeword[first]) {
				if t.low == ":" && (preposition[first] || i > 3) {
					break
				}
				if !p.prefix(ts[:i]) && t.low == "," && verbs[first].form != past && p.finite(ts[:i]) {
					break
				}
				return i + 1
			}
			break
		}
		if t.low == "that" && i > 0 && i < len(ts)-2 && (reporting[ts[i-1].low] || i > 1 && reporting[ts[i-2].low] || first == "just" || first == "fact") {
			p.reporter(ts[:i])
			return i + 1
		}
		if i > 0 && i < len(ts)-3 && (t.low == "says" || t.low == "said" || t.low == "mentioned" || t.low == "confirmed" || t.low == "announced" || t.low == "told") {
			if t.low == "told" && i+2 < len(ts) {
				p.reporter(ts[:i])
				if i+2 < len(ts) && ts[i+2].low == "that" {
					return i + 3
				}
				return i + 2
			}
			if ts[i+1].low != "that" && p.finite(ts[i+1:]) {
				p.reporter(ts[:i])
				return i + 1
			}
		}
		if be[t.low] || i > 0 && verbs[t.low].form == third && !preposition[first] {
			break
		}
	}
	if first == "by" && (ts[1].low == "default" || ts[1].low == "profession" || ts[1].low == "trade") {
		return 2
	}
	if first == "in" && ts[1].low == "order" && ts[2].low == "to" {
		return 2
	}
	if first == "to" {
		for i := 2; i < min(len(ts)-2, 7); i++ {
			if w := ts[i].low; w == "you" || w == "we" || w == "just" || w == "now" || w == "please" {
				p.as = p.task(ts[1:i])
				return i
			}
		}
	}
	if first == "turns" && ts[1].low == "out" {
		return 2
	}
	if first == "it" && ts[1].low == "turns" && ts[2].low == "out" {
		return 3
	}
	if first == "please" || first == "actually" || first == "so" || first == "also" || first == "apparently" || first == "well" || first == "remember" {
		return 1
	}
	if (first == "as" || first == "for") && p.bare(ts) > 0 {
		return p.bare(ts)
	}
	return times(ts)
}

// bare returns the length of a leading "as editor" or "for her editor" that no
// comma ends, and notes it.
func (p *parser) bare(ts []token) int {
	for i := 1; i < min(len(ts)-2, 5); i++ {
		if ts[i].mark {
			return 0
		}
		if ts[i+1].proper() || ts[i+1].low == "i" || ts[i+1].low == "we" {
			if v := verbs[nextWord(ts, i+2)]; v.form == third || v.form == base && v.sense != other {
				if ph := p.noun(ts[1 : i+1]); ph.ok {
					p.as = ph.words
					return i + 1
				}
			}
		}
	}
	return 0
}

func nextWord(ts []token, i int) string {
	for i < len(ts) && adverb[ts[i].low] {
		i++
	}
	if i < len(ts) {
		return ts[i].low
	}
	return ""
}

// noun reads a phrase without its possessive: "his editor" is "editor".
func (p *parser) noun(ts []token) phrase {
	for len(ts) > 0 && (ts[0].low == "his" || ts[0].low == "her" || ts[0].low == "their" || ts[0].low == "my" || ts[0].low == "our" ||
		ts[0].low == "its" || determiner[ts[0].low]) {
		ts = ts[1:]
	}
	return p.phrase(ts)
}

// prefix notes what a leading phrase that a comma ends adds: "as editor, …",
// "for the API, …". It reports whether the phrase may go.
func (p *parser) prefix(ts []token) bool {
	skip := 0
	switch {
	case len(ts) > 2 && ts[0].low == "as" && ts[1].low == "for":
		skip = 2
	case len(ts) > 4 && ts[0].low == "when" && ts[1].low == "it" && ts[2].low == "comes":
		skip = 4
	case len(ts) > 2 && ts[0].low == "with" && ts[1].low == "regard":
		skip = 3
	case len(ts) > 1 && (ts[0].low == "as" && ts[1].low != "of" || ts[0].low == "for" || ts[0].low == "regarding"):
		skip = 1
	case ts[0].low == "to":
		p.as = p.task(ts[1:])
		return true
	}
	if skip == 0 || skip >= len(ts) || temporalRun(ts[1:]) {
		return false
	}
	if ph := p.noun(ts[skip:]); ph.ok {
		p.as = ph.words
		if (ts[0].low != "as" || skip == 2) && ph.head != "record" && ph.head != "example" && ph.head != "instance" && ph.head != "reference" {
			p.of = ph.words
		}
	}
	return true
}

// task returns the words of a task: "run the tests" is test, command.
func (p *parser) task(ts []token) bag {
	var b bag
	for i := range ts {
		t := &ts[i]
		if t.mark || determiner[t.low] || preposition[t.low] || t.low == "run" || t.low == "our" || t.low == "your" || t.low == "my" || t.low == "project" {
			continue
		}
		if len(b) >= maxWords {
			return nil
		}
		b = p.append(b, t)
	}
	if len(b) == 0 {
		return nil
	}
	return append(b, "command")
}

func temporalRun(ts []token) bool {
	for i := range ts {
		if ts[i].time() || timeunit[ts[i].low] || ts[i].low == "now" || ts[i].low == "moment" || ts[i].low == "while" || date(ts[i].low) {
			return true
		}
	}
	return false
}

// reporter notes who says something, for "he" and "she".
func (p *parser) reporter(ts []token) {
	n := 0
	for n < len(ts) && !reporting[ts[n].low] {
		n++
	}
	if n == 0 {
		return
	}
	if ph := p.phrase(ts[:n]); ph.ok && ph.names && ph.count <= 3 {
		p.subject = ph.words
	}
}

// finite reports whether there is a verb that makes a sentence.
func (p *parser) finite(ts []token) bool {
	_, ok := p.find(ts)
	return ok
}

// times returns the length of a leading time that no comma ends: "since March".
func times(ts []token) int {
	i, found := 0, false
	for ; i < len(ts)-1 && i < 6; i++ {
		w := ts[i].low
		switch {
		case ts[i].mark:
			return 0
		case ts[i].time() || timeunit[w] || w == "yesterday" || w == "moment" || w == "recently" || date(w) || w == "now" || w == "currently" ||
			w == "then" && i > 0 || w == "on" && i > 0 || w == "nowadays":
			found = true
			continue
		case i == 0 && (w == "since" || w == "as" || w == "in" || w == "on" || w == "from" || w == "starting" || w == "effective" || w == "at" ||
			w == "this" || w == "last" || w == "these" || w == "right" || w == "by"),
			i > 0 && (w == "of" || w == "last" || w == "this" || w == "next" || w == "from" || w == "at" || w == "start"),
			i > 0 && w == "the" && (timeAt(ts, i+1) || timeunit[word1(ts, i+1)] || date(word1(ts, i+1)) || word1(ts, i+1) == "moment" || word1(ts, i+1) == "start"):
			continue
		case i > 0 && ts[i].digits() > 0 && len(w) <= 4:
			found = found || ts[i].digits() == 4 && ts[0].low == "in"
			continue
		}
		break
	}
	if !found || i == 0 {
		return 0
	}
	if w := ts[i].low; be[w] || w == "of" || verbs[w] != (verb{}) && verbs[w].form == base && ts[0].low == "now" || verbs[w].form == third || verbs[w].form == past && verbs[w].sense != other {
		return 0
	}
	return i
}
