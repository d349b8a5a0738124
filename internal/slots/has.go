package slots

import "strings"

// has reads "X has a new A: V", "X has V as A", "X has N As", "X has a A of V".
func (p *parser) has(s *sentence) {
	if !s.sub.ok || s.passive && s.verb.sense != get {
		return
	}
	event := s.verb.sense == get || s.verb.sense == begin || s.verb.sense == takeVerb
	obj := s.obj
	if len(obj) == 0 {
		return
	}
	if p.jobAt(s) || !event && p.common(s) || p.raised(s) {
		return
	}
	if p.hasLabelled(s, event) {
		return
	}
	o := p.object(obj, true)
	core := o.core
	if left, right := until(core, "as"); right != nil && len(left) > 0 {
		if ph := p.noun(right); ph.ok && (ph.known || ph.count <= 3) && !ph.stale {
			p.emit(s.sub.words.with(ph.words...), left, o.not, &s.group, o.now || event || ph.fresh, false)
		}
		return
	}
	if left, right := until(core, "named", "called"); right != nil && len(left) > 1 && (left[0].low == "a" || left[0].low == "an") {
		if ph := p.noun(left); ph.ok && ph.known && !entity[ph.head] {
			p.emit(s.sub.words.with(ph.words...), right, o.not, &s.group, o.now || ph.fresh, false)
		} else if ph.ok {
			p.emit(s.sub.words.with(ph.words...).with("name"), right, o.not, &s.group, o.now, false)
		}
		return
	}
	if left, right := until(core, "of"); right != nil && len(left) > 1 && (left[0].low == "a" || left[0].low == "an") {
		if ph := p.noun(left); ph.ok && ph.known {
			p.emit(s.sub.words.with(ph.words...), right, o.not, &s.group, o.now, false)
		}
		return
	}
	if n := len(core); n > 1 && core[0].low == "a" && (core[1].low == "new" || core[1].low == "different") {
		if ph := p.noun(core); ph.ok { // "a new number: it's …"
			p.topic, p.open = s.sub.words.with(ph.words...), true
		}
		return
	}
	if left, right := until(core, "on", "at", "every"); right != nil && len(left) > 0 && kindOf(right) == temporal && (s.sub.words.has("we") || s.sub.person) {
		if ph := p.phrase(left); ph.ok && (ph.def || ph.poss) && !event {
			p.emit(ph.words.with("when"), right, o.not, &s.group, o.now, false)
			return
		}
		if ph := p.phrase(left); ph.ok && s.sub.words.has("we") && !event {
			p.emit(ph.words.with("when"), right, o.not, &s.group, o.now, false)
		}
		return
	}
	p.counts(s, &o, event)
}

// raised reads "X got a raise (from U) to V".
func (p *parser) raised(s *sentence) bool {
	if s.verb.sense != get {
		return false
	}
	o := p.object(s.obj, false)
	head, from, to := p.fromTo(o.core)
	if to == nil || len(head) == 0 || len(head) > 3 || !money(to) {
		return false
	}
	if w := head[len(head)-1].low; w != "raise" && w != "rise" {
		return false
	}
	o.not = from
	return p.emit(s.sub.words.with(stem(nil, "salary")...), to, from, &s.group, true, false) || true
}

// jobAt reads "has a (new) job at V".
func (p *parser) jobAt(s *sentence) bool {
	o := p.object(s.obj, false)
	left, right := until(o.core, "at", "with")
	if len(right) > 0 && jobNoun(left) && right[0].proper() {
		p.about(s, "employer", cutAt(right, "as", "in"), &o)
		return true
	}
	if left, right = until(o.core, "from"); len(right) > 0 && len(left) > 0 && left[len(left)-1].low == "offer" && right[0].proper() && s.low != "has" {
		o.not = nil
		p.about(s, "employer", right, &o)
		return true
	}
	left, right = until(o.core, "as")
	if len(right) > 0 && jobNoun(left) {
		p.about(s, "job", cutAt(right, "at", "for"), &o)
		return true
	}
	return false
}

