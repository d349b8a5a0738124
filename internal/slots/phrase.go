package slots

import "strings"

// phrase is a noun phrase, such as the subject of a sentence.
type phrase struct {
	ok      bool
	words   bag
	head    string // the last word, in lower case
	poss    bool   // it has a possessor, or an "of"
	def     bool   // it begins with "the"
	stale   bool   // "old", "former": it is about the past
	fresh   bool   // "new", "current"
	names   bool   // all its words are names
	person  bool   // I, he, she, the user
	known   bool   // it has a word that is known to name an attribute
	ident   bool   // it is an identifier
	pronoun bool   // it
	count   int    // of words besides articles
}

// attributive reports whether the phrase names an attribute of something,
// rather than a thing.
func (ph *phrase) attributive() bool {
	return ph.poss && ph.count > 1 || ph.known && !ph.names || ph.ident || ph.pronoun
}

// attributes are nouns that name attributes, besides those of canonical.
var attributes = set(`port host hostname address limit limits timeout ttl threshold size length width height weight budget salary rent fee
	rate quota capacity frequency interval branch language framework library editor browser database db theme motto mascot
	slogan nickname username handle password passphrase passcode pin code id token channel extension region zone timezone
	currency format encoding algorithm model engine provider vendor supplier landlord dentist mentor tutor roommate
	spouse assignee reviewer maintainer captain ceo cto cfo president mayor capital champion headquarters hq
	diet priority severity major mood level grade rank score age birthday gender nationality religion hobby instrument sport
	shell ide terminal os distro license default max min maximum minimum delay retries attempts concurrency parallelism
	workers replicas memory cpu storage bucket queue topic tag label prefix suffix flag mode strategy policy backend
	frontend stack runtime compiler linter formatter command script entrypoint registry account contact
	venue room seat locker desk floor gate platform track lane extension nationality ethnicity pronouns
	ratio value discount tax interest balance target quota estimate eta kpi
	key secret wifi network ssid subnet ip dns domain namespace cluster environment env
	speaker organizer organiser sponsor coordinator moderator instructor director treasurer secretary supervisor coach trainer teacher
	membership subscription plan
	insurance bank gym airline meeting standup release launch start end`)

// append appends the canonical forms of a word of a phrase.
func (p *parser) append(b bag, t *token) bag {
	switch t.low {
	case "i", "my", "me", "mine", "myself":
		return append(b, me)
	case "we", "us", "ourselves":
		return append(b, "we")
	case "our", "ours", "the", "a", "an":
		return b
	case "your", "yours":
		return append(b, "you")
	}
	return stem(b, t.low)
}

// me stands in a bag for who speaks.
const me = "\x01"

// speaker returns the words for who speaks.
func (p *parser) speaker() bag {
	var b bag
	for w := range strings.FieldsSeq(strings.ToLower(p.actor)) {
		if w = strings.Trim(w, ".,;:()'\""); w != "" && len(b) < 4 {
			b = stem(b, w)
		}
	}
	if len(b) == 0 {
		b = append(b, "user")
	}
	return b
}

// phrase reads a noun phrase. It is not ok if it names nothing definite.
func (p *parser) phrase(ts []token) phrase {
	for len(ts) > 1 && preposition[ts[len(ts)-1].low] {
		ts = ts[:len(ts)-1] // "the company she works for"
	}
	if len(ts) == 1 {
		switch ts[0].low {
		case "this", "that", "it":
			return phrase{ok: p.topic != nil, words: p.topic, pronoun: true, count: 2, poss: true, known: true}
		case "he", "she", "they":
			return phrase{ok: len(p.subject) > 0, words: p.subject, person: true, names: true, count: 1}
		}
	}
	if len(ts) == 3 && ts[0].low == "the" && fresh[ts[1].low] && ts[2].low == "one" {
		return phrase{ok: p.topic != nil, words: p.topic, pronoun: true, fresh: true, count: 2, poss: true, known: true}
	}
	ph := phrase{ok: true, names: true, words: make(bag, 0, len(ts)+2)}
	ph.person = len(ts) == 1 && (ts[0].low == "i" || ts[0].low == "we" || ts[0].low == "you")
	head := ""
	if gerund(ts) {
		return phrase{}
	}
	for i := 1; i+1 < len(ts); i++ {
		if ts[i].low == "command" && ts[i+1].low == "to" {
			b := p.task(ts[i+2:])
			return phrase{ok: b != nil, words: b, head: "command", poss: true, known: true, def: true, count: 2}
		}
	}
	for i := range ts {
		switch ts[i].low {
		case "of", "for":
			if i == 0 {
				return phrase{}
			}
			if head == "" {
				head = ph.head
			}
			ph.poss = true
			continue
		}
		if !p.join(&ph, ts, i) {
			return phrase{}
		}
	}
	if head != "" {
		ph.head = head
	}
	if vague[ph.head] && !(ph.count > 1 && (ph.head == "issue" || ph.head == "update")) {
		return phrase{}
	}
	ph.names = ph.names && !ph.ident || ph.person
	ph.ok = len(ph.words) > 0 && ph.count > 0 && len(ph.words) <= maxWords
	return ph
}

