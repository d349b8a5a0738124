package queue

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/redact"
	"github.com/arc-learn/arc/next/store"
)

// State is how a job stands.
type State string

// The states of a job. Completed and Failed end it.
const (
	Pending   State = "pending"   // to be claimed once its time has come
	Active    State = "active"    // a holder has it
	Completed State = "completed" // done
	Failed    State = "failed"    // given up: Error or Summary says why
	Blocked   State = "blocked"   // cannot go on until a person acts: Summary says why
	Parked    State = "parked"    // set aside
)

func (s State) ended() bool { return s == Completed || s == Failed }

// Draft is a job to be added. Its texts are kept without secrets.
type Draft struct {
	Subject     string          `cbor:"1,keyasint"`           // a line of at most 1 KiB; required
	Description string          `cbor:"2,keyasint,omitempty"` // at most 64 KiB
	Input       json.RawMessage `cbor:"3,keyasint,omitempty"` // what the handler works on; JSON of at most 64 KiB
	Priority    int             `cbor:"4,keyasint"`           // 1 (first) to 10; 0: 5
	Skills      []string        `cbor:"5,keyasint,omitempty"` // names of what the work needs, at most 32
	Source      string          `cbor:"6,keyasint,omitempty"` // who asked: "human"; follow-ups have "job:ID", a sensor's "sensor:NAME"
	Template    string          `cbor:"7,keyasint,omitempty"` // of recurring or structured work; the host's
	Parent      string          `cbor:"8,keyasint,omitempty"` // id of the job that this one follows from, at most 10 deep
	Scope       store.Scope     `cbor:"9,keyasint,omitempty"` // of the tenant; "" is the tenant's own
	Model       string          `cbor:"10,keyasint,omitempty"`

	// Key makes adding idempotent: in its scope the same Key is the same job, until that has ended and the retention
	// is over. "": each Draft is a job of its own.
	Key string `cbor:"11,keyasint,omitempty"`

	// At is when the job is due; zero: at once, or at the first time of Cron. Every has it come again, that long after
	// the last due time. Cron does so by an expression of five fields as in crontab(5), in UTC or, say,
	// "CRON_TZ=Europe/Berlin 0 6 * * *"; "@daily" and its like are read, too. Times that passed while the job could not
	// run are left out. In a zone with daylight saving a time of the hour that is left out comes right after it, and
	// one of the hour that is repeated may come twice.
	At    time.Time     `cbor:"12,keyasint,omitzero"`
	Every time.Duration `cbor:"13,keyasint,omitempty"`
	Cron  string        `cbor:"14,keyasint,omitempty"`

	MaxAttempts int           `cbor:"15,keyasint,omitempty"` // that fail or are lost; 0: 3
	Timeout     time.Duration `cbor:"16,keyasint,omitempty"` // of an attempt; 0: none
}

// Job is a Draft that was added, and what has become of it.
type Job struct {
	Draft
	ID       string        `cbor:"30,keyasint"` // "abc", or with the scope "acme/anna//abc"
	State    State         `cbor:"31,keyasint"`
	Attempts int           `cbor:"32,keyasint,omitempty"` // that failed, were lost, or are under way
	Token    uint64        `cbor:"33,keyasint,omitempty"` // one higher with each claim
	Created  time.Time     `cbor:"34,keyasint"`
	Started  time.Time     `cbor:"35,keyasint,omitzero"` // of the last attempt
	Ended    time.Time     `cbor:"36,keyasint,omitzero"` // of a job that comes again: its last end
	Next     time.Time     `cbor:"37,keyasint,omitzero"` // when a pending job may be claimed
	Summary  string        `cbor:"38,keyasint,omitempty"`
	Detail   string        `cbor:"39,keyasint,omitempty"`
	Error    string        `cbor:"40,keyasint,omitempty"` // of the last attempt; "": none
	Usage    *reason.Usage `cbor:"41,keyasint,omitempty"` // of all attempts; nil: unknown
	Round    int           `cbor:"42,keyasint,omitempty"` // how often a job that comes again has ended
	Depth    int           `cbor:"43,keyasint,omitempty"` // number of parents above
}

// Result is what a handler made of a job. The zero Result completes it.
type Result struct {
	State     State         // "": Completed; or Failed, Blocked, Parked, Pending
	Summary   string        // a line; what is over 4 KiB is cut
	Detail    string        // the rest; what is over 64 KiB is cut
	Usage     *reason.Usage // of this attempt: tokens, cost as reported and as estimated; nil: unknown
	At        time.Time     // of Pending: when to try again; zero: in 30 s
	Followups []Draft       // added in the same commit, in the job's scope unless they name one; at most 64
}

// Cycle is an attempt that has ended.
type Cycle struct {
	Job     string        `cbor:"1,keyasint"`
	Subject string        `cbor:"2,keyasint"`
	Token   uint64        `cbor:"3,keyasint"`
	Skills  []string      `cbor:"4,keyasint,omitempty"`
	Model   string        `cbor:"5,keyasint,omitempty"`
	Started time.Time     `cbor:"6,keyasint"`
	Wall    time.Duration `cbor:"7,keyasint"`
	State   State         `cbor:"8,keyasint"` // of the job afterwards
	Error   string        `cbor:"9,keyasint,omitempty"`
	Usage   *reason.Usage `cbor:"10,keyasint,omitempty"`
}

// Errors of a Queue. They may be wrapped.
var (
	ErrInvalid = errors.New("queue: invalid job")
	ErrEmpty   = errors.New("queue: no job is due")
	ErrLost    = errors.New("queue: the job is no longer held")
)