// hasLabelled reads "X has a new A: V" and "X got a new A, V".
func (p *parser) hasLabelled(s *sentence, event bool) bool {
	for i := 1; i < len(s.obj)-1; i++ {
		t := &s.obj[i]
		if !t.mark || t.low != ":" && t.low != "," {
			continue
		}
		fresh := false
		for j := range s.obj[:i] {
			fresh = fresh || s.obj[j].low == "new" || s.obj[j].low == "different"
		}
		if t.low == "," && !fresh && !(s.obj[i-1].low == "car" && i == 2) {
			return false
		}
		left := s.obj[:i]
		for adverb[left[len(left)-1].low] && len(left) > 1 {
			left = left[:len(left)-1]
		}
		if len(left) > 2 && left[1].low == "different" {
			left = left[2:]
		}
		if ph := p.noun(left); ph.ok {
			o := p.object(s.obj[i+1:], true)
			p.emit(s.sub.words.with(ph.words...), o.core, o.not, &s.group, fresh || event, false)
			return true
		}
		return false
	}
	return false
}

// counts reads "X has N As" and "X has status V".
func (p *parser) counts(s *sentence, o *object, event bool) {
	core := o.core
	if len(core) < 2 || event {
		return
	}
	if core[0].digits() > 0 && core[0].digits() == len(core[0].text) || numeral[core[0].low] != "" {
		if _, of := until(core, "of"); len(core) == 4 && of != nil && len(core[1].text) == 2 { // 16 GB of RAM
			p.emit(s.sub.words.with(stem(nil, of[0].low)...), core[:2], o.not, &s.group, o.now, false)
			return
		}
		if timeunit[core[1].low] || len(core) > 4 || core[1].mark {
			return
		}
		if ph := p.noun(core[1:]); ph.ok && !ph.poss {
			p.emit(s.sub.words.with(ph.words...).with("number"), core[:1], number1(o.not), &s.group, o.now, false)
		}
		return
	}
	p.hasKnown(s, o, core)
}

// hasKnown reads "X has the status V", "X has the role of V".
func (p *parser) hasKnown(s *sentence, o *object, core []token) {
	if core[0].low == "the" || core[0].low == "a" {
		core = core[1:]
	}
	if len(core) == 2 && graded[core[1].low] && (predicate[core[0].low] || core[0].proper()) { // "has low priority"
		p.emit(s.sub.words.with(stem(nil, core[1].low)...), core[:1], o.not, &s.group, o.now, false)
		return
	}
	known := func(t *token) bool {
		_, ok := canonical[t.low]
		return (ok || attributes[t.low]) && !t.quoted && !t.mark
	}
	n := 0
	for n < len(core) && n < 3 && known(&core[n]) {
		n++
	}
	if n == 0 || n == len(core) {
		return
	}
	val := core[n:]
	if val[0].low == "of" {
		val = val[1:]
	}
	if len(val) == 0 || len(val) > 6 || preposition[val[0].low] && !val[0].quoted {
		return
	}
	switch core[n-1].low {
	case "status", "role", "position", "title", "priority", "version", "port", "name":
	default:
		if kindOf(val) == plainText && !val[0].proper() && !val[0].quoted {
			return
		}
	}
	if ph := p.phrase(core[:n]); ph.ok {
		p.emit(s.sub.words.with(ph.words...), val, o.not, &s.group, o.now, false)
	}
}

