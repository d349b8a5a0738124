package memory

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/store"
)

// Query asks for records. The zero Query asks for the ten most effective and recent ones.
type Query struct {
	// Text is what to look for. A word that no record of a scope has stands for the most frequent one at
	// an edit distance of 1 with the same beginning, if it has five letters or more and is among the first
	// 64. Empty: every record matches, ordered by 0.3·effectiveness + 0.2·recency.
	Text string
	// Vector is the vector of the query, by the same model as those of the records; another dimension is
	// ErrVector. Nil: Options.Embedder makes it of Text, if there is one. With a Vector and no Text,
	// recall returns the nearest records.
	Vector []float32
	// K is the largest number of hits. 0: 10. Negative: ErrQuery.
	K int
	// Floor is the least Parts.Answer of a hit, in [0,1], else ErrQuery: where no record is a likely
	// answer, a recall returns nothing. 0: none. Without a Text, Floor has no effect.
	Floor float64
	// Kinds are the kinds to look for. Empty: all.
	Kinds []Kind
	// Also are further scopes to search, of the same tenant (else ErrTenant).
	Also []Scope
	// At asks for what held at a time: records of a later At are left out, and recency is as of then.
	// Zero: now, with records dated ahead.
	At time.Time
	// Known asks for what was known at a time: records made later are left out. Zero: now.
	Known time.Time
	// Since asks for what arc was told since a time: records that had been made, and vouched for, by that
	// time are left out, as are Derived ones. Zero: no record is.
	Since time.Time
	// Inject says that the hits go into a prompt: records in quarantine are left out.
	Inject bool
	// Background says that the hits go into a prompt apart, as unverified: trusted records are left out.
	Background bool
	// Triggered asks for the records that have one of their Triggers wholly in the Text, and for no others:
	// the words of the phrase in order, each with one edit if it has five letters or more. Hits are in the
	// order of the phrases in the Text, the longer phrase first. Relevance is 1, and nothing else counts.
	Triggered bool
	// Archived includes the records that Decay has archived. Without it, and without Inject and Background,
	// an archived record is a hit only if no other record of its scope matches the Text as well.
	Archived bool
	// Linked fills up to K with records that are linked with the hits: what a hit was derived from, and
	// what was derived from it. They come last; see Hit.Linked. Records that the query leaves out stay
	// out.
	Linked bool
	// Situation selects the situation, as in Feedback, for which effectiveness is estimated. "": all of
	// them.
	Situation string
	// After, if the Bank is Shared, makes the recall wait until the Bank knows all that was committed up to
	// this revision, such as that in the Receipt of another Bank. Latest: all that was acknowledged before
	// the call. If ctx ends before, the error says how far behind the Bank is.
	After store.Revision
	// Context are the records in mind, which spread activation to those linked with them: see
	// Parts.Spreading.
	Context []ID
}

// K by default and at most. No scope has as many records as maxK, and multiples of it do not overflow.
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

// latest returns t in microseconds since 1970, or the end of time if t is zero. Times that no record may
// have are kept between the latest record and that, so that differences do not overflow.
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
	// Superseded is the latest record that this one replaces by its Slot or by Supersede.
	Superseded *Record
	// Linked is the hit whose link alone brings this one, which has the Score 0.
	Linked ID
	// Conflicts are the latest 32 records that contradict this one. Neither is an update of the other.
	Conflicts []ID
}

