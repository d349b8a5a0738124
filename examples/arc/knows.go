package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
)

type memoryCmd struct {
	List    memoryListCmd    `cmd:"" default:"withargs" help:"All that is kept."`
	Search  memorySearchCmd  `cmd:"" help:"What is known about something, best first."`
	Add     memoryAddCmd     `cmd:"" help:"Keep a fact."`
	Why     memoryWhyCmd     `cmd:"" help:"Why a memory is found by a text, and where it stands."`
	WhyNot  memoryWhyCmd     `cmd:"" help:"Why a memory is not found by a text."`
	Edit    memoryEditCmd    `cmd:"" help:"Say it in other words: the old wording is replaced, and kept as history."`
	Forget  memoryForgetCmd  `cmd:"" help:"Remove a memory for good."`
	Trust   memoryTrustCmd   `cmd:"" help:"Vouch for a memory, so that it may go into prompts."`
	History memoryHistoryCmd `cmd:"" help:"Where a memory comes from, what it replaced, and how it did."`
	Sync    memorySyncCmd    `cmd:"" help:"Read what was edited in MEMORY.md, as arc do, resume and approve do."`
}

type memoryListCmd struct {
	Kind  *memory.Kind `help:"failure, pattern, fact or episode." enum:"failure,pattern,fact,episode" placeholder:"KIND"`
	Limit uint         `help:"At most so many, the latest; 0: all." default:"50"`
}

// Run implements the command.
func (c *memoryListCmd) Run(a *app, v arc.View) error {
	all, replaced := []memory.Record{}, map[memory.Link]string{}
	for r, err := range v.Memory().All(a.ctx) {
		if err != nil {
			return err
		}
		for _, l := range r.Links {
			replaced[l] = "replaced"
		}
		if r.Vector = nil; c.Kind == nil || r.Kind == *c.Kind {
			all = append(all, r)
		}
	}
	slices.Reverse(all)
	return limited(a.screen, all, c.Limit, []string{"id", "kind", "state", "text"}, func(r memory.Record) []string {
		by := memory.Link{To: r.ID, Rel: "supersedes"}
		return []string{string(r.ID), string(r.Kind), cmp.Or(replaced[by], standing(r)), inWords(r)}
	})
}

// standing says whether a record may go into prompts.
func standing(r memory.Record) string {
	switch {
	case r.Archived:
		return "archived"
	case r.Trusted:
		return "trusted"
	}
	return "unverified"
}

// inWords is what a record says.
func inWords(r memory.Record) string {
	return caseNumber.ReplaceAllString(oneLine(strings.TrimPrefix(r.Trigger+": "+r.Content, ": ")), "")
}

type memorySearchCmd struct {
	Text string `help:"What to look for." required:"" placeholder:"TEXT"`
	K    int    `help:"At most so many." default:"10" name:"k"`
}

// Run implements the command.
func (c *memorySearchCmd) Run(a *app, v arc.View) error {
	hits, err := v.Memory().Recall(a.ctx, memory.Query{Text: c.Text, K: c.K})
	if err != nil {
		return err
	}
	return listed(a.screen, hits, []string{"score", "id", "state", "text"}, func(h memory.Hit) []string {
		return []string{fmt.Sprintf("%.2f", h.Score), string(h.Record.ID), standing(h.Record), inWords(h.Record)}
	})
}

type memoryAddCmd struct {
	Text string `help:"The fact." required:"" placeholder:"TEXT"`
}

// Run implements the command.
func (c *memoryAddCmd) Run(a *app, v arc.View) error {
	r, err := v.Memory().Remember(a.ctx, memory.Draft{Kind: memory.Fact, Content: c.Text})
	if err != nil {
		return err
	}
	return a.present(r, func() { a.headed(good, string(r.Disposition), string(r.ID)) })
}

type memoryWhyCmd struct {
	Text string `help:"What was looked for." required:"" placeholder:"TEXT"`
	ID   string `help:"The memory." name:"id" required:"" placeholder:"ID"`
}

// Run implements the command.
func (c *memoryWhyCmd) Run(a *app, v arc.View) error {
	e, err := v.Memory().Explain(a.ctx, memory.Query{Text: c.Text}, memory.ID(c.ID))
	if err != nil {
		return err
	}
	return a.present(e, func() {
		a.explain(strong, map[bool]string{true: "found", false: "not found"}[e.Returned], e.Reason)
		a.headed(faint, "score", fmt.Sprintf("%.2f of relevance %.2f, effectiveness %.2f, recency %.2f", e.Score,
			e.Parts.Relevance, e.Parts.Effectiveness, e.Parts.Recency))
		words, has := []string{}, map[bool]string{true: "has", false: "lacks"}
		for _, w := range e.Words {
			words = append(words, fmt.Sprintf("%s %s (%.0f %%)", has[w.Found], w.Text, 100*w.Weight))
		}
		a.explain(faint, "words", strings.Join(words, ", "))
	})
}

