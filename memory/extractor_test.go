package memory_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// scripted is an Extractor that knows what texts state.
type scripted struct {
	says map[string][]memory.Statement
	ends map[string][]string // texts of known records that all its statements end
	err  error
	read []string
	seen map[string][]string // the known records
}

func (s *scripted) Extract(_ context.Context, r memory.Record, known []memory.Record) (out []memory.Statement, _ error) {
	s.read = append(s.read, r.Content)
	out = slices.Clone(s.says[r.Content])
	for _, k := range known {
		if s.seen != nil {
			s.seen[r.Content] = append(s.seen[r.Content], k.Content)
		}
		for i := range out {
			if ends, says := s.ends[r.Content]; slices.Contains(ends, k.Content) {
				out[i].Replaces = append(out[i].Replaces, k.ID)
			} else if says && out[i].Replaces == nil {
				out[i].Replaces = []memory.ID{}
			}
		}
	}
	return out, s.err
}

// extracting is a Bank with an Extractor, and a space of it. The clock goes on by
// step each time it is read.
func extracting(t *testing.T, st store.Store, x memory.Extractor, step time.Duration) (*memory.Bank, memory.Space) {
	var reads atomic.Int64
	now := func() time.Time { return epoch.Add(time.Duration(reads.Add(1)) * step) }
	b, err := memory.Open(t.Context(), st, &memory.Options{Extractor: x, Seed: 1, Now: now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b, b.In("acme/ann")
}

func stated(subject, attribute, value, change string, p float64) []memory.Statement {
	return []memory.Statement{{Slot: memory.Slot{Subject: subject, Attribute: attribute, Value: value}, Change: change, Confidence: p}}
}

func contents(hits []memory.Hit) (out []string) {
	for _, h := range hits {
		out = append(out, h.Record.Content)
	}
	return out
}

// What is stated with confidence hides what was stated before; the texts
// themselves stay, the later one first.
func TestExtractorKnowsWhatChanged(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	x := &scripted{says: map[string][]memory.Statement{
		"Paris is where my flat is.":                        stated("Ann", "home", "Paris", "set", .95),
		"The keys to the flat are handed over, Lyon it is.": stated("Ann", "home", "Lyon", "set", .95),
		"I play chess.":            stated("Ann", "games", "chess", "add", .95),
		"Never chess again.":       stated("Ann", "games", "chess", "remove", .95),
		"Perhaps it is Rome next.": stated("Ann", "home", "Rome", "set", .5),
		"My flat has a view.":      stated("Ann", "home", "Atlantis", "set", .99),
	}}
	b, s := extracting(t, store.NewMem(), x, time.Hour)
	say := func(text string) {
		_, err := s.Remember(ctx, memory.Draft{Kind: memory.Episode, Content: text, Actor: "Ann"})
		require.NoError(t, err)
		require.NoError(t, b.Extract(ctx))
	}
	say("Paris is where my flat is.")
	say("The keys to the flat are handed over, Lyon it is.")
	hits, err := s.Recall(ctx, memory.Query{Text: "Where is Ann's home?", Kinds: []memory.Kind{memory.Fact}})
	require.NoError(t, err)
	require.Equal(t, []string{"Ann home: Lyon"}, contents(hits))
	require.Equal(t, "Ann home: Paris", hits[0].Superseded.Content)
	require.True(t, hits[0].Record.Trusted)
	hits, err = s.Recall(ctx, memory.Query{Text: "the flat", Kinds: []memory.Kind{memory.Episode}})
	require.NoError(t, err)
	require.Len(t, hits, 2, "texts are not hidden")
	require.Contains(t, hits[0].Record.Content, "Lyon")
	require.Equal(t, memory.ByExtractor, hits[1].Replaced.Evidence)

	say("Perhaps it is Rome next.")
	say("My flat has a view.")
	hits, err = s.Recall(ctx, memory.Query{Text: "Ann home", Kinds: []memory.Kind{memory.Fact}})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"Ann home: Lyon", "Ann home: Rome", "Ann home: Atlantis"}, contents(hits), "no guess hides")
	for _, h := range hits {
		require.Equal(t, h.Record.Content != "Ann home: Atlantis", h.Record.Trusted, "words of the model's own")
	}

	x.says["Ann left Lyon."] = stated("Ann", "home", "Lyon", "remove", 1)
	_, err = s.Remember(ctx, memory.Draft{Kind: memory.Episode, Content: "Ann left Lyon.", Actor: "Ann", Source: memory.Source{Origin: memory.Web}})
	require.NoError(t, err)
	require.NoError(t, b.Extract(ctx))
	hits, err = s.Recall(ctx, memory.Query{Text: "Ann home", Kinds: []memory.Kind{memory.Fact}})
	require.NoError(t, err)
	require.Contains(t, contents(hits), "Ann home: Lyon", "what is in quarantine hides nothing that is trusted")

	say("I play chess.")
	say("Never chess again.")
	hits, err = s.Recall(ctx, memory.Query{Text: "Ann games chess", Kinds: []memory.Kind{memory.Fact}})
	require.NoError(t, err)
	require.Equal(t, []string{"Ann games: no longer chess"}, contents(hits)[:1])
}

