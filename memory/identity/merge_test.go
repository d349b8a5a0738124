package identity_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
)

// canon is a document with its events by id, and without when a rejection without a date
// came in.
func canon(t require.TestingT, x *identity.Identity) string {
	return canonOf(t, exported(t, x, identity.Local))
}

func canonOf(t require.TestingT, doc string) string {
	var d map[string]any
	require.NoError(t, json.Unmarshal([]byte(doc), &d))
	if events, ok := d["events"].([]any); ok {
		id := func(e any) string { return e.(map[string]any)["id"].(string) }
		slices.SortFunc(events, func(a, b any) int { return cmp.Compare(id(a), id(b)) })
	}
	out, err := json.MarshalIndent(d, "", " ")
	require.NoError(t, err)
	return string(out)
}

// Two identities that have grown apart, also by clocks that were put back, merge to the same, whichever is imported
// into the other; once more changes nothing; and what either has rejected stays rejected.
func TestMergeInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, latest := &clock{t: start}, start
		texts := rapid.SampledFrom([]string{"Go", "go!", "Rust", "likes tea", "Likes tea.", "works at Acme", "works at Globex"})
		visibilities := rapid.SampledFrom([]identity.Visibility{"", identity.Local, identity.Trusted, identity.Public})
		slots := rapid.SampledFrom([]string{"", "", "tool", "job"})
		live := func(x *identity.Identity, n int) {
			for range n {
				c.add(time.Duration(rapid.SampledFrom([]int{0, 1, 2, 3, 24 * 20, 24 * 70, -1, -24 * 50}).Draw(t, "hours")) * time.Hour)
				if c.now().After(latest) {
					latest = c.now()
				}
				views, err := x.List(tContext, identity.Filter{Archived: true})
				require.NoError(t, err)
				id := identity.ID("")
				if len(views) > 0 {
					id = rapid.SampledFrom(views).Draw(t, "fact").ID
				}
				slot, subject := slots.Draw(t, "slot"), ""
				if slot != "" {
					subject = "me"
				}
				switch op := rapid.IntRange(0, 12).Draw(t, "op"); {
				case op < 3 || id == "":
					_, err = x.Add(tContext, identity.Draft{
						Content: texts.Draw(t, "text"), Subject: subject, Slot: slot, Visibility: visibilities.Draw(t, "visibility"),
						Source:   rapid.SampledFrom([]identity.Source{identity.Manual, identity.Inferred}).Draw(t, "source"),
						Maturity: rapid.SampledFrom([]identity.Maturity{"", "", identity.Proven}).Draw(t, "maturity"),
					})
				case op == 3:
					_, err = x.Validate(tContext, id, identity.Validation{Reason: texts.Draw(t, "reason"), Weak: rapid.Bool().Draw(t, "weak")})
				case op == 4:
					_, err = x.Reject(tContext, id, texts.Draw(t, "reason"))
				case op == 5:
					e := identity.Edit{Subject: subject, Slot: slot, Visibility: visibilities.Draw(t, "visibility")}
					if rapid.Bool().Draw(t, "worded") {
						e.Content = texts.Draw(t, "text")
					}
					_, err = x.Update(tContext, id, e)
				case op == 6:
					_, err = x.Archive(tContext, id, false)
				case op == 7:
					_, err = x.Observe(tContext, identity.Event{
						Key: texts.Draw(t, "key"), Topic: "Go", At: c.now().AddDate(0, 0, -rapid.IntRange(0, 40).Draw(t, "days")),
					}, identity.Event{Topic: "tea"}, identity.Event{Topic: "tea"}, identity.Event{Topic: "tea"})
				case op == 8:
					_, err = x.UpdateProfile(tContext, func(p *identity.Profile) error {
						p.Name, p.Settings.AutoInfer = texts.Draw(t, "name"), !p.Settings.AutoInfer
						p.Visibility, p.Settings.HalfLife = visibilities.Draw(t, "visibility"), days(float64(rapid.IntRange(0, 90).Draw(t, "life")))
						p.Settings.HalfLives = map[identity.Category]time.Duration{identity.Context: days(float64(rapid.IntRange(0, 9).Draw(t, "life")))}
						p.Settings.ExcludedDomains = append(p.Settings.ExcludedDomains, fmt.Sprint(len(texts.Draw(t, "domain")), ".example"))
						return nil
					})
				case op == 9:
					_, err = x.Maintain(tContext)
				case op == 10:
					var found []identity.Suggestion
					found, err = x.Infer(tContext, 0)
					for _, s := range found {
						if err == nil && rapid.Bool().Draw(t, "rejects") {
							_, err = x.Reject(tContext, s.ID, "")
						} else if err == nil {
							_, err = x.Validate(tContext, s.ID, identity.Validation{})
						}
					}
				default:
					_, err = x.Archive(tContext, id, true)
				}
				require.True(t, err == nil || errors.Is(err, identity.ErrRejected) || errors.Is(err, identity.ErrKnown), "%v", err)
			}
		}
		into := func(docs ...string) *identity.Identity {
			x := open(t, store.NewMem(), c)
			for _, d := range docs {
				_, err := x.Import(tContext, []byte(d))
				require.NoError(t, err)
			}
			return x
		}
		onTime := func() { c.add(latest.Sub(c.now()) + time.Hour) } // an import takes what lies ahead for damaged
		first := open(t, store.NewMem(), c)
		live(first, rapid.IntRange(0, 6).Draw(t, "together"))
		common := exported(t, first, identity.Local)
		onTime()
		devices, docs := []*identity.Identity{first, into(common)}, []string(nil)
		for _, x := range devices {
			live(x, rapid.IntRange(0, 8).Draw(t, "alone"))
			docs = append(docs, exported(t, x, identity.Local))
		}
		onTime()
		want := merged(t, into(docs...))
		turn := rapid.Permutation(docs).Draw(t, "turn")
		require.Equal(t, want, merged(t, into(turn...)))
		require.Equal(t, want, merged(t, into(slices.Concat(turn, docs)...)))
		for i, x := range devices {
			for _, d := range turn {
				_, err := x.Import(tContext, []byte(d))
				require.NoError(t, err)
			}
			require.Equal(t, want, merged(t, x), "into %d", i)
		}
	})
}

