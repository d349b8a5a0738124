package meta_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

var dawn = time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)

// at opens a Monitor whose clock shows *now.
func at(t require.TestingT, now *time.Time) *meta.Monitor {
	m, err := meta.Open(context.Background(), store.NewMem(), &meta.Options{Now: func() time.Time { return *now }})
	require.NoError(t, err)
	if tb, ok := t.(*testing.T); ok {
		tb.Cleanup(func() { require.NoError(tb, m.Close()) })
	}
	return m
}

func TestActionsLoop(t *testing.T) {
	t.Parallel()
	now := dawn
	m := at(t, &now)
	for i := range 3 {
		args := json.RawMessage(`{"path": "a.go", "line": 1.0}`)
		if i == 1 {
			args = json.RawMessage(` {"line":1.0,"path":"a.go"}`)
		}
		end, _, _ := m.Begin("g", "edit", args)
		require.NotNil(t, end)
		again, until, why := m.Begin("g", "edit", args)
		require.Nil(t, again)
		require.Equal(t, now.Add(10*time.Minute), until)
		require.Equal(t, "it is in flight", why)
		now = now.Add(time.Minute)
		end(false, false)
		end(false, false) // counts once
	}
	end, until, why := m.Begin("g", "edit", []byte(`{"path":"a.go","line":1.0}`))
	require.Nil(t, end)
	require.Equal(t, now.Add(10*time.Minute), until)
	require.Contains(t, why, "came to nothing 3 times")
	end, _, _ = m.Begin("g", "edit", []byte(`{"path":"b.go","line":1.0}`))
	require.NotNil(t, end, "other arguments, another action")
	end, _, _ = m.Begin("h", "edit", []byte(`{"path":"a.go","line":1.0}`))
	require.NotNil(t, end, "another goal")
	now = until
	end, _, _ = m.Begin("g", "edit", []byte(`{"path":"a.go","line":1.0}`))
	require.NotNil(t, end)
}

func TestActionsAlternate(t *testing.T) {
	t.Parallel()
	now := dawn
	m := at(t, &now)
	actions := []string{"scale up", "scale down"}
	for i := range 4 {
		end, _, _ := m.Begin("g", actions[i%2], nil)
		require.NotNil(t, end)
		end(true, false)
		now = now.Add(time.Minute)
	}
	for _, a := range actions {
		end, _, why := m.Begin("g", a, nil)
		require.Nil(t, end)
		require.Contains(t, why, "alternates")
	}
	end, _, _ := m.Begin("g", "restart", nil)
	require.NotNil(t, end)

	m = at(t, &now)
	for i := range 8 { // slowly: that is how a day goes
		end, _, _ := m.Begin("g", actions[i%2], nil)
		require.NotNil(t, end)
		end(true, false)
		now = now.Add(time.Hour)
	}
}

func TestActionsSettleAndLeases(t *testing.T) {
	t.Parallel()
	now := dawn
	m := at(t, &now)
	end, _, _ := m.Begin("g", "deploy", nil)
	end(true, true)
	now = dawn.Add(89 * time.Second)
	end, until, _ := m.Begin("g", "deploy", nil)
	require.Nil(t, end)
	require.Equal(t, dawn.Add(90*time.Second), until)
	now = until
	end, _, _ = m.Begin("g", "deploy", nil)
	require.NotNil(t, end)
	now = until.Add(10*time.Minute - 1)
	end, _, why := m.Begin("g", "deploy", nil)
	require.Nil(t, end)
	require.Equal(t, "it is in flight", why)
	now = until.Add(10 * time.Minute)
	end, _, _ = m.Begin("g", "deploy", nil)
	require.NotNil(t, end, "the lease ran out")
}

// However actions begin and end, none is in flight twice, and nothing rests for
// longer than the longest rest.
func TestActionsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := dawn
		m := at(t, &now)
		type flight struct {
			until time.Time
			end   func(success, changed bool)
		}
		flying := map[string]flight{}
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			now = now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "seconds")) * time.Second)
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
			f, flies := flying[name]
			flies = flies && now.Before(f.until)
			if flies && rapid.Bool().Draw(t, "end") {
				f.end(rapid.Bool().Draw(t, "success"), rapid.Bool().Draw(t, "changed"))
				delete(flying, name)
				continue
			}
			end, until, why := m.Begin("g", name, nil)
			require.Equal(t, flies, why == "it is in flight")
			if end != nil {
				flying[name] = flight{now.Add(10 * time.Minute), end}
				require.Empty(t, why)
				continue
			}
			require.True(t, until.After(now))
			require.LessOrEqual(t, until.Sub(now), 10*time.Minute)
			require.NotEmpty(t, why)
		}
		require.NoError(t, m.Close())
	})
}

func ExampleMonitor_Begin() {
	now := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	m, _ := meta.Open(context.Background(), store.NewMem(), &meta.Options{Now: func() time.Time { return now }})
	defer m.Close()
	for {
		end, until, why := m.Begin("the service answers", "restart", []byte(`{"service": "api"}`))
		if end == nil {
			fmt.Println("leave it alone until", until.Format(time.TimeOnly)+":", why)
			break
		}
		now = now.Add(20 * time.Second)
		end(false, false)
	}
	// Output:
	// leave it alone until 06:11:00: it came to nothing 3 times in 5m0s
}