// What was not read yet is on disk, and read by the next Bank; once.
func TestExtractorIsAskedAgain(t *testing.T) {
	t.Parallel()
	ctx, st := t.Context(), store.NewMem()
	failing := &scripted{err: errors.New("no answer")}
	b, s := extracting(t, st, failing, 0)
	_, err := s.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: "Ann has moved to Lyon."})
	require.NoError(t, err)
	require.ErrorContains(t, b.Extract(ctx), "no answer")
	h, err := s.Health(ctx)
	require.NoError(t, err)
	require.Contains(t, h.Extractor, "no answer")
	require.NoError(t, b.Close())

	x := &scripted{says: map[string][]memory.Statement{"Ann has moved to Lyon.": stated("Ann", "home", "Lyon", "set", 1)}}
	for range 2 {
		b, s = extracting(t, st, x, time.Hour)
		require.NoError(t, b.Extract(ctx))
		hits, err := s.Recall(ctx, memory.Query{Text: "Ann home"})
		require.NoError(t, err)
		require.Contains(t, strings.Join(contents(hits), "|"), "Ann home: Lyon")
		require.NoError(t, b.Close())
	}
	require.Len(t, x.read, 1, "a fact that was drawn is not read, nor a text twice")
}

// absent is a store that cannot be read while it is away.
type absent struct {
	store.Store
	away atomic.Bool
}

func (a *absent) Get(ctx context.Context, key string) (store.Entry, error) {
	if a.away.Load() {
		return store.Entry{}, errAway
	}
	return a.Store.Get(ctx, key)
}

func (a *absent) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	if a.away.Load() && strings.Contains(r.Prefix, "memory") {
		return func(yield func(store.Entry, error) bool) {
			for e, err := range a.Store.Scan(ctx, r) {
				if yield(e, err) {
					yield(store.Entry{}, errAway)
				}
				return
			}
		}
	}
	return a.Store.Scan(ctx, r)
}

// A text waits for as long as the store is away, and an Extractor that fails gets it eight times.
func TestExtractorIsNotBlamedForTheStore(t *testing.T) {
	t.Parallel()
	ctx, st, x := t.Context(), &absent{Store: store.NewMem()}, &scripted{}
	b, s := extracting(t, st, x, 0)
	st.away.Store(true)
	_, err := s.Remember(ctx, memory.Draft{Kind: memory.Episode, Content: strings.Repeat("a long day ", 500)})
	require.NoError(t, err)
	for range 20 {
		require.ErrorIs(t, b.Extract(ctx), errAway)
	}
	st.away.Store(false)
	x.err = errors.New("no answer")
	for range 8 {
		require.ErrorContains(t, b.Extract(ctx), "no answer")
	}
	require.NoError(t, b.Extract(ctx))
	require.Len(t, x.read, 8)
}

// A statement that cannot be kept takes no other with it.
func TestBadStatementTakesNoOtherWithIt(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	home := stated("Alice", "home", "Rome", "set", 1)
	for _, bad := range [][]memory.Statement{
		stated("Alice", "", "nurse", "set", 1), stated("Alice", strings.Repeat("j", 5000), "nurse", "set", 1), stated("Alice", "job", "nurse", "SET", 1),
		{{Slot: memory.Slot{Subject: "Alice", Attribute: "job", Value: "nurse"}, Change: "set", Confidence: 1, From: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)}},
	} {
		text := "Alice, a nurse, lives in Rome."
		b, s := extracting(t, store.NewMem(), &scripted{says: map[string][]memory.Statement{text: append(bad, home...)}}, time.Hour)
		_, err := s.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: text})
		require.NoError(t, err)
		require.Error(t, b.Extract(ctx))
		hits, err := s.Recall(ctx, memory.Query{Text: "Alice home"})
		require.NoError(t, err)
		require.Contains(t, contents(hits), "Alice home: Rome", bad)
	}
}

