package slots

// sentence is a clause whose verb was found.
type sentence struct {
	group
	sub   phrase
	subTs []token
	obj   []token // after the verb
	none  bool    // there is no subject: "set the port to 80"
}

// label reads "ATTR of SUBJ: V" and "KEY = V". It reports whether the clause
// was one of these.
func (p *parser) label(ts []token, gone bool) bool {
	k := -1
	for i := range ts {
		if ts[i].mark && (ts[i].low == ":" || ts[i].low == "=") {
			k = i
			break
		}
	}
	if k <= 0 || k == len(ts)-1 {
		return false
	}
	left, right := ts[:k], ts[k+1:]
	if _, ok := p.find(left); ok && ts[k].low != "=" {
		return false
	}
	ph := p.phrase(left)
	if !ph.ok || ph.stale {
		return true
	}
	if g, ok := p.find(right); ok && ts[k].low == ":" && len(right) > 1 && (g.at > 0 || g.verb.form == third || g.verb.sense == copula) {
		if ph.names && ph.count <= 3 {
			if g.at == 0 { // "Alice: lives in Paris"
				p.subject = ph.words
				p.state(right, g)
				return true
			}
			if w := right[0].low; w == "i" || w == "my" || w == "we" || w == "our" {
				p.actor = left[0].text
			}
			p.state(right, g)
		}
		return true
	}
	o := p.object(right, true)
	nominal := kindOf(o.core) != plainText || len(o.core) > 0 && (o.core[0].quoted || o.core[0].proper())
	if !ph.attributive() && !(ph.count >= 2 && (left[0].proper() || nominal)) && ts[k].low != "=" || len(o.core) > 8 && ts[k].low != "=" {
		return true
	}
	p.emit(ph.words, o.core, o.not, &group{past: gone}, o.now || ph.fresh, false)
	return true
}

// state reads a clause with its verb.
func (p *parser) state(ts []token, g group) {
	s := sentence{group: g, subTs: ts[:g.at], obj: ts[g.end:]}
	s.subTs = trimSubject(s.subTs)
	if _, v := until(s.obj, "but"); s.neg && v != nil && g.verb.sense != copula && g.verb.sense != marry {
		s.neg, s.now = false, true
		u := s.obj[:len(s.obj)-len(v)-1]
		s.obj = v
		if _, as := until(u, "as"); g.verb.sense == have && as != nil { // "has U as A but V"
			s.obj = append(append(append([]token(nil), v...), token{text: "as", low: "as"}), as...)
		} else if g.verb.sense == have && len(u) > 1 { // "has two children but three"
			s.obj = append(append([]token(nil), v...), u[1:]...)
		}
	}
	if n := len(s.subTs); n > 0 && s.subTs[n-1].low == "both" {
		return
	}
	switch {
	case len(s.subTs) > 0:
		s.sub = p.phrase(s.subTs)
		if len(s.subTs) > 1 && s.subTs[0].mark {
			return
		}
		if s.sub.ok && (s.sub.names || s.sub.def && !s.sub.poss) && !s.sub.pronoun {
			p.subject = s.sub.words
		}
	case g.verb.sense != copula && (g.verb.form == base || g.verb.form == past && !g.passive):
		s.none = true
		if g.verb.form == past && len(p.subject) > 0 {
			s.sub = phrase{ok: true, words: p.subject, person: true, names: true, count: 1}
		}
	case g.verb.sense == copula && p.topic != nil:
		s.sub = phrase{ok: true, words: p.topic, pronoun: true, poss: true, known: true, count: 2}
	case len(p.subject) > 0:
		s.sub = phrase{ok: true, words: p.subject, person: true, names: true, count: 1}
	}
	if s.sub.stale {
		s.past = true
	}
	if s.future && g.verb.sense != copula && g.verb.sense != takeVerb && g.verb.sense != time {
		return
	}
	p.dispatch(&s)
}

