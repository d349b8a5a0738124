package inference_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/identity/internal/inference"
	"github.com/arc-learn/arc/memory/identity/internal/rollup"
	"github.com/arc-learn/arc/memory/identity/internal/sites"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestTopics(t *testing.T) {
	e := inference.Events{From: now.AddDate(0, 0, -7), To: now, Without: []string{"bank.example"}}
	for host, n := range map[string]int{"go.dev": 2, "pkg.go.dev": 3, "my.bank.example": 9} {
		e.Add(rollup.Count{Host: host, N: n}, now)
	}
	e.Add(rollup.Count{Topic: "Tea", N: 1}, now.AddDate(0, 0, -1))
	e.Add(rollup.Count{Topic: "tea!", N: 2, More: .5}, now)
	e.Add(rollup.Count{Topic: "loans", Host: "bank.example", N: 9}, now)
	e.Add(rollup.Count{Topic: "a glance", N: 3, More: -.1}, now)
	for _, at := range []time.Time{now.AddDate(0, 0, -8), now.Add(time.Second)} {
		e.Add(rollup.Count{Topic: "another time", N: 9}, at)
	}
	brief := func(known ...string) (out []inference.Topic) {
		for _, f := range e.Topics(known) {
			out = append(out, inference.Topic{Site: f.Site, Name: f.Name, Ref: f.Ref, Confidence: f.Confidence, Count: f.Count, Days: f.Days})
		}
		return out
	}
	golang := inference.Topic{Site: sites.Site{Content: "Go development", Category: "expertise"}, Name: "Go", Ref: "browsing:pkg.go.dev:3", Confidence: .65, Count: 5, Days: 1}
	tea := inference.Topic{Site: sites.Site{Content: "Tea", Category: "expertise"}, Name: "Tea", Confidence: .575, Count: 3, Days: 2}
	require.Equal(t, []inference.Topic{golang, tea}, brief("teacups", "MongoDB"))
	require.Equal(t, []inference.Topic{tea}, brief("writes Go"))
	require.Equal(t, []inference.Topic{golang}, brief("likes green tea"))
}

// A host that is too long for a reference with its count is one by itself.
func TestRefOfALongHost(t *testing.T) {
	long := strings.Repeat("x.", 125)
	e := inference.Events{To: now}
	e.Add(rollup.Count{Topic: "tea", Host: long, N: 99}, now)
	require.Equal(t, long, e.Topics(nil)[0].Ref)
	require.InDelta(t, .8, e.Topics(nil)[0].Confidence, 1e-12)
}
