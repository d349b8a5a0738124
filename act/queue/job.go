package queue

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/netresearch/go-cron"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// State is how a job stands.
type State string

// The states of a job.
const (
	Pending   State = "pending"   // to be claimed once its time has come
	Active    State = "active"    // a worker has it
	Completed State = "completed" // done
	Failed    State = "failed"    // given up
	Blocked   State = "blocked"   // cannot go on: Job.Summary says why
	Parked    State = "parked"    // set aside until Requeue or Wake
)

// over reports whether a job in this state has ended.
func (s State) over() bool { return s == Completed || s == Failed || s == Blocked }

// Draft is a job to be enqueued. Its texts are kept without secrets.
type Draft struct {
	// Subject says in a line of at most 1 KiB what is to be done. Required.
	Subject string `cbor:"1,keyasint,omitempty"`
	// Description says the rest, in at most 64 KiB.
	Description string `cbor:"2,keyasint,omitempty"`
	// Input is what the handler works on: JSON of at most 64 KiB.
	Input json.RawMessage `cbor:"3,keyasint,omitempty"`
	// Priority is 1 (first) to 10. 0: 5.
	Priority int `cbor:"4,keyasint,omitempty"`
	// Skills are names of those that the work needs, at most 32.
	Skills []string `cbor:"5,keyasint,omitempty"`
	// Source says what enqueued the job, such as "human" or "sensor:inbox". A
	// follow-up's is "job:ID".
	Source string `cbor:"6,keyasint,omitempty"`
	// Parent is the id of the job that this one follows from, at most 10 deep.
	Parent string `cbor:"7,keyasint,omitempty"`
	// Template names one of Options.Templates, which gives what this Draft leaves empty.
	Template string `cbor:"8,keyasint,omitempty"`
	// Scope is what the job is about: the Queue's tenant, or below it. "":
	// Options.Scope.
	Scope memory.Scope `cbor:"9,keyasint,omitempty"`
	// Key is of one job at a time: while one has it that has not ended, another is not
	// added. "": none.
	Key string `cbor:"10,keyasint,omitempty"`
	// Quiet is how long after the last job of the Key has ended none is added yet.
	Quiet time.Duration `cbor:"11,keyasint,omitempty"`
	// At is when the job is due; what is longer ago than the boost takes counts as just
	// so long. Zero: at once, or by Cron.
	At time.Time `cbor:"12,keyasint,omitzero"`
	// Cron has the job enqueued again when it has ended, for the next time of an
	// expression of five fields, or "@every 1h" and its like: in UTC, or
	// "CRON_TZ=Europe/Berlin 0 6 * * *". Times that have passed meanwhile are left out. A
	// time that the zone's clock leaves out comes right after, and one that it repeats once,
	// unless the expression is of every hour.
	Cron string `cbor:"13,keyasint,omitempty"`
	// MaxAttempts bounds attempts that fail or are lost. 0: Options.MaxAttempts.
	MaxAttempts int `cbor:"14,keyasint,omitempty"`
	// Timeout bounds an attempt. 0: Options.Timeout.
	Timeout time.Duration `cbor:"15,keyasint,omitempty"`
	// Model names the kind of model to use, for ByModel. "": by DispatchOptions.Route.
	Model string `cbor:"16,keyasint,omitempty"`
}

// Job is a Draft that was enqueued, and what became of it.
type Job struct {
	Draft
	// ID begins with Created, so that it orders the jobs of a Queue as they were enqueued.
	ID    string `cbor:"30,keyasint,omitempty"`
	State State  `cbor:"31,keyasint,omitempty"`
	// Attempts counts those that failed, were lost, or are under way.
	Attempts int `cbor:"32,keyasint,omitempty"`
	// Token counts the claims: a later holder has a larger one.
	Token uint64 `cbor:"33,keyasint,omitempty"`
	// Created, Started (of the last attempt) and Ended are in UTC. Created is later than that
	// of all jobs that the same Queue has enqueued, also where its clock was put back.
	Created time.Time `cbor:"34,keyasint,omitzero"`
	Started time.Time `cbor:"35,keyasint,omitzero"`
	Ended   time.Time `cbor:"36,keyasint,omitzero"`
	// Summary and Detail are what the last Result said.
	Summary string `cbor:"37,keyasint,omitempty"`
	Detail  string `cbor:"38,keyasint,omitempty"`
	// Error is that of the last attempt, or says why a series has no next time. "": none,
	// as after a Result that is Failed.
	Error string `cbor:"39,keyasint,omitempty"`
	// Usage sums all attempts: tokens, the cost reported and the cost estimated.
	Usage act.Usage `cbor:"40,keyasint,omitempty"`
	// Requeued counts calls of Requeue, and Note is that of the last.
	Requeued int    `cbor:"41,keyasint,omitempty"`
	Note     string `cbor:"42,keyasint,omitempty"`
	// Depth is the number of parents above the job.
	Depth int `cbor:"43,keyasint,omitempty"`
}

