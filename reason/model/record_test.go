package model_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/model"
	"github.com/arc-learn/arc/reason/reasontest"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

var rewrite = flag.Bool("rewrite", false, "write testdata anew")

func ExampleReplay() {
	var file bytes.Buffer // os.Create, in a test that is run with the real model
	real := reasontest.NewScript(reasontest.Say("forty-two"))
	m := model.Record(real, &file, nil)
	if _, err := m.Generate(context.Background(), &reason.Request{System: "Be brief. token=hunter2hunter2", MaxTokens: 10}); err != nil {
		fmt.Println(err)
	}
	fmt.Print(file.String())

	m, err := model.Replay(&file, nil) // os.Open, in all other runs
	if err != nil {
		fmt.Println(err)
	}
	resp, err := m.Generate(context.Background(), &reason.Request{System: "Be brief. token=hunter2hunter2", MaxTokens: 10})
	fmt.Println(resp.Text, err)
	_, err = m.Generate(context.Background(), &reason.Request{System: "Be long.", MaxTokens: 10})
	fmt.Println(err)
	// Output:
	// {"arc":"model calls","version":1,"streams":true}
	// {"request":{"system":"Be brief. token=[REDACTED:secret]","max_tokens":10},"answer":{"pieces":["forty-two"],"stop":"end"}}
	// forty-two <nil>
	// replay: the request was not recorded: {"system":"Be long.","max_tokens":10}
}

// calls makes calls of all kinds, and returns what came of them.
func calls(t *testing.T, m reason.Model) (results []string) {
	t.Helper()
	note := func(texts []string, last *reason.Response, err error) {
		line := strings.Join(texts, "|")
		if last != nil {
			line += fmt.Sprintf(" %s %s %+v", last.Stop, last.Model, last.Usage)
		}
		if err != nil {
			text, _, _ := strings.Cut(err.Error(), ": {")
			line += " error: " + text
		}
		results = append(results, line)
	}
	generate := func(text string) {
		resp, err := m.Generate(t.Context(), ask(text))
		if err != nil {
			note(nil, nil, err)
			return
		}
		note([]string{resp.Text}, resp, nil)
	}
	s, ok := reason.As[reason.Streamer](m)
	require.True(t, ok)
	generate("same")
	generate("same")
	note(read(s.Stream(t.Context(), ask("stream"))))
	generate("<odd> & \u2028 \"quoted\"\n")
	for p, err := range s.Stream(t.Context(), ask("left at its end")) {
		if p.Stop != "" {
			note([]string{p.Text}, p, err)
			break
		}
	}
	resp, err := m.Generate(t.Context(), &reason.Request{})
	require.NoError(t, err)
	note([]string{resp.Text}, resp, nil)
	generate("limited")
	note(read(s.Stream(t.Context(), ask("cut"))))
	for p, err := range s.Stream(t.Context(), ask("left")) {
		note(nil, p, err)
		break
	}
	generate("panic")
	return results
}

func script() *reasontest.Script {
	return reasontest.NewScript(
		reasontest.Say("first"), reasontest.Say("second"), whole,
		reasontest.Answer{Pieces: []string{"<odd> & \u2028 \"quoted\"\n"}, Stop: "pause", Usage: reason.Usage{CostUSD: 0.25, APICostUSD: 0.5}},
		whole,
		reasontest.Answer{},
		reasontest.Fail(&reason.ModelError{Status: 429, Code: "slow_down", Again: true, Err: errors.New("too fast")}),
		reasontest.Answer{Pieces: []string{"half"}, Err: &reason.ModelError{Again: true, Err: io.ErrUnexpectedEOF}},
		whole,
		reasontest.Answer{Func: func(context.Context, *reason.Request) (*reason.Response, error) { panic("boom") }},
	)
}