// copula reads "S is V".
func (p *parser) copula(s *sentence) {
	if p.of != nil && s.sub.ok && !s.sub.pronoun {
		s.sub.words, s.sub.poss, s.sub.names = s.sub.words.with(p.of...), true, false
		s.sub.count += len(p.of)
	}
	if !s.sub.ok || len(s.obj) == 0 {
		if s.none || !s.sub.ok && len(s.subTs) > 0 {
			p.inverse(s)
		}
		return
	}
	if who, what := until(s.subTs, "responsible"); s.low == "be" && len(what) > 1 && what[0].low == "for" && len(who) < 3 && !s.past && !s.neg {
		if ph := p.phrase(what[1:]); ph.ok {
			o := p.object(s.obj, false)
			p.emit(ph.words.with("owner"), o.core, o.not, &s.group, o.now, false)
		}
		return
	}
	if s.obj[0].low == "where" && s.sub.names && !s.past && !s.neg {
		if ph := p.phrase(s.obj[1:]); ph.ok && ph.words.has("where") && len(s.obj) < 6 { // "Paris is where she lives"
			p.emit(ph.words, s.subTs, nil, &s.group, s.now, false)
		}
		return
	}
	event := s.low != "be"
	s.now = s.now || event
	if p.predicates(s) || p.inverse(s) {
		return
	}
	sub := &s.sub
	o := p.object(s.obj, true)
	if len(o.core) == 0 || len(o.core) > maxValue {
		return
	}
	if s.neg {
		p.negated(s)
		return
	}
	if s.past {
		if sub.attributive() {
			p.topic, p.open = sub.words, true
		}
		return
	}
	change := o.now || sub.fresh
	if money(o.core) && !sub.person && (sub.def || sub.names) && !(sub.known && sub.poss) && !attributes[sub.head] && !sub.words.has("price") && !sub.pronoun {
		p.emit(sub.words.with("price"), o.core, o.not, &s.group, change, false)
		return
	}
	switch k := kindOf(o.core); {
	case sub.attributive() || sub.def && sub.count >= 2:
		p.attribute(s, &o, change)
	case k == number && !sub.person && (sub.def || sub.ident) && !sub.names && len(o.core) <= 3:
		p.emit(sub.words, o.core, o.not, &s.group, change, false)
	case sub.def && len(o.core) > 0 && (o.core[0].quoted || o.core[0].proper()):
		p.emit(sub.words, o.core, o.not, &s.group, change, false)
	}
}

// negated reads "S is not U but V", "S is no longer U but V".
func (p *parser) negated(s *sentence) {
	u, v := until(s.obj, "but")
	if v == nil {
		if s.sub.attributive() {
			p.topic, p.open = s.sub.words, true
		}
		return
	}
	t := *s
	t.neg, t.now, t.obj = false, true, v
	before := len(p.out)
	p.copula(&t)
	if len(p.out) > before {
		if f := canonValue(strip(former1(p.object(u, true).core))); f != "" {
			p.out[len(p.out)-1].Former = hash(offset, f) | 1
		}
	}
}

// evasive are words with which a sentence begins to describe and not to name.
var evasive = set(`to about like very so too from with such quite really more less among his her their none something going`)