// trimSubject takes times off the end of a subject, and leaves of "Nora packed
// up and …" and of "Nora and her family" the one whom it is about.
func trimSubject(ts []token) []token {
	for n := len(ts); n > 0; n = len(ts) {
		last := &ts[n-1]
		switch {
		case last.mark || adverb[last.low] || last.low == "can":
			ts = ts[:n-1]
			continue
		case n > 2 && ts[n-2].low == "this" && timeunit[last.low]:
			ts = ts[:n-2]
			continue
		case n > 2 && last.low == "days" && ts[n-2].low == "these" || n > 2 && last.low == "moment" || n > 2 && last.low == "now" && ts[n-2].low == "right":
			ts = ts[:n-2]
			if last.low == "moment" {
				ts = ts[:max(n-3, 0)]
			}
			continue
		case last.low == "and":
			i := 0
			for i < n && (ts[i].proper() || i == 0) && !ts[i].poss {
				i++
			}
			return ts[:i]
		}
		break
	}
	if together(ts) {
		before, _ := until(ts, "and")
		return before
	}
	return ts
}

func (p *parser) dispatch(s *sentence) {
	switch s.verb.sense {
	case copula:
		p.copula(s)
	case live, relocate, transfer, study, attend, work, join, leave, employ, hire, begin, promote, serve, get, have, drive, marry, partner, turn, reportTo:
		p.personal(s)
	case cost, pay:
		p.price(s)
	case use, prefer, switchTo, run, default_:
		p.uses(s)
	case own, guide, manage, belong, assign, takeVerb, hand, succeed, pass:
		p.roles(s)
	case replace:
		p.replaced(s)
	case change, upgrade, mark:
		if s.verb.form == third && s.sub.ok && !s.passive && !s.past && !s.neg {
			o := p.object(s.obj, true)
			if p.quantity(s, s.sub.words.with(stem(nil, verbStem(s.low))...), &o) {
				return
			}
		}
		p.changed(s)
	case time:
		p.timed(s)
	case store, reach, bind:
		p.placed(s)
	case call, rename:
		p.named(s)
	case build:
		p.built(s)
	case license:
		if o := p.object(s.obj, false); s.passive && s.sub.ok && len(o.core) > 1 && preposition[o.core[0].low] {
			p.about(s, "license", o.core[1:], &o)
		}
	case other:
		p.generic(s)
	}
}

// about emits the attribute of the subject.
func (p *parser) about(s *sentence, attr string, val []token, o *object) bool {
	if !s.sub.ok {
		return false
	}
	return p.emit(s.sub.words.with(attr), val, o.not, &s.group, o.now || s.sub.fresh, false)
}

// numbered are nouns of places that have numbers: "in room 204".
var numbered = set(`room hall suite gate bay platform booth lane`)

// common reads what any verb may have for an object: a port, a version, a team.
func (p *parser) common(s *sentence) bool {
	o := p.object(s.obj, false)
	core := o.core
	head, from, to := p.fromTo(core)
	if to != nil && len(head) == 0 {
		core = to
	} else {
		from = nil
	}
	if len(from) == 0 {
		from = o.not
	}
	core = strip(core)
	for i := range core {
		if (core[i].low == "port" || core[i].low == "version" || i == 0 && len(core) == 2 && numbered[core[i].low]) && i+1 < len(core) && core[i+1].digits() > 0 && s.sub.ok && i <= 1 {
			if i+2 < len(core) && core[i+2].low == "of" || i > 0 && !preposition[core[0].low] && core[0].low != "port" {
				break
			}
			return p.emit(s.sub.words.with(core[i].low), core[i+1:i+2], number1(from), &s.group, o.now, false) || true
		}
	}
	if p.versioned(s, core, from, &o) {
		return true
	}
	if n := len(core); n >= 2 && n <= 4 && s.sub.ok && !core[n-1].quoted {
		if c, ok := groups[core[n-1].low]; ok && (len(s.obj) > n || s.verb.sense == join) {
			f := from
			if m := len(f); m > 1 {
				if _, ok := groups[f[m-1].low]; ok {
					f = f[:m-1]
				}
			}
			return p.emit(s.sub.words.with(c), core[:n-1], f, &s.group, o.now, false) || true
		}
	}
	return false
}

