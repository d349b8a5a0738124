package dash_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/dash"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
)

var pages = []string{"", "runs", "learned", "memories", "worth", "queue"}

func TestEmpty(t *testing.T) {
	b := newBench(t, nil, nil)
	for path, says := range map[string]string{
		"": "Nothing waits for you.", "runs": "No run is like that.",
		"learned":  "No plan is carried out without thinking yet",
		"memories": "No memory is like that.", "worth": "Not known yet.", "queue": "No job is like that.",
	} {
		code, page := b.get(path)
		require.Equal(t, 200, code, path)
		require.Contains(t, page, says, path)
		require.NotContains(t, page, "$0.00", "nothing is known, and nothing is free")
	}
	code, page := b.get("run?id=nowhere")
	require.Equal(t, 404, code)
	require.Contains(t, page, "There is no such thing here.")
	_, err := dash.New(nil, nil)
	require.Error(t, err)
}

// Each page says what a person came for.
func TestPages(t *testing.T) {
	b := newBench(t, nil, nil)
	asks, waits, failed := b.fill()
	for path, says := range map[string][]string{
		"": {"Which of the two accounts is meant?", "Allow refund?",
			`exhausted</strong>: <bdi lang="">the backup of Sunday has no index`, "look where order SO-1049 is",
			`title="wait for you">2<`},
		"runs": {"all <span class=\"n\">12<", "blocked <span class=\"n\">1<", asks.ID, waits.ID,
			failed.ID},
		"runs?q=backup":   {"all <span class=\"n\">1<", failed.ID},
		"runs?is=blocked": {failed.ID},
		"run?id=" + failed.ID: {"refused by", "the backup of Sunday has no index", "Try again", "Was it right?",
			"1,200 in, 80 out", "$0.0034",
			"<strong>Did not pass</strong>"},
		"runs?q=SO-1041": {`>look where order SO-1041 is<`, `>{&#34;order&#34;:&#34;SO-1041&#34;}</bdi> · <bdi>000001<`,
			`>{&#34;order&#34;:&#34;SO-1041&#34;,&#34;amount&#34;:120}</bdi> · `},
		"run?id=000001":      {`Its inputs</h2><pre tabindex="0" lang="">{&#34;order&#34;:&#34;SO-1041&#34;}<`},
		"run?id=" + waits.ID: {"Allow refund?", "mode is gated", "&#34;amount&#34;:120", "Cancel the run"},
		"learned": {"look where order {order} is", "{&#34;order&#34;:&#34;{order}&#34;}", ">fires<",
			"delivered 9 times", "Sunday has no", ">open<"},
		"learned?text=look+where+order+SO-7+is&inputs=%7B%22order%22%3A%22SO-7%22%7D": {
			"order is &#34;SO-7&#34;, which has another form than before"},
		"memories": {"Write to customers in the language", "not vouched for <span",
			"https://example.com/hours"},
		"memories?q=how+does+Bloom+pay": {"pay by invoice"},
		"memories?is=rule":              {"Write to customers in the language"},
		"worth":                         {"A holdout (<code>learn.Options.Holdout</code>, or <code>holdout</code> in arc.yaml)", ">look<", "unknown"},
		"queue": {"pending <span class=\"n\">2<", "exhausted: the mail server refuses the password",
			"priority 4", "Try again"},
		"queue?q=SKU-7": {"Check the stock of SKU-7", "all <span class=\"n\">1<"},
	} {
		code, page := b.get(path)
		require.Equal(t, 200, code, path)
		for _, s := range says {
			require.Contains(t, page, s, path)
		}
	}
	_, page := b.get("runs?is=blocked")
	require.NotContains(t, page, asks.ID)
	_, page = b.get("memories?is=rule")
	require.NotContains(t, page, "by invoice")
}

// What is told of cost are three figures, and what nobody tells is unknown.
func TestWorth(t *testing.T) {
	b := newBench(t, nil, &arc.Options{Seed: 1, Learn: learn.Options{Holdout: .5}})
	for n := range 60 {
		b.order(1041 + n)
	}
	_, page := b.get("worth")
	require.Regexp(t, `This week learned plans: about \d+ model calls saved in \d+ runs, between`, page)
	require.Regexp(t, `Delivered</dt><dd>&#43;0 %, between −\d+ % and &#43;\d+ % \(95 %\), in \d+ cases`, page)
}

