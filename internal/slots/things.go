package slots

import "strings"

// price reads "S costs V", "S sells for V", "you pay V for S".
func (p *parser) price(s *sentence) {
	o := p.object(s.obj, false)
	core := o.core
	if s.verb.sense == pay {
		if val, what := until(core, "for"); what != nil {
			if ph := p.phrase(what); ph.ok {
				p.emit(ph.words.with("price"), val, o.not, &s.group, o.now, false)
			}
		}
		return
	}
	if s.low == "cost" && len(s.subTs) > 0 {
		s.past = s.used
	}
	if len(core) > 1 && (core[0].low == "for" || core[0].low == "at") {
		core = core[1:]
	} else if s.low != "costs" && s.low != "cost" && s.low != "costing" {
		return
	}
	p.about(s, "price", cutAt(core, "per", "in"), &o)
}

// uses reads "S uses V as A", "S switched from U to V", "we run S 1.2".
func (p *parser) uses(s *sentence) {
	if p.command(s) {
		return
	}
	if s.sub.ok && p.common(s) {
		return
	}
	s.obj = insteadLast(s.obj)
	o := p.object(s.obj, false)
	core := o.core
	if s.verb.sense == switchTo {
		p.switched(s, &o)
		return
	}
	if s.verb.sense == default_ {
		if len(core) > 1 && core[0].low == "to" && s.sub.ok {
			p.emit(s.sub.words, core[1:], o.not, &s.group, o.now, false)
		}
		return
	}
	if len(core) > 1 && core[0].low == "on" && (s.low == "rely" || s.low == "relies" || s.low == "relying") {
		core = core[1:]
	}
	if _, of := until(core, "of"); len(core) > 3 && core[0].low == "version" && core[1].digits() > 0 && of != nil {
		if ph := p.phrase(of); ph.ok {
			p.emit(ph.words.with("version"), core[1:2], number1(o.not), &s.group, o.now, false)
		}
		return
	}
	val, as := until(core, "as", "for")
	if n := len(core); n >= 2 && s.verb.sense == run && as == nil && !s.passive {
		if last := &core[n-1]; last.digits() > 0 && versionLike(last.low) {
			if ph := p.phrase(core[:n-1]); ph.ok && ph.names || ph.ok && ph.def {
				b := ph.words.with("version")
				if s.sub.ok && !s.sub.person && !s.sub.words.has("we") {
					b = b.with(s.sub.words...)
				}
				p.emit(b, core[n-1:], o.not, &s.group, o.now, false)
				return
			}
		}
	}
	if as == nil && p.as == nil || len(val) == 0 {
		if s.sub.ok && len(core) > 0 && len(core) <= 3 && s.verb.sense != run {
			p.emit(s.sub.words.with("use"), core, o.not, &s.group, o.now, true)
		}
		return
	}
	b := p.as
	if as != nil {
		ph := p.noun(as)
		if !ph.ok || timeunit[ph.head] || ph.stale {
			return
		}
		b = ph.words
	}
	switch {
	case s.sub.ok && !s.sub.words.has("we"):
		b = s.sub.words.with(b...)
	case !s.sub.ok && !s.none:
		return
	}
	former := o.not
	if f, _ := until(former, "as", "for"); len(f) > 0 {
		former = f
	}
	p.emit(b, val, former, &s.group, o.now, false)
}

// insteadLast moves "instead of U" behind what follows it: "use V instead of U
// as A" is "use V as A instead of U".
func insteadLast(ts []token) []token {
	for i := 1; i+2 < len(ts); i++ {
		if (ts[i].low != "instead" || ts[i+1].low != "of") && ts[i].low != "over" {
			continue
		}
		for j := i + 2; j < len(ts); j++ {
			if w := ts[j].low; (w == "as" || w == "for") && !ts[j].quoted {
				out := append(append([]token(nil), ts[:i]...), ts[j:]...)
				return append(out, ts[i:j]...)
			}
		}
	}
	return ts
}

func versionLike(w string) bool {
	if len(w) > 1 && w[0] == 'v' {
		w = w[1:]
	}
	if w == "" || w[0] < '0' || w[0] > '9' {
		return false
	}
	return kindOf([]token{{low: w, text: w}}) == number || len(w) > 3 && w[len(w)-1] >= 'a'
}