// What is replayed is what was recorded, and the file is as it always was. Calls
// without a whole answer are not in it.
func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	recorded := calls(t, model.Record(script(), &file, nil))
	golden := filepath.Join("testdata", "calls.jsonl")
	if *rewrite {
		require.NoError(t, os.WriteFile(golden, file.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), file.String())

	m, err := model.Replay(&file, nil)
	require.NoError(t, err)
	replayed := calls(t, m)
	require.Len(t, replayed, 10)
	require.Equal(t, recorded[:6], replayed[:6])
	for _, line := range replayed[6:] {
		require.Equal(t, " error: replay: the request was not recorded", line)
	}
	_, err = m.Generate(t.Context(), ask("same"))
	require.EqualError(t, err, "replay: the request was recorded 2 times, and is made once more")
	miss, ok := errors.AsType[*model.MissError](err)
	require.True(t, ok)
	require.Equal(t, 2, miss.Recorded)
	require.Contains(t, string(want), `{"request":`+miss.Request+`,"answer":`, "the Request is as it stands in the file")
	require.ErrorIs(t, err, reason.ErrModel)
}

// Files of before hold failed calls too, which are passed over.
func TestReplayOfEarlierFiles(t *testing.T) {
	t.Parallel()
	file, err := os.Open(filepath.Join("testdata", "earlier.jsonl"))
	require.NoError(t, err)
	defer file.Close()
	m, err := model.Replay(file, nil)
	require.NoError(t, err)
	for _, want := range []string{"first", "second"} {
		resp, err := m.Generate(t.Context(), ask("same"))
		require.NoError(t, err)
		require.Equal(t, want, resp.Text)
	}
	texts, last, err := read(streamOf(t, m, ask("stream")))
	require.NoError(t, err)
	require.Equal(t, whole.Pieces, texts)
	require.Equal(t, &reason.Response{Text: "three", Stop: whole.Stop, Model: whole.Model, Usage: whole.Usage}, last)
	for _, failed := range []string{"limited", "cut", "left", "panic"} {
		_, err := m.Generate(t.Context(), ask(failed))
		_, missed := errors.AsType[*model.MissError](err)
		require.True(t, missed, failed)
	}
}

// A recording of a model that does not stream does not either, a stream can be
// replayed whole, and one that was broken off is no answer.
func TestReplayOtherwise(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	_, err := model.Record(reason.ModelFunc(script().Generate), &file, nil).Generate(t.Context(), ask("x"))
	require.NoError(t, err)
	m, err := model.Replay(&file, nil)
	require.NoError(t, err)
	_, ok := reason.As[reason.Streamer](m)
	require.False(t, ok)

	for range streamOf(t, model.Record(reasontest.NewScript(whole), &file, nil), ask("left")) {
		break
	}
	_, _, err = read(streamOf(t, model.Record(reasontest.NewScript(whole), &file, nil), ask("x"))) // a second header
	require.NoError(t, err)
	m, err = model.Replay(&file, nil)
	require.NoError(t, err)
	resp, err := m.Generate(t.Context(), ask("x"))
	require.NoError(t, err)
	require.Equal(t, &reason.Response{Text: "one two three", Stop: whole.Stop, Model: whole.Model, Usage: whole.Usage}, resp)
	_, err = m.Generate(t.Context(), ask("left"))
	require.ErrorIs(t, err, reason.ErrModel)
	require.ErrorContains(t, err, "was not recorded")
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = m.Generate(ended, ask("x"))
	require.Equal(t, context.Canceled, err)
}

// No secret reaches the file, wherever it stands, and callers get what the
// model said.
func TestRecordTakesSecretsOut(t *testing.T) {
	t.Parallel()
	key := reasontest.Key
	a, b := key[:len(key)/2], key[len(key)/2:]
	req := &reason.Request{
		System:   "Use " + key + ".",
		Messages: []reason.Message{{Role: "user", Text: "It is " + key + " and so on"}, {Role: key, Text: "x"}},
		Schema:   []byte(`{"type":"object","default":{"api_key":"` + key + `"},"title":"` + key + `"}`),
	}
	m := func(w io.Writer) reason.Model {
		return model.Record(reasontest.NewScript(
			reasontest.Answer{Pieces: []string{"so: ", a, "", b, " is it"}, Stop: key, Model: key},
			reasontest.Fail(&reason.ModelError{Status: 401, Code: key, Err: errors.New("key " + key)}),
			reasontest.Fail(&reason.ModelError{Code: a, Err: errors.New(b)}),
			reasontest.Fail(errors.New("dial https://user:"+key+"@example.com/?key="+key)),
		), w, nil)
	}
	var file bytes.Buffer
	rec := m(&file)
	texts, _, err := read(streamOf(t, rec, req))
	require.NoError(t, err)
	require.Equal(t, []string{"so: ", a, "", b, " is it"}, texts)
	for range 3 {
		_, err := rec.Generate(t.Context(), req)
		require.Error(t, err)
	}
	require.NotContains(t, file.String(), a)
	require.NotContains(t, file.String(), b)
	require.Contains(t, file.String(), `"so: [REDACTED:openai_key] is it"`, "one piece of all")

	play, err := model.Replay(&file, nil)
	require.NoError(t, err)
	texts, _, err = read(streamOf(t, play, req))
	require.NoError(t, err)
	require.Equal(t, "so: [REDACTED:openai_key] is it", strings.Join(texts, ""))
}