// merged is what is exported of an identity, with which events it knows: when they become counts depends on the
// order in which they come.
func merged(t require.TestingT, x *identity.Identity) string {
	var d map[string]any
	require.NoError(t, json.Unmarshal([]byte(exported(t, x, identity.Local)), &d))
	var known []string
	events, _ := d["events"].([]any)
	for _, e := range events {
		known = append(known, e.(map[string]any)["id"].(string))
	}
	days, _ := d["rollups"].([]any)
	for _, day := range days {
		marks, _ := day.(map[string]any)["marks"].([]any)
		for _, m := range marks {
			known = append(known, m.(string))
		}
	}
	delete(d, "rollups")
	slices.Sort(known)
	d["events"] = slices.Compact(known) // one Key may have been of two days
	out, err := json.MarshalIndent(d, "", " ")
	require.NoError(t, err)
	return string(out)
}

// Reasons that were given on two devices have one order on both, also those of one moment and of former versions.
func TestReasonsOfTwoDevices(t *testing.T) {
	x, c := fresh(t)
	f := add(t, x, identity.Draft{Content: "plays golf", Source: identity.Inferred})
	_, err := x.Import(t.Context(), []byte(`{"version":"2.0.0","blocked":[{"content":"plays golf","reasons":["second","first"],"at":"2026-02-01T00:00:00Z"}]}`))
	require.NoError(t, err)
	y := open(t, store.NewMem(), c)
	_, err = y.Import(t.Context(), []byte(exported(t, x, identity.Local)))
	require.NoError(t, err)
	for _, reason := range []string{"never", "always", "never"} {
		_, err = x.Reject(t.Context(), f.ID, reason)
		require.NoError(t, err)
	}
	for _, reason := range []string{"no", "always"} {
		_, err = y.Reject(t.Context(), f.ID, reason)
		require.NoError(t, err)
	}
	refused, err := x.Rejections(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"second", "first", "never", "always"}, refused[0].Reasons, "as given, though of one moment")
	a, b := exported(t, x, identity.Local), exported(t, y, identity.Local)
	for _, turn := range [][]string{{a, b}, {b, a}, {b, a, a, b}} {
		z := open(t, store.NewMem(), c)
		for _, doc := range turn {
			_, err := z.Import(t.Context(), []byte(doc))
			require.NoError(t, err)
		}
		refused, err := z.Rejections(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"second", "first", "never", "no", "always"}, refused[0].Reasons)
		require.Len(t, refused[0].Given, 5)
	}
}