// switched reads "S switched (its A) (from U) to V (as A)".
func (p *parser) switched(s *sentence, o *object) {
	head, from, to := p.fromTo(o.core)
	if len(to) == 0 {
		return
	}
	if len(from) == 0 {
		from = o.not
	}
	val, as := until(to, "as", "for")
	if len(val) == 0 {
		return
	}
	if len(head) > 0 {
		if ph := p.phrase(head); ph.ok && !ph.stale {
			p.emit(p.owned(s, ph), val, from, &s.group, true, false)
		}
		return
	}
	b := p.as
	if as != nil {
		if ph := p.noun(as); ph.ok {
			b = ph.words
		}
	}
	if !s.sub.ok {
		return
	}
	if b != nil {
		p.emit(p.withOwner(s, b), val, from, &s.group, true, false)
		return
	}
	if s.sub.attributive() && !s.sub.names {
		p.emit(s.sub.words, val, from, &s.group, true, false)
		return
	}
	if len(from) > 0 && len(val) <= 3 {
		p.emit(s.sub.words.with("use"), val, from, &s.group, true, true)
	}
}

func (p *parser) withOwner(s *sentence, b bag) bag {
	if s.sub.words.has("we") {
		return b
	}
	return s.sub.words.with(b...)
}

// command reads "use `V` to A", "to A, run `V`", "we A with `V`".
func (p *parser) command(s *sentence) bool {
	q := -1
	for i := range s.obj {
		if s.obj[i].quoted {
			q = i
			break
		}
	}
	if q < 0 || q > 1 {
		return false
	}
	o := p.object(s.obj, true)
	b := p.as
	if b == nil {
		for i := q + 1; i < len(s.obj); i++ {
			if s.obj[i].low == "to" || s.obj[i].low == "for" {
				task := s.obj[i+1:]
				task = p.object(task, false).core
				b = p.task(task)
				break
			}
		}
	}
	if b == nil || !b.has("command") || !s.none && !s.sub.ok {
		return false
	}
	return p.emit(b, s.obj[q:q+1], quotedOnly(o.not), &s.group, o.now, false) || true
}

func quotedOnly(ts []token) []token {
	if len(ts) > 0 && ts[0].quoted {
		return ts[:1]
	}
	return ts
}

// inverted emits that the subject is the attr of what.
func (p *parser) inverted(s *sentence, what []token, attr string, o *object) {
	if !s.sub.ok || len(s.subTs) == 0 || s.sub.attributive() || len(s.subTs) == 1 && pronoun[s.subTs[0].low] && s.subTs[0].low != "i" {
		return
	}
	if ph := p.phrase(what); ph.ok && !ph.stale {
		p.emit(ph.words.with(attr), s.subTs, o.not, &s.group, o.now, false)
	}
}

// roles reads who owns, leads or manages what.
func (p *parser) roles(s *sentence) {
	o := p.object(s.obj, false)
	core := o.core
	attr := map[sense]string{own: "owner", guide: "lead", manage: "manager"}[s.verb.sense]
	switch s.verb.sense {
	case own, guide, manage:
		if s.passive {
			if len(core) > 1 && core[0].low == "by" {
				p.about(s, attr, core[1:], &o)
			}
			return
		}
		if len(core) == 0 || core[0].low == "a" || core[0].low == "an" || core[0].low == "to" || preposition[core[0].low] {
			if len(core) > 1 && s.verb.sense == own && core[0].low != "to" {
				p.ownsCar(s, core, &o)
				if _, name := until(core, "called", "named"); name != nil && s.sub.ok {
					p.has(s)
				}
			}
			return
		}
		p.inverted(s, core, attr, &o)
	case belong:
		if s.sub.names && p.common(s) {
			return
		}
		if len(core) > 1 && core[0].low == "to" {
			p.about(s, "owner", core[1:], &o)
		}
	case assign:
		switch {
		case len(core) < 2 || core[0].low != "to" || !s.passive:
		case s.sub.names && !s.sub.def && !core[1].proper(): // Dana is assigned to the ticket
			p.inverted(s, core[1:], "assignee", &o)
		default:
			p.about(s, "assignee", core[1:], &o)
		}
	case takeVerb:
		p.takes(s, &o)
	case hand:
		p.hands(s, &o)
	case pass:
		_, from, to := p.fromTo(core)
		if to != nil && s.sub.ok && s.sub.attributive() {
			p.emit(s.sub.words, to, from, &s.group, true, false)
		}
	case succeed:
		who, as := until(core, "as")
		if as != nil && len(who) > 0 {
			if ph := p.phrase(as); ph.ok && (ph.poss || ph.count > 1) {
				p.emit(ph.words, s.subTs, who, &s.group, true, false)
			}
		}
	}
}