// A statement that removes a value takes the place of what has stated it.
func TestExtractorRemoves(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	x := &scripted{says: map[string][]memory.Statement{
		"Chess is what I play.": stated("Ann", "game", "Chess", "set", .95),
		"No Chess any more.":    stated("Ann", "game", "Chess", "remove", .95),
	}}
	b, s := extracting(t, store.NewMem(), x, time.Hour)
	for _, text := range []string{"Chess is what I play.", "No Chess any more."} {
		_, err := s.Remember(ctx, memory.Draft{Kind: memory.Episode, Content: text, Actor: "Ann"})
		require.NoError(t, err)
		require.NoError(t, b.Extract(ctx))
	}
	facts := recall(t, s, memory.Query{Kinds: []memory.Kind{memory.Fact}})
	require.Equal(t, []string{"Ann game: no longer Chess"}, contents(facts))
	require.Equal(t, "Ann game: Chess", facts[0].Superseded.Content)
}

// A text that ends an earlier one in other words comes before it, and hides it not; what was
// stated of the earlier one is hidden. A text that ends nothing leaves the order as it is.
func TestExtractorSaysWhatEnds(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const old, later, beside = "SteamTinkerLaunch is maintained by Frostworx.", "Fortunately sonic2kk has picked up the torch.", "Frostworx wrote its manual, too."
	x := &scripted{
		says: map[string][]memory.Statement{
			old: stated("SteamTinkerLaunch", "maintainer", "Frostworx", "set", .95), later: stated("STL", "lead", "sonic2kk", "set", .95),
			beside: stated("manual", "author", "Frostworx", "add", .95),
		},
		ends: map[string][]string{later: {old, "SteamTinkerLaunch maintainer: Frostworx"}}, seen: map[string][]string{},
	}
	b, s := extracting(t, store.NewMem(), x, time.Hour)
	for _, text := range []string{old, later, beside} {
		_, err := s.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: text})
		require.NoError(t, err)
		require.NoError(t, b.Extract(ctx))
	}
	require.Empty(t, x.seen[old])
	require.Equal(t, []string{old, "SteamTinkerLaunch maintainer: Frostworx"}, x.seen[later])
	require.NotContains(t, x.seen[beside], "SteamTinkerLaunch maintainer: Frostworx", "it is over")
	hits := recall(t, s, memory.Query{Text: "Who maintains SteamTinkerLaunch?"})
	require.Contains(t, []string{later, "STL lead: sonic2kk"}, hits[0].Record.Content)
	texts := contents(hits)
	require.Less(t, slices.Index(texts, later), slices.Index(texts, old), texts)
	require.NotContains(t, texts, "SteamTinkerLaunch maintainer: Frostworx")
	at := slices.Index(texts, old)
	require.Equal(t, memory.Replaced{By: hits[slices.Index(texts, later)].Record.ID, Probability: .95, Evidence: memory.ByExtractor}, hits[at].Replaced)
	hits = recall(t, s, memory.Query{Text: "Who maintains SteamTinkerLaunch?", At: epoch.Add(90 * time.Minute)})
	require.Contains(t, hits[0].Record.Content, "Frostworx", "it held then")
}