// With a sanitizer of the host, its secrets go too.
func TestRecordWithASanitizer(t *testing.T) {
	t.Parallel()
	s, err := redact.New(&redact.Options{Patterns: []redact.Pattern{
		{Kind: "acme_token", Expr: regexp.MustCompile(`acme_[0-9a-f]{32}\b`)},
	}})
	require.NoError(t, err)
	var file bytes.Buffer
	secret := "acme_0f3c97a1b2d4e6587f90a1c3b5d7e9f2"
	_, err = model.Record(reasontest.NewScript(whole), &file, &model.RecordingOptions{Sanitizer: s}).Generate(t.Context(), ask(secret))
	require.NoError(t, err)
	require.NotContains(t, file.String(), secret)
	for _, texts := range [][]string{{secret, "0f3c"}, {"word", secret}, {"0f3c", secret, "0f3c"}} {
		req := &reason.Request{}
		for _, text := range texts {
			req.Messages = append(req.Messages, reason.Message{Role: "user", Text: text})
		}
		var file bytes.Buffer
		_, err := model.Record(reasontest.NewScript(whole), &file, &model.RecordingOptions{Sanitizer: s}).Generate(t.Context(), req)
		require.NoError(t, err)
		require.NotContains(t, file.String(), secret[:20])
		require.NotContains(t, file.String(), secret[20:])
		m, err := model.Replay(&file, &model.RecordingOptions{Sanitizer: s})
		require.NoError(t, err)
		_, err = m.Generate(t.Context(), req)
		require.NoError(t, err)
	}
	m, err := model.Replay(&file, &model.RecordingOptions{Sanitizer: s})
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), ask(secret))
	require.NoError(t, err)
}

func TestReplayNormalizes(t *testing.T) {
	t.Parallel()
	record := func(w io.Writer) {
		_, err := model.Record(reasontest.NewScript(whole), w, nil).Generate(t.Context(), ask("today is 2026-11-21"))
		require.NoError(t, err)
	}
	var file bytes.Buffer
	record(&file)
	m, err := model.Replay(&file, &model.RecordingOptions{Normalize: func(req *reason.Request) {
		for i := range req.Messages {
			req.Messages[i].Text, _, _ = strings.Cut(req.Messages[i].Text, " is ")
		}
	}})
	require.NoError(t, err)
	req := ask("today is 2027-01-01")
	_, err = m.Generate(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, ask("today is 2027-01-01"), req)
}

// A request that departs from the recorded one in any part is not answered, and
// its error shows it, without secrets.
func TestReplayShowsTheRequest(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	_, err := model.Record(echo{}, &file, nil).Generate(t.Context(), ask("why?"))
	require.NoError(t, err)
	play, err := model.Replay(&file, nil)
	require.NoError(t, err)
	for want, change := range map[string]func(req *reason.Request){
		`"text":"when?"`:                      func(r *reason.Request) { r.Messages[0].Text = "when?" },
		`"text":"token=[REDACTED:secret]"`:    func(r *reason.Request) { r.Messages[0].Text = "token=hunter2hunter2" },
		`"max_tokens":7,`:                     func(r *reason.Request) { r.MaxTokens = 7 },
		`{"type":"object"},"max_tokens":100}`: func(r *reason.Request) { r.Temperature = nil },
		`"schema":"not json"`:                 func(r *reason.Request) { r.Schema = []byte(`not json`) },
		strings.Repeat("long ", 300):          func(r *reason.Request) { r.System = strings.Repeat("long ", 300) },
	} {
		req := ask("why?")
		change(req)
		_, err := play.Generate(t.Context(), req)
		miss, ok := errors.AsType[*model.MissError](err)
		require.True(t, ok, want)
		require.Zero(t, miss.Recorded, want)
		require.Contains(t, miss.Request, want)
		require.Less(t, len(err.Error()), 1100, want)
	}
	_, err = play.Generate(t.Context(), ask("why?"))
	require.NoError(t, err)
}

