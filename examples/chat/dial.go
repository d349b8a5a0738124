package main

import (
	"os"
	"regexp"
	"time"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/model"
)

// dial returns the model to talk to, and what to call it: the recording in the
// file replay, else the endpoint of OPENAI_BASE_URL, else the script.
func dial(name, replay string) (m reason.Model, called string, err error) {
	if replay != "" {
		f, err := os.Open(replay)
		if err != nil {
			return nil, "", err
		}
		defer f.Close()
		m, err := model.Replay(f, recording)
		return m, "a recording", err
	}
	base := os.Getenv("OPENAI_BASE_URL")
	if base == "" {
		return script{}, "a script, since OPENAI_BASE_URL is not set", nil
	}
	m = &endpoint{base: base, key: os.Getenv("OPENAI_API_KEY"), model: name}
	m = model.Timeout(m, 5*time.Minute)                   // also when the endpoint trickles
	m = model.Limit(m, &model.LimitOptions{Requests: 60}) // a loop that goes wrong stays cheap
	return m, name + " at " + base, nil
}

// recording makes prompts of different runs comparable: ids of notes are drawn
// anew when a note is kept, and the mark of the fence is drawn from its text.
var recording = &model.RecordingOptions{Normalize: func(req *reason.Request) {
	for i := range req.Messages {
		text := noteID.ReplaceAllString(req.Messages[i].Text, "$1,")
		req.Messages[i].Text = fenceMark.ReplaceAllString(text, "memory")
	}
}}

var (
	noteID    = regexp.MustCompile(`(?m)^(\[\d+\] \w+) [^ ,]+,`)
	fenceMark = regexp.MustCompile(`\bmemory-[0-9a-f]{16}\b`)
)
