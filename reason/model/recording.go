package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

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

// wire returns req as it is written, normalized and without secrets, and as the
// JSON that equal requests have in common. The request is cleaned before Normalize,
// which then sees no secret, and after it, since it may join texts.
func (o *RecordingOptions) wire(req *reason.Request) (w *request, key string, err error) {
	if t := req.Temperature; t != nil && (math.IsNaN(*t) || math.IsInf(*t, 0)) {
		return nil, "", fmt.Errorf("model: recording: the temperature is %v", *t)
	}
	own := clone(req)
	o.clean(own)
	if o.Normalize != nil {
		o.Normalize(own)
		o.clean(own)
	}
	w = (*request)(own)
	return w, string(bytes.TrimSpace(encode(w))), nil
}

// clean takes the secrets out of each text of req, and brings its schema into one
// form: keys in order, no space. A schema that is not JSON becomes a string.
func (o *RecordingOptions) clean(req *reason.Request) {
	req.System = o.Sanitizer.Sanitize(req.System)
	for i := range req.Messages {
		m := &req.Messages[i]
		m.Role, m.Text = o.Sanitizer.Sanitize(m.Role), o.Sanitizer.Sanitize(m.Text)
	}
	var schema any
	dec := json.NewDecoder(bytes.NewReader(req.Schema))
	dec.UseNumber()
	if dec.Decode(&schema) == nil && !dec.More() {
		req.Schema = bytes.TrimSpace(encode(schema))
	}
	req.Schema = o.Sanitizer.JSON(req.Schema)
}

// cleanAnswer takes the secrets out of an answer. A stream may break a secret
// anywhere, so pieces that have one together become one piece; and a character, which
// goes to the later piece, since JSON has whole ones only.
func (o *RecordingOptions) cleanAnswer(a *answer) {
	s := o.Sanitizer
	for i := 1; i < len(a.Pieces); i++ {
		before := a.Pieces[i-1]
		end := len(before)
		for at := end - 1; at >= max(0, end-utf8.UTFMax); at-- {
			if utf8.RuneStart(before[at]) {
				if !utf8.FullRuneInString(before[at:]) {
					end = at
				}
				break
			}
		}
		a.Pieces[i-1], a.Pieces[i] = before[:end], before[end:]+a.Pieces[i]
	}
	a.Stop, a.Model = s.Sanitize(a.Stop), s.Sanitize(a.Model)
	whole := strings.Join(a.Pieces, "")
	if clean := s.Sanitize(whole); clean != whole {
		a.Pieces = []string{clean}
	}
	for i, text := range a.Pieces { // a border may also part a secret from the word that hides it
		a.Pieces[i] = s.Sanitize(text)
	}
}
