// Package slotstest makes statements of facts that change, by rules: names ×
// attributes × values × phrasings, with statements around them that change
// nothing. It is for tests.
package slotstest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Fact is a fact that was stated and then changed.
type Fact struct {
	Family    string // residence, employer, …
	Subject   string // whom or what it is about
	Attribute string // what of it, where the family has several
	Actor     string // who speaks; "" unless the fact is in the first person
	Old, New  string // the statements
	U, V      string // their values
	Ask       string // what asks for the value, in words of its own
}

// Part selects phrasings.
type Part int

// The parts: Dev and Held were used to tune the parser, Held only after it had
// been measured on it; Fresh was not.
const (
	Dev Part = iota
	Held
	Fresh
)

func (p Part) phrasings() map[string]phrasings {
	return [...]map[string]phrasings{dev, held, fresh}[p]
}

type phrasings struct{ state, change, ask []string }

// family is a kind of facts: {S} is the subject, {A} the attribute.
type family struct {
	subjects   []string
	attributes []string
	values     []string
	each       int // facts with a subject
}

var people = strings.Fields(`Alice Bob Carol Dave Erin Frank Grace Heidi Ivan Judy Mallory Niaj Olivia Peggy Rupert
	Sybil Trent Victor Wendy Xavier Yusuf Zoe Amara Bjorn Chloe Diego Emeka Fatima Goran Hana`)

// speakers are those who say "I".
var speakers = strings.Fields(`Quentin Roxana Stefan Tamika Umberto Violet Walter Ximena Yannick Zelda Arturo Britta
	Cedric Dolores Ezra Flora Gideon Hilda Ingmar Jolene Kofi Leona Milan Nadia`)

var fullNames = strings.Split("Maria Lopez,James O'Neill,Wei Zhang,Priya Patel,Tom van Dyk,Anna-Lena Berg", ",")

var services = []string{
	"the billing service", "the auth service", "the search API", "the payment gateway", "the staging cluster",
	"the image proxy", "Redis", "the mail worker", "the metrics server", "Gateway",
}

var projects = []string{
	"Project Apollo", "the website redesign", "the mobile app", "the data migration", "the Q3 report",
	"the onboarding flow", "Project Neptune", "the audit", "the thesis", "the grant application",
}

var cities = []string{"Paris", "Berlin", "New York", "Lisbon", "San Francisco", "Tokyo", "Oslo", "Cape Town", "Austin", "Rio de Janeiro", "Toronto", "Leeds"}

var companies = []string{"Acme", "Globex", "Initech", "Umbrella Corp", "Stark Industries", "Hooli", "Siemens", "Wayne Enterprises", "Red Hat", "the city library"}

var weekdays = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}

var dates = []string{"Friday", "March 3", "June 14", "the 12th of May", "2026-09-01", "October 30th", "Monday next week", "December 1, 2026"}