var cars = set(`toyota volvo tesla honda fiat ford bmw audi mercedes vw volkswagen nissan mazda subaru kia hyundai porsche
	chevrolet chevy jeep lexus skoda seat renault peugeot citroen opel suzuki mini volkswagen car`)

func (p *parser) ownsCar(s *sentence, core []token, o *object) {
	val, _ := until(core, "and", ",")
	for i := range val {
		if cars[val[i].low] {
			p.about(s, "car", val, o)
			return
		}
	}
}

// takes reads "X took over S (from U)", "X took over as A of S", "S takes place
// on V".
func (p *parser) takes(s *sentence, o *object) {
	if len(s.obj) > 1 && s.obj[0].low == "place" {
		t := *s
		t.obj = s.obj[1:]
		p.timed(&t)
		return
	}
	if len(o.core) > 1 && o.core[0].low == "over" {
		what, from := until(o.core[1:], "from")
		if u, as := until(from, "as"); len(what) == 0 && as != nil { // "over from U as A"
			if ph := p.noun(as); ph.ok && ph.count > 1 {
				p.emit(ph.words, s.subTs, u, &s.group, true, false)
			}
			return
		}
		if as := what; len(as) > 1 && as[0].low == "as" {
			if ph := p.phrase(as[1:]); ph.ok && ph.count > 1 {
				p.emit(ph.words, s.subTs, from, &s.group, true, false)
			}
			return
		}
		o.not = from
		o.now = true
		attr := "owner"
		if w, as := until(what, "as"); as != nil {
			if ph := p.noun(as); ph.ok && len(ph.words) == 1 {
				attr, what = ph.words[0], w
			} else if ph.ok && len(ph.words) > 1 {
				attr, what = stem(nil, ph.head)[0], w
			}
		}
		if len(what) > 0 {
			p.inverted(s, what, attr, o)
		}
		return
	}
	// as the object of "over" was cut by "over U"
	if len(s.obj) > 1 && s.obj[0].low == "over" {
		return
	}
	if s.sub.ok {
		p.has(s)
	}
}

// hands reads "U handed S over to V".
func (p *parser) hands(s *sentence, o *object) {
	head, _, to := p.fromTo(s.obj)
	if len(to) == 0 {
		return
	}
	var what []token
	for i := range head {
		if head[i].low != "over" {
			what = append(what, head[i])
		}
	}
	if s.passive {
		if s.sub.ok {
			p.emit(s.sub.words.with("owner"), p.object(to, false).core, nil, &s.group, true, false)
		}
		return
	}
	if ph := p.phrase(what); ph.ok {
		p.emit(ph.words.with("owner"), p.object(to, false).core, s.subTs, &s.group, true, false)
	}
}

// replaced reads "W replaced U as A", "we replaced U with W (as A)".
func (p *parser) replaced(s *sentence) {
	o := p.object(s.obj, false)
	u, w := until(o.core, "with", "for", "by")
	who, as := until(o.core, "as")
	switch {
	case w != nil && len(u) > 0 && len(w) > 0 && s.sub.ok && !s.passive:
		var b bag
		w, as = until(w, "as", "for")
		if as != nil {
			if ph := p.noun(as); ph.ok {
				b = ph.words
			}
		} else if p.as != nil {
			b = p.as
		}
		for i := range u {
			if cars[u[i].low] {
				b = bag{"car"}
			}
		}
		if b != nil {
			p.emit(p.withOwner(s, b), w, u, &s.group, true, false)
			return
		}
		if len(u) <= 4 && len(w) <= 4 {
			p.emit(s.sub.words.with("use"), w, u, &s.group, true, true)
		}
	case as != nil && len(who) > 0 && len(s.subTs) > 0 && !s.passive:
		if ph := p.phrase(as); ph.ok && (ph.poss || ph.count > 1) {
			p.emit(ph.words, s.subTs, who, &s.group, true, false)
		}
	}
}