const (
	maxSubject   = 1 << 10
	maxText      = 64 << 10
	maxSummary   = 4 << 10
	maxSkills    = 32
	maxDepth     = 10
	maxFollowups = 64
	lowest       = 10 // priority
	usual        = 5
	attempts     = 3
)

// kinds of keys: records of jobs, cycles, the steps of jobs, when sensors last looked.
const (
	jobKind    = "job"
	cycleKind  = "cycle"
	stepKind   = "jobstep"
	sensorKind = "sensor"
)

// prepare cleans a draft, fills what is empty, and returns every problem with it.
func (d *Draft) prepare(clean *redact.Sanitizer) error {
	d.Subject, d.Description = clean.Prose(d.Subject), clean.Prose(d.Description)
	if len(d.Input) > 0 && json.Valid(d.Input) {
		d.Input = clean.Data(d.Input)
	}
	d.Priority = cmp.Or(d.Priority, usual)
	d.MaxAttempts = cmp.Or(d.MaxAttempts, attempts)
	d.At = d.At.UTC().Truncate(0)
	names, err := json.Marshal(append([]string{d.Source, d.Template, d.Model, d.Key}, d.Skills...))
	if err == nil && !bytes.Equal(clean.Data(names), names) {
		err = fmt.Errorf("%w: a name holds a secret", ErrInvalid)
	}
	return cmp.Or(err, d.check())
}

// check returns every problem with a draft.
func (d *Draft) check() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(strings.TrimSpace(d.Subject) == "", "no subject")
	refuse(len(d.Subject) > maxSubject, "subject of %d bytes, over %d", len(d.Subject), maxSubject)
	refuse(len(d.Description) > maxText, "description of %d bytes, over %d", len(d.Description), maxText)
	refuse(len(d.Input) > maxText, "input of %d bytes, over %d", len(d.Input), maxText)
	refuse(len(d.Input) > 0 && !json.Valid(d.Input), "input is not JSON")
	refuse(d.Priority < 1 || d.Priority > lowest, "priority %d is not 1 to %d", d.Priority, lowest)
	refuse(len(d.Skills) > maxSkills, "%d skills, over %d", len(d.Skills), maxSkills)
	refuse(d.MaxAttempts < 0 || d.Timeout < 0 || d.Every < 0, "max attempts, timeout or every is negative")
	refuse(d.Every > 0 && d.Every < time.Second, "every %v is under a second", d.Every)
	refuse(d.Every > 0 && d.Cron != "", "every and cron")
	refuse(!d.At.IsZero() && (d.At.Year() < 1970 || d.At.Year() > 2200), "at: %v is out of range", d.At)
	errs = append(errs, d.Scope.Check())
	for _, name := range append([]string{d.Source, d.Template, d.Model, d.Key}, d.Skills...) {
		if name != "" {
			errs = append(errs, store.CheckID(name))
		}
	}
	if d.Cron != "" {
		_, err := nextCron(d.Cron, time.Unix(0, 0))
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

// first returns when a new job is due.
func (d *Draft) first(now time.Time) (at, next time.Time, err error) {
	at = d.At
	if at.IsZero() && d.Cron != "" {
		at, err = nextCron(d.Cron, now)
	} else if at.IsZero() && d.Every > 0 {
		at = now
	}
	return at, later(at, now), err
}

// again returns the next time of a job that comes again, and false for any other.
func (d *Draft) again(now time.Time) (time.Time, bool) {
	switch {
	case d.Cron != "":
		at, err := nextCron(d.Cron, now)
		return at, err == nil
	case d.Every > 0:
		missed := max(0, now.Sub(d.At)/d.Every)
		return d.At.Add((missed + 1) * d.Every), true
	}
	return time.Time{}, false
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// idOf returns the id of a new job. That of a Key is made from it, so that the same Key is the same record.
func idOf(d *Draft, created time.Time) string {
	id := strconv.FormatInt(created.UnixNano(), 36)
	if d.Key != "" {
		sum := sha256.Sum256([]byte(d.Key))
		id = "k" + hex.EncodeToString(sum[:16])
	}
	if d.Scope == "" {
		return id
	}
	return string(d.Scope) + "//" + id
}

// parse returns the scope of a job's id and the rest of it.
func parse(id string) (store.Scope, string, error) {
	scope, rest, ok := strings.Cut(id, "//")
	if !ok {
		scope, rest = "", id
	}
	err := errors.Join(store.Scope(scope).Check(), store.CheckID(rest))
	if err != nil || strings.Contains(rest, "/") {
		return "", "", fmt.Errorf("%w: id %q", ErrInvalid, id)
	}
	return store.Scope(scope), rest, nil
}

// keyOf returns the key of a job's record.
func keyOf(id string) (string, error) {
	scope, rest, err := parse(id)
	return scope.Key(jobKind, rest), err
}

// cycle returns the log entry of the attempt that has just ended.
func (j *Job) cycle(now time.Time, usage *reason.Usage) *Cycle {
	return &Cycle{Job: j.ID, Subject: j.Subject, Token: j.Token, Skills: j.Skills, Model: j.Model, Started: j.Started,
		Wall: now.Sub(j.Started), State: j.State, Error: j.Error, Usage: usage}
}

// end ends a job in a state, or has it come again.
func (j *Job) end(state State, now time.Time) {
	j.State, j.Ended = state, now
	if at, comes := j.again(now); comes {
		j.State, j.At, j.Next, j.Attempts = Pending, at, at, 0
		j.Round++
	}
}

// cut returns at most max bytes of a text.
func cut(text string, max int) string {
	if len(text) <= max {
		return text
	}
	return strings.ToValidUTF8(text[:max], "")
}