var families = map[string]family{
	"residence":  {people, nil, cities, 1},
	"employer":   {people, nil, companies, 1},
	"role":       {fullNames, nil, []string{"software engineer", "teacher", "data analyst", "nurse", "product manager", "chef", "architect"}, 2},
	"phone":      {people[:15], nil, []string{"555-0101", "555-0188", "+49 30 1234567", "(415) 555-2671", "0171 5550199"}, 1},
	"email":      {people[15:], nil, []string{"me@example.com", "work@acme.test", "hello@globex.test", "inbox@mail.test"}, 1},
	"favourite":  {people, []string{"color", "movie", "food", "author", "ice cream flavor"}, []string{"blue", "green", "Dune", "ramen", "vanilla", "Ursula Le Guin", "dark chocolate", "The Matrix"}, 1},
	"price":      {[]string{"the basic subscription", "the ticket", "a bus pass", "the espresso machine", "the annual license", "the blue sofa"}, nil, []string{"$20", "35 euros", "$49.99", "120 dollars", "€80", "15 USD"}, 2},
	"version":    {[]string{"Postgres", "the Go toolchain", "the SDK", "Kubernetes", "the CLI", "Django", "the firmware"}, nil, []string{"1.22", "v2.3.1", "14.5", "3.0.0-beta", "2.1", "v5"}, 2},
	"deadline":   {projects, nil, dates, 2},
	"meeting":    {[]string{"the weekly standup", "the design review", "the board meeting", "yoga class", "the team lunch", "the retrospective"}, nil, weekdays, 2},
	"tool":       {people[10:], []string{"editor", "browser", "password manager", "note-taking app", "database"}, []string{"Vim", "Firefox", "Obsidian", "Postgres", "VS Code", "1Password", "Emacs", "SQLite"}, 1},
	"status":     {[]string{"ticket ABC-12", "the pull request", "order 4711", "the checkout bug", "the deployment", "issue #42"}, nil, []string{"open", "blocked", "in progress", "done", "in review", "closed"}, 2},
	"owner":      {append(services[:4:4], "the runbook", "the wiki page"), nil, people, 2},
	"lead":       {[]string{"the platform team", "the mobile squad", "the research group", "the support team"}, nil, people, 3},
	"manager":    {people[:16], nil, fullNames, 1},
	"config":     {[]string{"max_connections", "the request timeout", "the retry limit", "the cache size", "LOG_LEVEL", "the batch size", "the upload limit", "idle_timeout"}, nil, []string{"30", "60s", "512 MB", "100", "5 minutes", "250"}, 2},
	"port":       {services, nil, []string{"8080", "9090", "5432", "6380", "3000"}, 1},
	"command":    {nil, []string{"build the project", "run the tests", "deploy to staging", "start the dev server", "format the code", "lint the code"}, []string{"make", "npm run x", "go test ./...", "just all", "./run.sh --fast", "bazel build //..."}, 3},
	"children":   {people[20:], nil, []string{"two", "three", "4", "five"}, 1},
	"age":        {people[:12], nil, []string{"34", "35", "41", "28", "52"}, 1},
	"marital":    {people[12:22], nil, []string{"single", "married", "engaged", "divorced"}, 1},
	"generic":    {append(slices.Clone(people), "the office", "the club", "Project Apollo", "the server room"), []string{"mascot", "locker number", "motto", "badge color", "desk", "emergency contact", "access code", "theme song", "insurance provider", "Slack handle"}, []string{"42", "Rex", "B-17", "the owl", "orange", "Helvetia", "keep going", "9911", "Bluebird"}, 3},
	"car":        {people[:10], nil, []string{"Toyota", "Volvo", "Tesla Model 3", "blue Honda", "Fiat 500"}, 1},
	"school":     {people[22:], nil, []string{"Stanford", "MIT", "Lincoln High", "ETH Zurich", "the University of Oslo"}, 1},
	"url":        {[]string{"the wiki", "the status page", "the API docs", "the internal dashboard"}, nil, []string{"https://wiki.example.com", "docs.example.org/new", "https://status.example.net/v2", "dash.example.io"}, 2},
	"path":       {[]string{"the config file", "the error log", "the backup script", "the license key"}, nil, []string{"/etc/app/config.yaml", "~/logs/error.log", "/opt/tools/run.sh", "/var/lib/app"}, 2},
	"hours":      {[]string{"the bakery", "the gym", "the museum", "the pharmacy"}, nil, []string{"9am", "8:30", "10 o'clock", "7 am"}, 2},
	"plan":       {people[5:15], nil, []string{"Pro", "Free", "Enterprise", "Starter"}, 1},
	"team":       {people[15:25], nil, []string{"platform", "growth", "security", "infrastructure"}, 1},
	"pet":        {people[:12], []string{"dog", "cat", "parrot"}, []string{"Rex", "Milo", "Luna", "Bella", "Coco"}, 1},
	"first":      {speakers[:20], nil, cities, 1},
	"firstjob":   {speakers[5:15], nil, companies, 1},
	"firstthing": {speakers, []string{"favourite color", "job title", "shoe size", "dentist", "wifi password", "landlord", "blood type"}, []string{"12", "Dr. Meyer", "teal", "0 negative", "Anna Schmidt", "hunter22", "44"}, 2},
}