// changed reads "S's A changed from U to V", "X changed the A of S to V", "S was
// upgraded to V", "S has been marked as V".
func (p *parser) changed(s *sentence) {
	if s.verb.sense == mark {
		o := p.object(s.obj, false)
		core := o.core
		if len(core) > 1 && core[0].low == "as" {
			core = core[1:]
		}
		if s.passive && s.sub.ok && statusVal(core) {
			p.about(s, "status", core, &o)
		}
		return
	}
	if s.sub.ok && s.sub.count > 0 && !s.none && p.goesToSchool(s) {
		return
	}
	o := p.object(s.obj, true)
	head, from, to := p.fromTo(o.core)
	if len(from) == 0 {
		from = o.not
	}
	if to == nil {
		p.changedAs(s, &o)
		return
	}
	if len(to) == 0 {
		return
	}
	head = trimVerbParticle(head)
	if len(head) > 0 && !s.passive {
		p.moved(s, head, from, to, &o)
		return
	}
	if !s.sub.ok {
		return
	}
	p.became(s, from, to, &o)
}

// became reads what the subject changed to.
func (p *parser) became(s *sentence, from, to []token, o *object) {
	sub := &s.sub
	val := p.noTail(to)
	k := kindOf(val)
	b := sub.words
	switch {
	case money(val) && !sub.known && !sub.person:
		b = b.with("price")
	case p.common(s):
		return
	case k == temporal && !sub.known && !sub.person:
		b = b.with("when")
	case sub.attributive() && !sub.names && !(k == temporal && (sub.head == "release" || sub.head == "launch" || sub.head == "meeting" || sub.head == "standup")):
	case s.verb.sense == upgrade && s.passive && len(val) == 2 && val[0].digits() == len(val[0].text) && strings.HasSuffix(val[1].low, "s") && !timeunit[val[1].low]:
		if ph := p.noun(val[1:]); ph.ok { // "upgraded to 8 cores"
			b, val, from = b.with(ph.words...).with("number"), val[:1], number1(from)
		}
	case s.verb.sense == upgrade || s.low == "updated":
		if k != number && !versionLike(val[0].low) {
			return
		}
		if n := len(val); n > 1 { // "upgraded to Go 1.23"
			if ph := p.phrase(val[:n-1]); ph.ok && versionLike(val[n-1].low) {
				b, val = b.with(ph.words...), val[n-1:]
			}
		}
		b = b.with("version")
	case k == temporal && !sub.person:
		b = b.with("when")
	case statusVal(val) && (len(from) > 0 || s.low == "changed" || s.low == "set") && !sub.person:
		b = b.with("status")
	case (k == number || s.passive || sub.ident) && !sub.names && (s.low != "went" || len(from) > 0):
	default:
		return
	}
	p.emit(b, val, from, &s.group, true, false)
}

// goesToSchool reads "S goes to V for school".
func (p *parser) goesToSchool(s *sentence) bool {
	if s.low != "goes" && s.low != "go" && s.low != "going" {
		return false
	}
	if what, when := until(s.obj, "on", "at", "every"); when != nil && len(what) > 1 && what[0].low == "to" && kindOf(when) == temporal {
		if ph := p.phrase(what[1:]); ph.ok {
			o := p.object(when, true)
			p.emit(s.sub.words.with(ph.words...).with("when"), o.core, o.not, &s.group, o.now, false)
		}
		return true
	}
	if len(s.obj) > 1 && s.obj[0].low == "by" && s.sub.names {
		o := p.object(s.obj[1:], false)
		p.about(s, "name", o.core, &o)
		return true
	}
	v, why := until(s.obj, "for")
	if len(v) > 1 && v[0].low == "to" && len(why) > 0 && (why[0].low == "school" || why[0].low == "university" || why[0].low == "college") {
		p.about(s, "school", v[1:], &object{})
	}
	return true
}

