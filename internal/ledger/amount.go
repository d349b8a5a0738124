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
	switch {
	case a.Steps > 0 && spent.Steps >= a.Steps:
		return fmt.Sprintf("budget of %d steps is spent", a.Steps)
	case a.Wall > 0 && spent.Wall >= a.Wall:
		return fmt.Sprintf("budget of %v is spent", a.Wall)
	case a.Tokens > 0 && spent.Tokens >= a.Tokens:
		return fmt.Sprintf("budget of %d tokens is spent", a.Tokens)
	case a.CostUSD > 0 && spent.CostUSD >= a.CostUSD:
		return fmt.Sprintf("budget of %s is spent", dollars(a.CostUSD))
	}
	return ""
}

// Lacks says which bound an attempt of the price would pass where so much is spent; "": none.
func (a Amount) Lacks(who string, spent, price Amount) string {
	all, why := spent.Plus(price), ""
	says := func(format string, price, spent, bound any) string {
		format = fmt.Sprintf("takes about %[1]s, and %%s has used %[1]s of its budget of %[1]s", format)
		return fmt.Sprintf(format, price, who, spent, bound)
	}
	switch {
	case a.Steps != 0 && all.Steps > a.Steps:
		why = says("%d steps", price.Steps, spent.Steps, a.Steps)
	case a.Wall != 0 && all.Wall > a.Wall:
		why = says("%v", price.Wall.Round(time.Millisecond), spent.Wall.Round(time.Millisecond), a.Wall)
	case a.Tokens != 0 && all.Tokens > a.Tokens:
		why = says("%d tokens", price.Tokens, spent.Tokens, a.Tokens)
	case a.CostUSD != 0 && all.CostUSD > a.CostUSD:
		why = says("%s", dollars(price.CostUSD), dollars(spent.CostUSD), dollars(a.CostUSD))
	}
	if past := a.Reached(spent); why != "" && past != "" { // whatever the attempt takes
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
		fmt.Sprint(a.Steps, " steps"), a.Wall.String(), fmt.Sprint(a.Tokens, " tokens"), dollars(a.CostUSD),
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

// dollars is an amount to read: to the cent, a small one to four digits.
func dollars(v float64) string {
	digits := max(2, 3-int(math.Floor(math.Log10(max(v, 1e-9)))))
	return "$" + strings.TrimRight(strings.TrimRight(strconv.FormatFloat(v, 'f', digits, 64), "0"), ".")
}