// Result is what a handler made of a job. The zero Result completes it.
type Result struct {
	// State is Completed (or ""), Failed, Blocked, Parked or Pending.
	State State
	// Summary says in a line what came of it, and Detail the rest: what is over 4 and
	// 64 KiB is cut.
	Summary, Detail string
	// Usage is that of this attempt; it counts beside an error too.
	Usage act.Usage
	// At is when a job that is Pending again is due, as Draft.At is. Zero: after the
	// backoff.
	At time.Time
	// Followups are enqueued in the commit that ends the job, with it as their
	// Parent; at most 64. If one cannot be enqueued the job ends Blocked, and
	// says why. A State that does not end it (Parked, Pending) enqueues none.
	Followups []Draft
}

// Cycle is an attempt that has ended.
type Cycle struct {
	Job     string        `cbor:"1,keyasint,omitempty"`
	Subject string        `cbor:"2,keyasint,omitempty"`
	Scope   memory.Scope  `cbor:"3,keyasint,omitempty"`
	Token   uint64        `cbor:"4,keyasint,omitempty"`
	Skills  []string      `cbor:"5,keyasint,omitempty"`
	Model   string        `cbor:"6,keyasint,omitempty"`
	Started time.Time     `cbor:"7,keyasint,omitzero"`
	Wall    time.Duration `cbor:"8,keyasint,omitempty"`
	State   State         `cbor:"9,keyasint,omitempty"` // of the job afterwards; Active: see Gate.Ended
	Error   string        `cbor:"10,keyasint,omitempty"`
	Usage   act.Usage     `cbor:"11,keyasint,omitempty"`
}

// ErrDraft is the error of a Draft that cannot be enqueued.
var ErrDraft = errors.New("bad draft")

// Bounds of a job, in bytes and in numbers.
const (
	maxSubject   = 1 << 10
	maxText      = 64 << 10
	maxSummary   = 4 << 10
	maxSkills    = 32
	maxDepth     = 10
	maxFollowups = 64
	priorities   = 10
)

// latest is the last time at which a job can be due: nanoseconds hold it.
var latest = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// problems returns every problem with a draft whose empty fields are filled. Its Cron is not read:
// a job may come from where other zones are known.
func (d *Draft) problems() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, f := range [...]struct {
		name     string
		got, max int
	}{
		{"subject", len(d.Subject), maxSubject}, {"description", len(d.Description), maxText},
		{"input", len(d.Input), maxText}, {"skills", len(d.Skills), maxSkills}, {"cron", len(d.Cron), key.MaxID},
	} {
		if f.got > f.max {
			errs = append(errs, &store.LimitError{Field: f.name, Limit: f.max, Got: f.got})
		}
	}
	if fence.Blank(d.Subject) {
		bad("no subject")
	}
	if len(d.Input) > 0 && !json.Valid(d.Input) {
		bad("input is not JSON")
	}
	if d.Priority < 1 || d.Priority > priorities {
		bad("priority %d is not one of 1 to %d", d.Priority, priorities)
	}
	if d.MaxAttempts < 1 || min(d.Timeout, d.Quiet) < 0 {
		bad("max attempts, timeout or quiet is negative")
	}
	if d.At.After(latest) || !d.At.IsZero() && d.At.Before(time.Unix(0, 0)) {
		bad("at: %v is out of range", d.At)
	}
	for _, id := range append([]string{d.Source, d.Parent, d.Key, d.Template, d.Model}, d.Skills...) {
		if err := key.CheckID("name", id); err != nil {
			errs = append(errs, err)
		}
	}
	if errs != nil {
		return fmt.Errorf("%w: %w", ErrDraft, errors.Join(errs...))
	}
	return nil
}

// unfit returns every problem with a draft that is new: its Cron and Scope, too.
func (d *Draft) unfit() (err error) {
	if d.Cron != "" && len(d.Cron) <= key.MaxID { // else problems says so
		if _, err = nextTime(d.Cron, time.Unix(0, 0)); err != nil {
			err = fmt.Errorf("%w: %w", ErrDraft, err)
		}
	}
	return errors.Join(d.problems(), err, d.Scope.Check())
}

// nextTime returns the first time of a cron expression after another.
func nextTime(expr string, after time.Time) (at time.Time, err error) {
	lost := guard.Call(func() {
		var s cron.Schedule
		if s, err = cron.ParseStandard(expr); err == nil {
			at = comes(s, after.UTC()).UTC()
		}
	})
	if err = errors.Join(err, lost); err == nil && (at.IsZero() || at.After(latest)) {
		err = errors.New("it never comes")
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("cron %q: %w", expr, err)
	}
	return at, nil
}