// An act leaves a page that shows what has come of it, and no form that has nothing to send any more.
func TestActs(t *testing.T) {
	b := newBench(t, nil, nil)
	asks, waits, failed := b.fill()
	form := func(kv ...string) url.Values {
		v := url.Values{}
		for i := 0; i < len(kv); i += 2 {
			v.Set(kv[i], kv[i+1])
		}
		return v
	}
	act := func(path string, v url.Values, says string, not ...string) {
		t.Helper()
		code, page := b.post(path, v)
		require.Equal(t, 200, code, page)
		require.Contains(t, page, says)
		for _, n := range not {
			require.NotContains(t, page, n)
		}
	}
	act("run", form("do", "answer", "id", asks.ID, "text", " ", "back", "./"), "the text was empty")
	act("run", form("do", "answer", "id", asks.ID, "text", "the second", "question", "7"), "Somebody was faster")
	act("run", form("do", "answer", "id", asks.ID, "text", "the second", "question", "1", "back", "./"), "Answered.",
		"Which of the two accounts")
	require.Contains(t, b.log.String(), `msg="dash: answer" scope="" id=`+asks.ID+` by=ada`)
	r, err := b.view.Wait(t.Context(), asks.ID)
	require.NoError(t, err)
	require.Equal(t, "Closed account the second.", r.Text)
	act("run", form("do", "answer", "id", asks.ID, "text", "the first"), "Somebody was faster", "Your answer")

	approval := waits.Approvals[0].ID
	act("run", form("do", "allow", "id", waits.ID, "approval", approval, "text", "it is right", "back", "./"),
		"Allowed.", "Allow refund?", `class="badge"`)
	r, err = b.view.Wait(t.Context(), waits.ID)
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
	_, page := b.get("run?id=" + waits.ID)
	require.Regexp(t, `Ruled</strong><span class="chip">ada</span>`, page,
		"the ruling is in the name of who is signed in")
	require.Contains(t, page, "it is right")
	act("run", form("do", "deny", "id", waits.ID, "approval", approval), "Somebody was faster")
	act("run", form("do", "wrong", "id", waits.ID, "text", "it was another order"), "Your verdict counts.")

	act("run", form("do", "retry", "id", failed.ID, "text", "take Monday"), "It is tried again.",
		"Why it failed")
	r, err = b.view.Wait(t.Context(), failed.ID)
	require.NoError(t, err)
	require.Equal(t, "Restored.", r.Text)

	go b.agent.Run(context.Background(), arc.Objective{ID: "held", Text: "hold on"})
	b.until("held", arc.Running)
	act("run", form("do", "cancel", "id", "held", "text", "not needed"), "not needed", "Cancel the run")

	space, err := b.view.Memory(t.Context())
	require.NoError(t, err)
	hits, err := space.Recall(t.Context(), memory.Query{Text: "Gdańsk", K: 1})
	require.NoError(t, err)
	id := string(hits[len(hits)-1].ID) // a Rule comes first
	act("memories", form("do", "trust", "id", id, "back", "memories?is=fact"), "Trusted from now on.",
		"Trust</button>")
	act("memories", form("do", "forget", "id", id), "Forgotten.", "Gdańsk")
	code, _ := b.post("memories", form("do", "forget", "id", id))
	require.Equal(t, 404, code)

	var job, pending queue.Job
	for j, err := range b.queue.List(t.Context(), "") {
		require.NoError(t, err)
		if j.State == queue.Blocked {
			job = j
		} else {
			pending = j
		}
	}
	act("queue", form("do", "retry", "id", job.ID), "It is tried again.", "Try again</button>")
	act("queue", form("do", "retry", "id", job.ID), "Somebody was faster")
	act("queue", form("do", "priority", "id", pending.ID, "priority", "1"), "priority 1")
	run := "job/" + path.Base(pending.ID) + "/1"
	go b.agent.Run(context.Background(), arc.Objective{ID: run, Text: "hold on", Scope: pending.Scope})
	b.until(run, arc.Running)
	act("queue", form("do", "cancel", "id", pending.ID, "back", "queue?is=failed"), "canceled by ada")
	r, err = b.view.Report(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, arc.Canceled, r.Status, "what the job has begun ends with it")
	for path, v := range map[string]url.Values{
		"run": form("do", "dance", "id", waits.ID), "queue": form("do", "priority", "id", job.ID, "priority", "11"),
		"memories": form("do", "", "id", id),
	} {
		code, page := b.post(path, v)
		require.Equal(t, 400, code, path)
		require.Contains(t, page, "That cannot be done", path)
	}
	code, _ = b.post("run", form("do", "answer", "id", asks.ID, "text", strings.Repeat("x", 300<<10)))
	require.Equal(t, 413, code)
}

