package memory

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/store"
)

// Query asks for memories. The zero Query asks for the ten that are most
// effective and recent.
type Query struct {
	// Text is what to look for. Of up to 64 words, one that no record of a scope
	// has stands for the most frequent that is an edit away, if it has five letters
	// or more and begins alike. Empty: everything, ordered by 0.3·effectiveness +
	// 0.2·recency.
	Text string
	// Vector is the vector of the query, by the model that made those of the
	// records; of another dimension: ErrVector. Nil: Options.Embedder makes
	// it of Text, or there is none. With a Vector and no Text, the nearest
	// records are returned.
	Vector []float32
	// K is the largest number of hits. 0: 10. Negative: ErrQuery.
	K int
	// Floor is the least Parts.Answer of a hit, in [0,1], else ErrQuery: with it,
	// a recall comes back empty-handed where there is no answer. 0: none. It
	// does not count without a Text.
	Floor float64
	// Kinds are the kinds to look for. Empty: all.
	Kinds []Kind
	// Also are further scopes to search, of the same tenant (else ErrTenant).
	Also []Scope
	// At asks for what held then: records of a later At are left out, and
	// recency is as of then. Zero: now, and records dated ahead are in.
	At time.Time
	// Known asks for what was known then: records made later are left out.
	// Zero: now.
	Known time.Time
	// Since asks for what arc was told since then: records that were made, and vouched
	// for, by then are left out, and so are those that are Derived. Zero: nothing is.
	Since time.Time
	// Inject is set when the hits go into a prompt: quarantined records are
	// left out.
	Inject bool
	// Background is set when the hits go into a prompt apart, as what is not
	// verified: trusted records are left out.
	Background bool
	// Triggered asks for exactly the records of which one of the Triggers is
	// wholly in the Text, in the order in which they stand there, and the longer
	// phrase first: words in their order, one edit allowed in those of five
	// letters or more. Relevance is 1, and nothing else counts.
	Triggered bool
	// Archived brings in the records that Decay has put aside. Without it, and
	// without Inject and Background, one comes if nothing else in its scope
	// matches the Text as well.
	Archived bool
	// Linked fills the room that the hits leave of K, if any, with records that are
	// linked with them, of those that the query does not leave out: what a hit was
	// drawn from, and what was drawn from it. They come last; see Hit.Linked.
	Linked bool
	// Situation selects the situation for which effectiveness is estimated,
	// as in Feedback. "": over all of them.
	Situation string
	// After, if the Bank is Shared, has the recall wait until it knows of all that was
	// committed up to this revision, as the Receipt of another Bank has it: who asks
	// elsewhere finds what it has written. Latest: of all that was acknowledged before the
	// call. If ctx ends before, the error says how far behind the Bank is.
	After store.Revision
	// Context are records that are in mind: those linked with them have
	// Parts.Spreading.
	Context []ID
}

// K by default, and at most: no scope has more, and multiples of it are numbers.
const defaultK, maxK = 10, 1 << 26

// check returns what is wrong with the query.
func (q *Query) check() error {
	switch {
	case q.K < 0:
		return fmt.Errorf("%w: K is %d", ErrQuery, q.K)
	case !(q.Floor >= 0 && q.Floor <= 1):
		return fmt.Errorf("%w: Floor is %v", ErrQuery, q.Floor)
	}
	for _, k := range q.Kinds {
		if !k.valid() {
			return fmt.Errorf("%w: %.32q", ErrKind, string(k))
		}
	}
	return cmp.Or(limit("text", MaxText, len(q.Text)), limit("situation", MaxText, len(q.Situation)))
}

// latest returns t in microseconds since 1970, or the end of time if it is zero. Times that no
// record may have stay before that, and after all of these: differences are numbers.
func latest(t time.Time) int64 {
	const far = 1 << 41 // in seconds
	if t.IsZero() {
		return math.MaxInt64
	}
	return min(max(t.Unix(), -far), far)*1e6 + int64(t.Nanosecond()/1000)
}

// without returns the flags of the records that the query leaves out.
func (q *Query) without() (f table.Flags) {
	if len(q.Kinds) > 0 {
		f = table.Kinds
		for _, k := range q.Kinds {
			f &^= k.flag()
		}
	}
	if q.Inject {
		f |= table.Quarantined
	}
	if !q.Archived {
		f |= table.Archived
	}
	return f
}

// Hit is a record that was found. See the package comment for what supersedes
// what.
type Hit struct {
	Record   Record
	Score    float64 // descending; Replaced and trust come first
	Parts    Parts
	Replaced Replaced // what perhaps replaces it, which comes before it
	// Superseded is the latest record that it replaces by a Slot or by Supersede.
	Superseded *Record
	// Linked is the hit whose link alone brings it. Its Score is 0 then.
	Linked ID
	// Conflicts are the latest 32 records that contradict it. Neither is an update
	// of the other.
	Conflicts []ID
}

