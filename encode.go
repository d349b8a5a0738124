package arc

import (
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/reason"
)

// A state is written after every step, so it and what it holds are written
// field by field, by the numbers in their tags.

// storedState is a state that writes its own CBOR.
type storedState state

// AppendCBOR implements codec.Appender.
func (s *storedState) AppendCBOR(buf []byte) []byte {
	m := codec.Open(buf)
	m.Text(1, s.ID)
	m.Text(2, s.Session)
	codec.Struct(&m, 3, &s.Objective, appendObjective)
	m.Text(4, string(s.Status))
	m.Text(5, s.Reason)
	m.Text(6, string(s.Phase))
	m.Int(7, int64(s.Step))
	m.Int(8, int64(s.Seq))
	m.Int(9, s.Started)
	m.Int(10, s.Ended)
	codec.List(&m, 11, s.Aims, appendAim)
	codec.Texts(&m, 12, s.Subgoals)
	codec.Pointer(&m, 13, s.Current, appendAttempt)
	codec.List(&m, 14, s.Deliveries, appendDelivery)
	m.Int(15, int64(s.Attempts))
	m.Int(16, int64(s.Deliberations))
	m.Int(17, int64(s.Fired))
	codec.Struct(&m, 18, &s.Usage, appendUsage)
	codec.List(&m, 19, s.Tracker, appendEntry)
	codec.Texts(&m, 20, s.Learned)
	codec.Texts(&m, 21, s.Pivots)
	codec.Struct(&m, 22, &s.Assessment, appendAssessment)
	codec.Struct(&m, 23, &s.Last, appendLast)
	return m.Close()
}

func appendLast(buf []byte, l *lastAttempt) []byte {
	m := codec.Open(buf)
	m.Text(1, l.Worker)
	m.Text(2, string(l.End))
	return m.Close()
}

func appendObjective(buf []byte, o *Objective) []byte {
	m := codec.Open(buf)
	m.Text(1, o.ID)
	m.Text(2, o.Text)
	m.Text(3, o.Situation)
	m.Bytes(4, o.Inputs)
	m.Text(5, o.Session)
	m.Text(6, string(o.Scope))
	codec.Texts(&m, 7, o.Also)
	m.Bool(8, o.Fresh)
	codec.Struct(&m, 9, &o.Budget, appendBudget)
	codec.Texts(&m, 10, o.Episodes)
	codec.List(&m, 11, o.Tasks, appendTask)
	m.Int(12, int64(o.Attempts))
	m.Bool(13, o.Once)
	return m.Close()
}

func appendBudget(buf []byte, b *Budget) []byte {
	m := codec.Open(buf)
	m.Int(1, int64(b.Steps))
	m.Int(2, int64(b.Wall))
	m.Int(3, int64(b.Tokens))
	m.Float(4, b.CostUSD)
	return m.Close()
}

func appendAim(buf []byte, g *aim) []byte {
	m := codec.Open(buf)
	m.Text(1, g.Text)
	m.Text(2, g.Situation)
	m.Text(3, string(g.Impasse))
	codec.Texts(&m, 4, g.Recalled)
	m.Text(5, g.Approach)
	codec.List(&m, 6, g.Tasks, appendTask)
	m.Int(7, int64(g.Next))
	m.Int(8, int64(g.Tries))
	m.Text(9, string(g.Fired))
	codec.Texts(&m, 10, g.Spent)
	codec.Texts(&m, 11, g.Utilized)
	codec.List(&m, 12, g.Failed, appendFailed)
	codec.Texts(&m, 13, g.Denied)
	codec.Texts(&m, 14, g.Questions)
	codec.List(&m, 15, g.Answers, appendAnswer)
	codec.Texts(&m, 16, g.Avoid)
	m.Int(17, int64(g.Refused))
	m.Text(18, g.Complaint)
	m.Int(19, int64(g.Replans))
	m.Text(20, g.Blocked)
	m.Int(21, int64(g.Number))
	codec.Texts(&m, 22, g.Withheld)
	m.Bool(23, g.Searched)
	return m.Close()
}

func appendAttempt(buf []byte, a *attempt) []byte {
	m := codec.Open(buf)
	m.Text(1, a.Key)
	m.Text(2, a.Worker)
	m.Int(3, int64(a.Number))
	m.Text(4, a.Complaint)
	m.Text(5, string(a.End))
	codec.Struct(&m, 6, &a.Reflection, appendReflection)
	m.Float(7, a.Resonance)
	codec.Struct(&m, 8, &a.Output, appendOutput)
	codec.Texts(&m, 9, a.Utilized)
	codec.Texts(&m, 10, a.Misled)
	codec.Struct(&m, 11, &a.Usage, appendUsage)
	codec.List(&m, 12, a.Deltas, appendDelta)
	m.Int(13, int64(a.Wall))
	m.Bool(14, a.Passed)
	m.Bool(15, a.Faulty)
	m.Text(16, a.Wrong)
	return m.Close()
}

