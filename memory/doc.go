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
// # Score
//
// A hit's score is 0.5·relevance + 0.3·effectiveness + 0.2·recency, but the
// last two count only for records whose score by words is at least 0.8 of the
// best of the query. The others follow in order of relevance alone, so that
// nothing unrelated wins by being fresh. [Parts] documents the formulas.
//
// Options.Policy can have [ACTR] instead: the activation of ACT-R's declarative
// memory, with base level, spreading from Query.Context, partial matching,
// noise, a threshold and latencies; [Space.Blend] blends values by it.
//
// # Vectors
//
// With an [Embedder], or with vectors that drafts and queries bring, recall
// also finds what says the same in other words. A record is findable by its
// words at once; its vector is made behind. Vectors add to what words say and
// take nothing from it: if the Embedder fails, words alone decide, and
// [Health] says so. Package memory/embed has embedders that need no server.
//
// # Trust
//
// Records from a model, an executor, a user or the web are quarantined: recall
// returns them with Trusted unset, and a Query with Inject leaves them out,
// until [Space.Trust] or until a verified outcome of another run derives the
// same. Every text passes a sanitizer before it is kept. [Render]
// fences what was recalled, so that a prompt can carry it as data.
//
// # Concurrency and durability
//
// All methods may be called concurrently. Remember returns after the store
// has committed; feedback is visible at once and written within 50 ms, unless
// Options.Sync is set. Recall waits for no writer.
//
// A Bank keeps the index in memory, and the records whose texts and plan are
// shorter than 4 KiB together. Longer ones, and all vectors, stay on disk and
// are read when they are returned; see [Options] for how many are kept. It
// expects to be the only writer below its prefix of the store.
//
// Statements that supersede one another are not linked yet. What is known about
// a person is in package memory/identity.
package memory
