package slots

import "strings"

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// table reads lines "to: from from …" into a map from each to its line's head.
func table(lines string) map[string]string {
	m := make(map[string]string)
	for line := range strings.Lines(lines) {
		head, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		for w := range strings.FieldsSeq(rest) {
			m[w] = head
		}
	}
	return m
}

var (
	pronoun = set(`i you he she it we they that this there here what who where when how let`)

	determiner = set(`a an the this that these those`)

	preposition = set(`in at on of for from to by with under within near inside outside during since until as per via
		about over after before into onto around through among between regarding concerning`)

	// fresh are words about the age of a statement, not about its slot.
	fresh = set(`new newer newest current currently latest updated present actual own preferred official brand-new
		now primary usual regular all-time correct right real`)

	// stale are words that make it a statement about the past.
	stale = set(`old former previous ex original past initial earlier first last prior old-time legacy`)

	// quantifier are words that make a phrase mean no one thing.
	quantifier = set(`one some any many several every each no none nobody anyone everyone everybody someone something
		anything nothing everything both all most few half another other others lot lots`)

	// vague are heads of phrases that name no attribute.
	vague = set(`thing things reason reasons problem problems issue issues question questions answer answers idea ideas
		point points truth fact part parts rest weather way ways trick goal goals dream dreams kind sort bunch
		life lives week trip least story luck
		mistake news update updates matter hope difference challenge advantage result results conclusion
		example concern worry feeling opinion advice suggestion secret catch bottom best worst main`)

	// hedge are words that make a clause no statement of what is so.
	hedge = set(`if would could might maybe perhaps possibly probably whether wish wishes wished hope hopes hoped hoping
		want wants wanted wanting plan plans planning planned consider considers considering considered thinking think thinks thought
		imagine suppose supposed supposedly almost nearly wonder wonders wondering unsure doubt doubts guess guesses
		seem seems seemed rumored rumoured believe believes believed hypothetically dream dreams dreamed dreaming
		should shall must let tempted try tries trying tried need needs needed refuse refuses refused decline declined declines
		expects expect expected hypothetical unless otherwise apparently assume assumes assuming pretend
		another additional additionally besides too also likewise similarly neither nor either
		intends intend intending apply applied applies applying ask asks asked propose proposes proposed suggests suggest
		suggested offered offer able unable likely unlikely never remembers forgot`)

	// bygone are words that put a clause in the past.
	bygone = set(`formerly previously once originally initially ago yore back-then earlier historically`)

	now = set(`now nowadays currently presently today meanwhile henceforth anymore`)

	adverb = set(`now nowadays currently presently today just recently already finally officially actually still since
		always usually really even only later soon newly apparently indeed basically mostly mainly generally
		typically normally quietly happily permanently temporarily however therefore thus instead meanwhile
		lately subsequently eventually again successfully anymore henceforth simply formally automatically`)

	be = set(`is are am be been being was were 's`)

	subordinator = set(`when while because although though if unless until whereas whenever once after before since where
		so wherever`)

	timeword = set(`monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays
		saturdays sundays mon tue tues wed thu thur thurs fri sat sun weekday weekdays weekend weekends daily weekly
		tomorrow tonight noon midnight morning mornings evening evenings afternoon afternoons night nights o'clock
		am pm a.m p.m january february march april june july august september october november december
		jan feb mar apr jun jul aug sep sept oct nov dec today q1 q2 q3 q4 eod eow christmas easter spring summer
		autumn winter biweekly monthly quarterly hourly`)

	timeunit = set(`second seconds minute minutes hour hours day days week weeks month months year years times time`)

	numeral = table(`
		0: zero
		1: one
		2: two
		3: three
		4: four
		5: five
		6: six
		7: seven
		8: eight
		9: nine
		10: ten
		11: eleven
		12: twelve`)

	// entity are nouns of things that have many properties: what follows "is"
	// names the thing only if it is a name.
	entity = set(`dog cat car house sister brother mother father mom dad friend son daughter baby wife husband boyfriend
		girlfriend kid kids laptop computer boat garden apartment flat room kitchen bike parrot horse pet
		family day life weekend trip party work class back head leg arm internet
		server service app tests site shop store hair`)

	// painted are things of which a color is a property.
	painted = set(`car house dog cat bike boat parrot horse hair room kitchen laptop door wall shirt logo roof sofa`)

	// predicate are words that describe rather than name.
	predicate = set(`happy sad great good bad nice fine ok okay broken ready sick tired slow fast huge big small tiny far
		away hungry thirsty brown-haired important tight hard easy difficult stressful boring exciting interesting
		terrible awful wonderful amazing awesome perfect beautiful ugly lovely cute funny loud quiet cold warm hot cool
		dirty clean wrong right true false sure unsure clear unclear unknown known different same similar better worse
		best worst high low long short expensive cheap free gone lost missing late early close near new old young fun
		dead alive full empty key vital crucial essential priority tricky tough rough priceless contagious comfy cozy rewarding together
		important challenging amazing fantastic unreal epic huge massive sweet gorgeous intense smooth strong weak simple
		complex special unique personal real proper solid flaky noisy stable unstable ideal fantastic brilliant excellent poor rich busy useful useless crazy
		weird strange obvious possible impossible necessary correct incorrect fair unfair safe dangerous sunny rainy
		delicious tasty available unavailable down up here there everywhere yes no nothing everything something
		sore injured hurt annoying annoyed angry upset worried proud excited delighted glad wet dry`)

	// intensifier are words before adjectives.
	intensifier = set(`super totally definitely pretty greatly absolutely incredibly truly kinda gonna really very so too quite rather
		extremely fairly highly all always never worth like made taking doing going getting being just only more most less`)

	statusword = set(`open opened closed blocked done merged deprecated paused active inactive resolved pending cancelled
		canceled completed complete finished failed failing passing shipped delivered approved rejected unblocked
		reopened archived draft live disabled enabled offline online green red "in" running stopped suspended released
		backlog todo triaged staged reverted fixed delayed`)

	statusphrase = set(`progress review testing production development qa staging beta triage transit maintenance
		backlog preparation`)

	color = set(`red blue green yellow black white grey gray brown orange purple pink teal silver gold beige violet
		turquoise maroon navy cyan magenta`)

	marital = set(`single married divorced engaged widowed separated`)

	diet = set(`vegetarian vegan pescatarian carnivore omnivore`)

	// groups are nouns that a value stands before: "the growth team".
	groups = table(`
		team: team squad
		plan: plan subscription tier
		depart: department
		shift: shift
		diet: diet
		timezon: timezone`)

	// report introduces what somebody says.
	reporting = set(`say says said told tell tells mentioned mentions mention confirmed confirms confirm announced announces
		announce reported remember note know informed explained explains reminder reminded learned heard states stated
		shared found aware notice`)
)

