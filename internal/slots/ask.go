package slots

import "slices"

// MaxQuestion is the number of words of a question above which it asks for no
// one slot.
const MaxQuestion = 20

// Question is what a question asks for.
type Question struct {
	// Keys are of the slots that it may mean, each of all of its words. For
	// "I" they are of [Statement.Self].
	Keys []uint64
	task bag
	// Past says that it asks for what was: "where did she live before".
	Past bool
}

// asking maps verbs to the attribute for which a question with them asks.
var asking = map[sense]string{
	live: "where", relocate: "where", store: "where", work: "employer", join: "employer", employ: "employer", hire: "employer",
	promote: "job", cost: "price", pay: "price", reportTo: "manager", own: "owner", belong: "owner", guide: "lead", manage: "manager",
	assign: "assignee", study: "school", attend: "school", transfer: "school", drive: "car", call: "name", rename: "name", marry: "marital",
	time: "when",
	have: "", get: "", use: "", prefer: "", switchTo: "", run: "", change: "", upgrade: "", serve: "", bind: "", takeVerb: "", default_: "", copula: "",
	reach: "phone", mark: "status",
}

// idle are words of a question that do not say what it asks for.
var idle = set(`what who whom whose which when where how why do does did is are am was were be been being has have had
	can could you me tell know remind remember please now currently today nowadays presently still again these
	days at the moment right in on to for of from by with as about under does doesn don didn not it that this
	a an there get find got much many old high long large big far currently actual current latest most recent newest
	located kept stored based best like likes love loves favourite so and or then hey hi ok okay give show say
	would should will let see look up info information anymore any more longer exactly actually really`)

var pastCue = set(`before previously formerly originally former previous earlier past history once ago initially`)

// Ask returns which slots a question may ask for: those of which its words name
// subject and attribute and nothing else. One that names more is too particular
// to be answered by a slot, and asks for none.
func Ask(s string) Question {
	if len(s) > 400 {
		return Question{}
	}
	p := parsers.Get().(*parser)
	defer p.release()
	p.tokens = scan(p.tokens[:0], s)
	ts := p.tokens[:0]
	for _, t := range p.tokens {
		if !t.mark {
			ts = append(ts, t)
		}
	}
	if ts = joined(ts); len(ts) == 0 || len(ts) > MaxQuestion {
		return Question{}
	}
	var q Question
	b, more := p.question(ts, &q)
	if len(b) == 0 || len(b) > maxWords {
		return Question{}
	}
	if len(more) > 0 {
		b = b.drop("when")
	}
	add := func(b bag) {
		if k := b.settle(nil).key(); !slices.Contains(q.Keys, k) {
			q.Keys = append(q.Keys, k)
		}
	}
	if len(more) == 0 {
		add(b)
	}
	for _, w := range more {
		if w == "" {
			add(b)
			continue
		}
		add(b.with(w))
	}
	if len(q.task) > 0 {
		add(q.task)
	}
	q.task = nil
	return q
}

// question returns the words of the slot, and the attributes one of which it
// may have besides.
func (p *parser) question(ts []token, q *Question) (b bag, more []string) {
	attr, where, when, command := "", false, false, -1
	did := false
	for i := 0; i < len(ts); i++ {
		t := &ts[i]
		w, next := t.low, word1(ts, i+1)
		if pastCue[w] || w == "used" && next == "to" || (w == "was" || w == "were") && i <= 1 {
			q.Past = true
			if w == "used" {
				i++
			}
			continue
		}
		did = did || w == "did"
		if stale[w] {
			q.Past = true
			continue
		}
		v, verb := verbs[w]
		switch {
		case w == "where":
			where = true
		case w == "when":
			when = true
		case w == "how":
			switch next {
			case "old":
				attr = "age"
				i++
			case "much", "expensive":
				attr = "price"
				i++
			case "many":
				attr = "number"
				i++
			case "do", "can", "to", "should":
				command = i + 2
			}
		case w == "favourite" || w == "favorite":
			b = append(b, "favorit")
		case (w == "i" || w == "my" || w == "me" || w == "mine"):
			if (w != "me" || i > 2) && !(w == "i" && command == i) {
				b = append(b, "user")
			}
		case w == "our" || w == "we" || w == "us":
		case w == "your":
			b = append(b, "you")
		case marital[w] && be[word1(ts, 0)]:
			attr = "marital" // "is she married or single": the value names the slot
		case w == "responsible" || w == "charge":
			attr = "owner"
		case w == "due" || w == "finished" || w == "deadline":
			b = append(b, "deadline")
		case w == "living" && i > 0 && ts[i-1].low == "a":
			attr = "job" // what she does for a living
		case w == "take" && next == "place":
			when, i = true, i+1
		case w == "go" && next == "to" || w == "goes" && next == "to":
			if i+2 < len(ts) && ts[i+2].low == "school" {
				where = false
			}
			i++
		case w == "listen" || w == "listens":
		case w == "work" && next == "as":
			attr = "job"
			i++
		case t.quoted:
			b = append(b, w)
		case idle[w]:
			if w == "favourite" {
				b = append(b, "favorit")
			}
		case verb && !t.proper() && !t.poss && asks(ts, i, v):
			a, known := asking[v.sense]
			switch {
			case !known && v.sense == other:
				b = append(stem(b, w), "when")
				when = false
			case !known:
				b = p.append(b, t)
			case a != "":
				if did && (v.sense == live || v.sense == work) {
					q.Past = true
				}
				attr = a
			}
		case fresh[w]:
		default:
			b = p.append(b, t)
		}
		if len(b) > maxWords {
			return nil, nil
		}
	}
	if command > 0 && command < len(ts) {
		task := ts[command:]
		if len(task) > 1 && (task[0].low == "i" || task[0].low == "you" || task[0].low == "we") {
			task = task[1:]
		}
		q.task = p.task(task)
	}
	if b.has("command") {
		if _, task := until(ts, "to"); task != nil {
			return p.task(task), nil
		}
	}
	return b, p.alternatives(b, attr, where, when, ts)
}

// asks reports whether the word at i is the verb of a question, and not a noun.
func asks(ts []token, i int, v verb) bool {
	switch v.form {
	case base:
		if v.sense == reportTo && word1(ts, i+1) != "to" && i < len(ts)-1 {
			return false
		}
		for j := range i {
			switch ts[j].low {
			case "do", "does", "did", "can", "could", "to", "should", "will":
				return true
			}
		}
		return i == 1
	case past, participle:
		return i == 0 || !nominal(&ts[i-1])
	}
	return i == 0 || !nominal(&ts[i-1]) && !(be[word1(ts, i+1)] && i == 1)
}

// alternatives returns the attributes one of which the question may mean, none
// if its words say it.
func (p *parser) alternatives(b bag, attr string, where, when bool, ts []token) []string {
	switch {
	case attr == "phone":
		return []string{"phone", "email", "number"}
	case attr != "" && where && (attr == "where" || attr == "name"):
		return []string{"where", "url", "address"}
	case attr == "price" && b.has("price"), attr == "when" && b.has("when"):
		return nil
	case attr != "" && b.has(attr):
		return nil
	case attr == "when" || when:
		if b.has("deadline") {
			return nil
		}
		return []string{"when", "hour", "deadline"}
	case attr == "where":
		return []string{"where", "address", "url"}
	case attr != "":
		return []string{attr}
	case where:
		return []string{"where", "url", "address"}
	}
	if b.has("when") {
		return []string{"when", "hour"}
	}
	if b.has("address") {
		return []string{"address", "url"}
	}
	if b.has("mail") {
		return []string{"", "email"}
	}
	return nil
}
