package ledger

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Amount is what runs have used, or the bound of that, whose zero fields are unbounded.
type Amount struct {
	Steps   int           `cbor:"1,keyasint,omitempty"`
	Wall    time.Duration `cbor:"2,keyasint,omitempty"`
	Tokens  int           `cbor:"3,keyasint,omitempty"`
	CostUSD float64       `cbor:"4,keyasint,omitempty"`
}

// Check returns an error for an Amount that is negative or not a number.
func (a Amount) Check() error {
	if a.Steps < 0 || a.Wall < 0 || a.Tokens < 0 || !(a.CostUSD >= 0) {
		return errors.New("budget: negative or not a number")
	}
	return nil
}

// Plus adds what was used.
func (a Amount) Plus(b Amount) Amount {
	return Amount{a.Steps + b.Steps, a.Wall + b.Wall, a.Tokens + b.Tokens, a.CostUSD + b.CostUSD}
}

// Less subtracts what was used.
func (a Amount) Less(b Amount) Amount {
	return Amount{a.Steps - b.Steps, a.Wall - b.Wall, a.Tokens - b.Tokens, a.CostUSD - b.CostUSD}
}

// Reached says which bound spent has reached, or "".
func (a Amount) Reached(spent Amount) string {
	is := ""
	switch {
	case a.Steps > 0 && spent.Steps >= a.Steps:
		is = steps(a)
	case a.Wall > 0 && spent.Wall >= a.Wall:
		is = wall(a)
	case a.Tokens > 0 && spent.Tokens >= a.Tokens:
		is = tokens(a)
	case a.CostUSD > 0 && spent.CostUSD >= a.CostUSD:
		is = cost(a)
	default:
		return ""
	}
	return "budget of " + is + " is spent"
}

// Lacks says which bound an attempt of the price would pass where so much is used, and so much
// is held for attempts under way; "": none.
func (a Amount) Lacks(who string, used, held, price Amount) string {
	all, why := used.Plus(held).Plus(price), ""
	says := func(amount func(Amount) string) string {
		has := amount(used)
		if reserved := amount(held); reserved != amount(Amount{}) {
			has += " and reserved " + reserved
		}
		return fmt.Sprintf("takes about %s, and %s has used %s of its budget of %s", amount(price), who, has, amount(a))
	}
	switch {
	case a.Steps != 0 && all.Steps > a.Steps:
		why = says(steps)
	case a.Wall != 0 && all.Wall > a.Wall:
		why = says(wall)
	case a.Tokens != 0 && all.Tokens > a.Tokens:
		why = says(tokens)
	case a.CostUSD != 0 && all.CostUSD > a.CostUSD:
		why = says(cost)
	}
	if past := a.Reached(used); why != "" && past != "" { // whatever the attempt takes
		return "comes too late: " + who + "'s " + past
	}
	return why
}

// Spent returns the largest share of a bound that is spent, and names the bound.
// Shares below a half count as 0: metacognition does not ask for them.
func (a Amount) Spent(spent Amount) (share float64, bound string) {
	shares := [...]float64{
		ratio(float64(spent.Steps), float64(a.Steps)), ratio(float64(spent.Wall), float64(a.Wall)),
		ratio(float64(spent.Tokens), float64(a.Tokens)), ratio(spent.CostUSD, a.CostUSD),
	}
	most := 0
	for i, share := range shares {
		if share > shares[most] {
			most = i
		}
	}
	if shares[most] < 0.5 {
		return 0, ""
	}
	names := [...]string{
		steps(a), wall(a), tokens(a), cost(a),
	}
	return min(1, shares[most]), names[most]
}

// ratio is the share of a bound; 0: the bound is none.
func ratio(used, bound float64) float64 {
	if bound <= 0 {
		return 0
	}
	return used / bound
}

// steps, wall, tokens and cost are a field of an Amount, to read.
func steps(a Amount) string  { return fmt.Sprintf("%d steps", a.Steps) }
func wall(a Amount) string   { return a.Wall.Round(min(a.Wall, time.Millisecond)).String() }
func tokens(a Amount) string { return fmt.Sprintf("%d tokens", a.Tokens) }
func cost(a Amount) string   { return dollars(a.CostUSD) }

// dollars is an amount to read: to the cent, a small one to four digits.
func dollars(v float64) string {
	digits := max(2, 3-int(math.Floor(math.Log10(max(v, 1e-9)))))
	return "$" + strings.TrimRight(strings.TrimRight(strconv.FormatFloat(v, 'f', digits, 64), "0"), ".")
}