// Schemas that say the same are the same.
func TestReplayOfSchemas(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	_, err := model.Record(echo{}, &file, nil).Generate(t.Context(), &reason.Request{Messages: []reason.Message{{}}, Schema: []byte(`{"a": 1, "b": 12345678901234567890}`)})
	require.NoError(t, err)
	play, err := model.Replay(&file, nil)
	require.NoError(t, err)
	_, err = play.Generate(t.Context(), &reason.Request{Messages: []reason.Message{{}}, Schema: []byte(`{"b":12345678901234567891,"a":1}`)})
	require.ErrorContains(t, err, "was not recorded")
	_, err = play.Generate(t.Context(), &reason.Request{Messages: []reason.Message{{}}, Schema: []byte(`{"b":12345678901234567890,"a":1}`)})
	require.NoError(t, err)
}

const head = `{"arc":"model calls","version":1,"streams":false}` + "\n"

func TestReplayRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	good := `{"request":{"system":"x"},"answer":{"pieces":["a"]}}`
	for name, c := range map[string]struct {
		file string
		line int
		is   error
	}{
		"empty":            {"", 1, nil},
		"foreign":          {"GIF89a\n", 1, nil},
		"other JSON":       {`{"arc":"goals","version":1}` + "\n", 1, nil},
		"no header":        {good + "\n", 1, nil},
		"newer":            {`{"arc":"model calls","version":2,"streams":false}` + "\n", 1, store.ErrNewer},
		"version 0":        {`{"arc":"model calls"}`, 1, nil},
		"cut":              {head + good + "\n" + good[:30], 3, store.ErrDamaged},
		"empty line":       {head + "\n" + good, 2, store.ErrDamaged},
		"two values":       {head + good + good, 2, store.ErrDamaged},
		"no request":       {head + `{"answer":{"pieces":["a"]}}`, 2, store.ErrDamaged},
		"no answer":        {head + `{"request":{}}`, 2, store.ErrDamaged},
		"no pieces":        {head + `{"request":{},"answer":{"pieces":[]}}`, 2, store.ErrDamaged},
		"negative usage":   {head + `{"request":{},"answer":{"pieces":["a"],"usage":{"in":-1}}}`, 2, store.ErrDamaged},
		"null":             {head + "null", 2, store.ErrDamaged},
		"a second, newer":  {head + `{"arc":"model calls","version":9,"streams":false}`, 2, store.ErrNewer},
		"wrong type":       {head + `{"request":{"max_tokens":"x"},"answer":{"pieces":["a"]}}`, 2, store.ErrDamaged},
		"too large number": {head + `{"request":{"temperature":1e999},"answer":{"pieces":["a"]}}`, 2, store.ErrDamaged},
	} {
		_, err := model.Replay(strings.NewReader(c.file), nil)
		if c.is != nil {
			require.ErrorIs(t, err, c.is, name)
		} else {
			require.ErrorContains(t, err, "line 1: not a file of recorded calls", name)
		}
		require.ErrorContains(t, err, fmt.Sprintf("recorded calls: line %d: ", c.line), name)
	}
	_, err := model.Replay(strings.NewReader("GIF89a"), nil)
	require.EqualError(t, err, "recorded calls: line 1: not a file of recorded calls")
	_, err = model.Replay(strings.NewReader(strings.ReplaceAll(head+good+"\n", "\n", "\r\n")), nil)
	require.NoError(t, err, "line ends of Windows")
	_, err = model.Replay(io.MultiReader(strings.NewReader(head), endless{}), nil)
	limit, ok := errors.AsType[*store.LimitError](err)
	require.True(t, ok, err)
	require.Equal(t, 16<<20, limit.Limit)
	_, err = model.Replay(io.MultiReader(strings.NewReader(head+good+"\n"), broken{}), nil)
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

