package card_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/redact/internal/card"
)

// numbers are those found in a text.
func numbers(text string) (out []string) {
	begins := func(t string, i int) bool { return i == 0 || strings.IndexByte(" =/#\n", t[i-1]) >= 0 }
	card.Find(text, "", begins, func(start, end int, _ bool) { out = append(out, text[start:end]) })
	return out
}

// The numbers that Stripe, Adyen, PayPal, Braintree and Authorize.Net publish for tests are found.
func TestPublishedNumbers(t *testing.T) {
	t.Parallel()
	for _, number := range strings.Fields(`4242424242424242 4000056655665556 5555555555554444 2223003122003222 5200828282828210
		378282246310005 371449635398431 6011111111111117 6011000990139424 6011981111111113 3056930009020004 36227206271667
		6555900000604105 3566002020360505 6200000000000005 5100081112223332 5577000055770004 4988438843884305 4646464646464644
		4977949494949497 6703444444444449 5019555544445555 8171999927660000 6243030000000001 38520000023237 30569309025904
		3530111333300000 378734493671000 349313082270122 5038270606265696 4005519200000004 36259600000004 370000000000002
		6011000000000012 3088000000000017 6759649826438453 2720990000000015 5105105105105100`) {
		require.Equal(t, []string{number}, numbers("pay "+number+", please"))
		require.Empty(t, numbers(number+"1"), "part of a longer number")
		last := string('0' + (number[len(number)-1]-'0'+1)%10)
		require.Empty(t, numbers(number[:len(number)-1]+last), "the check digit is wrong")
	}
	for _, number := range strings.Fields("4222222222222 4007000000027 6205500000000000004 4111141011111111116 586824160825533338") {
		require.Empty(t, numbers("product "+number))
		require.Equal(t, []string{number}, numbers("by card: "+number))
		require.Equal(t, []string{number}, numbers(number+" (Visa)"))
	}
}

// Groups of digits are those of cards, whatever stands between them.
func TestGroups(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"4242 4242 4242 4242", "4242-4242-4242-4242", "4242%204242%204242%204242", "4242\u00a04242\u00a04242\u00a04242", "4242 4242-4242 4242",
		"3782 822463 10005", "3056 930902 5904", "6205 5000 0000 0000 004", "4222 2222 2222 2", "3700 0000 0000 002",
	} {
		require.Equal(t, []string{text}, numbers("12 "+text+" 12/27 123"))
	}
	for _, text := range []string{
		"", "4", "4242", "4242 4242 4242", "42 42 42 42 42 42 42 42", "424 2424 2424 24242", "4242.4242.4242.4242", "4242  4242 4242 4242", "1234567890123452",
		"0000000000000000", "2000000000000006", "9400511206205500", "42424242424242424242", "1111 4242 4242 4242 4242", "DE12 4242 4242 4242 4242",
	} {
		require.Empty(t, numbers(text), text)
	}
}