// versioned reads a name with a version: "moved to Go 1.24".
func (p *parser) versioned(s *sentence, core, from []token, o *object) bool {
	n := len(core)
	switch s.verb.sense {
	case relocate, use, run, upgrade, change, switchTo, copula:
	default:
		return false
	}
	if n < 2 || n > 4 || !core[0].proper() || !versionLike(core[n-1].low) || s.verb.sense == relocate && s.sub.names {
		return false
	}
	switch core[n-2].low {
	case "room", "floor", "gate", "desk", "building", "suite", "track", "unit", "phase", "level", "step":
		return false
	}
	ph := p.phrase(core[:n-1])
	if !ph.ok || core[0].time() {
		return false
	}
	b := ph.words.with("version")
	if s.sub.ok && !s.sub.words.has("we") {
		b = b.with(s.sub.words...)
	}
	if m := len(from); m > 1 {
		from = from[m-1:]
	}
	return p.emit(b, core[n-1:], from, &s.group, o.now, false) || true
}

// number1 leaves the word "port" or "version" out of a former value.
func number1(ts []token) []token {
	ts = strip(former1(ts))
	if len(ts) > 1 && (ts[0].low == "port" || ts[0].low == "version") {
		return ts[1:]
	}
	return ts
}

// jobNoun reports whether the phrase speaks of a job.
func jobNoun(ts []token) bool {
	for i := range ts {
		switch ts[i].low {
		case "job", "position", "role", "work", "post", "career":
			return true
		}
	}
	return false
}

// personal reads verbs that are said of people.
func (p *parser) personal(s *sentence) {
	if !s.sub.ok && s.none && len(p.subject) > 0 {
		s.sub = phrase{ok: true, words: p.subject, person: true, names: true, count: 1} // "… and now work at V"
	}
	if !s.sub.ok {
		return
	}
	switch s.verb.sense {
	case have, get:
		p.has(s)
		return
	case transfer:
		if s.passive && s.sub.ok && s.sub.attributive() {
			if _, from, to := p.fromTo(p.object(s.obj, false).core); to != nil {
				p.emit(s.sub.words, to, from, &s.group, true, false)
			}
			return
		}
		if s.sub.ok && p.common(s) {
			return
		}
	case join, relocate, work, live:
		if s.sub.ok && p.common(s) {
			return
		}
	}
	o := p.object(s.obj, false)
	switch s.verb.sense {
	case live:
		p.lives(s, &o)
	case relocate:
		p.moves(s, &o)
	case work, employ, hire:
		p.works(s, &o)
	case begin:
		p.begins(s)
	case join:
		if s.sub.ok && organisation(o.core) && !s.passive {
			p.about(s, "employer", o.core, &o)
		}
	case leave:
		p.leaves(s, &o)
	case promote, serve:
		p.promoted(s, &o)
	case study, attend, transfer:
		p.studies(s, &o)
	case drive:
		if len(o.core) > 1 && (o.core[0].low == "a" || o.core[0].low == "an") {
			p.about(s, "car", o.core, &o)
		}
	case partner:
		p.together(s, o.core, &o)
	case marry:
		p.marries(s, &o)
	case turn:
		if len(o.core) > 0 && (o.core[0].digits() > 0 || numeral[o.core[0].low] != "") && s.sub.names {
			p.about(s, "age", o.core[:1], &o)
		}
	case reportTo:
		if left, right := until(o.core, "to"); len(left) == 0 && right != nil {
			p.about(s, "manager", right, &o)
		}
	}
}

// leaves reads "X left U for V".
func (p *parser) leaves(s *sentence, o *object) {
	if _, when := until(s.obj, "on", "at"); when != nil && kindOf(when) == temporal {
		p.generic(s)
		return
	}
	left, right := until(o.core, "for")
	if right == nil {
		p.topic, p.open = s.sub.words.with("employer"), true
		return
	}
	if organisation(left) && organisation(right) {
		o.not = left
		p.about(s, "employer", right, o)
	}
}

func (p *parser) lives(s *sentence, o *object) {
	if len(o.core) < 2 || !preposition[o.core[0].low] {
		return
	}
	attr := "where"
	val := o.core[1:]
	switch o.core[0].low {
	case "in", "at", "on", "near", "from", "out", "under":
	default:
		return
	}
	if o.core[0].low == "from" {
		return
	}
	if o.core[0].low == "at" && val[0].digits() > 0 && kindOf(val) != urlLike && kindOf(val) != pathLike {
		attr = "address"
	}
	p.about(s, attr, cutAt(val, "with", "as", "for"), o)
}