type broken struct{}

func (broken) Read([]byte) (int, error)  { return 0, io.ErrClosedPipe }
func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// hiccup fails once.
type hiccup struct{ writes int }

func (h *hiccup) Write(p []byte) (int, error) {
	if h.writes++; h.writes == 1 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

// A call that is not in the file has not gone well.
func TestRecordThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	m := model.Record(reasontest.NewScript(whole, whole, whole, overloaded), broken{}, nil)
	for p := range streamOf(t, m, ask("x")) {
		if p.Stop != "" {
			break
		}
	}
	_, err := m.Generate(t.Context(), ask("x"))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	texts, _, err := read(streamOf(t, m, ask("x")))
	require.Equal(t, whole.Pieces, texts)
	require.ErrorIs(t, err, io.ErrClosedPipe)
	_, err = m.Generate(t.Context(), ask("x"))
	require.ErrorIs(t, err, overloaded.Err)
	once := &hiccup{}
	m = model.Record(reasontest.NewScript(whole, whole), once, nil)
	for range 2 { // since the first call is missing, the file will not do
		_, err = m.Generate(t.Context(), ask("x"))
		require.ErrorIs(t, err, io.ErrShortWrite)
	}
	require.Equal(t, 1, once.writes)
	req := ask("x")
	var zero float64
	*req.Temperature = zero / zero
	_, err = model.Record(reasontest.NewScript(whole), io.Discard, nil).Generate(t.Context(), req)
	require.ErrorContains(t, err, "temperature is NaN")
}

// What the caller has ended says nothing about the model.
func TestRecordLeavesOutWhatTheCallerEnded(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	m := model.Record(reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
		cancel()
		return nil, &reason.ModelError{Again: true}
	}), &file, nil)
	_, err := m.Generate(ctx, ask("x"))
	require.Equal(t, context.Canceled, err)
	require.Empty(t, file.String())
}

// lines counts what is written at a time.
type lines struct {
	bytes.Buffer
	partial int
}

func (l *lines) Write(p []byte) (int, error) {
	if !bytes.HasSuffix(p, []byte("\n")) {
		l.partial++
	}
	return l.Buffer.Write(p)
}

func TestRecordWritesWholeLines(t *testing.T) {
	t.Parallel()
	file := new(lines)
	m := model.Record(echo{}, file, nil)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			_, _ = m.Generate(t.Context(), ask(strings.Repeat(fmt.Sprint(i), 1000)))
		})
	}
	all.Wait()
	require.Zero(t, file.partial)
	play, err := model.Replay(file, nil)
	require.NoError(t, err)
	for i := range 50 {
		_, err := play.Generate(t.Context(), ask(strings.Repeat(fmt.Sprint(i), 1000)))
		require.NoError(t, err)
	}
}

// Whatever was asked and answered, is replayed as it was but for the secrets,
// which are nowhere in the file.
var leak = regexp.MustCompile(`(^|[^A-Za-z0-9_-])` + reasontest.Key)