// What was changed by a clock that was put back is later than what it has changed: a document from before does not
// take it back.
func TestChangedByAClockBehind(t *testing.T) {
	x, c := fresh(t)
	change := map[string]func(f identity.Fact) (identity.Fact, error){
		"plays golf": func(f identity.Fact) (identity.Fact, error) {
			return x.Update(t.Context(), f.ID, identity.Edit{Content: "plays the tuba"})
		},
		"plays tennis": func(f identity.Fact) (identity.Fact, error) { return x.Archive(t.Context(), f.ID, true) },
		"plays polo": func(f identity.Fact) (identity.Fact, error) {
			return x.Add(t.Context(), identity.Draft{Content: f.Content, Visibility: identity.Local})
		},
		"plays darts": func(f identity.Fact) (identity.Fact, error) {
			return x.Add(t.Context(), identity.Draft{Content: f.Content, Maturity: identity.Proven})
		},
	}
	was := map[string]identity.Fact{}
	for text := range change {
		was[text] = add(t, x, identity.Draft{Content: text})
	}
	before := exported(t, x, identity.Local)
	c.add(-time.Hour)
	for text, f := range was {
		is, err := change[text](f)
		require.NoError(t, err)
		require.Greater(t, is.Updated, f.Updated, text)
	}
	after := exported(t, x, identity.Local)
	c.add(2 * time.Hour)
	imported(t, x, before)
	require.Equal(t, after, exported(t, x, identity.Local))
}

// Of two states of one date, as programs that write days have them, the same one is kept however often they come.
func TestStatesOfOneDate(t *testing.T) {
	doc := func(content, slot, maturity string) string {
		return fmt.Sprintf(`{"version":"2","facts":[{"id":"a","category":"context","content":%q,"subject":"me","slot":%q,
			"maturity":%q,"updatedAt":"2026-02-01","createdAt":"2026-01-01"}]}`, content, slot, maturity)
	}
	for _, docs := range [][]string{
		{doc("Rust", "job", "proven"), doc("Rust", "tool", "candidate")}, {doc("Rust", "job", "candidate"), doc("Rust", "tool", "proven")},
		{doc("Go", "tool", "proven"), doc("Rust", "tool", "candidate")}, {doc("Go", "tool", "candidate"), doc("Rust", "tool", "proven")},
	} {
		var want string
		for _, turn := range [][]int{{0, 1}, {1, 0}, {0, 1, 0}, {0, 1, 1}, {1, 0, 0, 1}} {
			x, _ := fresh(t)
			for _, i := range turn {
				imported(t, x, docs[i])
			}
			got := exported(t, x, identity.Local)
			want = cmp.Or(want, got)
			require.Equal(t, want, got, "%v", turn)
		}
	}
}