// What words take for a change, and the Extractor has read to be none, leaves the order as it is.
func TestExtractorKnowsBetterThanWords(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const old, later = "Mira keeps the release notes of the parser.", "Mira now keeps the release notes of the printer, after Tom retired."
	for _, says := range []bool{false, true} {
		x := &scripted{says: map[string][]memory.Statement{later: stated("Mira", "duty", "release notes of the printer", "add", .9)}, ends: map[string][]string{}}
		if says {
			x.ends[later] = nil
		}
		b, s := extracting(t, store.NewMem(), x, time.Hour)
		for _, text := range []string{old, later} {
			_, err := s.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: text})
			require.NoError(t, err)
		}
		hits := recall(t, s, memory.Query{Text: "What does Mira keep of the parser?"})
		require.Equal(t, []string{later, old}, contents(hits), "by words alone")
		require.NoError(t, b.Extract(ctx))
		hits = recall(t, s, memory.Query{Text: "What does Mira keep of the parser?"})
		require.Equal(t, says, hits[0].Record.Content == old, contents(hits))
		require.Equal(t, says, hits[slices.Index(contents(hits), old)].Replaced == memory.Replaced{})
	}
}

// An Extractor sees nothing of others, nothing later, and beside a trusted record none in
// quarantine; what it was not shown it cannot end.
func TestExtractorSeesWhatMayEnd(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	x := &scripted{says: map[string][]memory.Statement{}, seen: map[string][]string{}}
	b, s := extracting(t, store.NewMem(), x, time.Hour)
	for _, d := range []memory.Draft{
		{Content: "the cat sleeps in the hall"},
		{Content: "the cat sleeps in the attic", Actor: "Bob"},
		{Content: "the cat sleeps in the shed", Source: memory.Source{Origin: memory.Web}},
		{Content: "the cat will sleep in the barn", At: epoch.AddDate(1, 0, 0)},
		{Content: "the cat sleeps in the kitchen", Actor: "Ann"},
	} {
		d.Kind = memory.Fact
		_, err := s.Remember(ctx, d)
		require.NoError(t, err)
	}
	require.NoError(t, b.Extract(ctx))
	require.Equal(t, []string{"the cat sleeps in the hall"}, x.seen["the cat sleeps in the kitchen"])
	require.Empty(t, x.seen["the cat sleeps in the shed"], "it may end nothing")

	says := stated("cat", "bed", "garden", "set", 1)
	says[0].Replaces = []memory.ID{"not-shown"}
	x.says["the cat sleeps in the garden"] = says
	_, err := s.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: "the cat sleeps in the garden"})
	require.NoError(t, err)
	require.ErrorContains(t, b.Extract(ctx), "was not shown")
}

// Long lists of what was said before are cut: the most alike, and the latest.
func TestExtractorSeesTheMostAlikeAndTheLatest(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	x := &scripted{seen: map[string][]string{}}
	b, s := extracting(t, store.NewMem(), x, time.Hour)
	for i := range 40 {
		_, err := s.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: fmt.Sprintf("lamp %d hangs in room %d", i, i)})
		require.NoError(t, err)
	}
	for _, text := range []string{"tea is fine", "coffee is fine", "lamp 7 is broken in room 7"} {
		_, err := s.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: text})
		require.NoError(t, err)
	}
	require.NoError(t, b.Extract(ctx))
	seen := x.seen["lamp 7 is broken in room 7"]
	require.Len(t, seen, 16)
	require.Equal(t, "lamp 7 hangs in room 7", seen[0])
	require.Contains(t, seen, "coffee is fine")
	require.Contains(t, seen, "tea is fine")
}

// reader is an Extractor.
type reader func(r memory.Record, known []memory.Record) []memory.Statement

func (x reader) Extract(_ context.Context, r memory.Record, known []memory.Record) ([]memory.Statement, error) {
	return x(r, known), nil
}

