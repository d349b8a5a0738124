package reasontest

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http"

	"github.com/arc-learn/arc/reason"
)

// Key is the API key that an adapter under test is given. It has the form of a
// provider's, so that a redact.Sanitizer knows it, and opens nothing.
const Key = "sk-proj-arcTest7Qm2Zx9Lw4Rk8Vt3Nb6Yc1Hd5Jf0Gs"

// Provider is the server's side of a provider's protocol, and the adapter that
// speaks to it.
type Provider struct {
	// Model sets the adapter up for the server at url, such as
	// "http://127.0.0.1:1234", with key, and without retries of its own.
	Model func(url, key string) (reason.Model, error)

	// Decode reads what the adapter has sent. An error says what the provider
	// would refuse, such as a wrong path or a key that is missing.
	Decode func(r *http.Request) (Call, error)

	// Answer writes a whole answer: headers, if the provider's differ from those
	// of net/http, and body.
	Answer func(w http.ResponseWriter, r Reply)

	// Stream writes the answer as events: one for each of r.Pieces, in the
	// order of the range, then those that end the answer. It need not flush.
	// nil: the adapter does not stream.
	Stream func(w http.ResponseWriter, r Reply)

	// Fail writes the error of a call, status included. nil: JSON of the form
	// {"error":{"code":…,"message":…}}.
	Fail func(w http.ResponseWriter, status int, code, message string)

	// StreamFail writes the event by which the provider says, in a stream, that
	// it cannot go on. nil: it has none.
	StreamFail func(w http.ResponseWriter, message string)

	// NoModel says that the adapter is not told which model has answered, as
	// behind another library. Response.Model is then empty.
	NoModel bool

	// Lacks names the rules that cannot hold for this provider. They show as
	// skipped tests.
	Lacks []string
}

// Call is what the provider understands of a request.
type Call struct {
	System      string
	Messages    []reason.Message // without the system prompt
	Schema      json.RawMessage  // nil: none
	MaxTokens   int              // 0: none
	Temperature *float64         // nil: none
	Stream      bool             // an answer in events is wanted
}

// Reply is what the provider is to answer.
type Reply struct {
	Text   string
	Pieces iter.Seq[string] // of Text, to be ranged over once, for a stream
	Stop   string           // StopEnd, StopLength or StopRefusal: in the provider's words
	Model  string
	Usage  reason.Usage // TokensIn and TokensOut
	Empty  bool         // no answer in it: no choices, no content, no message
}

func fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body, _ := json.Marshal(map[string]any{"error": map[string]string{"code": code, "message": message}}) // of strings
	fmt.Fprintf(w, "%s\n", body)
}
