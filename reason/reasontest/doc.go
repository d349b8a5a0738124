// Package reasontest is for the tests of hosts and of adapters.
//
// [Script] is a model that answers as it is told, and remembers what it was
// asked:
//
//	m := reasontest.NewScript(
//		reasontest.Say(`{"approach":"edit",`, `"tasks":[]}`),
//		reasontest.Fail(&reason.ModelError{Status: 429, Again: true}),
//	)
//
// [CheckModel] holds an adapter, which makes a [reason.Model] of a provider's
// API, to the rules that callers in arc rely on. The adapter's test describes
// the server's side of the protocol by a few functions, a [Provider]; the suite
// runs that on a local server and supplies the faults: rate limits, cut
// connections, answers without end, and so on.
//
//	func TestModel(t *testing.T) {
//		reasontest.CheckModel(t, reasontest.Provider{
//			Model:  func(url, key string) (reason.Model, error) { return acme.New(url, key, "small") },
//			Decode: decode, // *http.Request -> reasontest.Call
//			Answer: answer, // reasontest.Reply -> a whole answer
//			Stream: stream, // the same as events; nil: the adapter does not stream
//		})
//	}
//
// Nothing here leaves the machine, and nothing is timed: a wait only ends a test
// that would hang.
package reasontest
