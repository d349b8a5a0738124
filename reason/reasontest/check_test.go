package reasontest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/reason/reasontest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestCheckModel(t *testing.T) {
	t.Run("streams", func(t *testing.T) { reasontest.CheckModel(t, provider("")) })
	t.Run("does not", func(t *testing.T) {
		p := provider("does not stream")
		p.Stream = nil
		p.Lacks = []string{"stop refusal"}
		reasontest.CheckModel(t, p)
	})
	t.Run("does not say who answers", func(t *testing.T) {
		p := provider("no model")
		p.NoModel = true
		reasontest.CheckModel(t, p)
	})
}

// Each rule finds the adapters that break it.
func TestCheckModelBites(t *testing.T) {
	t.Parallel()
	bitten := map[string]bool{}
	for fault, rules := range map[string][]string{
		"drops the system prompt":     {"request"},
		"drops the schema":            {"request"},
		"drops the bound":             {"request"},
		"changes the request":         {"request"},
		"sends no key":                {"request", "answer"},
		"drops a temperature of 0":    {"defaults"},
		"sends a default temperature": {"request", "defaults"},
		"always streams":              {"defaults"},
		"no usage":                    {"answer", "stream"},
		"no model":                    {"answer", "stream"},
		"always at its end":           {"stop length", "stop refusal"},
		"one at a time":               {"concurrent"},
		"ignores the context":         {"ended", "cancel", "deadline"},
		"blames the network":          {"ended", "cancel", "deadline", "stream cancel"},
		"plain errors":                {"rate limit", "overloaded", "rejected", "stream rate limit"},
		"no status":                   {"rate limit", "stream rate limit"},
		"knows no dates":              {"rate limit"},
		"tries again":                 {"rate limit", "overloaded", "rejected"},
		"never again":                 {"rate limit", "overloaded"},
		"always again":                {"rejected"},
		"tells the key":               {"rejected"},
		"neither":                     {"rejected"},
		"both":                        {"answer"},
		"takes an empty answer":       {"empty"},
		"panics on an empty answer":   {"empty"},
		"believes anything":           {"malformed"},
		"takes what it got":           {"cut"},
		"own words":                   {"cut", "refused", "stream cut"},
		"reads without end":           {"huge", "stream huge"},
		"does not stream":             {"stream"},
		"streams all at once":         {"stream"},
		"leaves the stream open":      {"stream break"},
		"ends quietly":                {"stream cancel"},
		"takes any end":               {"stream early end", "stream malformed"},
		"goes on after an error":      {"stream cut"},
		"overhears errors":            {"stream fail"},
	} {
		for _, rule := range rules {
			require.NotEmpty(t, reasontest.Violations(t.Context(), provider(fault), rule, time.Second/5), "%s: %s", fault, rule)
			bitten[rule] = true
		}
	}
	for _, rule := range reasontest.Rules() {
		require.True(t, bitten[rule], "nothing breaks the rule %q", rule)
	}
}

// A rule that is left out by a name it does not have would be thought to hold.
func TestLacksNamesRules(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"stop refusals"}, reasontest.Unknown("stop refusal", "stop refusals", "huge"))
	require.Empty(t, reasontest.Unknown(reasontest.Rules()...))
}