// canonical maps the words of attributes to one of each group of synonyms, and
// British spellings to American ones. "" drops the word.
var canonical = table(`
	where: home residence city location path place whereabouts directory folder town hometown lives live living resides
	phone: telephone cellphone tel phone
	email: e-mail email
	price: price cost costs pricing
	deadline: deadline due duedate
	when: date time day schedule slot hour hours timing
	job: role job title position occupation profession
	employer: employer company workplace works work
	owner: owner ownership
	lead: lead leader head
	manager: manager boss supervisor
	child: child children kid kids
	status: status state
	version: version release
	car: car vehicle
	school: school university college alma
	url: url link website homepage webpage endpoint
	name: name names
	favorit: favourite favorite favourites favorites fave
	color: colour color colours colors
	flavor: flavour flavor flavours flavors
	licens: licence license
	center: centre center
	theater: theatre theater
	neighbor: neighbour neighbor
	team: team squad
	plan: plan tier
	number: number count
	test: tests test testing
	build: build building builds built
	marital: marital relationship
	headquart: hq headquarters headquartered headquarter
`)

// profession are what "a …" says of somebody's work.
var profession = set(`engineer developer programmer teacher doctor nurse lawyer designer manager director analyst architect
	consultant chef cook baker waiter waitress barista journalist writer author editor artist musician actor actress
	scientist researcher professor lecturer student intern accountant banker trader broker salesman salesperson
	electrician plumber carpenter mechanic technician pilot driver firefighter policeman policewoman officer detective
	soldier dentist surgeon pharmacist therapist psychologist psychiatrist veterinarian vet farmer gardener florist
	photographer translator interpreter librarian administrator secretary receptionist assistant cto ceo cfo coo vp
	president chairman founder entrepreneur freelancer contractor captain coach trainer lead principal dean judge
	paralegal tester sysadmin sre devops recruiter marketer economist physicist chemist biologist mathematician
	statistician historian clerk cashier tailor butcher bartender supervisor foreman superintendent
	strategist specialist coordinator planner producer composer`)
