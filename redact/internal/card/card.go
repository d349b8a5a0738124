// Package card finds payment card numbers in text. It goes by the issuer's prefix and length, the Luhn
// check digit, the groups in which digits are printed, and the words around the number.
package card

import (
	_ "embed" // of the table
	"slices"
	"strconv"
	"strings"
)

//go:embed networks.txt
var table string

// network is a range of prefixes that one card network issues, low and high included and equally long. Bit n of
// anywhere is set if n digits make a number in any text, of told if they need a word about cards nearby.
type network struct {
	low, high      string
	anywhere, told uint32
}

var networks = func() (out []network) {
	for line := range strings.Lines(table) {
		cols := strings.Fields(line)
		if len(cols) == 0 || line[0] == '#' {
			continue
		}
		n := network{anywhere: lengths(cols[1])}
		n.told = n.anywhere | lengths(cols[2])
		for _, begin := range cols[3:] {
			low, high, _ := strings.Cut(begin+"-"+begin, "-")
			n.low, n.high = low, high[:len(low)]
			out = append(out, n)
		}
	}
	return out
}()

// lengths parses a list of lengths such as 13,16 into a set of bits. A dash is the empty set.
func lengths(list string) (set uint32) {
	for digits := range strings.SplitSeq(list, ",") {
		n, _ := strconv.Atoi(digits)
		set |= 1 << n &^ 1
	}
	return set
}

// The fewest and the most digits of a card number.
const least, most = 13, 19

// gaps are the separators between groups of digits: typed, percent-encoded, or typographic.
var gaps = []string{" ", "-", "+", "%20", "\u00a0", "\u2009", "\u202f", "\u2011"}

// gap returns the length of the separator that t begins with, or 0.
func gap(t string) int {
	if t != "" && (t[0] == ' ' || t[0] == '-') { // the usual case
		return 1
	}
	for _, g := range gaps {
		if strings.HasPrefix(t, g) {
			return len(g)
		}
	}
	return 0
}

// printed are the sizes of the groups in which issuers print numbers and people type them.
var printed = [][]int{
	{4, 4, 4, 4}, {4, 6, 5}, {4, 6, 4}, {4, 4, 4, 1}, {4, 4, 4, 2}, {4, 4, 4, 3},
	{4, 4, 4, 4, 1}, {4, 4, 4, 4, 2}, {4, 4, 4, 4, 3}, {6, 13},
}

// length returns the length in bytes of the card number that t begins with, gaps included, or 0. A number that is
// not sure counts only beside a word about cards.
func length(t string) (n int, sure bool) {
	var digits [most]byte
	var groups [5]int
	count, grouped := 0, 0
	for at := 0; ; {
		begin := at
		for ; at < len(t) && isDigit(t[at]) && count < most; at++ {
			digits[count] = t[at]
			count++
		}
		if at == begin || at < len(t) && isDigit(t[at]) || grouped == len(groups) ||
			grouped == 0 && (at < 4 || at != 4 && at != 6 && at < least || !begins(digits)) {
			return n, sure
		}
		groups[grouped] = at - begin
		grouped++
		if shape := groups[:grouped]; count >= least && checked(digits[:count]) &&
			(grouped == 1 || slices.ContainsFunc(printed, func(p []int) bool { return slices.Equal(p, shape) })) {
			if known, anywhere := issued(string(digits[:count])); known {
				n, sure = at, anywhere || grouped > 1
			}
		}
		width := gap(t[at:])
		if width == 0 {
			return n, sure
		}
		at += width
	}
}

func isDigit(c byte) bool { return c-'0' < 10 }

// begins reports whether some network issues numbers with the first two digits.
func begins(digits [most]byte) bool { return first[10*(digits[0]-'0')+digits[1]-'0'] }

var first = func() (out [100]bool) {
	for _, n := range networks {
		low, _ := strconv.Atoi((n.low + "0")[:2])
		high, _ := strconv.Atoi((n.high + "9")[:2])
		for begin := low; begin <= high; begin++ {
			out[begin] = true
		}
	}
	return out
}()

// issued reports whether some network issues numbers of this prefix and length, and whether such a number
// counts anywhere, without a word about cards.
func issued(number string) (known, anywhere bool) {
	for _, n := range networks {
		if begin := number[:len(n.low)]; n.low <= begin && begin <= n.high {
			known = known || n.told>>len(number)&1 != 0
			anywhere = anywhere || n.anywhere>>len(number)&1 != 0
		}
	}
	return known, anywhere
}

// checked reports whether the last digit is the Luhn check digit of the others (ISO/IEC 7812-1, annex B).
func checked(digits []byte) bool {
	sum := 0
	for i := range digits {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			d = 2*d - d/5*9
		}
		sum += d
	}
	return sum%10 == 0
}