// cutAt cuts the tokens before the first of the words.
func cutAt(ts []token, words ...string) []token {
	before, _ := until(ts, words...)
	if len(before) == 0 {
		return ts
	}
	return before
}

// organisation reports whether the tokens look like where somebody works.
func organisation(ts []token) bool {
	return len(ts) > 0 && (ts[0].proper() || len(ts) > 1 && ts[0].low == "the" && organ[ts[len(ts)-1].low])
}

var organ = set(`library university hospital school bank office company institute agency museum city government army navy firm
	startup team university college ministry department lab laboratory foundation clinic newspaper`)

// place reports whether the tokens look like the name of a place.
func place(ts []token) bool {
	if len(ts) == 0 {
		return false
	}
	switch kindOf(ts) {
	case urlLike, pathLike:
		return true
	}
	return ts[0].proper() || ts[0].quoted || ts[0].low == "the" && len(ts) > 1 && ts[1].proper()
}

// moves reads "X moved (from U) to V" and "Y moved X (from U) to V".
func (p *parser) moves(s *sentence, o *object) {
	timed := p.object(s.obj, true)
	head, from, to := p.fromTo(timed.core)
	if to == nil { // settled in V, "moved in with"
		if len(o.core) > 0 && o.core[0].low == "down" {
			o.core = o.core[1:]
		}
		if s.low == "settled" || s.low == "settles" || s.low == "relocated" {
			if len(o.core) > 1 && (o.core[0].low == "in" || o.core[0].low == "at") && place(o.core[1:]) {
				p.about(s, "where", o.core[1:], o)
			}
		}
		return
	}
	if len(from) == 0 {
		from = timed.not
	}
	if len(strip(head)) > 0 {
		p.moved(s, head, from, to, &timed)
		return
	}
	to = p.noTail(to)
	switch k := kindOf(to); {
	case !s.sub.ok:
	case k == temporal && !s.sub.person:
		p.emit(s.sub.words.with(whenFor(&s.sub)), to, from, &s.group, timed.now, false)
	case p.as != nil:
		p.emit(s.sub.words.with(p.as...), to, from, &s.group, true, false)
	case address(to) && (s.sub.names || s.sub.person):
		p.emit(s.sub.words.with("address"), to, from, &s.group, true, false)
	case place(to):
		if ph := p.apposition(s.obj); ph.ok {
			p.emit(s.sub.words.with(ph.words...), to, from, &s.group, true, false)
			return
		}
		to, as := until(to, "as")
		if as == nil {
			if v, what := until(to, "for"); len(what) > 1 && possessor[what[0].low] || len(what) > 0 && len(what) < 3 && !s.sub.names {
				to, as = v, what
			}
		}
		if as != nil && len(to) > 0 {
			if ph := p.noun(as); ph.ok {
				p.emit(s.sub.words.with(ph.words...), to, from, &s.group, true, false)
			}
			return
		}
		attr := "where"
		if s.sub.known && s.sub.poss || s.sub.pronoun {
			p.emit(s.sub.words, to, from, &s.group, timed.now, false)
			return
		}
		p.emit(s.sub.words.with(attr), cutAt(to, "with", "for", "because"), from, &s.group, timed.now, false)
	case statusVal(to) && (len(from) == 0 || statusVal(from)) && !s.sub.person:
		p.emit(s.sub.words.with("status"), to, from, &s.group, timed.now, false)
	case s.sub.attributive():
		p.emit(s.sub.words, to, from, &s.group, timed.now, false)
	}
}

var possessor = set(`his her their my`)

// apposition returns what the value is said to be: "…, his new employer".
func (p *parser) apposition(ts []token) (ph phrase) {
	for i := 1; i+1 < len(ts); i++ {
		if ts[i].mark && ts[i].low == "," {
			switch ts[i+1].low {
			case "his", "her", "their", "my", "our":
				if ph = p.noun(ts[i+1:]); ph.ok && ph.known {
					return ph
				}
			}
		}
	}
	return phrase{}
}