// ends says that a statement ends the records with these texts, of those that are known.
func ends(known []memory.Record, texts ...string) []memory.ID {
	ids := []memory.ID{}
	for _, k := range known {
		if slices.Contains(texts, k.Content) {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

func tell(t *testing.T, b *memory.Bank, s memory.Space, texts ...string) (r memory.Receipt) {
	t.Helper()
	for _, text := range texts {
		var err error
		r, err = s.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: text})
		require.NoError(t, err)
		require.NoError(t, b.Extract(t.Context()))
	}
	return r
}

// hitOf returns the hit with a text.
func hitOf(t *testing.T, hits []memory.Hit, text string) memory.Hit {
	t.Helper()
	at := slices.Index(contents(hits), text)
	require.GreaterOrEqual(t, at, 0, contents(hits))
	return hits[at]
}

// What an Extractor has read to hold does, after a restart as well: who says it again says the same.
func TestExtractorSaysWhatHolds(t *testing.T) {
	t.Parallel()
	const old, later = "Mira keeps the release notes of the parser.", "Mira now keeps the release notes of the printer, after Tom retired."
	st := store.NewMem()
	x := reader(func(r memory.Record, _ []memory.Record) []memory.Statement {
		if r.Content == old {
			return nil
		}
		out := stated("Mira", "duty", "release notes of the printer", "add", .9)
		out[0].Replaces = []memory.ID{}
		return out
	})
	b, s := extracting(t, st, x, time.Hour)
	first := tell(t, b, s, old)
	tell(t, b, s, later)
	require.NoError(t, b.Close())
	b, s = extracting(t, st, nil, time.Hour)
	h := recall(t, s, memory.Query{Text: "What does Mira keep of the parser?"})[0]
	require.Equal(t, old, h.Record.Content)
	require.Zero(t, h.Replaced)
	again := tell(t, b, s, old)
	require.Equal(t, memory.Receipt{ID: first.ID, Disposition: memory.Merged, Into: first.ID}, again)
}

// What an Extractor doubts comes first only where it answers the question, too.
func TestExtractorDoubtBringsNothingIn(t *testing.T) {
	t.Parallel()
	const old, later = "The red automobile stands beside the lake.", "Nobody parks there."
	for p, first := range map[float64]string{.1: old, .9: later} {
		x := reader(func(r memory.Record, known []memory.Record) []memory.Statement {
			if r.Content == old {
				return nil
			}
			out := stated("place", "use", "nobody parks", "add", p)
			out[0].Replaces = ends(known, old)
			return out
		})
		b, s := extracting(t, store.NewMem(), x, time.Hour)
		tell(t, b, s, old, later)
		hits := recall(t, s, memory.Query{Text: "Where is the red automobile?"})
		require.Equal(t, first, hits[0].Record.Content)
		require.Zero(t, hits[0].Replaced, "by what was drawn from it")
	}
}

// What a host has derived itself, or has said in the words of a statement, is hidden by no statement.
func TestExtractorHidesItsStatementsAlone(t *testing.T) {
	t.Parallel()
	for name, host := range map[string]memory.Draft{
		"derived":           {Content: "Ann has long lived in Paris", Source: memory.Source{Origin: memory.Derived}},
		"words of its own":  {Content: "Ann games: chess"},
		"another text once": {Content: "Ann home: Paris", Key: "home"},
	} {
		x := reader(func(r memory.Record, known []memory.Record) []memory.Statement {
			if r.Content == "Chess it is." {
				return stated("Ann", "games", "chess", "add", .95)
			}
			if r.Content != "Lyon, and no games." {
				return nil
			}
			out := stated("Ann", "home", "Lyon", "set", .95)
			out[0].Replaces = ends(known, host.Content)
			require.Len(t, out[0].Replaces, 1)
			return out
		})
		b, s := extracting(t, store.NewMem(), x, time.Hour)
		tell(t, b, s, "Chess it is.")
		host.Kind = memory.Fact
		_, err := s.Remember(t.Context(), host)
		require.NoError(t, err)
		tell(t, b, s, "Lyon, and no games.")
		h := hitOf(t, recall(t, s, memory.Query{Text: "Ann Paris home games chess"}), host.Content)
		require.Equal(t, memory.ByExtractor, h.Replaced.Evidence, name)
	}
}

// Of several statements that end a text the surest counts, in any order, and what follows from
// a value only if none does.
func TestExtractorSurestStatementEndsAText(t *testing.T) {
	t.Parallel()
	const old, later = "Paris is my home, chess my game.", "Lyon is my home, and the board is sold."
	x := reader(func(r memory.Record, known []memory.Record) []memory.Statement {
		if r.Content == old {
			return stated("I", "home", "Paris", "set", .95)
		}
		out := slices.Concat(stated("I", "home", "Lyon", "set", .95), stated("I", "board", "sold", "add", .3), stated("board", "fate", "sold", "add", .94))
		out[0].Replaces, out[1].Replaces, out[2].Replaces = []memory.ID{}, ends(known, old), ends(known, old)
		return out
	})
	b, s := extracting(t, store.NewMem(), x, time.Hour)
	by := tell(t, b, s, old, later)
	h := hitOf(t, recall(t, s, memory.Query{Text: "what is my home and my game?"}), old)
	require.Equal(t, memory.Replaced{By: by.ID, Probability: .94, Evidence: memory.ByExtractor}, h.Replaced)
}

// An answer of which a part could not be kept does not say what holds: the next one does.
func TestExtractorIsAskedAgainWhatEnds(t *testing.T) {
	t.Parallel()
	const old, later = "Mira keeps the release notes of the parser.", "Mira now keeps the release notes of the printer, after Tom retired."
	asked := 0
	x := reader(func(r memory.Record, known []memory.Record) []memory.Statement {
		if r.Content == old {
			return nil
		}
		out := stated("Mira", "duty", "release notes of the printer", "add", .9)
		out[0].Replaces = ends(known, old)
		if asked++; asked == 1 {
			out[0].Replaces = []memory.ID{}
			out = append(out, stated("Tom", "job", "retired", "SET", 1)...)
		}
		return out
	})
	b, s := extracting(t, store.NewMem(), x, time.Hour)
	tell(t, b, s, old)
	by, err := s.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: later})
	require.NoError(t, err)
	for b.Extract(t.Context()) != nil {
	}
	require.Equal(t, 2, asked)
	h := hitOf(t, recall(t, s, memory.Query{Text: "What does Mira keep of the parser?"}), old)
	require.Equal(t, memory.Replaced{By: by.ID, Probability: .9, Evidence: memory.ByExtractor}, h.Replaced)
}

