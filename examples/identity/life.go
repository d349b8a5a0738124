package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
)

const day = 24 * time.Hour

// life follows facts for a year: what lasts, what fades, what is worded anew, what is
// inferred, and what another program knows as well.
func life(ctx context.Context) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	bank, err := memory.Open(ctx, store.NewMem(), nil)
	check(err)
	defer bank.Close()
	me, err := identity.New(bank, "acme/ben", &identity.Options{Seed: 2, Now: func() time.Time { return now }})
	check(err)
	_, err = me.UpdateProfile(ctx, settle)
	check(err)
	nuts := add(ctx, me, identity.Draft{Content: "allergic to nuts", Category: identity.Core, Visibility: identity.Public})
	novel := add(ctx, me, identity.Draft{Content: "reads a novel", Category: identity.Focus})
	_, err = me.Update(ctx, novel.ID, identity.Edit{Content: "reads a novel about Rome"})
	check(err)

	// What he looks up speaks for a fact, which is one when he says so. His bank is not looked at.
	for range 4 {
		_, err = me.Observe(ctx, identity.Event{Address: "https://go.dev/doc"}, identity.Event{Address: "https://bank.example"})
		check(err)
		now = now.Add(day)
	}
	found, err := me.Infer(ctx, 0)
	check(err)
	fmt.Println("\nA year with Ben:")
	for _, s := range found {
		fmt.Println(" ", suggested(s))
		_, err = me.Validate(ctx, s.ID, identity.Validation{Reason: "asked him"})
		check(err)
	}

	// Another program exports what it knows. A broken file changes nothing.
	_, err = me.Import(ctx, []byte(`{"version":"2.0.0","facts":[{"content":"Allergic to nuts!","category":"core"},
		{"content":"is based in Oslo","category":"context"}]}`))
	check(err)
	if _, err = me.Import(ctx, []byte(`{"version":`)); errors.Is(err, identity.ErrFormat) {
		fmt.Println("  a broken file is refused")
	}

	// Time passes. Once a day, or so, a host has it taken into account.
	now = now.Add(210 * day)
	report, err := me.Maintain(ctx)
	check(err)
	fmt.Println(" ", done(report))
	_, err = me.Archive(ctx, novel.ID, false) // he is still at it
	check(err)
	for _, id := range []identity.ID{nuts.ID, novel.ID, found[0].ID} {
		f, err := me.Get(ctx, id)
		check(err)
		fmt.Println(" ", history(f))
	}
	elsewhere, err := me.List(ctx, identity.Filter{Category: identity.Context, Archived: true})
	check(err)
	for _, v := range elsewhere {
		fmt.Println(" ", history(v.Fact))
	}
}

// settle has an allergy last longer than a hobby, and nothing be learned from a bank.
func settle(p *identity.Profile) error {
	p.Name = "Ben"
	p.Settings = identity.Settings{
		HalfLives:       map[identity.Category]time.Duration{identity.Core: 3650 * day},
		ExcludedDomains: []string{"bank.example"},
	}
	return nil
}

func suggested(s identity.Suggestion) string {
	return fmt.Sprintf("%d visits on %d days speak for %q", s.Count, s.Days, s.Draft.Content)
}

func done(r identity.MaintainReport) string {
	return fmt.Sprintf("of %d facts, %d lost a step and %d were put aside", r.Facts, r.Demoted, r.Archived)
}

// history says how a fact came to be what it is.
func history(f identity.Fact) string {
	s := fmt.Sprintf("%q, %s, %s", f.Content, standing(f.Maturity), from(f.Source))
	for _, p := range f.Past {
		s += former(p)
	}
	for _, v := range f.Variants {
		s += also(v)
	}
	for _, e := range f.Evidence {
		s += since(e)
	}
	if !f.Archived.IsZero() {
		s += "; put aside"
	}
	return s
}

func standing(m identity.Maturity) string {
	switch m {
	case identity.Proven, identity.Established:
		return "known"
	}
	return "a guess"
}

func from(s identity.Source) string {
	switch s {
	case identity.Manual:
		return "said by hand"
	case identity.Imported:
		return "from another program"
	}
	return string(s)
}

func former(p identity.Past) string { return fmt.Sprintf("; was %q", p.Content) }

func also(v identity.Variant) string { return fmt.Sprintf("; also %q", v.Content) }

func since(e identity.Evidence) string { return "; confirmed: " + e.Reason }