// What may have been done already is not done again by who reads fast: they say what it returned, or open the
// way to make the call again.
func TestBegun(t *testing.T) {
	for do, calls := range map[string]int64{"done": 1, "allow": 2} {
		b := newBench(t, nil, nil)
		r := b.run("wire the rent", `{"amount":500}`)
		require.Len(t, r.Approvals, 1)
		_, page := b.get("run?id=" + r.ID)
		require.Contains(t, page, "What it returned, if it was done")
		require.Regexp(t, `<details id="[^"]+"><summary>It was not done …</summary><button class="no" name="do" value="allow">Make the call again`,
			page)
		require.Equal(t, 1, strings.Count(page, `value="allow"`))
		v := url.Values{"do": {"done"}, "id": {r.ID}, "approval": {r.Approvals[0].ID}}
		_, page = b.post("run", v)
		require.Contains(t, page, "the text was empty")
		if v.Set("do", do); do == "done" {
			v.Set("result", " receipt 7\n")
		}
		_, page = b.post("run", v)
		require.Contains(t, page, "Allowed.")
		b.until(r.ID, arc.Delivered)
		require.Equal(t, calls, b.wired.Load())
		if do == "done" {
			r, err := b.view.Report(t.Context(), r.ID)
			require.NoError(t, err)
			require.JSONEq(t, `"receipt 7"`, string(r.Output))
		}
	}
}

// Who has done by hand what a run asks for says what it returned, and nothing is called.
func TestDoneByHand(t *testing.T) {
	b := newBench(t, nil, nil)
	r := b.run("refund SO-7", "")
	_, page := b.get("run?id=" + r.ID)
	require.Regexp(t, `<summary>I did it by hand …</summary><label for="[^"]+">What it returned`, page)
	_, page = b.post("run", url.Values{"do": {"done"}, "id": {r.ID}, "approval": {r.Approvals[0].ID}, "result": {`{"by":"hand"}`}})
	require.Contains(t, page, "Allowed.")
	b.until(r.ID, arc.Delivered)
	r, err := b.view.Report(t.Context(), r.ID)
	require.NoError(t, err)
	require.JSONEq(t, `{"by":"hand"}`, string(r.Output))
}

// A run that a person has judged wrong is no success.
func TestJudgedWrong(t *testing.T) {
	b := newBench(t, nil, nil)
	r := b.run("look at SKU-7", "")
	require.Equal(t, arc.Delivered, r.Status)
	_, page := b.get("")
	require.NotContains(t, page, "judged wrong")
	b.post("run", url.Values{"do": {"wrong"}, "id": {r.ID}, "text": {"it was Monday"}})
	_, page = b.get("")
	require.Contains(t, page, "0 runs were delivered and 1 failed")
	for _, path := range []string{"", "runs?is=judged+wrong", "run?id=" + r.ID} {
		_, page = b.get(path)
		require.Regexp(t, `<(span class="chip blocked"|strong)>judged wrong</`, page, path)
		require.NotContains(t, page, "Try it again")
	}
}