func appendOutput(buf []byte, o *output) []byte {
	m := codec.Open(buf)
	m.Bytes(1, o.Inline)
	m.Text(2, o.Key)
	return m.Close()
}

func appendDelivery(buf []byte, d *delivery) []byte {
	m := codec.Open(buf)
	codec.Struct(&m, 1, &d.Task, appendTask)
	m.Text(2, d.Worker)
	m.Int(3, int64(d.Attempt))
	codec.Struct(&m, 4, &d.Output, appendOutput)
	m.Text(5, d.Summary)
	codec.List(&m, 6, d.Deltas, appendDelta)
	return m.Close()
}

func appendTask(buf []byte, t *reason.Task) []byte {
	m := codec.Open(buf)
	m.Text(1, t.Objective)
	m.Text(2, t.Delta)
	m.Text(3, t.Verify)
	m.Text(4, t.Skill)
	codec.Pointer(&m, 5, t.Effect, appendEffect)
	m.Text(6, t.Worker)
	m.Bytes(7, t.Inputs)
	return m.Close()
}

func appendEffect(buf []byte, e *reason.Effect) []byte {
	m := codec.Open(buf)
	m.Text(1, e.Domain)
	m.Text(2, e.Path)
	return m.Close()
}

func appendFailed(buf []byte, f *reason.FailedAttempt) []byte {
	m := codec.Open(buf)
	m.Text(1, f.Objective)
	m.Text(2, f.Worker)
	m.Text(3, f.Complaint)
	return m.Close()
}

func appendAnswer(buf []byte, a *reason.Answer) []byte {
	m := codec.Open(buf)
	codec.Texts(&m, 1, a.Questions)
	m.Text(2, a.Text)
	return m.Close()
}

func appendDelta(buf []byte, d *act.Delta) []byte {
	m := codec.Open(buf)
	m.Text(1, d.Domain)
	m.Text(2, d.Path)
	m.Bytes(3, d.Value)
	return m.Close()
}

func appendUsage(buf []byte, u *act.Usage) []byte {
	m := codec.Open(buf)
	m.Int(1, int64(u.TokensIn))
	m.Int(2, int64(u.TokensOut))
	m.Float(3, u.CostUSD)
	m.Float(4, u.APICostUSD)
	return m.Close()
}

func appendReflection(buf []byte, r *iar.Reflection) []byte {
	m := codec.Open(buf)
	m.Text(1, string(r.Status))
	m.Float(2, r.Confidence)
	m.Text(3, r.Summary)
	codec.Texts(&m, 4, r.PotentialIssues)
	m.Floats(5, r.AlignmentCheck)
	m.Bytes(6, r.Aside)
	return m.Close()
}

func appendEntry(buf []byte, e *iar.Entry) []byte {
	m := codec.Open(buf)
	m.Text(1, e.Task)
	m.Text(2, string(e.Status))
	m.Float(3, e.Confidence)
	m.Float(4, e.Resonance)
	m.Bool(5, e.Invalid)
	return m.Close()
}

func appendAssessment(buf []byte, a *meta.Assessment) []byte {
	m := codec.Open(buf)
	m.Text(1, a.Session)
	m.Text(2, a.State)
	m.Text(3, a.Recommendation)
	m.Bool(4, a.Pivot)
	m.Text(5, a.Confidence)
	m.Int(6, int64(a.Total))
	m.Int(7, int64(a.Successes))
	m.Float(8, a.SuccessRate)
	m.Int(9, int64(a.Failures))
	m.Int(10, int64(a.Same))
	m.Text(11, a.Goal)
	m.Text(12, a.Approach)
	codec.Texts(&m, 13, a.Evidence)
	codec.Struct(&m, 14, &a.Chances, appendChances)
	codec.Texts(&m, 15, a.Also)
	return m.Close()
}

func appendChances(buf []byte, c *meta.Chances) []byte {
	m := codec.Open(buf)
	codec.Struct(&m, 1, &c.Again, appendChance)
	codec.Struct(&m, 2, &c.Other, appendChance)
	return m.Close()
}

func appendChance(buf []byte, c *meta.Chance) []byte {
	m := codec.Open(buf)
	m.Float(1, c.Deliver)
	m.Float(2, c.Low)
	m.Float(3, c.High)
	m.Int(4, int64(c.Failures))
	m.Int(5, int64(c.Tries))
	m.Int(6, int64(c.Successes))
	return m.Close()
}
