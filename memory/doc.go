// Package memory keeps what was learned and finds it again.
//
// A [Bank] holds the memories of many scopes; a [Space] is the view of one.
// A [Draft] goes in, a [Record] is what is kept of it, and a [Query] brings
// back [Hit]s, best first, with the parts of their score. [Feedback] says
// what became of the records that were shown, and moves their effectiveness.
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
// A record is found by the words of its texts, stemmed and weighed by how rare
// they are, by its date, and by who said it, if the query names them. What is
// said around it in its Thread counts as evidence for it: so a conversation is
// kept turn by turn, as Episodes with Thread, Actor and At, and an answer is
// found by the question before it. [Space.RecallThreads] finds whole
// conversations.
//
// Relevance is a probability, and does not depend on the other hits. What takes the place of
// another (see below) has the higher of the two. [Parts].Answer is how likely a hit answers the
// question, by whom it asks about as well: with Query.Floor, a recall where there
// is no answer comes back empty-handed. [Space.Explain]
// says why a record ranks where it does, or why it was left out, and package
// memory/memorytest measures recall on questions of your own.
//
// # Score
//
// A hit's score is 0.5·relevance + 0.3·effectiveness + 0.2·recency, but the
// last two count only for records whose score by words is at least 0.8 of the
// best of the query. The others follow in order of relevance alone, so that
// nothing unrelated wins by being fresh. [Parts] documents the formulas.
//
// Options.Policy can have [ACTR] instead: the activation of ACT-R's declarative
// memory, with base level, spreading from Query.Context, partial matching,
// noise, a threshold and latencies.
//
// # Vectors
//
// With an [Embedder], or with vectors that drafts and queries bring, recall
// also finds what says the same in other words. A record is findable by its
// words at once; its vector is made behind. Vectors add to what words say and
// take nothing from it: if the Embedder fails, words alone decide, and
// [Health] says so. Package memory/embed has an embedder that needs no server.
//
// # What supersedes what
//
// Nothing is hidden by a guess. A recall leaves out what a later record replaces
// only where the host has said so: both state another value of one [Slot], or
// [Space.Supersede] names them. What replaces it takes its place, once, with
// the other as Hit.Superseded. Query.At and Query.Known find what held, and what
// was known, then; All and Get find everything.
//
// For the rest there are guesses. When a Fact is remembered, or an Episode in
// which its Actor speaks of themselves, the records of the Actor that are most
// like it and earlier are looked for. If it speaks of a change ("moved", "no
// longer", "from now on", in six languages), or says nearly the same in another
// value, it perhaps replaces them, unless it says that it holds besides
// ("also"). A recall puts it before them among the first ten hits, brings it in
// if it is not there, and marks the others in Hit.Replaced, with the evidence
// and a probability. With an Embedder, a Fact perhaps replaces the earlier one too
// that is by far the nearest by its vector, or the nearest if it speaks of a
// change: a recall puts it first where both are among the hits and it is half as
// near to the question. A question about the past ("where did she live before?"),
// and the policy [ACTR], heed no guesses. They see a change that repeats much of
// the fact, and few that are put in other words: where the current value has to
// come first, give a Slot or an Extractor. docs/benchmarks.md has both figures.
//
// An [Extractor] reads behind the write what texts state, and which of the notes before them
// that ends. What they state becomes Facts linked with them, which hide one another as
// if a host had given their Slot, if it is sure. A text that it says to be over is marked
// and comes after the one that ends it, whatever their words; what it says to hold
// stays where it is, whatever words or vectors have guessed.
//
// What a query leaves out by its Kinds, or by Inject, replaces nothing, and what is
// in quarantine replaces nothing that is trusted: by its Slot it contradicts that,
// and is in Hit.Conflicts, and no guess is made of it. What Decay has archived still
// replaces.
//
// Two values of a slot that are of the same At, or told within an hour by
// different actors or sources, are no update: both are found, and name each
// other in Hit.Conflicts.
//
// # Trust
//
// Records from a model, an executor, a user or the web are quarantined: recall
// returns them with Trusted unset, and a Query with Inject leaves them out,
// until [Space.Trust], or until a trusted outcome of another run and source
// derives the same. Before that, none of them is the first hit where a trusted record
// is found: the best of these comes before them, whatever the scores. It has to be
// found, so with Query.Floor it has to answer the question as well as that says.
// What is Derived is as trusted as the least of what it quotes
// (Draft.Quotes) and of its parents (Links without a Rel). Gates that have passed
// what a plan delivers let the plan fire ([Record.MayFire]); they make no words
// true. Every text passes a sanitizer before it is kept. [Render] fences what was
// recalled, so that a prompt can carry it as data.
//
// # Concurrency and durability
//
// All methods may be called concurrently. Remember returns after the store
// has committed; feedback is visible at once and written within 50 ms, unless
// Options.Sync is set. A search and a change of one scope exclude one another,
// in memory alone: neither waits for the store meanwhile.
//
// A Bank keeps the index in memory, and the records whose texts and plan are
// shorter than 4 KiB together. Longer ones, and all vectors, stay on disk and
// are read when they are returned; see [Options] for how many are kept. It
// expects to be the only writer below its prefix of the store.
//
// # What is not here
//
// No model is called except through the host's [Embedder] and [Extractor]. Nothing is
// summarised, and only [Space.Forget] and [Space.Revoke] delete:
// [Space.Decay] puts aside what is old and unused, [Space.Consolidate] merges
// what says the same, and both run when the host calls them. Facts about a
// person that fade, and which of them to tell for a task, are in package
// memory/identity, which keeps them by [Space.Amend].
package memory