// However many records of others, or in quarantine, are more alike and later, an Extractor is
// shown what may end.
func TestExtractorIsShownNothingLessByACrowd(t *testing.T) {
	t.Parallel()
	for name, crowd := range map[string]memory.Draft{
		"others":     {Actor: "Bob"},
		"quarantine": {Source: memory.Source{Origin: memory.Web}},
	} {
		x := &scripted{seen: map[string][]string{}}
		b, s := extracting(t, store.NewMem(), x, time.Second)
		tell(t, b, s, "the depot is led by Ann", "the depot is led by Bo, says Ann")
		for i := range 80 {
			d := crowd
			d.Kind, d.Content = memory.Fact, fmt.Sprintf("the depot is led by Bo, says number %d", i)
			_, err := s.Remember(t.Context(), d)
			require.NoError(t, err)
		}
		const later = "the depot is led by Bo, says who"
		tell(t, b, s, later)
		require.ElementsMatch(t, []string{"the depot is led by Ann", "the depot is led by Bo, says Ann"}, x.seen[later], name)
	}
}

// A statement may name a record many times.
func TestExtractorNamesARecordTwice(t *testing.T) {
	t.Parallel()
	x := reader(func(r memory.Record, known []memory.Record) []memory.Statement {
		if r.Content == "Chess it is." {
			return stated("Ann", "games", "chess", "add", .95)
		}
		out := stated("Ann", "games", "go", "add", .95)
		out[0].Replaces = slices.Repeat(ends(known, "Ann games: chess", "Chess it is."), memory.MaxLinks)
		return out
	})
	b, s := extracting(t, store.NewMem(), x, time.Hour)
	tell(t, b, s, "Chess it is.", "Go it is.")
	require.NotContains(t, contents(recall(t, s, memory.Query{Text: "Ann games chess"})), "Ann games: chess")
}

// What a statement ends that was stated before counts, too, though nothing is hidden by it.
func TestExtractorStatesAgainAndEnds(t *testing.T) {
	t.Parallel()
	x := reader(func(r memory.Record, known []memory.Record) []memory.Statement {
		switch r.Content {
		case "Chess it is.":
			return stated("Ann", "games", "chess", "add", .95)
		case "I play go.":
			return stated("Ann", "games", "go", "add", .95)
		}
		out := stated("Ann", "games", "go", "add", .95)
		out[0].Replaces = ends(known, "Ann games: chess")
		return out
	})
	b, s := extracting(t, store.NewMem(), x, time.Hour)
	by := tell(t, b, s, "Chess it is.", "I play go.", "It is go and nothing else.")
	h := hitOf(t, recall(t, s, memory.Query{Text: "Ann games chess"}), "Ann games: chess")
	require.Equal(t, memory.Replaced{By: by.ID, Probability: .95, Evidence: memory.ByExtractor}, h.Replaced)
}
