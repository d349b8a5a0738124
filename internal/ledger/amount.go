package ledger

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Amount is what runs have used, or a bound of it, in which a zero field is no bound.
type Amount struct {
	Steps   int           `cbor:"1,keyasint,omitempty"`
	Wall    time.Duration `cbor:"2,keyasint,omitempty"`
	Tokens  int           `cbor:"3,keyasint,omitempty"`
	CostUSD float64       `cbor:"4,keyasint,omitempty"`
}

// Check returns an error that names the first field that is negative or not a number.
func (a Amount) Check() error {
	bad := func(field string, v any) error { return fmt.Errorf("%s: %v is negative or not a number", field, v) }
	switch {
	case a.Steps < 0:
		return bad("Steps", a.Steps)
	case a.Wall < 0:
		return bad("Wall", a.Wall)
	case a.Tokens < 0:
		return bad("Tokens", a.Tokens)
	case !(a.CostUSD >= 0):
		return bad("CostUSD", a.CostUSD)
	}
	return nil
}

// Plus returns the sum of both, field by field.
func (a Amount) Plus(b Amount) Amount {
	return Amount{a.Steps + b.Steps, a.Wall + b.Wall, a.Tokens + b.Tokens, a.CostUSD + b.CostUSD}
}

// Less returns the difference of both, field by field.
func (a Amount) Less(b Amount) Amount {
	return Amount{a.Steps - b.Steps, a.Wall - b.Wall, a.Tokens - b.Tokens, a.CostUSD - b.CostUSD}
}

// field reads one field of an Amount, as a number and as text.
type field struct {
	of   func(Amount) float64
	text func(Amount) string
}

func fields() [4]field {
	wall := func(a Amount) string { return a.Wall.Round(min(a.Wall, time.Millisecond)).String() }
	tokens := func(a Amount) string { return fmt.Sprint(a.Tokens, " tokens") }
	return [...]field{
		{func(a Amount) float64 { return float64(a.Steps) }, func(a Amount) string { return fmt.Sprint(a.Steps, " steps") }},
		{func(a Amount) float64 { return float64(a.Wall) }, wall},
		{func(a Amount) float64 { return float64(a.Tokens) }, tokens},
		{func(a Amount) float64 { return a.CostUSD }, func(a Amount) string { return dollars(a.CostUSD) }},
	}
}

// Reached returns a text that names the first bound that spent has reached, or "".
func (a Amount) Reached(spent Amount) string {
	for _, f := range fields() {
		if bound := f.of(a); bound > 0 && f.of(spent) >= bound {
			return "budget of " + f.text(a) + " is spent"
		}
	}
	return ""
}

// Lacks returns a text that names the first bound that an attempt would pass, or "": used is
// spent, held is reserved for attempts in flight, and price is what the attempt takes.
func (a Amount) Lacks(who string, used, held, price Amount) string {
	all := used.Plus(held).Plus(price)
	for _, f := range fields() {
		bound, has := f.of(a), ""
		if bound == 0 || f.of(all) <= bound {
			continue
		}
		if past := a.Reached(used); past != "" { // passed even before the attempt
			return "comes too late: " + who + "'s " + past
		}
		if f.of(held) > 0 {
			has = " and reserved " + f.text(held)
		}
		return fmt.Sprintf("takes about %s, and %s has used %s%s of its budget of %s",
			f.text(price), who, f.text(used), has, f.text(a))
	}
	return ""
}

// Spent returns the largest share of a bound that is spent, in [0,1], and the bound's text.
// A share below 0.5 comes back as 0: no assessment asks for it.
func (a Amount) Spent(spent Amount) (share float64, bound string) {
	var most field
	for _, f := range fields() {
		if of := f.of(a); of > 0 && f.of(spent)/of > share {
			share, most = f.of(spent)/of, f
		}
	}
	if share < 0.5 {
		return 0, ""
	}
	return min(1, share), most.text(a)
}

// dollars formats an amount for reading: to the cent, or a small one to four significant digits.
func dollars(v float64) string {
	digits := max(2, 3-int(math.Floor(math.Log10(max(v, 1e-9)))))
	return "$" + strings.TrimRight(strings.TrimRight(strconv.FormatFloat(v, 'f', digits, 64), "0"), ".")
}