// What waits below a scope is shown in it, and ruled on there.
func TestBelow(t *testing.T) {
	b := newBench(t, nil, nil)
	r, err := b.agent.Run(t.Context(), arc.Objective{ID: "nightly", Text: "refund SO-7", Scope: "fin/eu"})
	require.NoError(t, err)
	require.Equal(t, arc.Waiting, r.Status)
	asks, err := b.agent.Run(t.Context(), arc.Objective{ID: "nightly", Text: "ask which", Scope: "fin/us"})
	require.NoError(t, err)
	require.Equal(t, arc.Asking, asks.Status)
	_, page := b.get("", "Scope", "fin")
	for _, s := range []string{"Nothing of this scope itself waits for you.", "Waits for you below this scope", "<bdi>fin/eu</bdi>: <bdi lang=\"\">refund SO-7<",
		">nightly<", "Allow refund?", `title="wait for you">2<`, "<bdi>fin/us</bdi>: <bdi lang=\"\">ask which<", "It asks", asks.Text} {
		require.Contains(t, page, s)
	}
	for _, scope := range []string{"fin/eu", "fin/us", "rival", ""} {
		_, page = b.get("", "Scope", scope)
		require.NotContains(t, page, "below this scope", scope)
	}
	answer := url.Values{"do": {"answer"}, "id": {"nightly"}, "scope": {"fin/us"}, "question": {asks.Question}, "text": {"both"}, "back": {"./"}}
	_, page = b.post("run", answer, "Scope", "fin/eu")
	require.Contains(t, page, "Somebody was faster", "it is of another scope")
	_, page = b.post("run", answer, "Scope", "fin")
	require.Contains(t, page, "Answered.")
	_, err = b.agent.In("fin/us").Wait(t.Context(), "nightly")
	require.NoError(t, err)
	v := url.Values{"do": {"allow"}, "id": {"nightly"}, "scope": {"fin/eu"}, "approval": {r.Approvals[0].ID}, "back": {"./"}}
	_, page = b.post("run", v, "Scope", "rival")
	require.Contains(t, page, "Somebody was faster")
	_, page = b.post("run", v, "Scope", "fin")
	require.Contains(t, page, "Allowed.")
	require.NotContains(t, page, "Allow refund?")
	r, err = b.agent.In("fin/eu").Wait(t.Context(), "nightly")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
}

