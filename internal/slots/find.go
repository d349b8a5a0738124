package slots

import "strings"

// find returns the main verb of a clause.
func (p *parser) find(ts []token) (group, bool) {
	for i := range ts {
		if p.verbAt(ts, i) == i {
			if g, ok := p.group(ts, i); ok {
				return g, true
			}
		}
	}
	return measure(ts)
}

// measure finds a verb that is in no table by what follows it, an amount:
// "the policy now requires 8 characters".
func measure(ts []token) (group, bool) {
	for i := 1; i+2 < len(ts); i++ {
		t := &ts[i]
		if t.mark || t.quoted {
			break
		}
		if n := len(t.low); n < 4 || t.low[n-1] != 's' || t.low[n-2] == 's' || t.proper() || t.poss || t.digits() > 0 || nominal(&ts[i-1]) ||
			preposition[t.low] || pronoun[t.low] || adverb[t.low] || timeunit[t.low] {
			continue
		}
		g := group{at: i, end: i + 1, verb: verb{other, third, false}, low: t.low}
		for g.at > 1 && adverb[ts[g.at-1].low] {
			g.at--
			g.now = g.now || now[ts[g.at].low]
		}
		if amount := bounds(ts[g.end:]); len(amount) > 1 && (amount[0].digits() > 0 && versionLike(amount[0].low) || numeral[amount[0].low] != "") {
			return g, true
		}
	}
	return group{}, false
}

// verbAt returns i if a verb group begins there, else -1.
func (p *parser) verbAt(ts []token, i int) int {
	t := &ts[i]
	switch {
	case t.mark || t.quoted:
		return -1
	case t.poss:
		if i+1 < len(ts) && isBe(ts, i) {
			return i
		}
		return -1
	case t.low == "am" && i > 0 && ts[i-1].digits() > 0:
		return -1 // a time
	case be[t.low] || t.low == "got" || t.low == "gets":
		return i
	}
	v, ok := verbs[t.low]
	if !ok && !auxiliary[t.low] || i > 0 && nominal(&ts[i-1]) {
		return -1
	}
	// "the company Alice works for is …", "the number of cats she has is …":
	// the verb belongs to the subject.
	next := word1(ts, i+1)
	owned := i > 0 && (be[next] || preposition[next] && be[word1(ts, i+2)])
	switch {
	case auxiliary[t.low]:
		if owned && have1[t.low] {
			return -1
		}
		return i
	case v.form == past && (t.low == "set" || t.low == "used" || t.low == "given") && preposition[next] && ts[0].low == "the" && beLater(ts[i:]):
		return -1 // "the deadline set for the audit is …"
	case owned && t.low != "used", t.proper() && i > 0 && v.form != past:
		return -1
	case v.form == third && (i > 0 || v.sense != other), v.form == past, v.form == participle && i == 0:
		return i
	case v.form == base && p.baseAt(ts, i, v):
		return i
	}
	return -1
}

// beLater reports whether a form of "be" comes before the next mark.
func beLater(ts []token) bool {
	for i := range ts {
		if ts[i].mark || ts[i].low == "to" {
			return false
		}
		if be[ts[i].low] {
			return true
		}
	}
	return false
}

var (
	auxiliary = set(`has have had doesn does do did don didn will`)
	have1     = set(`has have had`)
	speaking  = set(`i we you they not can both please now just still always usually currently`)
)

// nominal reports whether what follows the word is a noun or an infinitive.
func nominal(prev *token) bool {
	switch prev.low {
	case "my", "our", "her", "his", "their", "your":
		return true
	}
	return prev.poss || determiner[prev.low] || fresh[prev.low] && !adverb[prev.low] || preposition[prev.low] && prev.low != "to" || stale[prev.low]
}

// baseAt reports whether the base form at i is the verb of the clause.
func (p *parser) baseAt(ts []token, i int, v verb) bool {
	if i == 0 {
		return imperative(ts, v)
	}
	prev := &ts[i-1]
	switch {
	case prev.low == "to":
		return i > 1 && ts[i-2].low == "used"
	case speaking[prev.low], ts[i].low == "cost", together(ts[:i]):
		return true
	}
	if i == 1 && len(prev.low) > 6 && (v.sense == time || v.sense == other) && preposition[word1(ts, 2)] {
		return strings.HasSuffix(prev.low, "s")
	}
	return i > 1 && len(prev.low) > 3 && strings.HasSuffix(prev.low, "s") && !prev.proper()
}

// imperative reports whether the clause, which begins with the base form of
// the verb, tells somebody to do it.
func imperative(ts []token, v verb) bool {
	switch v.sense {
	case change, upgrade, use, run, switchTo, relocate, rename, replace, time, reach, call, mark, assign, pay, turn:
	default:
		return false
	}
	for i := 1; i < len(ts) && ts[i].low != "to" && ts[i].low != "from" && !ts[i].quoted; i++ {
		if w := verbs[ts[i].low]; be[ts[i].low] || ts[i].low == "has" || w.event && w.form == past {
			return false
		}
	}
	return true
}

