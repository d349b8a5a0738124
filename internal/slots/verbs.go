package slots

import "strings"

// form is how a verb stands in a sentence.
type form uint8

const (
	base       form = iota // live
	third                  // lives
	ing                    // living
	past                   // lived, and the participle
	participle             // written, where it differs
)

type sense uint8

const (
	other sense = iota
	copula
	live
	relocate
	work
	join
	leave
	begin
	promote
	cost
	turn
	reportTo
	use
	prefer
	switchTo
	run
	own
	guide
	manage
	belong
	assign
	takeVerb
	hand
	replace
	succeed
	time
	store
	reach
	change
	upgrade
	mark
	study
	attend
	transfer
	drive
	call
	rename
	marry
	have
	get
	serve
	employ
	hire
	owe
	pass
	bind
	pay
	build
	partner
	license
	know
	default_
)

type verb struct {
	sense sense
	form  form
	event bool // it tells of a change: its past is news
}

// verbs has the forms of the verbs that state something of a slot. A line is
// its sense and the forms base, third, -ing, past, and participle if that
// differs; "!" marks verbs that tell of a change.
var verbs = func() map[string]verb {
	m := make(map[string]verb)
	senses := map[string]sense{
		"other": other, "copula": copula, "live": live, "relocate": relocate, "work": work, "join": join, "leave": leave, "begin": begin,
		"promote": promote, "cost": cost, "turn": turn, "reportTo": reportTo, "use": use, "prefer": prefer,
		"switchTo": switchTo, "run": run, "own": own, "guide": guide, "manage": manage, "belong": belong, "assign": assign,
		"take": takeVerb, "hand": hand, "replace": replace, "succeed": succeed, "time": time, "store": store,
		"reach": reach, "change": change, "upgrade": upgrade, "mark": mark, "study": study, "attend": attend,
		"transfer": transfer, "drive": drive, "call": call, "rename": rename, "marry": marry, "have": have, "get": get, "serve": serve,
		"employ": employ, "hire": hire, "pass": pass, "bind": bind, "pay": pay, "build": build, "partner": partner, "license": license, "default": default_,
	}
	for line := range strings.Lines(verbForms) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		name, event := strings.CutPrefix(f[0], "!")
		for i, w := range f[1:] {
			if w == "-" {
				continue
			}
			fm := form(i)
			if _, taken := m[w]; !taken || fm == third {
				if fm == base && w == f[4] && w != "cost" {
					fm = past // set, quit, put
				}
				m[w] = verb{senses[name], fm, event}
			}
		}
	}
	return m
}()

// pastOf has the past of the verbs that tell of a change, by their base form.
var pastOf = func() map[string]string {
	m := make(map[string]string)
	for line := range strings.Lines(verbForms) {
		if f := strings.Fields(line); len(f) > 4 && f[0][0] == '!' && f[1] != "-" {
			m[f[1]] = f[4]
		}
	}
	return m
}()

