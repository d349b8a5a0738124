package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
)

// RecordingOptions are those of a recording: [Record] and [Replay] of one file
// take the same.
type RecordingOptions struct {
	// Sanitizer takes secrets out of all texts. nil: the built-in kinds.
	Sanitizer *redact.Sanitizer

	// Normalize takes out of a request what differs from run to run, such as a
	// path in a prompt. It gets a copy without secrets, and may be called
	// concurrently and more than once on one request. nil: a request is answered
	// only if it equals the recorded one in everything.
	//
	// Requests of an Agent are equal if its Options.Now and Seed are: prompts show
	// dates and ids of memories. The marks of fences in prompts are drawn from
	// the fenced texts, so a Normalize that changes a fenced text removes them.
	Normalize func(req *reason.Request)
}

// wire returns req as it is written and compared: normalized, without secrets.
func (o *RecordingOptions) wire(req *reason.Request) (*request, error) {
	if t := req.Temperature; t != nil && (math.IsNaN(*t) || math.IsInf(*t, 0)) {
		return nil, fmt.Errorf("model: recording: the temperature is %v", *t)
	}
	own := clone(req)
	o.clean(own)
	if o.Normalize != nil {
		o.Normalize(own)
		o.clean(own)
	}
	return (*request)(own), nil
}

// clean takes the secrets out of req, and brings its schema into one form: keys
// in order, no space. A schema that is not JSON becomes a string.
func (o *RecordingOptions) clean(req *reason.Request) {
	texts := []*string{&req.System}
	for i := range req.Messages {
		m := &req.Messages[i]
		m.Role = o.Sanitizer.Sanitize(m.Role)
		texts = append(texts, &m.Text)
	}
	scrub(o.Sanitizer, texts)
	var schema any
	dec := json.NewDecoder(bytes.NewReader(req.Schema))
	dec.UseNumber()
	if dec.Decode(&schema) == nil && !dec.More() {
		req.Schema = bytes.TrimSpace(encode(schema))
	}
	req.Schema = o.Sanitizer.JSON(req.Schema)
}

// scrub takes secrets out of texts that are read one after another. A secret may
// begin in one text and end in a later one, where no part shows alone: merge looks
// across the borders of all texts, and of each two neighbours, since a secret may
// not show behind a word that touches it.
//
// It repeats until nothing changes: Replay scrubs a recorded request again and
// must get an equal one. Texts that change for eight rounds are adversarial.
func scrub(s *redact.Sanitizer, texts []*string) {
	for changed, round := true, 0; changed && round < 8; round++ {
		texts = slices.DeleteFunc(texts, func(t *string) bool { return *t == "" })
		changed = merge(s, texts)
		for i := 1; i < len(texts); i++ {
			changed = merge(s, texts[i-1:i+1]) || changed
		}
		for _, t := range texts {
			clean := s.Sanitize(*t)
			changed, *t = changed || clean != *t, clean
		}
	}
}

// merge makes one text of texts that have a secret across their borders: in the
// first, without the secret. The others become empty.
func merge(s *redact.Sanitizer, texts []*string) (changed bool) {
	var joined, apart strings.Builder
	for _, t := range texts {
		joined.WriteString(*t)
		apart.WriteString(s.Sanitize(*t))
	}
	clean := s.Sanitize(joined.String())
	if clean == joined.String() || clean == apart.String() {
		return false
	}
	const mark = "[REDACTED:"
	if strings.Count(clean, mark) < strings.Count(apart.String(), mark) {
		clean = mark + "secret]" // joining hides another secret, so neither form is safe
	}
	for _, t := range texts {
		*t = ""
	}
	*texts[0] = clean
	return true
}