// comes returns the first time of a schedule after another. What the clock of a zone leaves out
// comes right after, and what it repeats comes once, unless the schedule is of every hour.
func comes(s cron.Schedule, after time.Time) time.Time {
	const hours = 1<<24 - 1
	of, is := s.(*cron.SpecSchedule)
	if !is || of.Location == time.Local || of.Hour&hours == hours {
		return s.Next(after)
	}
	zone, clock := of.Location, *of
	clock.Location = time.UTC // it leaves out nothing, and repeats nothing
	ahead := func(at time.Time) time.Duration {
		_, seconds := at.In(zone).Zone()
		return time.Duration(seconds) * time.Second
	}
	for shown := after.Add(ahead(after)); ; {
		if shown = clock.Next(shown); shown.IsZero() {
			return shown
		}
		at := shown.Add(-ahead(shown.AddDate(0, 0, -1)))
		if ahead(at) != shown.Sub(at) { // not as the day before
			left := at
			if at = shown.Add(-ahead(shown.AddDate(0, 0, 1))); ahead(at) != shown.Sub(at) {
				at, _ = left.In(zone).ZoneBounds() // when the clock was set
			}
		}
		if at.After(after) {
			return at
		}
	}
}

// or fills what a draft leaves empty.
func (d Draft) or(from Draft) Draft {
	d.Subject = cmp.Or(d.Subject, from.Subject)
	d.Description = cmp.Or(d.Description, from.Description)
	d.Priority = cmp.Or(d.Priority, from.Priority)
	d.Source = cmp.Or(d.Source, from.Source)
	d.Scope = cmp.Or(d.Scope, from.Scope)
	d.Key = cmp.Or(d.Key, from.Key)
	d.Quiet = cmp.Or(d.Quiet, from.Quiet)
	d.Cron = cmp.Or(d.Cron, from.Cron)
	d.MaxAttempts = cmp.Or(d.MaxAttempts, from.MaxAttempts)
	d.Timeout = cmp.Or(d.Timeout, from.Timeout)
	d.Model = cmp.Or(d.Model, from.Model)
	if len(d.Input) == 0 {
		d.Input = from.Input
	}
	if len(d.Skills) == 0 {
		d.Skills = from.Skills
	}
	d.Input, d.Skills = slices.Clone(d.Input), slices.Clone(d.Skills)
	return d
}

// The parts of keys below the tenant's. All are of this package.
const (
	root      = "queue"
	jobKeys   = "job"   // id: the Job
	nextKeys  = "next"  // list, time, id: those that are Pending
	leaseKeys = "lease" // id: the lease of one that is Active
	endKeys   = "ended" // time, id: those that have ended
	nameKeys  = "key"   // Draft.Key: the id of its last job
	cycleKeys = "cycle" // time, id, token: the Cycle
	wakeKeys  = "wake"  // id: what it waits for has changed

	sensorKeys = "sensor" // Sensor.Name: its SensorState
)

// mark is the value of keys that have none.
var mark = []byte{1}

// digits writes a time so that texts order as times do.
func digits(ns int64) string { return fmt.Sprintf("%016x", uint64(ns)^1<<63) }

// nanos is the opposite of digits at the beginning of a text; 0 for any other.
func nanos(text string) int64 {
	n, _ := strconv.ParseUint(text[:min(16, len(text))], 16, 64) // 0 will do
	return int64(n ^ 1<<63)
}

// place is where a job is Pending: which of the lists, and where in it.
type place struct {
	list int    // two for each priority, the second for jobs with a time
	at   int64  // when it is due; 0: at once
	id   string // begins with when it was created
}

// place is that of a job.
func (j *Job) place() place {
	p := place{list: 2 * (j.Priority - 1), id: j.ID}
	if !j.At.IsZero() {
		p.list, p.at = p.list+1, j.At.UnixNano()
	}
	return p
}

// inList compares the places of a list.
func (p place) inList(with place) int {
	return cmp.Or(cmp.Compare(p.at, with.at), strings.Compare(p.id, with.id))
}

// name is the key of a list, and of a place in it.
func listName(list int) string { return fmt.Sprintf("%02d", list) }

// Jobs with a time gain boost priorities, up to the first, once they are late by more than late.
const (
	boost = 2
	late  = time.Minute
)

// before reports whether p is to be taken before another place at a time.
func (p place) before(with place, now int64, ageing time.Duration) bool {
	score := func(p place) (level, ready int64) {
		level, ready = int64(p.list/2+1), max(p.at, nanos(p.id))
		if p.at != 0 && now-p.at > int64(late) {
			level = max(1, level-boost)
		}
		if ageing > 0 {
			return 0, ready + level*int64(ageing)
		}
		return level, ready
	}
	l1, r1 := score(p)
	l2, r2 := score(with)
	return cmp.Or(cmp.Compare(l1, l2), cmp.Compare(r1, r2), strings.Compare(p.id, with.id)) < 0
}