// A rejection wins over a validation that does not know of it, and falls to a Restore
// that does.
func TestRejectionWins(t *testing.T) {
	x, c := fresh(t)
	f := add(t, x, identity.Draft{Content: "plays golf", Source: identity.Inferred})
	y := open(t, store.NewMem(), c)
	_, err := y.Import(t.Context(), []byte(exported(t, x, identity.Local)))
	require.NoError(t, err)
	c.add(time.Hour)
	_, err = x.Reject(t.Context(), f.ID, "never did")
	require.NoError(t, err)
	c.add(time.Hour)
	_, err = y.Validate(t.Context(), f.ID, identity.Validation{Reason: "said so"})
	require.NoError(t, err)
	_, err = y.Import(t.Context(), []byte(exported(t, x, identity.Local)))
	require.NoError(t, err)
	g, err := y.Get(t.Context(), f.ID)
	require.NoError(t, err)
	require.False(t, g.Rejected.IsZero())
	require.Len(t, g.Evidence, 1, "the evidence stays")
	_, err = y.Add(t.Context(), identity.Draft{Content: "golf", Source: identity.Inferred})
	require.ErrorIs(t, err, identity.ErrRejected)

	c.add(time.Hour)
	_, err = y.Archive(t.Context(), f.ID, false)
	require.NoError(t, err)
	_, err = y.Import(t.Context(), []byte(exported(t, x, identity.Local)))
	require.NoError(t, err)
	g, err = y.Get(t.Context(), f.ID)
	require.NoError(t, err)
	require.True(t, g.Rejected.IsZero())
}

// A state of a fact that was merged into another since, older than what was merged, says
// nothing new: so does a document that comes again.
func TestOldStateOfAMergedFact(t *testing.T) {
	doc := func(id, content, visibility string, day int) []byte {
		return fmt.Appendf(nil, `{"version":"2.0.0","facts":[{"id":%q,"category":"context","content":%q,"visibility":%q,`+
			`"createdAt":"2026-01-01","updatedAt":"2026-01-%02d"}]}`, id, content, visibility, day)
	}
	x, _ := fresh(t)
	early := doc("b", "Rust", "trusted", 2)
	for _, d := range [][]byte{early, doc("a", "Globex", "public", 3), doc("b", "Globex", "public", 4)} {
		_, err := x.Import(t.Context(), d)
		require.NoError(t, err)
	}
	before := exported(t, x, identity.Local)
	require.Contains(t, before, `"Rust"`)
	_, err := x.Import(t.Context(), early)
	require.NoError(t, err)
	require.Equal(t, before, exported(t, x, identity.Local))
	f, err := x.Get(t.Context(), "b")
	require.NoError(t, err)
	require.Equal(t, identity.Public, f.Visibility)
}

// What was taken back stays so, whichever of its documents comes again, and the clock may be
// put back in between: so does a rejection that followed.
func TestTakenBackSurvivesAnOldDocument(t *testing.T) {
	for _, back := range []time.Duration{time.Hour, -time.Hour} {
		x, c := fresh(t)
		suggest := identity.Draft{Content: "plays golf", Source: identity.Conversation}
		f := add(t, x, suggest)
		c.add(5 * time.Hour)
		_, err := x.Reject(t.Context(), f.ID, "no")
		require.NoError(t, err)
		rejected := exported(t, x, identity.Local)
		c.add(back)
		_, err = x.Archive(t.Context(), f.ID, false)
		require.NoError(t, err)
		c.add(9 * time.Hour)
		imported(t, x, rejected)
		g, err := x.Get(t.Context(), f.ID)
		require.NoError(t, err)
		require.True(t, g.Rejected.IsZero(), back)
		refused, err := x.Rejections(t.Context())
		require.NoError(t, err)
		require.Empty(t, refused, back)
		require.Equal(t, f.ID, add(t, x, suggest).ID)

		c.add(-12 * time.Hour) // before it was taken back
		_, err = x.Reject(t.Context(), f.ID, "never")
		require.NoError(t, err)
		c.add(13 * time.Hour)
		imported(t, x, rejected)
		imported(t, x, exported(t, x, identity.Local))
		refused, err = x.Rejections(t.Context())
		require.NoError(t, err)
		require.Len(t, refused, 1, back)
		require.Equal(t, []string{"never"}, refused[0].Reasons, back)
		_, err = x.Validate(t.Context(), f.ID, identity.Validation{})
		require.ErrorIs(t, err, identity.ErrRejected, back)
		_, err = x.Add(t.Context(), suggest)
		require.ErrorIs(t, err, identity.ErrRejected, back)
	}
}

