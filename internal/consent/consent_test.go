package consent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/consent"
)

// TestAsk has two of two agree, one refuse, and none answer.
func TestAsk(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	ask := consent.Ask{Mode: act.Gated, Need: 2, Until: at.Add(time.Hour).UnixNano()}
	p := ask
	p.Say("ada", true, "")
	p.Say("ada", true, "")
	require.False(t, p.Decided(at), "agreeing twice counts once")
	p.Say("bob", true, "go on")
	require.True(t, p.Decided(at))
	ok, _, _ := p.Permitted()
	require.True(t, ok)
	require.Empty(t, ask.AllowedBy)

	p = ask
	p.Say("ada", false, "not on Friday")
	require.True(t, p.Decided(at))
	ok, end, why := p.Permitted()
	require.False(t, ok)
	require.Equal(t, act.Refused, end)
	require.Contains(t, why, "refused by ada: not on Friday")

	require.False(t, ask.Decided(at))
	require.True(t, ask.Decided(at.Add(time.Hour)))
	_, end, _ = ask.Permitted()
	require.Equal(t, act.Unanswered, end)
	ask.Mode = act.Veto
	ok, _, _ = ask.Permitted()
	require.True(t, ok, "who may veto has not")
}

// TestAskAgain: what was allowed and cannot be taken back is asked about anew; a refusal stands, and silence.
func TestAskAgain(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		irreversible, says, allows, anew bool
	}{
		"allowed":              {irreversible: true, says: true, allows: true, anew: true},
		"refused":              {irreversible: true, says: true},
		"silence":              {irreversible: true},
		"allowed, may be done": {says: true, allows: true},
	} {
		p := consent.Ask{Mode: act.Gated, Need: 1, Asked: at.UnixNano(), Until: at.Add(time.Hour).UnixNano(), Irreversible: c.irreversible}
		if c.says {
			p.Say("ada", c.allows, "")
		}
		p.Closed = true
		again := p.Again(at.Add(time.Minute))
		require.Equal(t, c.anew, !again.Closed, name)
		if !c.anew {
			require.Same(t, &p, again, name)
			continue
		}
		require.Empty(t, again.AllowedBy)
		require.Equal(t, at.Add(61*time.Minute).UnixNano(), again.Until)
		require.Len(t, again.Why, 1)
		again.Say("ada", true, "")
		require.Len(t, again.Again(at).Why, 1, "it says so once")
	}
}