// attribute reads "the A of S is V".
func (p *parser) attribute(s *sentence, o *object, change bool) {
	sub, val := &s.sub, o.core
	if sub.pronoun && !p.open && !change {
		return // "it is delicious" of what was just named
	}
	first := val[0].low
	if !val[0].quoted && evasive[first] {
		return
	}
	// "Alice's lucky charm" is an attribute, "Alice's dog" may be spoken of.
	particular := sub.poss && sub.count > 2 && !entity[sub.head]
	if v, ok := verbs[first]; ok && !particular && (v.form == ing || v.form == past && !statusword[first]) && len(val) == 1 && !val[0].proper() && !val[0].quoted {
		return
	}
	k := kindOf(val)
	_, num := numeral[first]
	nominal := k != plainText || num || measured(val) || val[0].proper() || val[0].quoted || len(val) > 1 && (first == "a" || first == "an") && (val[1].proper() || sub.head == "car")
	if (!nominal || k == temporal) && !val[0].proper() && !val[0].quoted && !(sub.known && !entity[sub.head]) && !sub.words.has("favorit") && participial(first) {
		return // "is parked behind the house" names nothing
	}
	if !nominal && (describes(val) || (first == "a" || first == "an") && !(sub.known && !entity[sub.head]) && !change && !particular) {
		return
	}
	if !nominal && sub.count == 1 && !sub.poss && !sub.def && !sub.ident && !sub.pronoun {
		return // "build is slow"
	}
	article := first == "a" || first == "an" || first == "the"
	if preposition[first] && !val[0].quoted && !(sub.known && first != "for") && k == plainText && !(val[len(val)-1].proper() && !entity[sub.head]) {
		return
	}
	if !nominal && !article && predicate[first] && !graded[sub.head] && !sub.pronoun && !(sub.words.has("status") || sub.words.has("favorit")) {
		return
	}
	known := sub.known && !entity[sub.head]
	if entity[sub.head] && !sub.words.has("favorit") && !sub.pronoun {
		if color[first] && len(val) == 1 && painted[sub.head] {
			p.emit(sub.words.with("color"), val, o.not, &s.group, change, false)
			return
		}
		if !(nominal || article && (sub.head == "car" || sub.head == "company" || sub.head == "job" || sub.head == "boss")) &&
			!(sub.head == "job" || sub.head == "work" || sub.head == "song" || sub.head == "movie" || sub.head == "book" || sub.head == "game") {
			return
		}
		if preposition[first] {
			return
		}
		if sub.head == "sister" || sub.head == "brother" || sub.head == "friend" || sub.head == "kid" || sub.head == "daughter" || sub.head == "son" {
			if k == plainText {
				return
			}
		}
	}
	if k == temporal && !known && !sub.words.has("deadline") && !sub.words.has("when") && (preposition[first] || sub.def && !sub.poss) {
		p.emit(sub.words.with("when"), val, o.not, &s.group, change, false)
		return
	}
	if k == temporal && (sub.head == "release" || sub.head == "launch" || sub.head == "meeting" || sub.head == "standup" || sub.head == "start" || sub.head == "end") {
		p.emit(sub.words.with("when"), val, o.not, &s.group, change, false)
		return
	}
	if !known && !sub.poss && !sub.ident && !sub.pronoun && !nominal && !statusVal(val) {
		return
	}
	if statusVal(val) && !known && !sub.poss && !sub.pronoun {
		p.emit(sub.words.with("status"), val, o.not, &s.group, change, false)
		return
	}
	p.emit(sub.words, val, o.not, &s.group, change, false)
}

// graded are attributes whose values are adjectives.
var graded = set(`priority severity level mode mood risk volume size importance urgency`)

// describes reports whether the value looks like an adjective, and not a noun.
func describes(val []token) bool {
	first := val[0].low
	if intensifier[first] {
		return true
	}
	if len(val) > 2 || len(val) == 2 && !preposition[val[1].low] {
		return false
	}
	for _, end := range [...]string{"ous", "ful", "less", "able", "ible", "ive", "ish", "some"} {
		if len(first) > len(end)+2 && strings.HasSuffix(first, end) {
			return true
		}
	}
	return false
}

// participial reports whether the word looks like a participle, in which case
// it describes and does not name.
func participial(w string) bool {
	return len(w) > 5 && (strings.HasSuffix(w, "ed") || strings.HasSuffix(w, "ing")) && !statusword[w] && !marital[w]
}