// Parts are what a score is made of. Relevance, Effectiveness and Recency are
// in [0,1].
type Parts struct {
	// Relevance is absolute: it does not depend on the other hits. It is a
	// probability, with even odds: that the record is evidence for what was
	// asked, rather than the best match in a scope that knows nothing about
	// it. Without vectors it is Lexical. A Cosine above m, Options.MinCosine,
	// adds w·(Cosine-m)/(1-m) to the x of Lexical, w being
	// Options.CosineWeight: it adds to what words say, and takes nothing from
	// it. Without a text Relevance is the Cosine, or 0 if that is negative.
	Relevance float64
	// Answer is how likely the record answers the question, in [0,1]; the first
	// hit's is how likely there is an answer. It is the relevance, steeper (with
	// the x of Lexical, y/(1+y), y = (x/0.9)⁶), times how likely what was found
	// was said by whom the question names: 1/(1+e^-z), z = 0.46 + 3.78·a +
	// 3.10·b, a being by how much of the larger the best score of that actor's
	// records leads that of the others among the first ten, and b that of the
	// best three; 0.95 if it names none or several. It is calibrated where the
	// scope is about the subject of the question: words cannot tell what was
	// never said of it from what was. That of a Failure or Pattern, which a
	// situation brings and no question, is its Relevance.
	Answer float64
	// Lexical is the relevance by words. With s the score of the record by its
	// words and those around it in its Thread (see internal/index), U the sum
	// of the weights of the query's words, n their number, of which function
	// words count an eighth, and x = 9/8 · s/U · (max(n,4)/4)^(3/4), it is
	// x⁴/(1+x⁴).
	Lexical float64
	// Cosine is that of the angle between the vectors of record and query, to
	// about 0.001, in [-1,1]; 0 if one of them has no vector.
	Cosine float64
	// Effectiveness is the mean of a Beta posterior: (1 + helped) / (2 +
	// helped + misled + 0.5·unused + 0.125·quiet), where quiet are the
	// exposures in tasks that named nothing as used, and unused the others of
	// Stats.Failed. With Query.Situation it is the same over the counts of
	// that situation, with a prior of weight 2 around the mean over all
	// situations. The weights are measured by simulation.
	Effectiveness float64
	// Recency is 2^(-age/half-life), age being the time since the last use,
	// or since At if it was never used. A date ahead has 1.
	Recency float64
	// BaseLevel is ACT-R's base-level activation ln Σ t^-d over the uses, t
	// being their ages in seconds, of which none counts below 0.05, the making
	// of the record included, and d = 0.5 or that of the policy. The last ten
	// uses are exact (Petrov 2006), unless the policy asks for another form.
	// Under Weighted it is reported, and not part of the score.
	BaseLevel float64
	// Spreading is the activation that a record linked with Query.Context
	// receives. Under Weighted it is the mean over the Context of 1/fan, fan
	// being the number of links of that record, is reported, and not part of
	// the score.
	Spreading float64
	// Mismatch, Noise, Activation, Latency and Probability are 0 under
	// Weighted. Activation is BaseLevel + Spreading + Mismatch + Noise, the
	// score. Latency is the seconds that its retrieval takes by ACT-R, and
	// Probability how likely its activation before noise comes out above the
	// threshold.
	Mismatch    float64
	Noise       float64
	Activation  float64
	Latency     float64
	Probability float64
	// Near says that x, of which Relevance is a steep function, is at least 0.8 of the best of the query, so that
	// Effectiveness and Recency count. Never under ACTR.
	Near bool
}

// ThreadHit is a conversation that was found. Hits are its three best, best
// first. Score is in [0,1], or an activation under [ACTR].
type ThreadHit struct {
	Thread string
	Score  float64
	Hits   []Hit
}

// Explanation says why a record ranks where it does, or why it does not.
type Explanation struct {
	ID       ID
	Returned bool    // among the first K
	Rank     int     // from 1; 0 if it was left out
	Of       int     // how many records matched
	Score    float64 // as in Hit
	Parts    Parts
	Words    []Word // the words of the query as looked for, the rarest first
	By       ID     // what supersedes it, and has its place; "": none
	Reason   string // in words
}

// Word is a word of a query.
type Word struct {
	Text   string  // its stem
	Weight float64 // its share of what the query asks for; they add up to 1
	Found  bool    // in the record
}

// Evidence says by what a record is taken to replace another.
type Evidence string

// The evidence.
const (
	ByCue     Evidence = "cue"     // the later one speaks of a change, and of the same
	ByOverlap Evidence = "overlap" // it says nearly the same, in other values
	ByMeaning Evidence = "meaning" // by the Embedder's vectors it is about the same
	// ByExtractor: Options.Extractor has read in it another value of the same, or
	// that the earlier one is over.
	ByExtractor Evidence = "extractor"
)

// Replaced says that a record is perhaps not current any more: nothing hides it.
// The zero Replaced says that nothing speaks for that.
type Replaced struct {
	By          ID       // the record that perhaps replaces it
	Probability float64  // that it does
	Evidence    Evidence // what speaks for it
}