type memoryEditCmd struct {
	ID   string `help:"The memory." name:"id" required:"" placeholder:"ID"`
	Text string `help:"What it says now." required:"" placeholder:"TEXT"`
}

// Run implements the command.
func (c *memoryEditCmd) Run(a *app, v arc.View) error {
	m := v.Memory()
	was, err := m.Get(a.ctx, memory.ID(c.ID))
	if err != nil {
		return err
	}
	if inNotebook(was) {
		return refused("it is a line of MEMORY.md: change it there")
	}
	r, err := m.Remember(a.ctx, memory.Draft{
		Kind: was.Kind, Trigger: was.Trigger, Content: c.Text, Actor: was.Actor, Thread: was.Thread, Triggers: was.Triggers,
		Slot: was.Slot, Plan: was.Plan,
		Links: []memory.Link{{To: was.ID, Rel: "supersedes"}},
	})
	if err != nil {
		return err
	}
	if r.ID != was.ID && r.ID != "" {
		if err := m.Supersede(a.ctx, was.ID, r.ID); err != nil {
			return err
		}
	}
	return a.present(r, func() { a.headed(good, string(r.Disposition), string(cmp.Or(r.ID, memory.ID(r.Reason)))) })
}

type memoryForgetCmd struct {
	ID  string `help:"The memory." name:"id" required:"" placeholder:"ID"`
	Yes bool   `help:"Do not ask."`
}

// Run implements the command.
func (c *memoryForgetCmd) Run(a *app, v arc.View) error {
	r, err := v.Memory().Get(a.ctx, memory.ID(c.ID))
	if err != nil {
		return err
	}
	if err := a.sure(a.ctx, c.Yes, fmt.Sprintf("Forget %q for good?", clip(oneLine(inWords(r)), 60))); err != nil {
		return err
	}
	if err = v.Memory().Forget(a.ctx, r.ID); err == nil {
		_, err = a.syncNotebook(nil, r.ID) // in which it may stand
	}
	for _, l := range r.Links { // what it had replaced
		if o, err := v.Memory().Get(a.ctx, l.To); err == nil && l.Rel == "supersedes" && o.SupersededBy == "" && !a.json {
			a.explain(asking, "holds now", inWords(o))
		}
	}
	return a.did(err, "forgotten", c.ID)
}

type memorySyncCmd struct{}

// Run implements the command.
func (memorySyncCmd) Run(a *app, _ arc.View) error {
	n, err := a.syncNotebook(nil)
	if err != nil {
		return err
	}
	return a.present(n, func() { a.headed(good, "MEMORY.md", n.String()) })
}

type memoryTrustCmd struct {
	ID string `help:"The memory." name:"id" required:"" placeholder:"ID"`
}

// Run implements the command.
func (c *memoryTrustCmd) Run(a *app, v arc.View) error {
	return a.did(v.Memory().Trust(a.ctx, memory.ID(c.ID)), "trusted", c.ID)
}

type memoryHistoryCmd struct {
	ID string `help:"The memory." name:"id" required:"" placeholder:"ID"`
}

// Run implements the command.
func (c *memoryHistoryCmd) Run(a *app, v arc.View) error {
	r, err := v.Memory().Get(a.ctx, memory.ID(c.ID))
	if err != nil {
		return err
	}
	r.Vector = nil
	before, after := []memory.Record{}, []memory.Record{}
	for other, err := range v.Memory().All(a.ctx) {
		if err != nil {
			return err
		}
		if slices.Contains(other.Links, memory.Link{To: r.ID, Rel: "supersedes"}) {
			after = append(after, other)
		}
		if slices.Contains(r.Links, memory.Link{To: other.ID, Rel: "supersedes"}) {
			before = append(before, other)
		}
	}
	return a.present(struct {
		Record        memory.Record
		Before, After []memory.Record
	}{r, before, after}, func() {
		a.explain(strong, string(r.Kind), inWords(r))
		from := fmt.Sprintf("%s %s %s", cmp.Or(string(r.Source.Origin), "host"), r.Source.Ref, r.Source.Run)
		a.headed(faint, "from", strings.TrimSpace(from))
		a.headed(faint, "held since", when(r.At)+", known since "+when(r.Known))
		a.headed(faint, "state", standing(r))
		a.headed(faint, "record", fmt.Sprintf("helped %d, unused %d, misled %d; effectiveness %.2f; last used %s",
			r.Stats.Helped, r.Stats.Failed, r.Stats.Misled, r.Effectiveness(), when(r.Stats.LastUsed)))
		for _, s := range r.Variants {
			a.explain(faint, "also said", cmp.Or(strings.TrimSpace(s.Trigger+" "+s.Content), "the same, "+when(s.At)))
		}
		for _, o := range before {
			a.explain(faint, "replaced", inWords(o))
		}
		for _, o := range after {
			a.explain(asking, "replaced by", inWords(o))
		}
	})
}