// together reports whether the subject is somebody with his or her people.
func together(ts []token) bool {
	for i := 1; i+1 < len(ts); i++ {
		if ts[i].low == "and" && (ts[i+1].low == "his" || ts[i+1].low == "her" || ts[i+1].low == "their" || ts[i+1].low == "my") {
			return true
		}
	}
	return false
}

// isBe reports whether the 's at i stands for "is" or "has".
func isBe(ts []token, i int) bool {
	next := ts[i+1].low
	switch next {
	case "now", "no", "not", "a", "an", "in", "at", "been", "just", "recently", "currently", "on":
		return true
	}
	v, ok := verbs[next]
	if !ok || i+2 >= len(ts) {
		return false
	}
	return (v.form == ing || v.form == past) && (preposition[ts[i+2].low] || ts[i+2].low == "as")
}

// group reads the verb group at i.
func (p *parser) group(ts []token, i int) (group, bool) {
	g := group{at: i}
	j := i
	isBe, perfect := false, false
	if ts[i].poss {
		isBe = true
		j++
		g.at = i + 1
	}
	for g.at > 0 && g.at <= len(ts) && adverb[ts[g.at-1].low] && !ts[i].poss {
		g.at--
		g.now = g.now || now[ts[g.at].low]
	}
	if g.at > 0 && ts[g.at-1].low == "longer" {
		g.neg = true
		g.at -= min(2, g.at)
	}
	if g.at > 0 && ts[g.at-1].low == "can" {
		g.at--
	}
	for ; j < len(ts); j++ {
		w := ts[j].low
		switch {
		case ts[j].quoted || ts[j].mark:
		case adverb[w] && j+1 < len(ts):
			g.now = g.now || now[w]
			continue
		case w == "not" || w == "never":
			g.neg = true
			continue
		case w == "no" && j+1 < len(ts) && ts[j+1].low == "longer":
			g.neg = true
			j++
			continue
		case w == "be" || w == "is" || w == "are" || w == "am" || w == "been" || w == "being" || w == "'s":
			isBe = true
			continue
		case w == "was" || w == "were":
			isBe, g.past = true, true
			continue
		case (w == "has" || w == "have" || w == "had") && participleAhead(ts, j+1):
			perfect = true
			g.past = g.past || w == "had"
			continue
		case w == "do" || w == "does" || w == "doesn" || w == "don" || w == "did" || w == "didn":
			g.past = g.past || w == "did" || w == "didn"
			continue
		case w == "will" || w == "can":
			g.future = w == "will"
			continue
		case (w == "got" || w == "gets" || w == "get" || w == "getting") && participleAhead(ts, j+1):
			isBe = true
			continue
		case w == "used" && j+1 < len(ts) && ts[j+1].low == "to":
			g.past, g.used = true, true
			j++
			continue
		}
		break
	}
	return p.main(ts, g, j, isBe, perfect)
}

// participleAhead reports whether a participle follows, adverbs aside.
func participleAhead(ts []token, j int) bool {
	for j < len(ts) && (adverb[ts[j].low] || ts[j].low == "not") {
		j++
	}
	if j >= len(ts) || ts[j].quoted {
		return false
	}
	w := ts[j].low
	if w == "been" || w == "got" && j+1 < len(ts) && participleAhead(ts, j+1) {
		return true
	}
	v, ok := verbs[w]
	return ok && (v.form == past || v.form == participle || w == "become" || w == "run" || w == "cost")
}

// main settles which verb the group at j is of.
func (p *parser) main(ts []token, g group, j int, isBe, perfect bool) (group, bool) {
	if j < len(ts) && !ts[j].quoted && !ts[j].mark {
		g.low = ts[j].low
	}
	v, ok := verbs[g.low]
	if g.low == "got" && perfect && !isBe {
		v = verbs["has"]
	}
	switch {
	case isBe && ok && v.sense == other && statusword[g.low] && (j+1 == len(ts) || !preposition[ts[j+1].low]):
		g.verb, g.end, g.low = verb{sense: copula}, j, "be"
	case isBe && ok && (v.form == past || v.form == participle) && !(v.sense == leave || v.sense == cost && g.low == "cost"):
		g.verb, g.passive, g.end = v, true, j+1
		if g.past {
			g.past = !v.event
		}
	case isBe && ok && v.form == ing:
		g.verb, g.end = v, j+1
	case isBe:
		g.verb, g.end, g.low = verb{sense: copula}, j, "be"
	case ok && perfect && (v.form == past || v.form == participle || v.form == base):
		g.verb, g.end = v, j+1
	case ok && (v.form != ing && v.form != participle):
		g.verb, g.end = v, j+1
		if v.form == past && !v.event && v.sense != copula && v.sense != takeVerb && v.sense != hand && v.sense != get && v.sense != replace {
			g.past = true
		}
	default:
		return g, false
	}
	if j > 0 && g.at > j {
		g.at = j
	}
	g.now = g.now || g.verb.event
	return g, g.end <= len(ts)
}
