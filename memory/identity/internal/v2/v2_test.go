package v2_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/identity/internal/loosejson"
	"github.com/arc-learn/arc/memory/identity/internal/v2"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// What is written is read as it was, with what is not known where it stood.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	d := v2.Document{
		UserID: "u", DeviceID: "d",
		Core:     v2.Core{Name: "Ann", Role: "nurse", Visibility: "local", Updated: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		Settings: v2.Settings{HalfLife: 36 * time.Hour, HalfLives: map[string]time.Duration{"core": 240 * time.Hour}, AutoInfer: true, ExcludedDomains: []string{"bank.example"}},
		Facts:    []json.RawMessage{[]byte(`"Go"`), []byte(`{}`)}, Events: []json.RawMessage{[]byte(`1`)},
		Extra: loosejson.Fields{"core": []byte(`{"pronouns":"she"}`), "settings": []byte(`{"theme":"dark"}`), "plugins": []byte(`[1]`)},
	}
	raw, err := d.JSON()
	require.NoError(t, err)
	got := v2.Read(raw, now)
	for i, f := range got.Facts {
		require.JSONEq(t, string(d.Facts[i]), string(f))
	}
	for name, value := range got.Extra {
		require.JSONEq(t, string(d.Extra[name]), string(value))
	}
	got.Facts, d.Facts, got.Extra, d.Extra = nil, nil, nil, nil
	require.Equal(t, d, got)
}

func TestReadWhatIsDamaged(t *testing.T) {
	t.Parallel()
	d := v2.Read([]byte(`{"version":"2","deviceId":5,"core":{"name":7,"visibility":"x","updatedAt":"2999-01-01"},"settings":{"decayHalfLifeDays":1e9,"excludedDomains":"bank.example"},"facts":{"a":1}}`), now)
	require.Equal(t, v2.Core{}, d.Core)
	require.Len(t, d.Facts, 1, "one that stands alone")
	left, err := json.Marshal(d.Extra)
	require.NoError(t, err)
	require.JSONEq(t, `{"damaged.deviceId":5,"core":{"name":7,"visibility":"x","updatedAt":"2999-01-01"},"settings":{"decayHalfLifeDays":1e9,"excludedDomains":"bank.example"}}`, string(left))
	d = v2.Read([]byte(`{"core":"Ann","settings":[]}`), now)
	require.Equal(t, loosejson.Fields{"damaged.core": []byte(`"Ann"`), "damaged.settings": []byte(`[]`)}, d.Extra)
	require.Equal(t, "facts", v2.Own(loosejson.Fields{"facts": nil, "core": nil}))
	require.Empty(t, v2.Own(loosejson.Fields{"core": nil}))
}

func TestIsName(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{"core": true, "von Ann": true, "": false, "a\n": false, "\xff": false, strings.Repeat("x", 65): false} {
		require.Equal(t, want, v2.IsName(s), "%q", s)
	}
}

// Whatever a document holds, it is written and read again as it is.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"core":{"name":"x","y":1},"settings":{"decayHalfLifeDays":3,"categoryHalfLifeDays":{"a":2},"excludedDomains":["x",1]},"facts":[1]}`))
	f.Add([]byte(`{"settings":7,"core":[],"blocked":"x","damaged.core":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return
		}
		d := v2.Read(data, now)
		first, err := d.JSON()
		require.NoError(t, err)
		again := v2.Read(first, now)
		second, err := again.JSON()
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
	})
}
