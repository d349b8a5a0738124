// Package memory keeps what was learned and finds it again.
//
// A [Bank] holds the memories of many scopes, and a [Space] is the view of one scope.
// [Space.Remember] keeps a [Draft] as a [Record]. [Space.Recall] answers a [Query] with
// [Hit]s, best first, each with the parts of its score. [Space.Feedback] says what became
// of the records that a task was shown, and moves their effectiveness.
//
//	bank, err := memory.Open(ctx, st, nil)
//	defer bank.Close()
//	space := bank.In("acme/user-42")
//	r, err := space.Remember(ctx, memory.Draft{
//		Kind:    memory.Pattern,
//		Trigger: "go build reports an import cycle",
//		Content: "move the shared type to the lower package",
//	})
//	hits, err := space.Recall(ctx, memory.Query{Text: "import cycle in the build"})
//	err = space.Feedback(ctx, memory.Feedback{Key: "run-1/task-1",
//		Injected: []memory.ID{r.ID}, Utilized: []memory.ID{r.ID}, Delivered: true})
//
// # What is found
//
// Recall matches the words of trigger and content, stemmed, rare words weighing more. If the
// query names a date or a speaker, these count too. So does what stands around a record in
// its Thread: keep a conversation turn by turn, as Episodes with Thread, Actor and At, and
// the question before an answer helps to find it. [Space.RecallThreads] finds whole
// conversations.
//
// Relevance is a probability, and does not depend on the other hits. A record in the place of
// one that it supersedes (see below) has the higher relevance of the two. [Parts].Answer is
// how likely a hit answers the question, with regard to whom it asks about. With Query.Floor
// a recall returns nothing where no hit is a likely answer. [Space.Explain] says why a record
// ranks where it does, or why it was left out. Package memory/memorytest measures recall on
// questions of your own.
//
// # Score
//
// The score of a hit is 0.5·relevance + 0.3·effectiveness + 0.2·recency. Effectiveness and
// recency count only for records whose score by words is at least 0.8 of the best one of the
// query. The others follow, ordered by relevance alone: an unrelated record does not win by
// being fresh. [Parts] documents the formulas.
//
// Options.Policy selects [ACTR] instead: the activation of ACT-R's declarative memory, with
// base level, spreading from Query.Context, partial matching, noise, a threshold and
// latencies.
//
// # Vectors
//
// With an [Embedder], or with vectors in drafts and queries, recall also finds records that
// say the same in other words. The Bank makes the vector of a record behind the write; by its
// words the record is found at once. A vector adds to the score by words and takes nothing
// from it. If the Embedder fails, words alone decide, and [Health] says so. Package
// memory/embed has an embedder that needs no server.
//
// # What supersedes what
//
// A guess hides nothing. A recall leaves out a record that a later one supersedes only if the host has said
// so: both state values of one [Slot] and the values differ, or [Space.Supersede] names them. The later
// record takes the place of the earlier one, which is its Hit.Superseded. Query.At asks for what held at a
// time, Query.Known for what was known then; All and Get return every record.
//
// Elsewhere the Bank guesses. It compares a new Fact, and an Episode in which its Actor speaks
// of themselves, with the earlier records of the Actor that are most alike. The new record
// perhaps replaces such a record if it speaks of a change ("moved", "no longer", "from now
// on", in six languages) or says nearly the same with another value, unless it adds to it
// ("also"). With an Embedder, a Fact perhaps also replaces the record that is by far the
// nearest by its vector, or the nearest one if the Fact speaks of a change.
//
// A recall puts a record that perhaps replaces another before it among the first ten hits,
// and brings it in if it is not there. Hit.Replaced of the other has the evidence and a
// probability. A guess by vectors moves a record only where both are hits and the record is
// at least half as near to the question. A guess by overlap moves none before a record
// whose name, such as that of another person, the question gives. Questions about the past
// ("where did she live before?") and the policy [ACTR] ignore guesses. Guesses see a change that repeats much of
// the former record, and few that are put in other words: docs/benchmarks.md has both
// figures. Give a Slot or an Extractor where the current value has to come first.
//
// An [Extractor] reads, behind the write, what a text states and which earlier notes it ends.
// The statements become Facts that are linked with the text. If the Extractor is sure, these
// hide one another as if the host had given their Slots. A text that the Extractor says is
// over is marked, and comes after the text that ends it. A text that it says still holds
// stays in its place, whatever the guesses are.
//
// A record that the query leaves out by its Kinds, or by Inject, replaces nothing. A record in
// quarantine replaces no trusted one: another value of its Slot is a contradiction, in
// Hit.Conflicts, and the Bank makes no guess. A record that Decay has archived still replaces.
//
// Two values of a slot with the same At, or told within an hour by different actors or
// sources, contradict each other: recall returns both, each with the other in Hit.Conflicts.
//
// # Trust
//
// Records from a model, an executor, a user or the web are in quarantine: recall returns them
// with Trusted unset, and a Query with Inject leaves them out. Quarantine ends with
// [Space.Trust], or when a trusted outcome of another run and source derives the same words.
// A record in quarantine is never the first hit if the query finds a trusted one: the best
// trusted hit comes before it, whatever the scores. With Query.Floor, only a trusted hit that
// reaches the floor does.
//
// A Derived record is as trusted as the least trusted of what it quotes (Draft.Quotes) and of
// its parents (Links without a Rel). If gates have passed what a plan delivers, the plan may
// fire ([Record.MayFire]); gates make no words true. A sanitizer passes every text before the
// Bank keeps it. [Render] fences recalled text, so that a prompt carries it as data.
//
// # Concurrency and durability
//
// All methods may be called concurrently. Remember returns after the store has committed.
// Feedback is visible at once and written within 50 ms, or before Feedback returns with
// Options.Sync. A search and a change of one scope exclude each other, in memory only:
// neither waits for the store meanwhile.
//
// A Bank keeps in memory the index, and the records whose texts and plan are together shorter
// than 4 KiB. Longer records, and all vectors, stay on disk and are read when they are
// returned; [Options] says how many are kept. A Bank expects to be the only writer below its
// prefix of the store, unless Options.Shared is set.
//
// # What is not here
//
// The Bank calls no model but the host's [Embedder] and [Extractor], and summarises nothing. [Space.Forget],
// [Space.Revoke] and [Bank.Erase] delete, and Passing Episodes give way to later ones or to [Space.Decay],
// which archives what else is old and unused. [Space.Consolidate] merges what says the same. Decay and
// Consolidate run when the host calls them. Package memory/identity has the facts about a person, which fade,
// and which of them to tell for a task.
package memory
