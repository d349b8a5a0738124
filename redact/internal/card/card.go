// Package card finds the numbers of payment cards: by what their networks let them begin with, by their
// length, their check digit (Luhn), the groups in which they are printed, and what stands around them.
package card

import (
	_ "embed" // of the table
	"slices"
	"strconv"
	"strings"
)

//go:embed networks.txt
var table string

// network is a beginning of numbers: all between two of as many digits. Lengths are sets of bits: those of
// numbers wherever they stand, and where something else tells of cards.
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

// lengths is the set of those in a list, none for a dash.
func lengths(list string) (set uint32) {
	for digits := range strings.SplitSeq(list, ",") {
		n, _ := strconv.Atoi(digits)
		set |= 1 << n &^ 1
	}
	return set
}

// Digits of a number.
const least, most = 13, 19

// gaps stand between groups of digits, as people type them, and as pages and URLs have them.
var gaps = []string{" ", "-", "+", "%20", "\u00a0", "\u2009", "\u202f", "\u2011"}

// gap is the length of the one with which t begins.
func gap(t string) int {
	if t != "" && (t[0] == ' ' || t[0] == '-') { // nearly always
		return 1
	}
	for _, g := range gaps {
		if strings.HasPrefix(t, g) {
			return len(g)
		}
	}
	return 0
}

// printed are the groups of digits that issuers print, or people type.
var printed = [][]int{
	{4, 4, 4, 4}, {4, 6, 5}, {4, 6, 4}, {4, 4, 4, 1}, {4, 4, 4, 2}, {4, 4, 4, 3},
	{4, 4, 4, 4, 1}, {4, 4, 4, 4, 2}, {4, 4, 4, 4, 3}, {6, 13},
}

// length is that of the number with which t begins, its gaps included, or 0. Where it is not sure, it is the number of
// a card if something around it tells of cards.
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

// begins says whether a network has numbers with the first two digits.
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

// issued says whether a network has numbers that begin so and are as long, and whether wherever they stand.
func issued(number string) (known, anywhere bool) {
	for _, n := range networks {
		if begin := number[:len(n.low)]; n.low <= begin && begin <= n.high {
			known = known || n.told>>len(number)&1 != 0
			anywhere = anywhere || n.anywhere>>len(number)&1 != 0
		}
	}
	return known, anywhere
}

// checked says whether the last digit checks those before it (ISO/IEC 7812-1, annex B).
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
