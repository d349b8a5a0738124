package queue

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // of a Cron: without its zone, as in an empty container, a job would not come again

	"github.com/netresearch/go-cron"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// State is how a job stands.
type State string

// The states of a job. Completed and Failed end it.
const (
	Pending   State = "pending"   // to be claimed once its time has come
	Active    State = "active"    // a holder has it
	Completed State = "completed" // done
	Failed    State = "failed"    // given up: Summary says why
	Blocked   State = "blocked"   // cannot go on until a person acts: Summary says why
	Parked    State = "parked"    // set aside
)

func (s State) ended() bool { return s == Completed || s == Failed }

func (s State) check() error {
	if !slices.Contains([]State{Pending, Active, Completed, Failed, Blocked, Parked}, s) {
		return fmt.Errorf("queue: %w: state %q", store.ErrInvalid, s)
	}
	return nil
}

// Draft is a job to be added. Its texts are kept without secrets.
type Draft struct {
	Subject     string      `cbor:"1,keyasint"`                    // a line of at most 1 KiB; required
	Description string      `cbor:"2,keyasint,omitempty"`          // at most 64 KiB
	Priority    int         `cbor:"4,keyasint"`                    // 1 (first) to 10; 0: 5
	Skills      []string    `cbor:"5,keyasint,omitempty"`          // names of its needs; the host's, at most 32
	Source      string      `cbor:"6,keyasint,omitempty"`          // who asked: "human", "job:ID", "sensor:NAME"
	Template    string      `cbor:"7,keyasint,omitempty" yaml:"-"` // of recurring or structured work; the host's
	Parent      string      `cbor:"8,keyasint,omitempty"`          // id of the job that this one follows from
	Scope       store.Scope `cbor:"9,keyasint,omitempty" yaml:"-"` // of the tenant; "": that of the Options
	Model       string      `cbor:"10,keyasint,omitempty"`         // the host's name of a model; "": its default

	Input json.RawMessage `json:",omitempty" cbor:"3,keyasint,omitempty" yaml:"-"` // JSON of up to 64 KiB

	// Key makes adding idempotent: in a scope it is of one job until that is swept. "": each Draft is its own.
	Key string `cbor:"11,keyasint,omitempty"`

	// At is when the job is due, of the years 1970 to 2200; zero: at once, or at the first time of Cron. Of a
	// Job it is when that may be claimed next, be it for a further attempt.
	At time.Time `cbor:"12,keyasint,omitzero"`

	// Cron has the job come again, by an expression of five fields as in crontab(5), in UTC or, say,
	// "CRON_TZ=Europe/Berlin 0 6 * * *"; "@daily" and its like are read, too, and "@every 90m": that long after
	// it was added or has ended. Times that passed while the job could not run are left out. In summer time a
	// time that is left out comes later, a repeated one twice; clocks set at midnight (Cairo) may miss one.
	Cron string `cbor:"14,keyasint,omitempty"`

	MaxAttempts int `cbor:"15,keyasint,omitempty" yaml:"max_retries"` // that fail or are lost; 0: 3
}

// Job is a Draft that was added, and what has become of it. What came of an attempt its holder says in State,
// Summary, Usage and At, which are empty when the job was claimed: see [Queue.End].
type Job struct {
	Draft
	ID       string        `cbor:"30,keyasint"` // "abc", or with the scope "acme/anna//abc"
	State    State         `cbor:"31,keyasint"`
	Attempts int           `cbor:"32,keyasint,omitempty"` // that failed, were lost, or are under way
	Token    uint64        `cbor:"33,keyasint,omitempty"` // higher with each claim
	Created  time.Time     `cbor:"34,keyasint"`           // when it was added; no two jobs have the same
	Started  time.Time     `cbor:"35,keyasint,omitzero"`  // zero until its round has begun
	Ended    time.Time     `cbor:"36,keyasint,omitzero"`  // Started and Ended are those of the last attempt
	Summary  string        `cbor:"38,keyasint,omitempty"` // first a line: what was done, or why not
	Usage    *reason.Usage `cbor:"41,keyasint,omitempty"` // of all attempts of its round; nil: unknown

	steps string        // of a claimed job: what the keys of its steps begin with
	spent *reason.Usage // of a claimed job: what earlier attempts took
}

// record is a job as it is stored.
type record struct {
	Job
	Due   time.Time `cbor:"37,keyasint,omitzero"`  // when it was to run; zero: no time was given
	Round int       `cbor:"42,keyasint,omitempty"` // how often it has ended and came again

	key string
	rev store.Revision // 0: staged by an earlier part of the commit, or not there yet
}

// Errors of a Queue. They may be wrapped.
var (
	ErrEmpty = errors.New("queue: no job is due")
	ErrLost  = errors.New("queue: the job is no longer held")
)

const (
	maxText      = 64 << 10
	maxSummary   = 4 << 10 // of a cycle
	maxFollowups = 64
	maxSource    = store.MaxID - len("…")

	jobKind    = "job" // kinds of keys: records of jobs, with their steps below them
	cycleKind  = "cycle"
	sensorKind = "sensor" // when each last looked
)