// A rejection is as old as its fact's, so that one who takes it back by a clock that was put
// back takes all of its reasons back.
func TestTakenBackWithItsReasons(t *testing.T) {
	x, c := fresh(t)
	suggest := identity.Draft{Content: "plays golf", Source: identity.Conversation}
	f := add(t, x, suggest)
	for _, reason := range []string{"no", "never"} {
		c.add(5 * time.Hour)
		_, err := x.Reject(t.Context(), f.ID, reason)
		require.NoError(t, err)
	}
	refused, err := x.Rejections(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"no", "never"}, refused[0].Reasons)
	c.add(-time.Hour)
	_, err = x.Archive(t.Context(), f.ID, false)
	require.NoError(t, err)
	require.Equal(t, f.ID, add(t, x, suggest).ID)
}

// A rejection without a date, which was taken back, is not a new one whenever it comes again.
func TestTakenBackWithoutADate(t *testing.T) {
	x, c := fresh(t)
	const doc = `{"version":"2","blocked":["plays golf"]}`
	imported(t, x, doc)
	f := add(t, x, identity.Draft{Content: "plays golf"})
	c.add(time.Hour)
	_, err := x.Reject(t.Context(), f.ID, "")
	require.NoError(t, err)
	c.add(time.Hour)
	_, err = x.Archive(t.Context(), f.ID, false)
	require.NoError(t, err)
	c.add(time.Hour)
	imported(t, x, doc)
	refused, err := x.Rejections(t.Context())
	require.NoError(t, err)
	require.Empty(t, refused)
}

// What was demoted is so once, whatever the clock says.
func TestDemotedOnce(t *testing.T) {
	for _, later := range []time.Duration{0, -time.Hour, time.Hour} {
		x, c := fresh(t)
		f := add(t, x, identity.Draft{Content: "plays golf", Maturity: identity.Proven, Confidence: .2})
		c.add(later)
		for range 3 {
			_, err := x.Maintain(t.Context())
			require.NoError(t, err)
		}
		f, err := x.Get(t.Context(), f.ID)
		require.NoError(t, err)
		require.Equal(t, identity.Established, f.Maturity, later)
	}
}

// Two that say the same and were demoted, each once, are not demoted for the other's validation.
func TestMergeOfDemoted(t *testing.T) {
	x, c := fresh(t)
	c.add(days(300))
	imported(t, x, `{"version":"2","facts":[
		{"id":"a","content":"plays golf","maturity":"established","confidence":1,"createdAt":"2026-03-01T12:00:00Z","demotedAt":"2026-06-01T12:00:00Z"},
		{"id":"b","content":"plays golf","maturity":"established","confidence":1,"createdAt":"2026-03-02T12:00:00Z",
			"lastValidated":"2026-07-01T12:00:00Z","demotedAt":"2026-12-20T12:00:00Z"}]}`)
	u, err := x.Maintain(t.Context())
	require.NoError(t, err)
	require.Zero(t, u.Demoted)
	f, err := x.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Len(t, f.Variants, 1)
	require.Equal(t, identity.Established, f.Maturity)
	imported(t, x, `{"version":"2","facts":[{"id":"c","content":"plays golf","maturity":"established","confidence":1,
		"lastValidated":"2026-12-23T12:00:00Z"}]}`)
	c.add(days(120))
	u, err = x.Maintain(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, u.Demoted, "it was validated since")
}

// A document from before a demotion gives back what is lost again when the time has not been
// used, and no fact stays proven for it.
func TestDemotedAgainAfterAnOldDocument(t *testing.T) {
	x, c := fresh(t)
	f := add(t, x, identity.Draft{Content: "plays golf", Maturity: identity.Proven})
	before := exported(t, x, identity.Local)
	c.add(days(120))
	for range 2 {
		u, err := x.Maintain(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, u.Demoted)
		again, err := x.Maintain(t.Context())
		require.NoError(t, err)
		require.Zero(t, again.Demoted)
		g, err := x.Get(t.Context(), f.ID)
		require.NoError(t, err)
		require.Equal(t, identity.Established, g.Maturity)
		imported(t, x, before)
	}
}