func TestRecordAndReplayAnything(t *testing.T) {
	t.Parallel()
	parts := []string{"", "a", "password: ", "token=", "hunter2hunter2", reasontest.Key[:9], reasontest.Key[9:], reasontest.Key, "sk-", "ghp_",
		"\n", " ", `"`, "{", "}", "é", "[REDACTED:secret]", "[REDACTED", "https://u:", "p4ssw0rd@example.com", "ann@", "example.com", "Bearer ", "\\"}
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 5).Draw(t, "parts"), "")
	})
	rapid.Check(t, func(rt *rapid.T) {
		var answers, good []reasontest.Answer
		var requests, answered []*reason.Request
		for range rapid.IntRange(1, 4).Draw(rt, "calls") {
			req := &reason.Request{System: text.Draw(rt, "system"), MaxTokens: rapid.IntRange(0, 3).Draw(rt, "bound")}
			for range rapid.IntRange(0, 3).Draw(rt, "messages") {
				req.Messages = append(req.Messages, reason.Message{Role: text.Draw(rt, "role"), Text: text.Draw(rt, "message")})
			}
			requests = append(requests, req)
			a := reasontest.Answer{Pieces: rapid.SliceOfN(text, 1, 4).Draw(rt, "pieces"), Stop: reason.StopEnd}
			if rapid.Bool().Draw(rt, "fails") {
				a.Err = &reason.ModelError{Status: 500, Code: text.Draw(rt, "code"), Again: true, Err: errors.New(text.Draw(rt, "error"))}
			}
			answers = append(answers, a)
			if a.Err == nil {
				good, answered = append(good, a), append(answered, req)
			}
		}
		var file bytes.Buffer
		rec := model.Record(reasontest.NewScript(answers...), &file, nil).(reason.Streamer)
		for _, req := range requests {
			read(rec.Stream(context.Background(), req))
		}
		if leak.MatchString(file.String()) {
			rt.Fatalf("a key is in the file: %s", file.String())
		}
		if len(good) == 0 {
			return // and there is no file
		}
		play, err := model.Replay(bytes.NewReader(file.Bytes()), nil)
		if err != nil {
			rt.Fatal(err)
		}
		var s redact.Sanitizer
		for i, req := range answered {
			texts, _, err := read(play.(reason.Streamer).Stream(context.Background(), req))
			if err != nil {
				rt.Fatalf("call %d: %v", i, err)
			}
			joined := strings.Join(good[i].Pieces, "")
			if got := strings.Join(texts, ""); s.Sanitize(joined) == joined && got != joined && !strings.Contains(got, "REDACTED") {
				rt.Fatalf("call %d: want %q, got %q", i, joined, got)
			}
		}
	})
}

func FuzzReplay(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "calls.jsonl"))
	require.NoError(f, err)
	f.Add(golden)
	f.Add([]byte(head))
	f.Add([]byte(head + `{"request":{"messages":[{"role":"user","text":"x"}],"schema":null},"error":{"text":"x","after":"1h"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := model.Replay(bytes.NewReader(data), nil)
		if err != nil {
			require.Nil(t, m)
			require.Regexp(t, `^recorded calls: line \d+: `, err.Error())
			return
		}
		_, err = m.Generate(t.Context(), ask("x"))
		if err != nil {
			require.ErrorIs(t, err, reason.ErrModel)
		}
	})
}

// A stream that breaks a character is replayed with its text.
func TestRecordOfABrokenCharacter(t *testing.T) {
	t.Parallel()
	for _, pieces := range [][]string{{"caf\xc3", "\xa9 noir"}, {"a\xf0", "\x9f", "\x99", "\x82"}, {"\xf0\x9f\x99", "\x82", "b"}, {"\xa9", "x"}} {
		var file bytes.Buffer
		said := reasontest.Answer{Pieces: pieces, Stop: reason.StopEnd}
		_, _, err := read(streamOf(t, model.Record(reasontest.NewScript(said), &file, nil), ask("x")))
		require.NoError(t, err)
		m, err := model.Replay(&file, nil)
		require.NoError(t, err)
		texts, _, err := read(streamOf(t, m, ask("x")))
		require.NoError(t, err)
		require.Equal(t, strings.ToValidUTF8(strings.Join(pieces, ""), "\ufffd"), strings.Join(texts, ""), "%q", pieces)
	}
}

// A line that Replay would refuse is not written, and spoils no other.
func TestRecordOfALineThatIsTooLong(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	m := model.Record(reasontest.NewScript(reasontest.Say("first"), reasontest.Say("second")), &file, nil)
	_, err := m.Generate(t.Context(), ask(strings.Repeat("x", 16<<20)))
	require.ErrorAs(t, err, new(*store.LimitError))
	_, err = m.Generate(t.Context(), ask("x"))
	require.NoError(t, err)
	_, err = model.Replay(&file, nil)
	require.NoError(t, err)
}
