package slots_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/slots"
)

// phrasings are ways to say that an attribute A of S is W, and V no longer.
const phrasings = `
{S}'s {A} is now {W}.
The {A} of {S} has changed to {W}.
{S} changed their {A} from {V} to {W}.
{S}'s {A} used to be {V}, but now it is {W}.
As of today, {S}'s {A} is {W}.
{S} no longer has {V} as {A}; it's {W}.
{S} switched their {A} to {W}.
Please note that {S}'s {A} is {W} from now on.
{S}'s new {A} is {W}.
Forget what I said about {S}'s {A}: it is {W}.
{S}'s {A}: {W}
It turns out {S}'s {A} is {W}.
{W} is {S}'s {A} now.
{W} has replaced {V} as {S}'s {A}.
{S} has updated his {A} to {W}.
Since yesterday, {S}'s {A} has been {W}.
{S}'s {A} is {W} (was {V}).
Effective immediately, {S}'s {A} is {W}.
{S} replaced {V} with {W} as her {A}.
Instead of {V}, {S}'s {A} is {W}.
{S}'s {A}, formerly {V}, is now {W}.
{S}'s {A} isn't {V} anymore but {W}.
{S} has a different {A} now: {W}.
Scratch that, {S}'s {A} is {W}.
By now {S}'s {A} is {W}.
{S}'s {A} became {W} last week.
{S}'s latest {A} is {W}.
Change {S}'s {A} to {W}.
{S}'s {A} was changed to {W} by Bob.
The current {A} for {S} is {W}.
For {S}, the {A} is {W} now.
Correction: {S}'s {A} is not {V} but {W}.
{S}'s {A} (previously {V}) is {W}.
I was wrong, {S}'s {A} is {W}.
{S}'s {A} is {W} these days.
{S}'s {A} went from {V} to {W}.
{S} decided to change her {A} to {W}.
{S} just set her {A} to {W}.
{S}'s {A} is currently {W}.
{S}'s {A} has been {W} since last month.
{S} has {W} as her {A} now.
{S}'s {A} is {W} rather than {V}.
{S}'s {A} will be {W} from now on.
From today on, the {A} of {S} is {W}.
{S}'s {A} is actually {W}, not {V}.
{S}'s {A} got changed from {V} to {W}.
The {A} of {S} is no longer {V}, it is {W}.
Heads up: {S}'s {A} changed to {W}.
In March, {S}'s {A} changed from {V} to {W}.
{S}'s previous {A} was {V}; the new one is {W}.
Bob mentioned that {S}'s {A} is {W} now.
We had to change {S}'s {A} from {V} to {W}.
I updated {S}'s {A}: it's {W}.
{S} recently picked {W} as her new {A}.
{S} opted for {W} as her {A} instead of {V}.
`

func TestPhrasings(t *testing.T) {
	facts := [][4]string{ // subject, attribute, old, new
		{"Alice", "favorite color", "blue", "green"},
		{"Alice", "phone number", "555-0101", "555-0199"},
		{"Alice", "job title", "analyst", "architect"},
		{"Alice", "manager", "Bob", "Carol"},
		{"Alice", "dentist", "Dr. Ross", "Dr. Patel"},
		{"Alice", "shoe size", "38", "39"},
		{"Alice", "time zone", "UTC", "CET"},
		{"Alice", "preferred editor", "Vim", "Emacs"},
		{"Alice", "hometown", "Leeds", "York"},
		{"Alice", "gym", "FitCo", "IronClub"},
		{"Alice", "lucky charm", "a rabbit foot", "a silver coin"},
		{"Project Falcon", "budget", "$20,000", "$35,000"},
		{"Project Falcon", "status", "in progress", "blocked"},
		{"the app", "theme", "dark", "light"},
		{"the audit", "deadline", "May 3", "May 17"},
		{"the billing service", "port", "8080", "9090"},
		{"the database", "password rotation interval", "30 days", "60 days"},
	}
	all, linked := 0, 0
	for _, f := range facts {
		say := func(s string) slots.Reading {
			s = strings.NewReplacer("{S}", f[0], "{A}", f[1], "{V}", f[2], "{W}", f[3]).Replace(strings.TrimSpace(s))
			return slots.Read(strings.ToUpper(s[:1])+s[1:], "")
		}
		for phrasing := range strings.Lines(strings.TrimSpace(phrasings)) {
			for _, old := range []string{"{S}'s {A} is {V}.", "The {A} of {S} is {V}."} {
				all++
				if links(say(old), say(phrasing)) {
					linked++
				} else {
					t.Logf("%v: %q", f, phrasing)
				}
			}
		}
	}
	t.Logf("%d of %d linked", linked, all)
	require.Greater(t, float64(linked), 0.98*float64(all))
}