// Corpus returns the same facts for the same part and seed, at least 500, no
// two of which are about the same.
func Corpus(part Part, seed uint64) []Fact {
	rng := rand.New(rand.NewPCG(seed, uint64(part)))
	set := part.phrasings()
	var out []Fact
	for _, name := range Families() {
		f, p := families[name], set[name]
		n := 0
		add := func(subject, attribute string) {
			u, v := f.pair(rng)
			fact := Fact{Family: name, Subject: subject, Attribute: attribute, U: u, V: v}
			if strings.HasPrefix(name, "first") {
				fact.Actor = subject
			}
			fact.Old = fact.fill(p.state[n%len(p.state)])
			fact.New = fact.fill(p.change[(n+n/len(p.change))%len(p.change)])
			fact.Ask = fact.fill(p.ask[n%len(p.ask)])
			n++
			out = append(out, fact)
		}
		switch {
		case f.attributes == nil:
			for _, s := range f.subjects {
				add(s, "")
			}
		case f.subjects == nil:
			for _, a := range f.attributes {
				add("", a)
			}
		default:
			for _, s := range f.subjects {
				for range f.each {
					add(s, f.attributes[n%len(f.attributes)])
				}
			}
		}
	}
	return out
}

// Families returns the kinds of facts, in order.
func Families() []string {
	var names []string
	for n := range families {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func (f family) pair(rng *rand.Rand) (u, v string) {
	i := rng.IntN(len(f.values))
	j := (i + 1 + rng.IntN(len(f.values)-1)) % len(f.values)
	return f.values[i], f.values[j]
}

// fill puts the parts of the fact in a phrasing.
func (f *Fact) fill(phrasing string) string {
	he, his := "she", "her"
	if len(f.Subject)%2 == 0 {
		he, his = "he", "his"
	}
	r := strings.NewReplacer(
		"{S}", f.Subject, "{A}", f.Attribute, "{U}", f.U, "{V}", f.V,
		"{a U}", article(f.U), "{a V}", article(f.V), "{he}", he, "{his}", his, "{He}", strings.ToUpper(he[:1])+he[1:],
	)
	s := r.Replace(phrasing)
	return strings.ToUpper(s[:1]) + s[1:]
}

func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// Distractors are statements about the same people and things that replace
// nothing, in order of their number.
func Distractors(n int, seed uint64) []string {
	rng := rand.New(rand.NewPCG(seed, 77))
	pick := func(xs []string) string { return xs[rng.IntN(len(xs))] }
	out := make([]string, n)
	for i := range out {
		s := distractors[i%len(distractors)]
		s = strings.NewReplacer("{P}", pick(people), "{Q}", pick(people), "{C}", pick(cities), "{K}", pick(companies),
			"{D}", pick(weekdays), "{X}", pick(services), "{J}", pick(projects), "{N}", fmt.Sprint(2+rng.IntN(90))).Replace(s)
		out[i] = strings.ToUpper(s[:1]) + s[1:]
	}
	return out
}

var distractors = []string{
	"{P} likes hiking in the hills around {C}.",
	"{P} visited {C} with {Q} last summer.",
	"{P} speaks four languages and loves old maps.",
	"{P} used to live in {C} a long time ago.",
	"When {P} lived in {C}, the rent was low.",
	"{P} might move to {C} next year.",
	"If {P} moves to {C}, we should throw a party.",
	"Does {P} still live in {C}?",
	"{P} would love to work at {K} one day.",
	"{P} met {Q} at a conference in {C}.",
	"{P} and {Q} talked about {K} for an hour.",
	"{X} was slow on {D} because of a noisy neighbour.",
	"Remember to restart {X} after the upgrade.",
	"{P} is afraid of spiders.",
	"{P} thinks that {C} is too hot in August.",
	"{J} will need {N} more hours of review.",
	"{P} bought {N} balloons for the party.",
	"Did you see what {K} announced on {D}?",
	"{P}'s brother visited {C} in {N} different ways.",
	"{P} is not sure whether {X} can handle the load.",
	"{P} plans to leave {K} in the autumn.",
	"The weather in {C} was great on {D}.",
	"{P} wants to have {N} guests at the wedding.",
	"{P} cooked dinner for {Q} and {N} others.",
	"We discussed the future of {J} with {P}.",
	"{P} also speaks Portuguese.",
	"{Q} asked {P} about {J}.",
	"{P} had a great time in {C}!",
	"Maybe {P} should switch to another tool.",
	"{P} saw a film about {C} on {D}.",
}

// Traps are pairs of statements in order of time, the second of which does not
// replace the first.
var Traps = [][2]string{
	{"The password policy requires 8 characters.", "The password policy requires 2 digits."},
	{"The queue holds 500 jobs.", "The queue now holds 3 locks."},
	{"The battery lasts 8 hours.", "The battery charger lasts 4 hours."},
	{"Alice is allergic to peanuts.", "Alice is allergic to shellfish."},
	{"Ivan is dating Olga.", "Boris is dating Nina."},
	{"Ivan is dating Olga.", "Ivan dated Nina in college."},
	{"The backend is written in Go.", "The backend tests are written in Python."},
	{"The backend is written in Go.", "The backend is written with care."},
	{"Dana is studying biology.", "Dana is studying for the exam."},
	{"Greg banks with Chase.", "Greg stays at Marriott."},
	{"The workshop is in room 204.", "The lunch is in room 310."},
	{"The release is on May 3.", "The release may slip to May 17."},
	{"The project is licensed under MIT.", "The logo is licensed under CC0."},
	{"Alice likes pizza.", "Alice likes sushi."},
	{"Alice likes pizza.", "Alice now also likes sushi."},
	{"Alice visited Paris.", "Alice visited Rome."},
	{"Alice speaks German.", "Alice now speaks French."},
	{"Bob is a friend of Alice.", "Carol is a friend of Alice."},
	{"Alice lives in Paris.", "Alice used to live in Rome."},
	{"Alice lives in Paris.", "When Alice lived in Rome, she was happy."},
	{"Alice lives in Paris.", "Alice lived in Rome as a child."},
	{"Alice lives in Paris.", "Alice might move to Rome."},
	{"Alice lives in Paris.", "If Alice moves to Rome, she will sell the car."},
	{"Alice lives in Paris.", "Alice wants to move to Rome."},
	{"Alice lives in Paris.", "Alice is planning to move to Rome."},
	{"Alice lives in Paris.", "Does Alice live in Rome?"},
	{"Alice lives in Paris.", "Alice would rather live in Rome."},
	{"Alice lives in Paris.", "Alice has not moved to Rome."},
	{"Alice lives in Paris.", "Alice's mother lives in Rome."},
	{"Alice lives in Paris.", "Bob lives in Rome."},
	{"Alice lives in Paris.", "Alice works in Rome."},
	{"Alice lives in Paris.", "Alice dreams of living in Rome."},
	{"Alice lives in Paris.", "Alice almost moved to Rome."},
	{"Alice lives in Paris.", "Alice lives in Paris now."},
	{"Alice works at Acme.", "Alice worked at Globex before."},
	{"Alice works at Acme.", "Alice used to work at Globex."},
	{"Alice works at Acme.", "Alice applied for a job at Globex."},
	{"Alice works at Acme.", "Alice's husband works at Globex."},
	{"Alice works at Acme.", "Alice works as a nurse."},
	{"Alice works at Acme.", "Alice works hard at home."},
	{"Alice's dog is called Rex.", "Alice's cat is called Milo."},
	{"Alice's dog is brown.", "Alice's dog is hungry."},
	{"Alice's car is red.", "Alice's car is in the garage."},
	{"Alice's phone is 555-0101.", "Alice's phone is broken."},
	{"Alice's favourite color is blue.", "Alice's favourite food is ramen."},
	{"Alice's favourite color is blue.", "Alice's least favourite color is green."},
	{"Alice's favourite color is blue.", "Alice's old favourite color was green."},
	{"Alice's work phone is 555-0101.", "Alice's home phone is 555-0102."},
	{"The staging port is 8080.", "The production port is 9090."},
	{"The timeout is 30s.", "The default timeout is 10s."},
	{"The timeout is 30s.", "The timeout of the proxy is 10s."},
	{"The timeout is 30s.", "The timeout was 10s in the old release."},
	{"The timeout is 30s.", "The timeout could be 10s."},
	{"The timeout is 30s.", "What if the timeout is 10s?"},
	{"The build command is make.", "The test command is make test."},
	{"To build the project, run `make`.", "To clean the project, run `make clean`."},
	{"The deadline of the audit is Friday.", "The deadline of the thesis is Monday."},
	{"The deadline of the audit is Friday.", "The deadline of the audit is tight."},
	{"Alice uses Vim.", "Alice uses Slack."},
	{"Alice uses Vim.", "Alice now uses Slack."},
	{"We use Postgres.", "We use Redis."},
	{"Alice has two children.", "Alice has two cats."},
	{"Alice has three children.", "Alice has five cousins."},
	{"Alice is a nurse.", "Alice is a fan of the Knicks."},
	{"Alice is 34.", "Alice is in room 35."},
	{"Alice is happy.", "Alice is tired."},
	{"The server is fast.", "The server is new."},
	{"Bob owns the wiki.", "Bob owns the runbook."},
	{"Bob leads the platform team.", "Bob leads the mobile squad."},
	{"Bob leads the platform team.", "Bob used to lead the support team."},
	{"The price of the ticket is $20.", "The price of the sofa is $200."},
	{"The ticket costs $20.", "The ticket used to cost $15."},
	{"The standup is on Monday.", "The standup was on Tuesday last week."},
	{"The standup is on Monday.", "The retrospective is on Tuesday."},
	{"The standup is on Monday.", "The standup is at 10:00 in room B."},
	{"Alice moved to Berlin.", "Alice moved to the left."},
	{"Alice moved to Berlin.", "Alice moved the couch to the garage."},
	{"Alice moved to Berlin.", "Alice says Bob moved to Rome."},
	{"Alice moved to Berlin.", "Bob told Alice that he moved to Rome."},
	{"My name is Alice.", "My dog's name is Rex."},
	{"My name is Alice.", "Your name is Bob."},
	{"My sister is Anna.", "My sister is Berta."},
	{"My brother lives in Oslo.", "I live in Paris."},
	{"Bob's brother is 34.", "Bob is 41."},
	{"Alice's hobby is chess.", "Another hobby of Alice's is running."},
	{"One of Alice's goals is to run.", "One of Alice's goals is to read."},
	{"Version 1.2 is stable.", "Version 1.3 is unstable."},
	{"The answer is yes.", "The answer is no."},
	{"The problem is the cache.", "The problem is the disk."},
	{"The plan is to leave early.", "The plan is to stay."},
	{"The best part was the food.", "The best part was the music."},
	{"I think the port is 8080.", "I wonder whether the port is 9090."},
	{"Alice drove to Berlin.", "Alice drove to Rome."},
	{"Alice went to Berlin.", "Alice went to Rome."},
	{"Alice goes to the gym.", "Alice goes to the library."},
	{"Alice joined the call.", "Alice joined the party."},
	{"Alice joined Acme.", "Alice joined a book club."},
	{"Alice left the room.", "Alice left for work."},
	{"Alice turned 35.", "Alice turned left."},
	{"Alice got married.", "Alice got a haircut."},
	{"It is raining.", "It is sunny."},
	{"This is great.", "This is terrible."},
	{"There is milk.", "There is bread."},
	{"My day was good.", "My day was bad."},
	{"My day is going well.", "My day is terrible."},
	{"Alice's birthday is in May.", "Alice's birthday party is in June."},
	{"Alice's address is 12 Main St.", "Alice's email address is a@b.test."},
	{"Alice's job is stressful.", "Alice's job is great."},
	{"Alice's house is huge.", "Alice's house is far away."},
	{"The API returns 404.", "The API returns 500."},
	{"The meeting is about the budget.", "The meeting is about hiring."},
	{"The meeting is on Monday.", "The meeting is important."},
	{"The car of Ann is parked behind the house.", "The car of Ann is covered with snow."},
	{"Ann's umbrella is broken.", "Ann's umbrella is lying on the floor."},
	{"Bob said the office is in Rome.", "Bob said the office is nice."},
}