// changedAs reads "S is configured as V", "S is set at V", "S pointing at V".
func (p *parser) changedAs(s *sentence, o *object) {
	core := o.core
	if len(core) < 2 || !s.passive || !s.sub.ok {
		if s.sub.ok && len(core) == 0 && s.sub.attributive() {
			p.topic, p.open = s.sub.words, true // "the port has changed: …"
		} else if ph := p.phrase(core); len(core) > 0 && !s.passive && ph.ok && ph.attributive() {
			p.topic, p.open = ph.words, true // "I changed the port: …"
		}
		return
	}
	switch core[0].low {
	case "as", "at", "with":
		if s.sub.attributive() || s.sub.def {
			p.emit(s.sub.words, core[1:], o.not, &s.group, o.now, false)
		}
	}
}

// timed reads "S takes place on V", "S was rescheduled (from U) to V".
func (p *parser) timed(s *sentence) {
	o := p.object(s.obj, true)
	head, from, to := p.fromTo(o.core)
	if len(from) == 0 {
		from = o.not
	}
	if !s.passive && len(strip(head)) > 0 && to != nil { // we postponed S to V
		if ph := p.phrase(trimVerbParticle(head)); ph.ok && kindOf(to) == temporal {
			p.emit(ph.words.with(whenFor(&ph)), to, from, &s.group, true, false)
		}
		return
	}
	if to == nil {
		to = strip(head)
	}
	if len(to) == 0 || !s.sub.ok || kindOf(to) != temporal {
		return
	}
	p.emit(s.sub.words.with(whenFor(&s.sub)), to, from, &s.group, o.now || s.verb.event, false)
}

// placed reads where something is kept, hosted or reached.
func (p *parser) placed(s *sentence) {
	if s.sub.ok && p.common(s) {
		return
	}
	if _, when := until(s.obj, "on", "at", "every"); s.sub.ok && !s.passive && s.verb.sense != copula && kindOf(when) == temporal {
		p.generic(s)
		return
	}
	o := p.object(s.obj, false)
	core := o.core
	sub := s.sub
	if !s.passive && len(s.subTs) == 1 && (s.subTs[0].low == "you" || s.subTs[0].low == "we" || s.subTs[0].low == "i") {
		// "you find S at V", "you can reach S at V"
		for i := 1; i < len(core)-1; i++ {
			if w := core[i].low; w == "at" || w == "in" || w == "on" || w == "under" {
				if sub = p.phrase(core[:i]); !sub.ok {
					return
				}
				core = core[i:]
				t := *s
				t.sub, t.obj = sub, core
				if p.common(&t) {
					return
				}
				break
			}
		}
	} else if s.none && s.verb.sense != store {
		before, after := until(core, "at", "on", "under")
		if sub = p.phrase(before); !sub.ok || after == nil {
			return
		}
		core = core[len(before):]
	} else if !s.passive && s.verb.sense != copula {
		return
	}
	if len(core) > 3 && core[0].low == "by" && (core[1].low == "email" || core[1].low == "e-mail" || core[1].low == "phone" || core[1].low == "mail") {
		core = core[2:]
	}
	if len(core) < 2 || !preposition[core[0].low] || !sub.ok {
		return
	}
	val := core[1:]
	k := kindOf(val)
	attr := "where"
	switch {
	case k == emailLike:
		attr = "email"
	case k == phoneLike:
		attr = "phone"
	case s.verb.sense == reach || s.verb.sense == call:
		return
	case k == urlLike || k == pathLike || place(val) || val[0].low == "the":
	default:
		return
	}
	if attr == "where" && sub.person {
		return
	}
	p.emit(sub.words.with(attr), val, o.not, &s.group, o.now, false)
}