// gerund reports whether the phrase begins with what somebody does: "finding
// investors".
func gerund(ts []token) bool {
	return len(ts) > 1 && len(ts[0].low) > 5 && strings.HasSuffix(ts[0].low, "ing") && !ts[0].poss && !ts[0].quoted && strings.IndexByte(ts[0].low, '-') < 0 &&
		!attributes[ts[0].low] && canonical[ts[0].low] == "" && canonical[ts[1].low] == "" && !attributes[ts[1].low]
}

// join adds the word at i to the phrase. It reports false if a phrase with it
// names nothing definite.
func (p *parser) join(ph *phrase, ts []token, i int) bool {
	t := &ts[i]
	w := t.low
	switch {
	case t.mark:
		return w == "," || w == "(" || w == ")"
	case t.quoted:
		ph.words = append(ph.words, w)
		ph.count++
		ph.head = w
		return true
	}
	switch w {
	case "the":
		ph.def = ph.def || i == 0
		return true
	case "a", "an", "this", "that":
		return true
	case "both", "please":
		return i > 0
	case "has", "have", "uses", "use", "using", "prefers", "prefer":
		if i > 0 {
			return true
		}
		return false
	case "it", "these", "those", "he", "she", "they":
		return false
	case "your", "yours":
		return false // what somebody tells somebody else about that one
	case "his", "her", "their", "its", "my", "our":
		return p.possessor(ph, t)
	case "user":
		ph.person = len(ts) <= 2
	case "number":
		ph.known = ph.known || i+1 < len(ts) && ts[i+1].low == "of"
	}
	switch {
	case w == "and" || w == "&":
		return false // two are not one
	case preposition[w] || adverb[w]:
		ph.names = ph.names && len(ph.words) > 0
		return i > 0 || !preposition[w]
	case pronoun[w] && !ph.person, hedge[w] && w != "plan", quantifier[w], bygone[w]:
		return false
	case fresh[w]:
		ph.fresh = true
		return true
	case stale[w]:
		ph.stale = true
		return true
	}
	return p.content(ph, ts, i)
}

// particle are parts of names that have no capital.
var particle = set(`van von de der den da di la le al bin ibn dos del`)

// possessor adds "his", "my" and the like.
func (p *parser) possessor(ph *phrase, t *token) bool {
	switch t.low {
	case "my", "our":
		ph.words = p.append(ph.words, t)
	default:
		if len(p.subject) == 0 {
			return false
		}
		ph.words = append(ph.words, p.subject...)
	}
	ph.poss, ph.names = true, false
	ph.count++
	return len(ph.words) <= maxWords
}

// content adds a word that says what the phrase is about.
func (p *parser) content(ph *phrase, ts []token, i int) bool {
	t := &ts[i]
	w := t.low
	if len(ph.words) >= maxWords {
		return false
	}
	phone := (w == "mobile" || w == "cell") && (i+1 == len(ts) || ts[i+1].low == "number" || ts[i+1].low == "phone" || ts[i+1].low == "of")
	if phone {
		ph.words = append(ph.words, "phone")
	} else {
		ph.words = p.append(ph.words, t)
	}
	ph.count++
	if w != "lives" && w != "live" && w != "works" && w != "work" || ph.head == "" {
		ph.head = w
	}
	ph.poss = ph.poss || t.poss
	ph.names = ph.names && (t.proper() || particle[w] && i > 0 && i+1 < len(ts)) && !t.poss
	if _, ok := canonical[w]; ok || attributes[w] || phone {
		ph.known = ph.known || !t.proper() || i == 0
	}
	ph.ident = ph.ident || strings.IndexByte(t.text, '_') >= 0
	return true
}