// prepare cleans a draft, fills what is empty, and returns every problem with it.
func (d *Draft) prepare(clean *redact.Sanitizer) error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	d.Subject, d.Description = clean.Prose(d.Subject), clean.Prose(d.Description)
	refuse(len(d.Input) > 0 && !json.Valid(d.Input), "input is not JSON")
	if d.Input = clean.Data(d.Input); len(d.Input) == 0 || string(d.Input) == "null" {
		d.Input = nil
	}
	d.Skills, d.Priority = slices.Clone(d.Skills), cmp.Or(d.Priority, 5)
	d.MaxAttempts, d.At = cmp.Or(d.MaxAttempts, 3), d.At.UTC().Truncate(0)
	refuse(strings.TrimSpace(d.Subject) == "", "no subject")
	refuse(len(d.Subject) > 1<<10, "subject of %d bytes, over 1 KiB", len(d.Subject))
	refuse(len(d.Description) > maxText, "description of %d bytes, over %d", len(d.Description), maxText)
	refuse(len(d.Input) > maxText, "input of %d bytes, over %d", len(d.Input), maxText)
	refuse(d.Priority < 1 || d.Priority > 10, "priority %d is not 1 to 10", d.Priority)
	refuse(len(d.Skills) > 32, "%d skills, over 32", len(d.Skills))
	refuse(d.MaxAttempts < 0, "max attempts is negative")
	refuse(!d.At.IsZero() && (d.At.Year() < 1970 || d.At.Year() > 2200), "at: %v is out of range", d.At)
	for _, name := range append([]string{d.Source, d.Template, d.Model, d.Key}, d.Skills...) {
		if name != "" {
			raw, err := json.Marshal(name)
			errs = append(errs, err, store.CheckID(name))
			refuse(string(clean.Data(raw)) != string(raw), "a name holds a secret")
		}
	}
	errs = append(errs, d.Scope.Check())
	if d.Cron != "" {
		_, err := nextCron(d.Cron, time.Unix(0, 0))
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("queue: %w: %w", store.ErrInvalid, err)
	}
	return nil
}

func decode(e store.Entry, err error) (*record, error) {
	r := &record{key: e.Key, rev: e.Rev}
	if err == nil {
		err = codec.Unmarshal(e.Value, r)
	}
	return r, err
}

// schedule says when a job is due that is new, or was given another time.
func (r *record) schedule(now time.Time) (err error) {
	r.Due = r.At
	if r.Due.IsZero() && r.Cron != "" {
		r.Due, err = nextCron(r.Cron, now)
	}
	r.At = slices.MaxFunc([]time.Time{r.Due, now}, time.Time.Compare)
	return err
}

const fields = cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor

// Days are those of crontab(5): where both the day of the month and that of the week are restricted, one of
// them has to match; a field that begins with "*" restricts only by its step, and then both have to.
var oneDay, bothDays = cron.MustNewParser(fields | cron.DowOrDom), cron.MustNewParser(fields)

// nextCron returns the first time of an expression after now, in UTC.
func nextCron(expr string, now time.Time) (time.Time, error) {
	parser, given := oneDay, strings.Fields(expr)
	if n := len(given); n >= 5 && (strings.HasPrefix(given[n-3], "*") || strings.HasPrefix(given[n-1], "*")) {
		parser = bothDays
	}
	schedule, err := parser.Parse(expr)
	if err != nil {
		return time.Time{}, fmt.Errorf("cron %q: %w", expr, err)
	}
	at := schedule.Next(now.UTC()).UTC()
	if at.IsZero() {
		return at, fmt.Errorf("cron %q: it never comes", expr)
	}
	return at, nil
}

// claimed returns the job as its holder gets it.
func (r *record) claimed() Job {
	j := r.Job
	j.steps, j.spent = r.steps(), r.Usage
	j.At, j.Summary, j.Usage = time.Time{}, "", nil
	return j
}

// end ends a job in a state, or has it come again.
func (r *record) end(state State, now time.Time) {
	r.State = state
	if at, err := nextCron(r.Cron, now); err == nil { // it has a schedule
		r.State, r.Due, r.At, r.Round = Pending, at, at, r.Round+1
		r.Attempts, r.Usage, r.Started = 0, nil, time.Time{}
	}
}

// giveBack takes an attempt back, and sets the job aside, or until a time: a store keeps those up to 2242.
func (r *record) giveBack(state State, until time.Time) {
	r.State, r.At = state, time.Unix(min(max(0, until.Unix()), 1<<33), int64(until.Nanosecond())).UTC()
	r.Attempts--
}

// steps returns what the keys of a job's steps in its round begin with. They come right after its own key.
func (r *record) steps() string { return r.key + "/" + strconv.Itoa(r.Round) + "/" }

// isStep reports whether what follows the kind in a key is a job's step, and no job.
func isStep(id string) bool { return strings.Contains(id, "/") }

// idOf returns the id of a new job: its time and something random, as other processes add jobs, too. That of
// a Key is made from it, so that the same Key is the same record.
func idOf(d *Draft, created time.Time) string {
	id := strconv.FormatInt(created.UnixNano(), 36) + strings.ToLower(rand.Text()[:6])
	if d.Key != "" {
		sum := sha256.Sum256([]byte(d.Key))
		id = "k" + hex.EncodeToString(sum[:16])
	}
	if d.Scope == "" {
		return id
	}
	return string(d.Scope) + "//" + id
}

func keyOf(id string) (string, error) {
	scope, rest, ok := strings.Cut(id, "//")
	if !ok {
		scope, rest = "", id
	}
	err := errors.Join(store.Scope(scope).Check(), store.CheckID(rest))
	if err != nil || isStep(rest) {
		return "", fmt.Errorf("queue: %w: id %q", store.ErrInvalid, id)
	}
	return store.Scope(scope).Key(jobKind, rest), nil
}

// stampOf returns a time in a form that sorts.
func stampOf(t time.Time) string {
	return fmt.Sprintf("%013s", strconv.FormatInt(max(0, t.UnixNano()), 36))
}