type identityCmd struct {
	List    identityListCmd    `cmd:"" default:"withargs" help:"What is known about the person or project."`
	Add     identityAddCmd     `cmd:"" help:"Add a fact."`
	Confirm identityConfirmCmd `cmd:"" help:"Say that a fact still holds."`
	Reject  identityRejectCmd  `cmd:"" help:"Say that a fact is wrong: it is not suggested again."`
	Sync    identitySyncCmd    `cmd:"" help:"Merge with the identity in a file, of another device, and write what both know."`
}

// whoseFacts is the identity of the agent's scope.
func (a *app) whoseFacts() (*identity.Identity, error) {
	v, err := a.view()
	if err != nil {
		return nil, err
	}
	return v.Identity()
}

type identityListCmd struct {
	Due bool `help:"Those that have faded: confirm or reject them."`
}

// Run implements the command.
func (c *identityListCmd) Run(a *app, x *identity.Identity) error {
	choose := x.List
	if c.Due {
		choose = x.Due
	}
	facts, err := choose(a.ctx, identity.Filter{})
	if err != nil {
		return err
	}
	return listed(a.screen, facts, []string{"id", "about", "maturity", "sure", "fact"}, func(f identity.View) []string {
		return []string{string(f.ID), string(f.Category), string(f.Maturity), fmt.Sprintf("%.2f", f.Effective), f.Content}
	})
}

type identityAddCmd struct {
	Text     string `help:"The fact, as a short statement." required:"" placeholder:"TEXT"`
	Category string `help:"core, expertise, preference, context or focus; guessed if it is not given." placeholder:"NAME"`
	Private  bool   `help:"Keep it out of prompts and exports."`
}

// Run implements the command.
func (c *identityAddCmd) Run(a *app, x *identity.Identity) error {
	d := identity.Draft{Content: c.Text, Category: identity.Category(c.Category)}
	if c.Private {
		d.Visibility = identity.Local
	}
	f, err := x.Add(a.ctx, d)
	if err != nil {
		return err
	}
	return a.present(f, func() { a.headed(good, string(f.Maturity), string(f.ID)) })
}

type identityConfirmCmd struct {
	ID     string `help:"The fact." name:"id" required:"" placeholder:"ID"`
	Reason string `help:"Why, in words." placeholder:"TEXT"`
}

// Run implements the command.
func (c *identityConfirmCmd) Run(a *app, x *identity.Identity) error {
	f, err := x.Validate(a.ctx, identity.ID(c.ID), identity.Validation{Reason: c.Reason})
	if err != nil {
		return err
	}
	return a.present(f, func() { a.headed(good, string(f.Maturity), f.Content) })
}

type identityRejectCmd struct {
	ID     string `help:"The fact." name:"id" required:"" placeholder:"ID"`
	Reason string `help:"Why, in words." placeholder:"TEXT"`
}

// Run implements the command.
func (c *identityRejectCmd) Run(a *app, x *identity.Identity) error {
	f, err := x.Reject(a.ctx, identity.ID(c.ID), c.Reason)
	return a.did(err, "rejected", f.Content)
}

type identitySyncCmd struct {
	File string `help:"JSON of version 2; made if it is missing." required:"" placeholder:"FILE" type:"path"`
	All  bool   `help:"Private facts, events and rejections too. The file is then for your own devices."`
}

// Run implements the command.
func (c *identitySyncCmd) Run(a *app, x *identity.Identity) error {
	limit := identity.Trusted
	if c.All {
		limit = identity.Local
	}
	r, err := exchange(a.ctx, x, c.File, limit)
	if err != nil {
		return err
	}
	return a.present(r, func() {
		a.headed(good, "merged", fmt.Sprintf("%d facts in the file: %d added, %d merged, %d known",
			r.Facts, r.Added, r.Merged, r.Kept))
	})
}

// exchange merges an identity with that of a file, and writes the file anew. Devices
// that exchange with one another by files, in any order, come to know the same; what any
// of them has rejected is rejected.
func exchange(
	ctx context.Context, x *identity.Identity, file string, limit identity.Visibility,
) (r identity.ImportReport, err error) {
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return r, err
	default:
		if r, err = x.Import(ctx, text); err != nil {
			return r, err
		}
	}
	if text, err = x.Export(ctx, limit); err != nil {
		return r, err
	}
	return r, replaceFile(file, text, 0o600)
}
