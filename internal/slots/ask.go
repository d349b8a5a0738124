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
	would should will must let kind sort see look up info information anymore any more longer exactly actually really`)

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
	if ts = joined(polite(ts)); len(ts) == 0 || len(ts) > MaxQuestion {
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

// polite takes off "can you tell me", "do you know" and the like.
func polite(ts []token) []token {
	for len(ts) > 2 {
		first, second := ts[0].low, ts[1].low
		switch {
		case second == "you" && (first == "can" || first == "could" || first == "would" || first == "do" || first == "will") && inquiring[word1(ts, 2)],
			second == "me" && inquiring[first]:
			ts = ts[2:]
		case first == "please" || first == "hey" || first == "hi" || inquiring[first]:
			ts = ts[1:]
		default:
			return ts
		}
	}
	return ts
}

var (
	inquiring = set(`tell remind know remember recall say show please give`)
	helping   = set(`find get see run use reach call mail email contact phone`)
)

// asked is what a question was read to ask for.
type asked struct {
	words   bag
	attr    string // what a verb or "how old" asks for
	where   bool
	when    bool
	did     bool
	past    bool
	command int // where the task of "how do I …" begins; 0: there is none
}

// question returns the words of the slot, and the attributes one of which it
// may have besides.
func (p *parser) question(ts []token, q *Question) (b bag, more []string) {
	var a asked
	for i := 0; i < len(ts); i++ {
		skip, done := a.cue(ts, i)
		if !done {
			skip, done = a.phrase(ts, i)
		}
		if !done {
			p.askedWord(&a, ts, i)
		}
		if i += skip; len(a.words) > maxWords {
			return nil, nil
		}
	}
	q.Past, b = a.past, a.words
	if a.command > 0 && a.command < len(ts) {
		task := ts[a.command:]
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
	more = p.alternatives(&a)
	return a.words, more
}

// cue reads the question words and those of the past at i. It returns how many
// words it has read besides, and whether it has read the one.
func (a *asked) cue(ts []token, i int) (skip int, done bool) {
	w, next := ts[i].low, word1(ts, i+1)
	switch {
	case w == "used" && next == "to":
		a.past = true
		return 1, true
	case pastCue[w], stale[w], (w == "was" || w == "were") && i <= 1:
		a.past = true
	case w == "did":
		a.did = true
	case w == "where":
		a.where = true
	case w == "when":
		a.when = true
	case w == "how":
		switch next {
		case "old":
			a.attr = "age"
		case "much", "expensive":
			a.attr = "price"
		case "many":
			a.attr = "number"
		case "do", "can", "to", "should":
			a.command = i + 2
			return 0, true
		default:
			return 0, true
		}
		return 1, true
	default:
		return 0, false
	}
	return 0, true
}

// phrase reads words that ask for an attribute in a way of their own.
func (a *asked) phrase(ts []token, i int) (skip int, done bool) {
	w, next := ts[i].low, word1(ts, i+1)
	switch {
	case marital[w] && be[word1(ts, 0)]:
		a.attr = "marital" // "is she married or single": the value names the slot
	case w == "responsible" || w == "charge":
		a.attr = "owner"
	case w == "due" || w == "finished" || w == "finish" || w == "complete" && i > 1:
		a.words = append(a.words, "deadline")
	case w == "living" && i > 0 && ts[i-1].low == "a":
		a.attr = "job" // what she does for a living
	case w == "take" && next == "place":
		a.when = true
		return 1, true
	case (w == "go" || w == "goes") && next == "to":
		a.where = a.where && word1(ts, i+2) != "school"
		return 1, true
	case w == "work" && next == "as":
		a.attr = "job"
		return 1, true
	case w == "call" && i > 0 && word1(ts, i-1) != "is" && ts[i].low == "call":
		a.attr = "phone"
	case w == "mail" && i > 1 && ts[i-1].low == "i":
		a.attr = "email"
	case (w == "run" || w == "use") && next == "to" && i > 1:
		a.command = i + 2
	case w == "listen" || w == "listens":
	case w == "favourite" || w == "favorite":
		a.words = append(a.words, "favorit")
	default:
		return 0, false
	}
	return 0, true
}

// askedWord reads any other word.
func (p *parser) askedWord(a *asked, ts []token, i int) {
	t := &ts[i]
	w := t.low
	v, verb := verbs[w]
	switch {
	case w == "i" || w == "my" || w == "me" || w == "mine":
		helped := w == "i" && (helping[word1(ts, i+1)] || a.command == i || i > 0 && (ts[i-1].low == "can" || ts[i-1].low == "could"))
		if !helped {
			a.words = append(a.words, "user")
		}
	case w == "our" || w == "we" || w == "us", idle[w], fresh[w]:
	case t.quoted:
		a.words = append(a.words, w)
	case verb && !t.proper() && !t.poss && asks(ts, i, v):
		attr, known := asking[v.sense]
		switch {
		case !known && v.sense == other:
			a.words = append(stem(a.words, w), "when")
			a.when = false
		case !known:
			a.words = p.append(a.words, t)
		case attr != "":
			a.past = a.past || a.did && (v.sense == live || v.sense == work)
			a.attr = attr
		}
	default:
		a.words = p.append(a.words, t)
	}
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
// if its words say it. "" is none besides.
func (p *parser) alternatives(a *asked) []string {
	b, attr := a.words, a.attr
	switch {
	case attr == "phone":
		a.words = b.drop("number")
		return []string{"phone", "email", "number"}
	case attr == "owner" && b.has("team"):
		return nil
	case b.has("number") && attr == "":
		a.words = b.drop("number")
		return []string{"number", "phone"}
	case attr != "" && attr != "where" && attr != "name" && b.has(attr), attr == "when" && b.has("deadline"), a.when && b.has("deadline"):
		return nil
	case attr == "when" || a.when:
		return []string{"when", "hour", "deadline"}
	case attr == "where", attr == "name" && a.where:
		return []string{"where", "address", "url"}
	case attr != "":
		return []string{attr}
	case a.where:
		return []string{"where", "url", "address"}
	case b.has("when"):
		return []string{"when", "hour"}
	case b.has("address"):
		return []string{"address", "url"}
	case b.has("mail"):
		a.words = b.drop("mail")
		return []string{"mail", "email"}
	}
	return nil
}