// named reads "S's dog is called V", "the repo was renamed (from U) to V".
func (p *parser) named(s *sentence) {
	o := p.object(s.obj, false)
	core := o.core
	if s.verb.sense == rename {
		head, from, to := p.fromTo(core)
		if to == nil && s.passive {
			head, to = nil, core
		}
		if to == nil {
			return
		}
		sub := s.sub
		if !s.passive && len(head) > 0 {
			sub = p.phrase(head)
		}
		if sub.ok && sub.known && !entity[sub.head] && !sub.names {
			p.emit(sub.words, to, from, &s.group, true, false)
			return
		}
		if sub.ok {
			p.emit(sub.words.with("name"), to, from, &s.group, true, false)
		}
		return
	}
	if s.passive {
		if s.sub.ok && len(core) > 0 && len(core) <= 4 {
			p.about(s, "name", core, &o)
		}
		return
	}
	if len(core) > 1 && core[len(core)-1].low == "home" && s.sub.ok {
		p.about(s, "where", core[:len(core)-1], &o)
		return
	}
	p.placed(s)
}

// generic reads verbs of which only the time is known: "S opens at 9".
func (p *parser) generic(s *sentence) {
	if !s.sub.ok || s.passive || s.past {
		return
	}
	o := p.object(s.obj, true)
	core := o.core
	if len(core) < 1 {
		return
	}
	if s.low == "weighs" || s.low == "earns" || s.low == "weigh" || s.low == "earn" {
		attr := map[byte]string{'w': "weight", 'e': "salary"}[s.low[0]]
		p.emit(s.sub.words.with(stem(nil, attr)...), core, o.not, &s.group, o.now, false)
		return
	}
	b := s.sub.words.with(stem(nil, verbStem(s.low))...)
	_, at := until(core, "at", "on", "until")
	if at != nil && (kindOf(at) == temporal || len(at) == 1 && at[0].digits() == len(at[0].text) && len(at[0].text) < 3) && len(at) <= 4 {
		p.emit(b.with("when"), at, o.not, &s.group, o.now, false)
		return
	}
	if p.quantity(s, b, &o) {
		return
	}
	if len(core) == 2 && core[0].low == "by" && settled[s.low] {
		p.emit(b, core[1:], o.not, &s.group, o.now, false)
		return
	}
	if len(core) > 1 && len(core) <= 5 && settled[s.low] && (s.sub.person || s.sub.names) && (core[0].low == "at" || core[0].low == "with") {
		if val := strip(core); place(core[1:]) && kindOf(val) == plainText {
			p.emit(b, val, o.not, &s.group, o.now, false)
		}
	}
}

// settled are verbs of what one does at one place.
var settled = set(`commute commutes bank banks stay stays train trains volunteer volunteers sleep sleeps`)

// quantity reads "S requires 8 characters" and "S rotates every 30 days": how
// much of a unit, by what S does.
func (p *parser) quantity(s *sentence, b bag, o *object) bool {
	core := o.core
	each := len(core) > 0 && (core[0].low == "every" || core[0].low == "each")
	core = bounds(core)
	if len(core) < 2 || len(core) > 4 || core[0].digits() == 0 && numeral[core[0].low] == "" || core[0].low == "one" || !versionLike(core[0].low) && numeral[core[0].low] == "" {
		return false
	}
	unit := core[1:]
	for i := range unit {
		if unit[i].mark || unit[i].digits() > 0 || unit[i].proper() || unit[i].poss {
			return false
		}
	}
	if each {
		if !timeunit[unit[0].low] {
			return false
		}
		return p.emit(b.with("every"), core, o.not, &s.group, o.now, false) || true
	}
	if s.sub.person || s.sub.names { // what somebody does once is no property
		return false
	}
	var words bag
	for i := range unit {
		if !preposition[unit[i].low] && !determiner[unit[i].low] {
			words = p.append(words, &unit[i])
		}
	}
	return p.emit(b.with(words...), core[:1], number1(o.not), &s.group, o.now, false) || true
}

// bounds takes "up to", "at least" and their like off a quantity.
func bounds(ts []token) []token {
	for len(ts) > 1 {
		switch ts[0].low {
		case "every", "each", "only", "about", "around", "exactly":
			ts = ts[1:]
			continue
		case "up", "at":
			if w := ts[1].low; len(ts) > 2 && (w == "to" || w == "least" || w == "most") {
				ts = ts[2:]
				continue
			}
		}
		break
	}
	return ts
}

func verbStem(low string) string {
	ts := stem(nil, low)
	if len(ts) > 0 {
		return ts[0]
	}
	return low
}