// A job leads to the run that works on it.
func TestJobLeadsToItsRun(t *testing.T) {
	b := newBench(t, nil, nil)
	_, _, err := b.queue.Add(t.Context(), queue.Draft{Subject: "look at SKU-7"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	h := queue.AgentHandler(b.agent, nil)
	require.NoError(t, b.queue.Dispatch(ctx, 1, func(ctx context.Context, j *queue.Job) ([]queue.Draft, error) {
		defer cancel()
		return h(ctx, j)
	}))
	_, page := b.get("queue")
	link := regexp.MustCompile(`href="(run\?id=job[^"]+)">its run`).FindStringSubmatch(page)
	require.NotNil(t, link)
	_, page = b.get(link[1])
	require.Contains(t, page, "It was delivered on Friday: look at SKU-7")
}

// The run of a job of the tenant's own scope ends with it, whatever scope the agent has.
func TestCancelEndsTheRun(t *testing.T) {
	b := newBench(t, nil, &arc.Options{Scope: "shop"})
	for text, status := range map[string]arc.Status{"ask which": arc.Asking, "wreck the index": arc.Blocked} {
		j, _, err := b.queue.Add(t.Context(), queue.Draft{Subject: text})
		require.NoError(t, err)
		run := "job/" + path.Base(j.ID) + "/1"
		r, err := b.agent.Run(t.Context(), arc.Objective{ID: run, Text: text, Scope: "_"})
		require.NoError(t, err)
		require.Equal(t, status, r.Status)
		b.post("queue", url.Values{"do": {"cancel"}, "id": {j.ID}})
		r, err = b.agent.In("_").Report(t.Context(), run)
		require.NoError(t, err)
		require.Equal(t, arc.Canceled, r.Status)
	}
}

// Nothing is changed by a page of another origin, and no scope is shown to another.
func TestGuards(t *testing.T) {
	b := newBench(t, nil, nil)
	asks, _, _ := b.fill()
	v := url.Values{"do": {"answer"}, "id": {asks.ID}, "text": {"x"}}
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
		{"Origin", "https://evil.example"}} {
		code, _ := b.post("run", v, header...)
		require.Equal(t, 403, code, header)
	}
	r, err := b.view.Report(t.Context(), asks.ID)
	require.NoError(t, err)
	require.Equal(t, arc.Asking, r.Status)

	for _, path := range append(pages, "run?id="+asks.ID, "live") {
		code, page := b.get(path, "Banned", "yes")
		require.Equal(t, 403, code, path)
		require.NotContains(t, page, "secret reason")
	}
	for _, path := range []string{"", "runs", "learned", "memories", "worth", "queue"} {
		code, page := b.get(path, "Scope", "rival")
		require.Equal(t, 200, code, path)
		for _, of := range []string{"Bloom", "SO-1041", "SKU-7", "order {order}", "wreck"} {
			require.NotContains(t, page, of, path)
		}
	}
	job := ""
	for j := range b.queue.List(t.Context(), "") {
		job = j.ID
	}
	for path, v := range map[string]url.Values{"run": v, "queue": {"do": {"cancel"}, "id": {job}}} {
		code, _ := b.post(path, v, "Scope", "rival")
		require.Equal(t, 404, code, path)
	}

	client := *b.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for back, want := range map[string]string{
		"https://evil.example/": "./run?", "//evil.example/": "./run?", "javascript:alert(1)": "./run?",
		"../other": "./run?", "/runs": "./run?", "runs?q=a": "./runs?q=a&",
	} {
		v := url.Values{"do": {"answer"}, "id": {asks.ID}, "back": {back}}
		answer, err := client.PostForm(b.URL+"/dash/run", v)
		require.NoError(t, err)
		answer.Body.Close()
		require.True(t, strings.HasPrefix(answer.Header.Get("Location"), want), "%s: %s", back,
			answer.Header.Get("Location"))
		require.Contains(t, answer.Header.Get("Content-Security-Policy"),
			"default-src 'none'; style-src 'self'; script-src 'self'")
	}
}

var payloads = []string{
	`<script>window.xss=1</script>`, `"><img src=x onerror=window.xss=1>`,
	`' onfocus=window.xss=1 autofocus x='`, `</title></textarea></pre><svg onload=window.xss=1>`,
	`javascript:window.xss=1`, `{{.}}${window.xss=1}`, `&lt;script&gt;window.xss=1&lt;/script&gt;`,
	"\" style=\"position:fixed\" x=\"", `<a href="https://evil.example/">x</a>`, "Pay \u202e0001\u2069\u200b dollars",
}

// hostile has payloads in all that strangers say, and returns the pages that show it.
func hostile(b *bench) []string {
	paths := append([]string{}, pages...)
	space, err := b.view.Memory(b.t.Context())
	require.NoError(b.t, err)
	for _, p := range payloads {
		for _, skill := range []string{"look ", "ask ", "refund ", "wreck "} {
			r, err := b.agent.Run(b.t.Context(), arc.Objective{Text: skill + p, Situation: p,
				Inputs: fmt.Appendf(nil, `{"a":%q}`, p)})
			require.NoError(b.t, err)
			paths = append(paths, "run?id="+url.QueryEscape(r.ID))
		}
		_, err := space.Remember(b.t.Context(), memory.Draft{Kind: memory.Fact, Trigger: p, Content: p, Actor: p,
			Source: memory.Source{Origin: memory.Web, Ref: p, Run: p}})
		require.NoError(b.t, err)
		_, _, err = b.queue.Add(b.t.Context(), queue.Draft{Subject: p, Description: p, Source: p, Model: p})
		require.NoError(b.t, err)
		for _, path := range []string{"runs?q=", "memories?q=", "queue?is=", "learned?text=x&situation=", "?said=",
			"run?id="} {
			paths = append(paths, path+url.QueryEscape(p))
		}
	}
	return paths
}

func TestPayloads(t *testing.T) {
	b := newBench(t, nil, nil)
	for _, path := range hostile(b) {
		_, page := b.get(path)
		for _, raw := range []string{"<script>", "<img", "<svg onload", "onfocus=window.xss=1 autofocus x='",
			`href="javascript`, `<a href="https://evil`, `" style="`} {
			require.NotContains(t, page, raw, path)
		}
		require.NotRegexp(t, `[\x{200b}\x{202e}\x{2069}]`, tags.ReplaceAllString(page, ""), path)
	}
}

var tags = regexp.MustCompile(`<[^>]*>`)

// What stands in another script is marked as such, does not turn the ID beside it, and is ruled on by its ID.
func TestScripts(t *testing.T) {
	b := newBench(t, nil, nil)
	r, err := b.agent.Run(t.Context(), arc.Objective{ID: "طلب\u200f-1182", Text: "refund \u202e0001\u202c dollars to علي",
		Inputs: []byte("{\"name\":\"فاطمة\",\"usd\":\"\u202e0001\u202c\"}")})
	require.NoError(t, err)
	_, page := b.get("")
	require.Contains(t, page, `<bdi lang="">{&#34;name&#34;:&#34;فاطمة&#34;,&#34;usd&#34;:&#34;0001&#34;}</bdi> · <bdi>طلب-1182</bdi>`)
	require.Contains(t, page, `<p lang="" dir="auto">refund 0001 dollars to علي</p>`)
	_, page = b.get("run?id=" + url.QueryEscape(r.ID))
	require.Contains(t, page, `usd&#34;:&#34;\u202e0001\u202c&#34;}</pre></section>`, "data is whole")
	id := regexp.MustCompile(`name="id" value="([^"]+)"`).FindStringSubmatch(page)
	_, page = b.post("run", url.Values{"do": {"allow"}, "id": {id[1]}, "approval": {r.Approvals[0].ID}})
	require.Contains(t, page, "Allowed. The run goes on.")
}

// A stream tells that a run has gone on, and ends with it.
func TestLive(t *testing.T) {
	b := newBench(t, nil, nil)
	go b.agent.Run(context.Background(), arc.Objective{ID: "held", Text: "hold on"})
	b.until("held", arc.Running)
	for _, path := range []string{"live", "live?id=held"} {
		answer, err := b.Client().Get(b.URL + "/dash/" + path)
		require.NoError(t, err)
		require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
		require.Contains(t, answer.Header.Get("Cache-Control"), "no-transform", "a proxy that compresses holds it back")
		lines, n := bufio.NewScanner(answer.Body), 0
		for lines.Scan() {
			if lines.Text() != "event: changed" {
				continue
			}
			if n++; path == "live" && n == 1 {
				go b.run("look here", "")
			}
			if path == "live" && n == 2 {
				break
			}
			if path == "live?id=held" && n == 1 {
				b.hold <- "held"
			}
		}
		require.GreaterOrEqual(t, n, 2, path)
		answer.Body.Close()
	}
	_, page := b.get("run?id=held")
	require.NotContains(t, page, "data-live", "nothing more happens there")
	code, _ := b.get("live?id=" + url.QueryEscape("\x00"))
	require.Equal(t, 404, code)
}

// until waits for a run to be in a state.
func (b *bench) until(id string, s arc.Status) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	defer cancel()
	for _, err := range b.view.Watch(ctx, "") {
		require.NoError(b.t, err)
		if r, err := b.view.Report(ctx, id); err == nil && r.Status == s {
			return
		}
	}
}

// Local is for who uses this machine, by one of its own names.
func TestLocal(t *testing.T) {
	pages := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a page") })
	_, err := dash.Local(t.Context(), "0.0.0.0:0", pages)
	require.ErrorContains(t, err, "seen by other machines")
	home, err := dash.Local(t.Context(), "127.0.0.1:0", pages)
	require.NoError(t, err)
	for host, want := range map[string]int{"": 200, "localhost": 200, "127.0.0.1:80": 200, "[::1]:80": 200,
		"evil.example:80": 403, "evil.example": 403} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, home, nil)
		require.NoError(t, err)
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, want, answer.StatusCode, host)
	}
}