// noTail cuts a time off a value that has words before it.
func (p *parser) noTail(ts []token) []token {
	o := p.object(ts, false)
	if len(o.core) == 0 || kindOf(o.core) == temporal {
		return ts
	}
	return o.core
}

// whenFor returns the attribute of a subject that has a time for its value.
func whenFor(ph *phrase) string {
	if ph.words.has("deadline") {
		return "deadline"
	}
	return "when"
}

// moved reads "we moved X from U to V".
func (p *parser) moved(s *sentence, head, from, to []token, o *object) {
	ph := p.phrase(trimVerbParticle(head))
	if !ph.ok || ph.stale || ph.person || head[0].low == "me" {
		return
	}
	if len(to) == 0 {
		return
	}
	change := o.now || s.verb.event
	to = p.noTail(to)
	if before, as := until(to, "as"); as != nil && len(before) > 0 {
		to = before
	}
	switch k := kindOf(to); {
	case to[0].low == "version" && len(to) > 1:
		p.emit(ph.words.with("version"), to[1:], number1(from), &s.group, change, false)
	case k == temporal:
		p.emit(ph.words.with(whenFor(&ph)), to, from, &s.group, change, false)
	case (k == urlLike || k == pathLike) && !ph.words.has("url") && !ph.words.has("address"):
		p.emit(ph.words.with("where"), to, from, &s.group, change, false)
	case len(to) > 1 && versionLike(to[len(to)-1].low) && to[0].proper() && s.verb.sense == upgrade:
		t := *s
		t.sub = ph
		p.versioned(&t, to, from, o)
	case s.verb.sense == upgrade && !ph.known && (k == number || versionLike(to[0].low)):
		p.emit(ph.words.with("version"), to, from, &s.group, change, false)
	case ph.attributive() || s.verb.sense == change_(s) && (ph.def || k != plainText || ph.count == 1):
		p.emit(p.owned(s, ph), to, from, &s.group, change, false)
	case k == urlLike || k == pathLike || place(to) && ph.def:
		p.emit(ph.words.with("where"), to, from, &s.group, change, false)
	}
}

func change_(s *sentence) sense {
	if s.verb.sense == upgrade {
		return upgrade
	}
	return change
}

// owned returns the slot that a subject changes: its own, if the phrase says
// neither whose it is nor "the".
func (p *parser) owned(s *sentence, ph phrase) bag {
	if ph.poss || ph.def || ph.count != 1 || !s.sub.ok || len(ph.head) < 3 || ph.head[len(ph.head)-1] != 's' || s.sub.words.has("we") {
		return ph.words
	}
	if ph.head == "jobs" {
		return s.sub.words.with("employer")
	}
	return s.sub.words.with(ph.words...)
}

func trimVerbParticle(ts []token) []token {
	for len(ts) > 0 && !ts[len(ts)-1].quoted {
		switch ts[len(ts)-1].low {
		case "up", "down", "back", "forward", "over", "out", "away", "around", "on", "off", "again":
			ts = ts[:len(ts)-1]
			continue
		}
		break
	}
	return ts
}

func statusVal(ts []token) bool {
	ts = strip(ts)
	return len(ts) > 0 && len(ts) <= 3 && (statusword[ts[0].low] || statusphrase[ts[len(ts)-1].low])
}

func (p *parser) works(s *sentence, o *object) {
	core := o.core
	if s.verb.sense == hire && !s.passive {
		return
	}
	if len(core) < 2 {
		return
	}
	left, right := until(core, "as")
	if len(right) > 0 && s.sub.ok {
		p.about(s, "job", cutAt(right, "at", "for", "in", "with"), o)
	}
	if len(left) < 2 {
		return
	}
	if _, name := until(left, "called", "named"); len(name) > 0 {
		left = append(left[:1:1], name...)
	}
	switch left[0].low {
	case "under":
		if s.verb.sense == work && left[1].proper() && s.sub.ok {
			p.about(s, "manager", left[1:], o)
		}
	case "at", "for", "by", "with":
		val := cutAt(left[1:], "in", "with", "on")
		if left[0].low == "with" && (!s.passive && !val[0].proper()) {
			return
		}
		if len(val) > 0 && (val[0].proper() || val[0].low == "the" || val[0].low == "a") {
			p.about(s, "employer", val, o)
		}
	}
}

