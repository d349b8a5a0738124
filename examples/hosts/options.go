package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/redact"
)

// options are those of arc.New, with everything that can be plugged in there.
func options(out io.Writer) (*arc.Options, error) {
	sanitizer, err := customers()
	if err != nil {
		return nil, err
	}
	o := &arc.Options{
		Policy: peopleLast, Memory: memory.Options{Embedder: letters{}}, Sanitizer: sanitizer,
		Hooks: hooks(out),
	}
	inTests(o)
	return o, nil
}

// letters is an Embedder, if a poor one: it counts letters.
type letters struct{}

func (letters) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, 26)
		for _, r := range strings.ToLower(text) {
			if 'a' <= r && r <= 'z' {
				v[r-'a']++
			}
		}
		out[i] = v
	}
	return out, ctx.Err()
}

func (letters) Model() string { return "letters/1" }

// customers is a Sanitizer that knows the host's own kind of secret too.
func customers() (*redact.Sanitizer, error) {
	return redact.New(&redact.Options{Patterns: []redact.Pattern{
		{Kind: "customer", Expr: regexp.MustCompile(`\bKD-[0-9]{8}\b`)},
	}})
}

// peopleLast ranks as arc does, but for people, who come after machines.
func peopleLast(b *rank.Book) rank.Policy {
	learned := b.Learned(nil)
	return rank.PolicyFunc(func(ctx context.Context, s rank.Situation, cs []rank.Candidate) ([]rank.Scored, error) {
		scored, err := learned.Score(ctx, s, cs)
		person := func(x rank.Scored) bool { return strings.HasPrefix(x.Candidate.Name, "person/") }
		people := slices.DeleteFunc(slices.Clone(scored), func(x rank.Scored) bool { return !person(x) })
		return append(slices.DeleteFunc(scored, person), people...), err
	})
}

// hooks print why a goal was given up.
func hooks(out io.Writer) arc.Hooks {
	return arc.Hooks{Event: func(e arc.Event) {
		if e.Kind == arc.EventBlocked {
			fmt.Fprintln(out, "blocked:", strings.ReplaceAll(e.Text, "; ", ";\n  "))
		}
	}}
}

// observed has a host's log, tracer and meter see what arc does.
func observed(o *arc.Options, h slog.Handler, t trace.TracerProvider, m metric.MeterProvider) {
	o.Logger, o.Name = slog.New(h), "scaler"
	o.TracerProvider, o.MeterProvider = t, m
}

// inTests makes runs repeat exactly: time and chance are inputs.
func inTests(o *arc.Options) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	o.Now = func() time.Time { return now }
	o.Seed = 1
}
