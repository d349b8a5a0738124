package iar

import "context"

// Reflect wraps an action that knows nothing of reflections: the wrapper says
// what can be said from outside. An action that returns no error is a Success
// with the confidence that the caller has in actions of this kind, one that
// returns an error is a Failure with confidence 0 and the error as an issue.
// The summary names the action; it is not evidence that anything was done, which
// gates have to find. A confidence outside [0,1] does not pass
// [Validator.Content].
func Reflect[In, Out any](action string, confidence float64, do func(context.Context, In) (Out, error)) func(context.Context, In) (Out, Reflection, error) {
	return func(ctx context.Context, in In) (Out, Reflection, error) {
		out, err := do(ctx, in)
		r := Reflection{Status: Success, Confidence: confidence, Summary: action}
		if err != nil {
			r.Status, r.Confidence, r.PotentialIssues = Failure, 0, []string{err.Error()}
		}
		return out, r, err
	}
}
