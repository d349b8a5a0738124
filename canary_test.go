package arc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/telemetry/telemetrytest"
	"github.com/arc-learn/arc/internal/veil/veiltest"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store/badger"
)

// listening is an embedder that keeps what it is shown.
type listening struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *listening) Embed(_ context.Context, texts []string) ([][]float32, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([][]float32, len(texts))
	for i, text := range texts {
		l.text.WriteString(text + "\n")
		out[i] = []float32{1, float32(len(text)), 1}
	}
	return out, nil
}

func (l *listening) Model() string { return "listening" }

// planted is a number of places, each with a secret of its own, and whatever an Agent
// has said while it met them.
type planted struct {
	t      *testing.T
	sep    string
	secret func(n int) string
	places map[string]string // by secret
	said   bytes.Buffer
	mu     sync.Mutex
}

func (c *planted) say(v any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(&c.said, "%+v\n", v)
}

// Write makes the planted what a log is written to.
func (c *planted) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said.Write(p)
}

// each calls use with a value of a type for each place of it, which has a secret there.
func each[T any](c *planted, base func() T, spared *regexp.Regexp, use func(v T, id string) error) {
	for n := 0; ; n++ {
		v := base()
		secret := c.secret(len(c.places))
		path, ok := veiltest.Plant(&v, n, c.sep, secret)
		if !ok {
			return
		}
		if spared != nil && spared.MatchString(path) {
			continue
		}
		c.places[secret] = path
		if err := use(v, fmt.Sprintf("run%d", len(c.places))); err != nil {
			c.say(err)
		}
	}
}

// found returns the places whose secret is in a text.
func (c *planted) found(text string) (out []string) {
	for secret, path := range c.places {
		if strings.Contains(text, secret) {
			out = append(out, path)
		}
	}
	return out
}

// TestNoCanaryIsKeptOrTold puts a secret into each text that a host can give, one at a
// time, and looks for it in the store, its files, the embedder, the log, events, spans, errors
// and Reports. Ids hold tokens only: what they are otherwise is theirs.
func TestNoCanaryIsKeptOrTold(t *testing.T) {
	if testing.Short() {
		t.Skip("some hundred runs")
	}
	t.Parallel()
	for kind, c := range map[string]*planted{
		"token":    {sep: "-", secret: func(n int) string { return fmt.Sprintf("ghp_7Qm2Zx9Lw4Rk8Vt3Nb6Yc1Hd5Jf%05dGs", n) }},
		"password": {sep: " ", secret: func(n int) string { return fmt.Sprintf("password=hunter%05dxyz", n) }},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c.t, c.places = t, map[string]string{}
			c.all(kind == "password")
		})
	}
}

var ids = regexp.MustCompile(`\.(ID|IDs|Session|Scope|Also|Episodes|Actor|Key|Thread|Ref|Run|To|Rel|Worker|Skill|Candidate|Source|` +
	`Injected|Utilized|Misled|Applied|Failed|Category|Visibility|Maturity|Origin|Kinds?|Domain|Name|Replica|Context)\b`)

