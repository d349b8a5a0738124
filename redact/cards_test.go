package redact_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/redact"
)

// drawCard draws a number that a network could issue, and its groups as they are printed.
func drawCard(t *rapid.T) (number string, groups []string) {
	kind := rapid.SampledFrom([]struct {
		begins string
		groups []int
	}{
		{"4", []int{4, 4, 4, 4}}, {"53", []int{4, 4, 4, 4}}, {"2221", []int{4, 4, 4, 4}}, {"2720", []int{4, 4, 4, 4}},
		{"34", []int{4, 6, 5}}, {"37", []int{4, 6, 5}}, {"36", []int{4, 6, 4}}, {"6011", []int{4, 4, 4, 4}},
		{"3528", []int{4, 4, 4, 4}}, {"62", []int{4, 4, 4, 4}}, {"6759", []int{4, 4, 4, 4, 3}}, {"6703", []int{4, 4, 4, 4, 1}},
	}).Draw(t, "kind")
	length := 0
	for _, n := range kind.groups {
		length += n
	}
	number = kind.begins + rapid.StringMatching(fmt.Sprintf("[0-9]{%d}", length-1-len(kind.begins))).Draw(t, "digits")
	sum := 0
	for i := range number {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 0 {
			d *= 2
		}
		sum += d/10 + d%10
	}
	number += fmt.Sprint((10 - sum%10) % 10)
	for at, rest := 0, kind.groups; len(rest) > 0; rest = rest[1:] {
		groups = append(groups, number[at:at+rest[0]])
		at += rest[0]
	}
	return number, groups
}

// The number of a card is gone wherever it stands, however it is grouped and encoded.
func TestCardNumbers(t *testing.T) {
	t.Parallel()
	var s redact.Sanitizer
	rapid.Check(t, func(t *rapid.T) {
		number, groups := drawCard(t)
		gap := rapid.SampledFrom([]string{"", " ", "-", "\u00a0", "\u2009", "\u202f", "\u2011", "\u200b"}).Draw(t, "gap")
		written := strings.Join(groups, gap)
		pad := strings.Repeat("x", rapid.IntRange(0, 20).Draw(t, "pad"))
		for _, around := range slices.Concat(wrappings, []string{
			"2026-11-27 15:49:00 %s", "12 %s 12/27 123", "%s|12|27|123", "%s, %s and %s", "a card\n%s\nof Ann", ";%s=2512101", "`%s`",
		}) {
			around = strings.ReplaceAll(around, "%%", "%")
			text := pad + " " + strings.ReplaceAll(around, "%s", written)
			clean := s.Sanitize(text)
			require.NotContains(t, clean, written, text)
			require.Contains(t, clean, "[REDACTED:", text)
			require.Equal(t, clean, s.Sanitize(clean))
			quoted, err := json.Marshal([]string{text})
			require.NoError(t, err)
			require.NotContains(t, string(s.JSON(quoted)), written, text)
			require.NotContains(t, s.Sanitize(string(quoted)), written, text)
		}
		for _, query := range []string{url.QueryEscape(" " + written + "&"), "https://x.example/?" + url.Values{"n": {written}, "z": {"1"}}.Encode()} {
			if gap != "\u2009" && gap != "\u202f" && gap != "\u2011" && gap != "\u00a0" && gap != "\u200b" {
				require.Contains(t, s.Sanitize(query), "[REDACTED:payment_card]", query)
			}
		}
		raw := fmt.Sprintf(`{"cardNumber":%s,"n":1}`, number)
		require.Equal(t, `{"cardNumber":"[REDACTED:payment_card]","n":1}`, string(s.JSON([]byte(raw))))
		require.Equal(t, `got {"cardNumber":"[REDACTED:payment_card]","n":1}`, s.Sanitize("got "+raw), "the text stays JSON")
		raw = fmt.Sprintf(`{"life": %s,"of":[%s]}`, number, number)
		require.Equal(t, raw, string(s.JSON([]byte(raw))), "durations and ids are numbers of JSON")
	})
}

// Products, records and accounts have numbers of such lengths: one that a name or a sentence says to be such, and one
// that cards seldom have, stays, unless something tells of cards.
func TestNumbersThatAreNoCards(t *testing.T) {
	t.Parallel()
	var s redact.Sanitizer
	rapid.Check(t, func(t *rapid.T) {
		number, _ := drawCard(t)
		for _, around := range []string{
			"order %s", "Order No. %s", "tracking number is %s", "invoice #%s", "orderId=%s", "trace_id: %s", "https://x.example/posts/%s/", "0.%s", "%s.5",
			"user_%s", "-%s", "a%s", "%sf", "12-%s-12", "\"id\": %s", `{"serialNumber":"%s"}`,
		} {
			text := fmt.Sprintf(around, number)
			require.Equal(t, text, s.Sanitize(text))
		}
		for _, text := range []string{"order of card " + number, "card user_" + number, number + "-1 (visa)", "id of PAN: " + number} {
			require.NotContains(t, s.Sanitize(text), number)
		}
		for _, name := range []string{"orderId", "data.tracking_number", "id", "imei"} {
			for _, raw := range []string{number, `"` + number + `"`} {
				require.Equal(t, raw, string(s.Under(name, []byte(raw))), name)
				object := fmt.Sprintf(`{%q:%s}`, name, raw)
				require.Equal(t, object, string(s.JSON([]byte(object))))
			}
		}
		changed := []byte(number)
		at := rapid.IntRange(0, len(number)-1).Draw(t, "at")
		changed[at] = '0' + (changed[at]-'0'+1)%10
		require.Equal(t, string(changed), s.Sanitize(string(changed)), "the check digit is wrong")
	})
	require.Equal(t, "30 days are 2592000000000000 ns", s.Sanitize("30 days are 2592000000000000 ns"))
	require.Equal(t, "4222222222222", s.Named("product", "4222222222222"))
	require.Equal(t, "[REDACTED:payment_card]", s.Named("cardNumber", "4222222222222"))
	require.Equal(t, "4222222222222 [REDACTED:payment_card] 4222222222222", s.Sanitize("4222222222222 4111111111111111 4222222222222"))
}

// What a host knows of a card comes back, as other values do.
func TestKnownCard(t *testing.T) {
	t.Parallel()
	s := new(redact.Sanitizer).WithKey(key).Knowing("4242424242424242")
	text := "pay with 4242424242424242, not 4111111111111111"
	require.Regexp(t, `^pay with 4242424242424242, not \[REDACTED:payment_card:[0-9a-f]{8}\]$`, s.Reveal(s.Sanitize(text)))
}