// begins reads "started working at V", "started at V".
func (p *parser) begins(s *sentence) {
	if len(s.obj) < 2 {
		return
	}
	i := 0
	if s.obj[0].low == "to" {
		i = 1
	}
	if v, ok := verbs[s.obj[i].low]; ok && (v.form == ing || i == 1) && v.sense != begin {
		t := *s
		t.verb, t.low, t.obj, t.now = v, s.obj[i].low, s.obj[i+1:], true
		t.verb.event = true
		if t.sub.ok {
			p.dispatch(&t)
		}
		return
	}
	o := p.object(s.obj, true)
	if kindOf(o.core) == temporal {
		p.timed(s)
		return
	}
	if jobNoun(o.core) {
		p.has(s)
		return
	}
	o = p.object(s.obj, false)
	if len(o.core) > 1 && o.core[0].low == "at" && organisation(o.core[1:]) {
		p.about(s, "employer", o.core[1:], &o)
	}
	if len(o.core) > 1 && o.core[0].low == "as" {
		p.about(s, "job", cutAt(o.core[1:], "at", "for"), &o)
	}
}

func (p *parser) promoted(s *sentence, o *object) {
	core := o.core
	if s.verb.sense == serve {
		if s.low == "serves" || s.low == "acts" || s.low == "serving" || s.low == "acting" {
			if len(core) > 1 && core[0].low == "as" && s.sub.names {
				p.about(s, "job", cutAt(core[1:], "at", "for", "of"), o)
			}
			return
		}
		p.common(s)
		return
	}
	if !s.passive {
		return
	}
	_, from, to := p.fromTo(core)
	if to == nil {
		to = core
	}
	if len(to) > 0 && !preposition[to[0].low] {
		o.not = from
		p.about(s, "job", cutAt(to, "at", "for"), o)
	}
}

func (p *parser) studies(s *sentence, o *object) {
	core := o.core
	if s.verb.sense == transfer {
		_, from, to := p.fromTo(core)
		if len(to) > 0 && place(to) && s.sub.names {
			o.not = from
			p.about(s, "school", cutAt(to, "for"), o)
		}
		return
	}
	if len(core) > 1 && (core[0].low == "at" || core[0].low == "in" && s.passive) {
		core = core[1:]
	} else if s.verb.sense == study {
		if len(core) > 0 && len(core) <= 3 && !preposition[core[0].low] && !determiner[core[0].low] && !s.passive && s.low != "attends" {
			p.about(s, "major", cutAt(core, "at", "in", "for", "with"), o)
		}
		return
	}
	if place(core) {
		p.about(s, "school", cutAt(core, "for", "in"), o)
	}
}

// marries reads "S married V" and "S is married".
func (p *parser) marries(s *sentence, o *object) {
	switch {
	case !s.passive && s.low == "married" && p.together(s, o.core, o):
	case s.neg:
		p.negated(s)
	case s.passive && (len(o.core) == 0 || preposition[o.core[0].low] || o.core[0].low == "last" || o.core[0].low == "this" || now[o.core[0].low]):
		if len(o.core) > 1 && o.core[0].low == "to" {
			p.together(s, o.core[1:], o)
		}
		p.about(s, "marital", []token{{text: s.low, low: s.low}}, o)
	}
}

// together reads who is dating, or married to, somebody.
func (p *parser) together(s *sentence, who []token, o *object) bool {
	if len(who) == 0 || len(who) > 3 || !who[0].proper() || s.past || s.neg {
		return false
	}
	return p.about(s, "partner", who, o)
}

// built reads "S is written in V" and "S was ported to V".
func (p *parser) built(s *sentence) {
	o := p.object(s.obj, false)
	if !s.passive || !s.sub.ok || len(o.core) < 2 || len(o.core) > 4 {
		return
	}
	_, from, to := p.fromTo(o.core)
	switch {
	case to != nil:
		o.not = from
	case o.core[0].low == "in" || o.core[0].low == "with" || o.core[0].low == "on" || o.core[0].low == "using":
		to = o.core[1:]
	}
	if len(to) > 0 && (to[0].proper() || to[0].quoted) {
		p.about(s, "language", to, &o)
	}
}
