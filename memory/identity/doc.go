// Package identity keeps what is known about one person or project, in a form
// that can be taken elsewhere: facts that fade unless they are confirmed, and
// the few of them that are worth telling for a task.
//
// An Identity is the view of one scope of a [memory.Bank]. A Draft goes in and becomes
// a Fact; Validate and Reject say whether it holds; Project chooses the facts
// for a task within a Budget of tokens; Observe takes events, from which Infer
// suggests further facts; Export and Import move the whole as JSON.
//
//	me, err := identity.New(bank, "acme/user-42", nil)
//	f, err := me.Add(ctx, identity.Draft{Content: "prefers table-driven tests"})
//	f, err = me.Validate(ctx, f.ID, identity.Validation{Reason: "said so again"})
//	p, err := me.Project(ctx, "write tests for the parser", identity.Budget{Tokens: 300})
//	prompt += p.Text // fenced as data
//
// # How a fact lives
//
// Its confidence halves every 60 days after its last validation. The package
// computes that at each read and never writes it back, so reading wears no fact
// out. A fact rises from Candidate to Established with its second validation,
// and to Proven with its fifth. The word of a model (Weak) never makes it Proven.
// A fact that the host gives starts as Established, and so does a Suggestion that a
// person confirms. Maintain takes back one step
// of maturity when the effective confidence is below 0.3, and archives below
// 0.1. It deletes nothing: archived, rejected and superseded facts and former
// wordings stay readable, and so do the parts of an imported document that this
// package cannot read.
//
// Facts of one Subject and Slot answer the same question, so they supersede one
// another: the newest by At answers, the older ones as of their time. Filter
// and Question have both clocks, when a fact held and when it was known.
//
// # Where it is
//
// Facts are records of the Space SCOPE/@identity, which no recall in SCOPE finds, and
// which Erase, Export and Import of the scope take along. Their texts are indexed, except
// those of Local facts, which no Embedder gets. What an earlier version kept in
// records of its own is moved by Adopt, as an Agent does when it opens.
//
// # Concurrency and durability
//
// All methods may be called concurrently, on any number of Identities of one
// scope over one Bank. Writes are conditional:
// two writers never overwrite one another's change, they are both applied. A
// change is on disk when its method returns, and every method may be called
// again after an error. Like a Bank, an Identity expects no other process to write
// below its scope.
//
// # Privacy
//
// Every text passes a sanitizer before it is kept. Project and Export leave
// Local facts out unless they are asked for. What Project returns is fenced as
// data. It marks candidates, which are not confirmed yet.
//
// # What is not here
//
// No model is asked: inference follows fixed rules, which are documented where they
// are, and a category that is not given is guessed from a few words. Words, not meaning,
// match facts to a task. To change a fact, name its ID: no method finds one by similarity. An Identity reads all
// facts of its scope for a projection, so it is made for hundreds of facts;
// package memory is made for hundreds of thousands.
package identity