// predicates reads "S is based in V", "S is 34", "S is a nurse", "S is due on
// V", "S is blocked".
func (p *parser) predicates(s *sentence) bool {
	sub := &s.sub
	o := p.object(s.obj, true)
	core := o.core
	if len(core) == 0 {
		return false
	}
	first := core[0].low
	if core[0].quoted {
		return false
	}
	thing := !sub.attributive() || sub.pronoun
	switch {
	case first == "due":
		if rest := strip(core[1:]); len(rest) > 0 && sub.ok {
			return p.emit(sub.words.with("deadline"), rest, o.not, &s.group, o.now, false) || true
		}
		return true
	case first == "responsible" && len(core) > 2 || first == "in" && len(core) > 3 && core[1].low == "charge":
		if _, what := until(core, "for", "of"); what != nil {
			p.inverted(s, what, "owner", &o)
			return true
		}
	case first == "available" || first == "reachable" || first == "accessible":
		t := *s
		t.obj = s.obj[1:]
		p.placed(&t)
		return true
	case first == "on" || first == "at" || first == "in" || first == "with":
		if p.common(s) || len(core) > 1 && p.versioned(s, core[1:], nil, &o) {
			return true
		}
		if len(core) == 2 && first != "in" && versionLike(core[1].low) && kindOf(core[1:]) == number && strings.ContainsAny(core[1].low, "v.") && !sub.person && !sub.attributive() {
			return p.emit(sub.words.with("version"), core[1:], o.not, &s.group, o.now, false) || true
		}
		if sub.pronoun || s.subPronoun() {
			if p.topic != nil && (p.topic.has("employer") || p.topic.has("where")) && len(core) > 1 && core[1].proper() && kindOf(core) == plainText {
				oo := p.object(s.obj, false)
				return p.emit(p.topic, oo.core[1:], oo.not, &s.group, true, false) || true
			}
		}
		return p.prepositional(s, &o)
	case first == "every" && !sub.person && kindOf(core) == temporal:
		return p.emit(sub.words.with("when"), core, o.not, &s.group, o.now, false) || true
	}
	if (sub.names || sub.person) && thing && !sub.pronoun {
		return p.personIs(s, core, &o)
	}
	if thing && !sub.pronoun && statusVal(core) && len(core) <= 2 && !predicate[first] {
		return p.emit(sub.words.with("status"), core, o.not, &s.group, o.now, false) || true
	}
	return false
}

func (s *sentence) subPronoun() bool {
	return len(s.subTs) == 1 && (s.subTs[0].low == "he" || s.subTs[0].low == "she" || s.subTs[0].low == "they")
}

// quarters are nouns of places that somebody has, of which one asks where they
// are.
var quarters = set(`office desk seat cubicle stall booth locker studio workshop workplace`)

// prepositional reads "S is in V", "S is on Friday".
func (p *parser) prepositional(s *sentence, o *object) bool {
	sub, core := &s.sub, o.core
	if len(core) < 2 {
		return true
	}
	val := core[1:]
	switch k := kindOf(val); {
	case k == temporal && !sub.person:
		return p.emit(sub.words.with(whenFor(sub)), val, o.not, &s.group, o.now, false) || true
	case k == urlLike || k == pathLike:
		return p.emit(sub.words.with("where"), val, o.not, &s.group, o.now, false) || true
	case sub.attributive() && (core[0].low == "with" && val[0].proper() || quarters[sub.head] && core[0].low != "with") && kindOf(core) == plainText && len(core) <= 5:
		return p.emit(sub.words, val, o.not, &s.group, o.now, false) || true
	case sub.attributive() && sub.known && !entity[sub.head]:
		return false
	case statusphrase[val[len(val)-1].low] && len(val) == 1 && core[0].low == "in":
		return p.emit(sub.words.with("status"), core, o.not, &s.group, o.now, false) || true
	case sub.def && place(val) && core[0].low != "with" && (sub.poss || entity[sub.head] || sub.head == "hq" || sub.head == "headquarters"):
		return p.emit(sub.words.with("where"), val, o.not, &s.group, o.now, false) || true
	}
	return true
}