const verbForms = `
copula become becomes becoming became become
copula equal equals equaling equaled
live live lives living lived
live reside resides residing resided
live dwell dwells dwelling dwelt
live base - basing based
live locate - locating located
live situate - situating situated
live headquarter - - headquartered
!relocate settle settles settling settled
!relocate relocate relocates relocating relocated
!relocate move moves moving moved
!relocate migrate migrates migrating migrated
work work works working worked
employ employ employs employing employed
!hire hire hires hiring hired
!hire recruit recruits recruiting recruited
!join join joins joining joined
!leave leave leaves leaving left
!leave quit quits quitting quit
!begin start starts starting started
!begin begin begins beginning began begun
!promote promote promotes promoting promoted
!promote appoint appoints appointing appointed
cost cost costs costing cost
cost sell sells selling sold
cost price - pricing priced
!turn turn turns turning turned
reportTo report reports reporting reported
use use uses using used
use rely relies relying relied
prefer prefer prefers preferring preferred
!switchTo switch switches switching switched
!switchTo convert converts converting converted
run run runs running ran
own own owns owning owned
own maintain maintains maintaining maintained
guide lead leads leading led
guide head heads heading headed
guide chair chairs chairing chaired
manage manage manages managing managed
manage supervise supervises supervising supervised
belong belong belongs belonging belonged
!assign reassign reassigns reassigning reassigned
assign assign assigns assigning assigned
take take takes taking took taken
!hand hand hands handing handed
replace replace replaces replacing replaced
replace swap swaps swapping swapped
replace trade trades trading traded
!succeed succeed succeeds succeeding succeeded
time - - - planned
time happen happens happening happened
time occur occurs occurring occurred
time schedule schedules scheduling scheduled
!time reschedule reschedules rescheduling rescheduled
!time postpone postpones postponing postponed
!change delay delays delaying delayed
time hold holds holding held
store store stores storing stored
store keep keeps keeping kept
store save saves saving saved
store host hosts hosting hosted
store deploy deploys deploying deployed
store find finds finding found
reach reach reaches reaching reached
reach contact contacts contacting contacted
call call calls calling called
call name - naming named
!rename rename renames renaming renamed
!change change changes changing changed
!change update updates updating updated
!change set sets setting set
!change raise raises raising raised
!change rise rises rising rose risen
!change fall falls falling fell fallen
!change grow grows growing grew grown
!change jump jumps jumping jumped
!change climb climbs climbing climbed
!change lower lowers lowering lowered
!change increase increases increasing increased
!change decrease decreases decreasing decreased
!change reduce reduces reducing reduced
!change cut cuts cutting cut
!change drop drops dropping dropped
!change bring brings bringing brought
!change go goes going went gone
!change rotate rotates rotating rotated
!change slip slips slipping slipped
!change push pushes pushing pushed
!change shift shifts shifting shifted
!change extend extends extending extended
!change adjust adjusts adjusting adjusted
!change revise revises revising revised
!change modify modifies modifying modified
!change correct corrects correcting corrected
!change reset resets resetting reset
!change put puts putting put
!change configure configures configuring configured
!change point points pointing pointed
!change advance advances advancing advanced
!change double doubles doubling doubled
!upgrade upgrade upgrades upgrading upgraded
!upgrade downgrade downgrades downgrading downgraded
!upgrade bump bumps bumping bumped
!mark mark marks marking marked
!mark declare declares declaring declared
study study studies studying studied
study enroll enrolls enrolling enrolled
study enrol enrols enrolling enrolled
attend attend attends attending attended
!transfer transfer transfers transferring transferred
drive drive drives driving drove driven
marry marry marries marrying married
marry engage engages engaging engaged
marry divorce divorces divorcing divorced
marry separate separates separating separated
have have has having had
get get gets getting got gotten
get receive receives receiving received
get accept accepts accepting accepted
get buy buys buying bought
get choose chooses choosing chose chosen
get pick picks picking picked
get adopt adopts adopting adopted
serve serve serves serving served
serve act acts acting acted
serve listen listens listening listened
serve expose exposes exposing exposed
bind bind binds binding bound
!pass pass passes passing passed
pay pay pays paying paid
default default defaults defaulting defaulted
partner - - dating -
license - - - licensed
!license - - - relicensed
build - - - written
build - - - built
build - - - implemented
build - - - coded
build - - - programmed
!build - - - rewritten
!build - - - rebuilt
!build - - - reimplemented
!build - - - ported
other commute commutes commuting commuted
other meet meets - met
other bank banks banking banked
other stay stays staying stayed
other train trains training trained
other volunteer volunteers volunteering volunteered
other sleep sleeps sleeping slept
other open opens opening opened
other close closes closing closed
other wake wakes waking woke woken
other ship ships shipping shipped
other depart departs departing departed
other arrive arrives arriving arrived
other expire expires expiring expired
other renew renews renewing renewed
other end ends ending ended
other finish finishes finishing finished
other publish publishes publishing published
other weigh weighs weighing weighed
other earn earns earning earned
`