// Parts are the parts of a score. Relevance, Effectiveness and Recency are in [0,1].
type Parts struct {
	// Relevance is the probability, with even prior odds, that the record is evidence for what the text
	// asks, rather than the best match in a scope that knows nothing about it. It does not depend on the
	// other hits. Without vectors it is Lexical. A Cosine above m adds w·(Cosine-m)/(1-m) to the x of
	// Lexical, where m is Options.MinCosine and w Options.CosineWeight: a vector adds to what words say,
	// and takes nothing from it. Without a text Relevance is the Cosine, or 0 if that is negative.
	Relevance float64
	// Answer is the probability that the record answers the question, in [0,1]; that of the first hit is the
	// probability that there is an answer. It is a steeper relevance, y/(1+y) with y = (x/0.9)⁶ and the x
	// of Lexical, times the probability that the answer is by whom the question names, 1/(1+e^-z) with
	// z = 0.46 + 3.78·a + 3.10·b. There a is by how much of the larger one the best score of that actor's
	// records leads that of the others among the first ten, and b the same of the best three. If the
	// question names none or several, the factor is 0.95. Answer is calibrated where the scope is about the
	// subject of the question: words do not tell what was never said of a subject from what was. For a
	// Failure or Pattern, which a situation brings and no question, Answer is its Relevance.
	Answer float64
	// Lexical is the relevance by words, x⁴/(1+x⁴) with x = 9/8 · s/U · (max(n,4)/4)^(3/4). There s is the
	// score of the record by its words and those around it in its Thread (see internal/index), U the sum of
	// the weights of the query's words, and n their number, function words counting an eighth.
	Lexical float64
	// Cosine is the cosine of the vectors of record and query, to about 0.001, in [-1,1]; 0 if one of them
	// has no vector.
	Cosine float64
	// Effectiveness is the mean of a Beta posterior: (1 + helped) / (2 + helped + misled + 0.5·unused +
	// 0.125·quiet). There quiet counts exposures in tasks that named no record as used, and unused the
	// others of Stats.Failed. With Query.Situation it is the same over the counts of that situation, with a
	// prior of weight 2 around the mean over all situations. The weights are measured by simulation.
	Effectiveness float64
	// Recency is 2^(-age/half-life). The age is the time since the last use, or since At without any. A
	// date ahead has 1.
	Recency float64
	// BaseLevel is ACT-R's base-level activation ln Σ t^-d over the uses, the making of the record included,
	// with their ages t in seconds, at least 0.05 each, and d = 0.5 or that of the policy. The last ten uses
	// are exact (Petrov 2006), unless the policy asks for another form. Under Weighted it is no part of the
	// score.
	BaseLevel float64
	// Spreading is the activation that a record linked with Query.Context receives. Under Weighted it is the
	// mean over the Context of 1/fan, where fan is the number of links of the record there, and no part of
	// the score.
	Spreading float64
	// Mismatch, Noise, Activation, Latency and Probability are 0 under Weighted. Activation is BaseLevel +
	// Spreading + Mismatch + Noise, the score. Latency is the time of the retrieval by ACT-R, in seconds,
	// and Probability how likely the activation without noise comes out above the threshold once it has
	// noise.
	Mismatch    float64
	Noise       float64
	Activation  float64
	Latency     float64
	Probability float64
	// Near says that the x of Relevance is at least 0.8 of the best one of the query, so that Effectiveness
	// and Recency count. It is never set under ACTR.
	Near bool
}

// ThreadHit is a conversation that was found. Hits are its three best, best
// first. Score is in [0,1], or an activation under [ACTR].
type ThreadHit struct {
	Thread string
	Score  float64
	Hits   []Hit
}

// Explanation says why a record ranks where it does, or why it was left out.
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

// Evidence says why a record perhaps replaces another.
type Evidence string

// The evidence.
const (
	ByCue     Evidence = "cue"     // the later one speaks of a change, and of the same
	ByOverlap Evidence = "overlap" // it says nearly the same, in other values
	ByMeaning Evidence = "meaning" // by the Embedder's vectors it is about the same
	// ByExtractor: Options.Extractor has read another value of the same in it, or that the earlier one is
	// over.
	ByExtractor Evidence = "extractor"
)

// Replaced says that a record is perhaps not current any more. It is a hit all the same. The zero
// Replaced says that nothing speaks for that.
type Replaced struct {
	By          ID       // the record that perhaps replaces it
	Probability float64  // that it does
	Evidence    Evidence // what speaks for it
}