// personIs reads "Alice is 34", "Alice is a nurse", "Alice is married".
func (p *parser) personIs(s *sentence, core []token, o *object) bool {
	first := core[0]
	attr := ""
	val := core
	switch n := len(core); {
	case s.neg && marital[first.low] && n > 1 && core[1].low == "but":
		attr = "marital"
	case (first.digits() == len(first.text) || numeral[first.low] != "") && (n == 1 && s.sub.names && first.digits() <= 3 || n >= 2 && core[1].low == "years") && first.low != "one":
		attr, val = "age", core[:1]
	case marital[first.low] && (n == 1 || core[1].low == "to"):
		attr, val = "marital", core[:1]
	case first.low == "allergic" && n > 2 && n <= 4 && core[1].low == "to":
		return p.emit(s.sub.words.with("allergic"), core[2:], o.not, &s.group, o.now, true) || true
	case diet[first.low] && n == 1 || n == 2 && diet[core[1].low]:
		attr, val = "diet", core[n-1:]
	case statusVal(core) && n <= 2 && !(n == 1 && predicate[first.low]) && !s.sub.person:
		attr = "status"
	case first.low == "part" && groups[core[n-1].low] != "":
		if _, what := until(core, "of"); len(what) > 1 {
			attr, val = groups[core[n-1].low], strip(what[:len(what)-1])
		}
	case first.low == "a" || first.low == "an":
		of := false
		for i := range core {
			of = of || core[i].low == "of" || core[i].low == "who" || core[i].low == "that"
		}
		val = cutAt(core, "at", "for", "in", "with")
		if !of && profession[val[len(val)-1].low] {
			attr = "job"
		}
		if !of && len(val) == 3 && val[2].low == "student" || of {
			attr = ""
		}
		if val[len(val)-1].low == "student" {
			if _, at := until(core, "at"); at != nil && place(at) {
				attr, val = "school", at
			}
		}
		if _, group := groups[core[len(core)-1].low]; word1(core, 1) == "member" && group {
			if _, what := until(core, "of"); len(what) > 1 {
				attr, val = groups[core[len(core)-1].low], strip(what[:len(what)-1])
			}
		}
	case profession[core[n-1].low] && n <= 4 && s.low != "be" && !p.possessive(core):
		attr = "job"
	}
	if attr == "" {
		return s.neg || !p.possessive(core)
	}
	if s.neg {
		if _, v := until(s.obj, "but"); v != nil {
			p.negated(s)
			return true
		}
	}
	return p.about(s, attr, val, o) || true
}

func (p *parser) possessive(ts []token) bool {
	for i := range ts {
		if ts[i].poss || ts[i].low == "of" || ts[i].low == "my" || ts[i].low == "his" || ts[i].low == "her" || ts[i].low == "their" || ts[i].low == "the" || ts[i].low == "our" {
			return true
		}
	}
	return false
}

// inverse reads "V is (now) the A of S", "V is S's new A".
func (p *parser) inverse(s *sentence) bool {
	o := p.object(s.obj, false)
	core := o.core
	if len(core) < 2 || s.sub.ok && (s.sub.poss || s.sub.pronoun || s.sub.attributive()) || core[0].quoted || len(s.subTs) == 0 {
		return false
	}
	if len(s.subTs) == 1 && (s.subTs[0].low == "it" || s.subTs[0].low == "this" || s.subTs[0].low == "that" || s.subTs[0].low == "there") {
		return false
	}
	first := core[0]
	switch {
	case first.poss, first.proper(), first.low == "the", first.low == "my", first.low == "our", first.low == "his", first.low == "her", first.low == "their":
	default:
		return false
	}
	if len(s.subTs) == 1 && pronoun[s.subTs[0].low] || len(core) > 9 || gerund(s.subTs) {
		return false
	}
	ph := p.phrase(core)
	if !ph.ok || ph.stale || s.neg || ph.head == "favorite" || ph.head == "favourite" || ph.head == "fave" {
		return false
	}
	switch {
	case first.low == "a" || first.low == "an":
		return false
	case ph.poss && ph.count > 1 && (ph.known && !entity[ph.head] || ph.def || ph.words.has("favorit") || core[0].poss || first.low == "my" || first.low == "our" || first.low == "his" || first.low == "her" || first.low == "their"):
	case ph.def && ph.known && ph.count > 1:
	default:
		return false
	}
	switch core[len(core)-1].low {
	case "friend", "brother", "sister", "son", "daughter", "cousin", "colleague", "neighbor", "fan", "member", "child", "kid", "friends":
		return false
	}
	if ph.words.has("deadline") && kindOf(s.subTs) != temporal {
		return false
	}
	return p.emit(ph.words, s.subTs, o.not, &s.group, o.now || ph.fresh, false)
}