func (c *planted) all(passwords bool) {
	t, ctx, dir := c.t, c.t.Context(), c.t.TempDir()
	var spared *regexp.Regexp
	if passwords {
		spared = ids
	}
	st, err := badger.Open(dir, nil)
	require.NoError(t, err)
	var rec telemetrytest.Recorder
	embedder := &listening{}
	options := func() *arc.Options {
		return &arc.Options{
			Now: newClock().Now, Seed: 1, ShowTexts: true, TracerProvider: rec.Tracing(), MeterProvider: rec.Metering(),
			Logger: slog.New(slog.NewJSONHandler(c, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Hooks:  arc.Hooks{Event: func(e arc.Event) { c.say(e) }}, Memory: memory.Options{Embedder: embedder},
			Replans: 1, Patience: -1,
		}
	}
	s := &script{}
	agent, err := arc.New(ctx, st, s.host("worker", "other"), options())
	require.NoError(t, err)
	once := func(o arc.Objective) error {
		r, err := agent.Run(ctx, o)
		if r != nil {
			c.say(fmt.Sprintf("%+v", *r))
		}
		return err
	}
	// reset gives the host's parts back their ordinary words.
	reset := func() { s.decide, s.do, s.judge = nil, nil, nil }
	objective := func(id string) arc.Objective { return arc.Objective{ID: id, Text: "mend the cache of the shop"} }
	each(c, func() arc.Objective {
		o := objective("obj")
		o.Tasks = plan("look at it").Tasks
		return o
	}, spared, func(o arc.Objective, id string) error {
		if o.ID == "obj" {
			o.ID = id
		}
		if len(o.Secrets) > 0 && o.Secrets["k"] == "" {
			o.Secrets = act.Secrets{"k": o.Secrets["k"] + "123456"} // its names are ids
		}
		return once(o)
	})
	each(c, func() reason.Decision {
		d := plan("look at it")
		d.Approach, d.Reasoning = "by looking", "it is near"
		return d
	}, spared, func(d reason.Decision, id string) error {
		s.decide = func(n int, b reason.Brief) (reason.Decision, error) {
			if b.Complaint == "" && len(b.Answers) == 0 && len(b.Goals) == 0 && len(b.Failed) == 0 {
				return d, nil
			}
			return plan("look at it"), nil
		}
		defer reset()
		err := once(objective(id))
		_, answered := agent.In("").Answer(ctx, id, "the red one")
		return errors.Join(err, answered)
	})
	each(c, func() act.Result {
		r := done(`1`)
		r.Reflection.PotentialIssues = []string{"one"}
		r.Deltas = []act.Delta{{Domain: "shop", Path: "cache", Value: []byte(`1`)}}
		return r
	}, spared, func(r act.Result, id string) error {
		n := 0
		s.do = func(int, act.Work) (act.Result, error) { n++; return r, nil }
		s.judge = func(act.Work, act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: n > 1, Complaint: "again"}, nil
		}
		defer reset()
		return once(objective(id))
	})
	each(c, func() iar.Reflection { return done(`1`).Reflection }, spared, func(r iar.Reflection, id string) error {
		s.do = func(int, act.Work) (act.Result, error) {
			return act.Result{Reflection: r, Output: []byte(`"` + strings.Repeat("x", 3000) + `"`)}, nil
		}
		defer reset()
		return once(objective(id))
	})
	each(c, func() act.Verdict { return act.Verdict{Complaint: "no"} }, spared, func(v act.Verdict, id string) error {
		s.judge = func(act.Work, act.Result) (act.Verdict, error) { return v, nil }
		defer reset()
		err := once(objective(id))
		_, retried := agent.In("").Retry(ctx, id, v.Complaint)
		return errors.Join(err, retried)
	})
	each(c, func() string { return "trouble" }, nil, func(text, id string) error {
		broken := errors.New(text)
		var all []error
		s.decide = func(int, reason.Brief) (reason.Decision, error) { return reason.Decision{}, broken }
		all = append(all, once(objective(id+"a")))
		reset()
		s.do = func(n int, _ act.Work) (act.Result, error) {
			if n%2 == 0 {
				panic(text)
			}
			return act.Result{}, broken
		}
		all = append(all, once(objective(id+"b")))
		reset()
		s.judge = func(act.Work, act.Result) (act.Verdict, error) { return act.Verdict{}, broken }
		all = append(all, once(objective(id+"c")))
		reset()
		_, err := agent.Think(ctx, arc.Objective{Text: text})
		return errors.Join(append(all, err, once(objective(id)), agent.In("").Memory().Forget(ctx, memory.ID("x-"+text)))...)
	})
	require.NoError(t, once(objective("judged")))
	each(c, func() arc.Verdict { return arc.Verdict{Why: "it broke", Source: "ann"} }, spared, func(v arc.Verdict, id string) error {
		return agent.In("").Judge(ctx, "judged", v)
	})
	space := agent.In("").Memory()
	each(c, func() memory.Draft {
		return memory.Draft{Kind: memory.Pattern, Trigger: "the cache is stale", Content: "empty it"}
	}, spared, func(d memory.Draft, id string) error {
		_, err := space.Remember(ctx, d)
		return err
	})
	each(c, func() memory.Query { return memory.Query{Text: "the cache"} }, spared, func(q memory.Query, id string) error {
		_, err := space.Recall(ctx, q)
		return err
	})
	each(c, func() memory.Feedback { return memory.Feedback{Key: "f", Situation: "s"} }, spared, func(f memory.Feedback, id string) error {
		f.Key += id
		return space.Feedback(ctx, f)
	})
	about, err := agent.In("").Identity()
	require.NoError(t, err)
	each(c, func() identity.Draft { return identity.Draft{Content: "likes tea"} }, spared, func(d identity.Draft, id string) error {
		_, err := about.Add(ctx, d)
		return err
	})
	each(c, func() identity.Event { return identity.Event{} }, spared, func(e identity.Event, id string) error {
		_, err := about.Observe(ctx, e)
		return err
	})
	book, err := rank.Open(ctx, st, nil)
	require.NoError(t, err)
	each(c, func() rank.Sample { return rank.Sample{Key: "s", Candidate: "worker"} }, spared, func(v rank.Sample, id string) error {
		v.Key += id
		return book.Observe(ctx, v)
	})
	require.NoError(t, book.Close())
	monitor, err := meta.Open(ctx, st, nil)
	require.NoError(t, err)
	each(c, func() meta.Outcome { return meta.Outcome{Key: "o", Session: "s", Goal: "mend it"} }, spared, func(o meta.Outcome, id string) error {
		o.Key += id
		return monitor.Record(ctx, o)
	})
	require.NoError(t, monitor.Close())
	_, err = agent.Maintain(ctx, "local")
	require.NoError(t, err)

	each(c, func() arc.Options { return *options() }, spared, func(o arc.Options, id string) error {
		o.Logger, o.Memory.Embedder = nil, nil
		other, err := arc.New(ctx, st, s.host(), &o)
		if err == nil {
			_, err = other.Run(ctx, objective(id))
			err = errors.Join(err, other.Close())
		}
		return err
	})
	each(c, func() act.Worker { return s.host().Workers[0] }, spared, func(w act.Worker, id string) error {
		h := s.host()
		h.Workers[0] = w
		other, err := arc.New(ctx, st, h, options())
		if err == nil {
			_, err = other.Run(ctx, objective(id))
			err = errors.Join(err, other.Close())
		}
		return err
	})
	require.NoError(t, agent.Close())

	require.Greater(t, len(c.places), 60)
	require.Empty(t, c.found(everything(t, st)), "store")
	require.NoError(t, st.Close())
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Empty(t, c.found(string(raw)), path)
		}
		return err
	}))
	require.Empty(t, c.found(embedder.text.String()), "embedder")
	require.Empty(t, c.found(rec.All()), "spans")
	require.Empty(t, c.found(c.said.String()), "log, events, errors, Reports")
	t.Logf("%d places", len(c.places))
}
