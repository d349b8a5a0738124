package slots

import "strings"

// object is what follows a verb, with its tail cut off.
type object struct {
	core []token // the value, or object, with its prepositions
	not  []token // what it replaces: "instead of …", "not …", "rather than …"
	now  bool    // "now", "these days", …
}

// object cuts the tail off what follows the verb. If the value may be a time,
// times stay.
func (p *parser) object(ts []token, time bool) object {
	var o object
	for len(ts) > 1 && now[ts[0].low] && !ts[0].quoted {
		o.now, ts = true, ts[1:]
	}
	o.core = ts
	for i := range ts {
		if ts[i].quoted || !p.tail(ts, i, time) {
			continue
		}
		o.core = ts[:i]
		o.not = p.former(ts[i:], time)
		for j := i; j < len(ts); j++ {
			o.now = o.now || now[ts[j].low] || ts[j].low == "these"
		}
		break
	}
	o.core = trimMarks(o.core)
	for n := len(o.core); n > 0 && o.core[n-1].low == "now"; n = len(o.core) {
		o.core = trimMarks(o.core[:n-1])
		o.now = true
	}
	return o
}

// former returns the value that a tail says is replaced: "instead of U",
// "rather than U", ", not U".
func (p *parser) former(ts []token, time bool) []token {
	for i := range ts {
		next := word1(ts, i+1)
		skip := 0
		switch ts[i].low {
		case "instead":
			if next == "of" {
				skip = 2
			}
		case "rather":
			if next == "than" {
				skip = 2
			}
		case "not":
			skip = 1
		case "no":
			if next == "longer" {
				skip = 2
			}
		case "over":
			if i == 0 {
				skip = 1
			}
		}
		if skip > 0 && i+skip <= len(ts) && !ts[i].quoted {
			return former1(p.object(ts[i+skip:], time).core)
		}
	}
	return nil
}

// word1 returns the word at i, or "".
func word1(ts []token, i int) string {
	if i < len(ts) && !ts[i].quoted {
		return ts[i].low
	}
	return ""
}

// tail reports whether what comes from i on is no part of the value.
func (p *parser) tail(ts []token, i int, time bool) bool {
	w, next, third := ts[i].low, word1(ts, i+1), word1(ts, i+2)
	switch w {
	case "instead":
		return true
	case "rather":
		return next == "than"
	case "any":
		return next == "more"
	case "these":
		return next == "days"
	case "at":
		return next == "the" && third == "moment" || next == "present"
	case "not":
		return true
	case "no":
		return next == "longer"
	}
	if i == 0 {
		return false
	}
	switch w {
	case "over":
		return p.as == nil
	case "now", "nowadays", "currently", "presently", "anymore", "again", "already", "yesterday",
		"effectively", "officially", "permanently", "temporarily", "recently", "lately", "immediately", "forever", "too", "finally",
		"since", "because", "according", "starting", "effective", "so", "despite", "though", "although", "while", "when":
		return true
	case "today", "until", "till":
		return !time
	case "due":
		return next != "date"
	case "as":
		return next == "of" || next == "far" || next == "from" || next == "well"
	case "from":
		return next == "now" || i+2 < len(ts) && ts[len(ts)-1].low == "on"
	case "by":
		return next == "now"
	case "for":
		return next == "now" || next == "work" || next == "good" || next == "years" || timeunit[third] && !time
	case "with":
		return next == "his" || next == "her" || next == "their" || next == "my" || next == "our"
	case "last", "this", "next", "earlier":
		return !time && (timeunit[next] || timeAt(ts, i+1))
	case "in", "on", "around":
		return !time && (timeAt(ts, i+1) || len(next) == 4 && ts[i+1].digits() == 4 ||
			(next == "the" || next == "early" || next == "late") && timeAt(ts, i+2))
	case ",", ";", "(", ")":
		return ts[i].mark && !p.joins(ts, i)
	}
	return false
}

// former1 takes the prepositions and possessives off a former value.
func former1(ts []token) []token {
	for len(ts) > 0 && (preposition[ts[0].low] || ts[0].low == "his" || ts[0].low == "her" || ts[0].low == "my" || ts[0].low == "their") && !ts[0].quoted {
		ts = ts[1:]
	}
	for i := range ts {
		if ts[i].mark {
			return ts[:i]
		}
	}
	return ts
}

// joins reports whether the comma at i is within a value: "Paris, France",
// "March 3, 2026".
func (p *parser) joins(ts []token, i int) bool {
	if ts[i].low != "," || i == 0 || i+1 >= len(ts) {
		return false
	}
	a, b := &ts[i-1], &ts[i+1]
	if b.mark || a.mark {
		return false
	}
	return a.proper() && b.proper() && i+3 >= len(ts) || b.digits() == 4 || a.time() && (b.digits() > 0 || b.time())
}

// until returns the tokens before the first of the words, and those after it.
func until(ts []token, words ...string) (before, after []token) {
	for i := range ts {
		if ts[i].quoted {
			continue
		}
		for _, w := range words {
			if ts[i].low == w {
				return ts[:i], ts[i+1:]
			}
		}
	}
	return ts, nil
}

// fromTo returns U and V of "from U to V", "to V from U", or "to V", and what
// stands before.
func (p *parser) fromTo(ts []token) (head, from, to []token) {
	f, t := -1, -1
	for i := range ts {
		if ts[i].quoted {
			continue
		}
		switch ts[i].low {
		case "from":
			if f < 0 {
				f = i
			}
		case "to", "into", "till", "until":
			if t < 0 || f > t {
				t = i
			}
		}
	}
	if f > t && t >= 0 { // to V from U
		return ts[:t], former1(ts[f+1:]), ts[t+1 : f]
	}
	if t < 0 {
		if f >= 0 {
			return ts[:f], ts[f+1:], nil
		}
		return ts, nil, nil
	}
	if f >= 0 {
		return ts[:f], ts[f+1 : t], ts[t+1:]
	}
	return ts[:t], nil, ts[t+1:]
}

// strip takes articles and prepositions off the front of a value.
func strip(ts []token) []token {
	for len(ts) > 0 && !ts[0].quoted && (ts[0].low == "a" || ts[0].low == "an" || ts[0].low == "the" || ts[0].low == "in" || ts[0].low == "at" || ts[0].low == "on" ||
		ts[0].low == "to" || ts[0].low == "by" || ts[0].low == "around" || ts[0].low == "about" || ts[0].low == "every" || ts[0].low == "each" ||
		ts[0].low == "from" || ts[0].low == "for" || ts[0].low == "as" || ts[0].low == "only" || ts[0].low == "just" || ts[0].low == "up" || ts[0].low == "back" ||
		ts[0].low == "forward" || ts[0].low == "down" || ts[0].low == "off" || ts[0].low == "under" || ts[0].low == "new" && !ts[0].proper() || ts[0].mark) {
		ts = ts[1:]
	}
	return ts
}

// measured reports whether the value is a number with a unit: "30 days".
func measured(val []token) bool {
	if len(val) < 2 || len(val) > 4 || val[0].digits() == 0 || !versionLike(val[0].low) {
		return false
	}
	for i := range val[1:] {
		if t := &val[i+1]; t.mark || t.quoted || predicate[t.low] || preposition[t.low] && t.low != "per" {
			return false
		}
	}
	return true
}

// maxValue is the number of tokens above which something is no value.
const maxValue = 14

// emit notes a statement of the slot, unless the value does not suit it.
func (p *parser) emit(b bag, val, from []token, g *group, change, many bool) bool {
	if len(b) == 0 || len(b) > maxWords {
		return false
	}
	if c := kindOf(val); c != urlLike && c != pathLike && c != emailLike || len(val) > 1 {
		val = strip(val)
	}
	val = p.group2(&b, val)
	if g.past || g.neg {
		p.topic, p.open = b, true
		return false
	}
	if len(val) == 0 || len(val) > maxValue || !suits(b, val) {
		p.topic, p.open = b, true
		return false
	}
	if len(p.out) > MaxStatements {
		return false
	}
	s := p.statement(b, val, strip(former1(from)))
	s.Change = change || g.now || g.verb.event || s.Former != 0
	s.Many = many
	if s.Value == s.Former || s.Text == "" {
		return false
	}
	p.topic, p.open = b, false
	p.out = append(p.out, s)
	return true
}

// group2 takes the noun off "the growth team" where it only repeats the slot.
func (p *parser) group2(b *bag, val []token) []token {
	if n := len(val); n > 1 && !val[n-1].quoted {
		w := val[n-1].low
		if c, ok := groups[w]; ok && b.has(c) {
			return val[:n-1]
		}
	}
	if n := len(val); n > 1 && (b.has("version") && (val[0].low == "version" || val[0].low == "release") || b.has("port") && val[0].low == "port") {
		return val[1:]
	}
	return val
}

// speech are words that make a value a clause.
var speech = set(`i we they it you he she this these those us them me`)

func secretIn(val []token) bool {
	for i := range val {
		if val[i].quoted && strings.HasPrefix(val[i].text, secret) {
			return true
		}
	}
	return false
}

// suits reports whether the value is of the kind that the slot has.
func suits(b bag, val []token) bool {
	k := kindOf(val)
	digits := 0
	for i := range val {
		digits += val[i].digits()
		if t := &val[i]; !t.quoted && (speech[t.low] || t.low == "that" || t.low == "what" || t.low == "why" || t.low == "how" || t.low == "whether" || t.low == "because") {
			return false
		}
	}
	if secretIn(val) {
		return true
	}
	_, num := numeral[val[0].low]
	switch {
	case b.has("phone"):
		return digits >= 3
	case b.has("email"):
		return k == emailLike
	case b.has("age") || b.has("port"):
		return digits > 0 || num
	case b.has("version"):
		return digits > 0 || len(val) <= 2 && !predicate[val[0].low]
	case b.has("price"):
		return digits > 0 || num || val[0].low == "free" || money(val)
	case b.has("deadline") || b.has("when"):
		return k == temporal || digits > 0 || temporalRun(val)
	}
	return true
}
