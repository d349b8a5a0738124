package dash_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/dash"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// details are pages about one thing, of what fill makes.
func (b *bench) details(t *testing.T) (out []string) {
	t.Helper()
	hits, err := b.agent.In("").Memory().Recall(t.Context(), memory.Query{K: 100})
	require.NoError(t, err)
	for _, h := range hits {
		id := url.QueryEscape(string(h.Record.ID))
		out = append(out, "/memory?id="+id, "/why?text=situation&wanted="+id)
	}
	return append(out, "/run?id=run-0", "/run?id=run-1", "/run?id=run-2", "/run?id=deploy",
		"/why?text=situation&wanted=situation", "/memories?text=situation&archived=1", "/memories?kind=fact",
		"/chunks?text=mend+it&situation=situation", "/ranking?skill=work&situation=situation", "/ranking?skill=unknown",
		"/runs?status=blocked", "/runs?session=session", "/queue?state=pending")
}

func TestPagesWithRuns(t *testing.T) {
	t.Parallel()
	for _, runs := range []int{0, 3, 130} {
		b := newBench(t, "the cache & its <pool>", nil)
		b.fill(t, runs)
		all := pages
		if runs > 0 {
			all = append(all[:len(all):len(all)], b.details(t)...)
		}
		for _, path := range all {
			code, text := b.get(t, path)
			require.Equal(t, http.StatusOK, code, path)
			require.Contains(t, text, "</html>", path)
			require.Contains(t, text, "<h1>", path)
			require.NotContains(t, text, "<pool>", path)
			require.NotContains(t, text, "ZgotmplZ", path)
		}
	}
}

// What a reasoner used is in no worker's tally, so the page says what runs used in all.
func TestCostsHaveTheReasoner(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend it", nil)
	b.fill(t, 1) // two attempts, and a deployment that waits
	_, text := b.get(t, "/costs")
	require.Contains(t, text, "The latest 2 runs of this scope used 1\u2009020 tokens in and 10 out, for $0.52 as reported")
	require.Contains(t, text, "$0.02 as reported, $0 as estimated from 20 tokens in and 10 out", "the workers alone")
}

// A plan has delivered once when it is made, as it is counted where plans fire.
func TestChunksHaveDeliveredOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend it", nil)
	b.fill(t, 1)
	_, text := b.get(t, "/chunks")
	require.Contains(t, text, `<td class="n">1</td><td class="n">0</td><td class="n"><span class="share">0.67`)
}

func TestRunsArePaged(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend it", nil)
	b.fill(t, 130)
	seen := map[string]bool{}
	path := "/runs"
	for page := 0; path != ""; page++ {
		require.Less(t, page, 4)
		code, text := b.get(t, path)
		require.Equal(t, http.StatusOK, code)
		rows := strings.Split(text, `<a id="run-`)[1:]
		require.LessOrEqual(t, len(rows), 50)
		for _, row := range rows {
			id, _, _ := strings.Cut(row, `"`)
			require.False(t, seen[id])
			seen[id] = true
		}
		path = ""
		if _, rest, ok := strings.Cut(text, `after=`); ok && strings.Contains(text, ">Earlier</a>") {
			if i := strings.LastIndex(text, "after="); i >= 0 {
				rest = text[i+len("after="):]
			}
			id, _, _ := strings.Cut(rest, `"`)
			path = "/runs?after=" + id
		}
	}
	require.Len(t, seen, 131)
}

// The next page of a search is of the same search.
func TestArchivedMemoriesArePaged(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend it", nil)
	space := b.agent.In("").Memory()
	for i := range 60 {
		r, err := space.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: fmt.Sprintf("room%d is painted", i)})
		require.NoError(t, err)
		require.NoError(t, space.Archive(t.Context(), r.ID, i > 0))
	}
	_, text := b.get(t, "/memories?text=painted&kind=fact&archived=1")
	_, rest, more := strings.Cut(text, `aria-label="More memories"><a href="`)
	require.True(t, more)
	link, _, _ := strings.Cut(rest, `"`)
	_, text = b.get(t, html.UnescapeString(link))
	require.Equal(t, 60, strings.Count(text, "is painted</a>"))
}

// An attempt that the worker's mode has announced is told as such.
func TestAttemptToBeAnnounced(t *testing.T) {
	t.Parallel()
	journal := new(dash.Journal)
	b := newBench(t, "mend it", func(o *dash.Options) { o.Journal = journal })
	b.fill(t, 1)
	journal.Event(arc.Event{
		Seq: 1, Scope: "acme", Run: "run-0", Kind: arc.EventAttempt, Task: 1, Attempt: 2, Mode: act.Notification,
	})
	_, text := b.get(t, "/run?id=run-0")
	require.Contains(t, text, "Attempt 2 at task 1, to be announced")
}

// A run's page says what was recalled, decided, refused and learned, with the times
// of a Journal and, where that has lost it, without.
func TestRunTellsHowItWent(t *testing.T) {
	t.Parallel()
	for _, kept := range []bool{true, false} {
		b := newBench(t, "the third way", func(o *dash.Options) {
			if !kept {
				o.Journal = nil
			}
		})
		b.fill(t, 4)
		_, text := b.get(t, "/run?id=run-0")
		want := []string{"Decided", "the third way", "Gates passed", "Learned", "Delivered", "&#34;attempt&#34;: 2", "09:00:03", "09:00:06", "the third gate"}
		if kept {
			want = append(want, "Gate refused", "Attempt 1 at task 1", "Why this worker")
		} else {
			want = append(want, "Not passed", "Drawn from the run&#39;s record")
		}
		for _, w := range want {
			require.Contains(t, strings.ReplaceAll(text, "Drawn from the run's", "Drawn from the run&#39;s"), w)
		}
		_, text = b.get(t, "/run?id=run-3")
		require.Contains(t, text, "Recalled")
		require.Contains(t, text, "/memory?id=")
	}
}

// A page that is renewed answers with its part, and with nothing while that is the
// same.
func TestPartsAreRenewed(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend it", nil)
	b.fill(t, 3)
	_, text := b.get(t, "/runs?status=waiting")
	_, rest, ok := strings.Cut(text, `hx-get="`)
	require.True(t, ok)
	renew, _, _ := strings.Cut(rest, `"`)
	renew = strings.ReplaceAll(renew, "&amp;", "&")
	code, _ := b.get(t, renew, "HX-Request", "true")
	require.Equal(t, http.StatusNoContent, code)
	require.Contains(t, text, `hx-trigger="renew"`)
	require.Contains(t, text, `data-every="2" data-stream="/stream"`)
	require.NoError(t, b.agent.In("").Rule(t.Context(), arc.Ruling{Run: "deploy", Attempt: 1, Allow: true, By: "ada"}))
	<-b.delivered("deploy")
	code, text = b.get(t, renew, "HX-Request", "true")
	require.Equal(t, http.StatusOK, code)
	require.True(t, strings.HasPrefix(text, `<div id="part"`))
	require.NotContains(t, text, "<html")
	require.NotContains(t, text, "run-deploy")
}

// delivered is closed when a run has ended.
func (b *bench) delivered(run string) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		for e := range b.finished {
			if e.Run == run {
				return
			}
		}
	}()
	return over
}

func TestNothingWithoutTheToken(t *testing.T) {
	t.Parallel()
	b := newBench(t, "a secret plan", nil)
	b.fill(t, 3)
	paths := append(append(b.details(t), pages...), "/static/htmx.min.js", "/static/arc.svg", "/nowhere", "/enter", "/?token=", "/?token=wrong")
	for _, path := range paths {
		for _, header := range [][]string{{"Authorization", ""}, {"Authorization", "Bearer "}, {"Authorization", "Bearer wrong"}} {
			code, text := b.get(t, path, header...)
			require.Equal(t, http.StatusUnauthorized, code, path)
			require.NotContains(t, text, "secret", path)
			require.NotContains(t, text, "run-0", path)
		}
	}
	code, text := b.send(t, http.MethodPost, "/approvals", "run=deploy&attempt=1&say=allow", "Authorization", "", "Sec-Fetch-Site", "same-origin")
	require.Equal(t, http.StatusUnauthorized, code)
	require.NotContains(t, text, "secret")
	require.Zero(t, b.made.Load())
}

// A person comes in by the form or by an address, and gets a cookie that scripts do
// not see and other sites do not send.
func TestEntry(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend it", nil)
	const name = "ada\r\n\x00"
	resp := b.enter(t, "wrong", name)
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	require.Empty(t, resp.Cookies())
	resp = b.enter(t, token, name)
	require.Equal(t, http.StatusSeeOther, resp.StatusCode)
	require.Equal(t, "/", resp.Header.Get("Location"))
	require.Len(t, resp.Cookies(), 1)
	c := resp.Cookies()[0]
	require.True(t, c.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, c.SameSite)
	require.NotContains(t, c.Value, token)

	code, text := b.get(t, "/", "Authorization", "", "Cookie", c.Name+"="+c.Value)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, text, "as ada<")
	for _, value := range []string{c.Value + "x", "x" + c.Value, strings.Split(c.Value, ".")[0] + ".", "."} {
		code, _ = b.get(t, "/", "Authorization", "", "Cookie", c.Name+"="+value)
		require.Equal(t, http.StatusUnauthorized, code, value)
	}
	b.pass(8 * 24 * time.Hour)
	code, _ = b.get(t, "/", "Authorization", "", "Cookie", c.Name+"="+c.Value)
	require.Equal(t, http.StatusUnauthorized, code, "a pass ends")

	resp, _ = b.ask(t, http.MethodGet, "//evil.example/runs?token="+token, "", "Authorization", "")
	require.Equal(t, http.StatusSeeOther, resp.StatusCode)
	require.False(t, strings.HasPrefix(resp.Header.Get("Location"), "//"), resp.Header.Get("Location"))
	require.NotContains(t, resp.Header.Get("Location"), token)
}

// What changes something has to come from a page of the dashboard.
func TestOtherSitesChangeNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend it", nil)
	b.deploy(t)
	resp, _ := b.ask(t, http.MethodGet, "/?token="+token, "", "Authorization", "")
	cookie := resp.Cookies()[0].Name + "=" + resp.Cookies()[0].Value
	const form = "run=deploy&attempt=1&say=allow"
	for _, header := range [][]string{
		{}, {"Origin", "https://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"}, {"Origin", b.URL, "Sec-Fetch-Site", "cross-site"},
	} {
		header = append(header, "Authorization", "", "Cookie", cookie)
		for _, path := range []string{"/approvals", "/proposals", "/run", "/memory", "/enter"} {
			code, _ := b.send(t, http.MethodPost, path, form, header...)
			require.Equal(t, http.StatusForbidden, code, header)
		}
	}
	require.Zero(t, b.made.Load())
	code, text := b.send(t, http.MethodPost, "/approvals", form, "Authorization", "", "Cookie", cookie, "Origin", b.URL)
	require.Equal(t, http.StatusSeeOther, code)
	require.Contains(t, text, "said=allowed")
	<-b.delivered("deploy")
	require.EqualValues(t, 1, b.made.Load())
	_, text = b.send(t, http.MethodPost, "/approvals", form, "Authorization", "", "Cookie", cookie, "Origin", b.URL)
	require.Contains(t, text, "said=late")
	require.EqualValues(t, 1, b.made.Load())
}

// While the model is away runs wait for it, however many: what waits for a person is seen all the same.
func TestApprovalsAmongRunsThatWait(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend it", nil)
	b.deploy(t)
	for i := range 501 {
		r, err := b.agent.Run(t.Context(), arc.Objective{ID: fmt.Sprint("away-", i), Text: "away", Fresh: true})
		require.NoError(t, err)
		require.Equal(t, arc.Waiting, r.Status)
	}
	_, text := b.get(t, "/approvals")
	require.Contains(t, text, `name="run" value="deploy"`)
}

// A proposal that waits for a person is listed, whichever of many others come before it in the store.
func TestProposalAmongMany(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend it", nil)
	ps, err := proposal.Open(t.Context(), b.st, &proposal.Options{Tenant: "acme"})
	require.NoError(t, err)
	var last proposal.Proposal
	for i := range 2100 {
		p, err := ps.Propose(t.Context(), proposal.Proposal{
			Kind: "config", Subject: fmt.Sprintf("subject-%d-", i), Advice: "look", Reason: "it fails", Samples: 60,
		})
		require.NoError(t, err)
		if p.ID > last.ID {
			p, last = last, p
		}
		if p.ID != "" {
			_, err = ps.Decide(t.Context(), p.ID, "reject", "ada", "")
			require.NoError(t, err)
		}
	}
	_, text := b.get(t, "/proposals")
	require.Contains(t, text, last.Subject)
}

// Who allows an attempt sees what it is given, as it is and without a click.
func TestInputsAreReadBeforeAllowing(t *testing.T) {
	b := newBench(t, "deploy", nil)
	_, err := b.agent.Run(t.Context(), arc.Objective{Text: "deploy", Tasks: []reason.Task{{
		Objective: "deploy", Skill: "deploy", Inputs: json.RawMessage(`{"to":"<all> & \\u003c"}`),
	}}})
	require.NoError(t, err)
	_, text := b.get(t, "/approvals")
	require.Contains(t, text, "<details open><summary>Inputs")
	require.Contains(t, text, `to&#34;: &#34;&lt;all&gt; &amp; \\u003c&#34;`)
}

// What is over, under way or set aside is not due, and what goes on has not taken any time.
func TestTablesSayWhatThereIs(t *testing.T) {
	b := newBench(t, "deploy", nil)
	b.deploy(t)
	_, text := b.get(t, "/runs")
	require.Contains(t, text, `<td class="n">–</td>`)
	_, _, err := b.queue.Enqueue(t.Context(), queue.Draft{Subject: "call ada"})
	require.NoError(t, err)
	_, text = b.get(t, "/queue")
	require.Contains(t, text, "at once")
	j, _, err := b.queue.Enqueue(t.Context(), queue.Draft{Subject: "call bob"})
	require.NoError(t, err)
	require.NoError(t, b.queue.Park(t.Context(), j.ID))
	l, err := b.queue.Claim(t.Context(), 0)
	require.NoError(t, err)
	_, text = b.get(t, "/queue")
	require.NotContains(t, text, "at once")
	_, err = l.End(t.Context(), queue.Result{}, nil)
	require.NoError(t, err)
	_, text = b.get(t, "/queue")
	require.NotContains(t, text, "at once")

	for range 201 {
		_, _, err := b.queue.Enqueue(t.Context(), queue.Draft{Subject: "call ada"})
		require.NoError(t, err)
	}
	_, text = b.get(t, "/queue")
	require.Contains(t, text, "there are more: choose a state.")
	_, text = b.get(t, "/queue?state=pending")
	require.Contains(t, text, "there are more.")
}

func TestRefusalGoesToTheRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend it", nil)
	b.deploy(t)
	code, _ := b.send(t, http.MethodPost, "/approvals", "run=deploy&attempt=1&say=refuse&note=not+on+Friday")
	require.Equal(t, http.StatusSeeOther, code)
	<-b.delivered("deploy")
	require.Zero(t, b.made.Load())
	_, text := b.get(t, "/run?id=deploy")
	require.Contains(t, text, "not on Friday")
	for _, form := range []string{"", "run=deploy", "run=deploy&attempt=x&say=allow", "run=deploy&attempt=1&say=perhaps"} {
		code, _ = b.send(t, http.MethodPost, "/approvals", form+"&x=")
		require.Equal(t, http.StatusBadRequest, code, form)
	}
}

// A question is answered, and the run goes on without the browser waiting for it.
func TestQuestionsAreAnswered(t *testing.T) {
	t.Parallel()
	b := newBench(t, "which of them?", nil)
	b.fill(t, 3)
	_, text := b.get(t, "/run?id=run-2")
	require.Contains(t, text, "Your answer")
	code, _ := b.send(t, http.MethodPost, "/run", "id=run-2&say=answer&text=+")
	require.Equal(t, http.StatusBadRequest, code)
	code, text = b.send(t, http.MethodPost, "/run", "id=run-2&say=answer&text=the+second")
	require.Equal(t, http.StatusSeeOther, code)
	require.Contains(t, text, "/run?id=run-2&said=answered")
	<-b.delivered("run-2")
	_, text = b.get(t, "/run?id=run-2")
	require.Contains(t, text, "Delivered")
	_, text = b.send(t, http.MethodPost, "/run", "id=run-2&say=answer&text=again")
	require.Contains(t, text, "said=late")
}

// An answer that an Agent does not take is not said to be taken.
func TestAnswersThatAreTooLong(t *testing.T) {
	t.Parallel()
	b := newBench(t, "which of them?", nil)
	b.fill(t, 3)
	code, text := b.send(t, http.MethodPost, "/run", "id=run-2&say=answer&text="+strings.Repeat("x", 64<<10+1))
	require.Equal(t, http.StatusBadRequest, code)
	require.Contains(t, text, "answer")
	_, text = b.get(t, "/run?id=run-2")
	require.Contains(t, text, "Your answer")
}

// A form that is sent twice answers the questions that it showed, and none that came up since.
func TestAnAnswerIsToWhatWasAsked(t *testing.T) {
	t.Parallel()
	b := newBench(t, "delete the old one?", nil)
	_, err := b.agent.Run(t.Context(), arc.Objective{ID: "it", Text: "ask twice"})
	require.NoError(t, err)
	answer := func() string {
		_, text := b.get(t, "/run?id=it")
		_, rest, _ := strings.Cut(text, `name="asked" value="`)
		asked, _, ok := strings.Cut(rest, `"`)
		require.True(t, ok)
		return "id=it&say=answer&text=yes&asked=" + asked
	}
	first := answer()
	b.mu.Lock()
	b.say = "and the new one, too?"
	b.mu.Unlock()
	_, text := b.send(t, http.MethodPost, "/run", first)
	require.Contains(t, text, "said=answered")
	asks := func(what string) func() bool {
		return func() bool {
			r, err := b.agent.In("").Report(t.Context(), "it")
			return err == nil && len(r.Questions) > 0 && r.Questions[0] == what
		}
	}
	require.Eventually(t, asks("and the new one, too?"), 10*time.Second, time.Millisecond)
	_, text = b.send(t, http.MethodPost, "/run", first)
	require.Contains(t, text, "said=late")
	second := answer()
	require.Eventually(t, func() bool {
		_, _ = b.send(t, http.MethodPost, "/run", second) // again while the first is just leaving the run
		return len(b.finished) > 0
	}, 10*time.Second, 10*time.Millisecond)
	<-b.delivered("it")
}

// A job that was parked since its run asked is done when that is answered, also if the run has a
// name of its own.
func TestAnswerTakesUpAJob(t *testing.T) {
	t.Parallel()
	b := newBench(t, "which of them?", nil)
	d, err := b.queue.Dispatch(b.agent.QueueHandler(), nil)
	require.NoError(t, err)
	for run, input := range map[string]string{"": "{}", "own": `{"ID": "own"}`} {
		j, _, err := b.queue.Enqueue(t.Context(), queue.Draft{Subject: "ask about it", Input: json.RawMessage(input)})
		require.NoError(t, err)
		is := func(state queue.State) func() bool {
			return func() bool {
				now, err := b.queue.Get(t.Context(), j.ID)
				return err == nil && now.State == state
			}
		}
		require.Eventually(t, is(queue.Parked), 10*time.Second, 10*time.Millisecond)
		code, text := b.send(t, http.MethodPost, "/run", "id="+cmp.Or(run, "job/"+j.ID)+"&say=answer&text=the+second")
		require.Equal(t, http.StatusSeeOther, code, text)
		require.Eventually(t, is(queue.Completed), 20*time.Second, 10*time.Millisecond)
	}
	require.NoError(t, d.Close(t.Context()))
}

func TestDeliveriesAreJudged(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend the cache", nil)
	b.fill(t, 3)
	hits, err := b.agent.In("").Memory().Recall(t.Context(), memory.Query{Kinds: []memory.Kind{memory.Pattern}, K: 50})
	require.NoError(t, err)
	misled := func() (n int) {
		for _, h := range hits {
			r, err := b.agent.In("").Memory().Get(t.Context(), h.Record.ID)
			require.NoError(t, err)
			n += r.Stats.Misled
		}
		return n
	}
	before := misled()
	code, text := b.send(t, http.MethodPost, "/run", "id=run-0&say=wrong&text=it+broke+on+Monday")
	require.Equal(t, http.StatusSeeOther, code)
	require.Contains(t, text, "said=judged")
	require.Greater(t, misled(), before)
	_, text = b.send(t, http.MethodPost, "/run", "id=run-1&say=right")
	require.Contains(t, text, "said=late", "it was not delivered")
	code, _ = b.send(t, http.MethodPost, "/run", "id=run-0&say=perhaps")
	require.Equal(t, http.StatusBadRequest, code)
}

func TestMemoriesAreTrustedAndSetAside(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend it", nil)
	space := b.agent.In("").Memory()
	r, err := space.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "it is Ada's", Source: memory.Source{Origin: memory.User}})
	require.NoError(t, err)
	for _, say := range []string{"trust", "archive", "restore"} {
		code, text := b.send(t, http.MethodPost, "/memory", "id="+string(r.ID)+"&say="+say)
		require.Equal(t, http.StatusSeeOther, code)
		require.Contains(t, text, "/memory?id="+string(r.ID))
		rec, err := space.Get(t.Context(), r.ID)
		require.NoError(t, err)
		require.True(t, rec.Trusted)
		require.Equal(t, say == "archive", rec.Archived)
	}
	code, _ := b.send(t, http.MethodPost, "/memory", "id=unknown&say=trust")
	require.Equal(t, http.StatusNotFound, code)
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend it", nil)
	for _, path := range []string{"/", "/static/style.css", "/nowhere"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL+path, nil)
		require.NoError(t, err)
		r.Close = true
		resp, err := b.Client().Do(r)
		require.NoError(t, err)
		resp.Body.Close()
		csp := resp.Header.Get("Content-Security-Policy")
		require.Contains(t, csp, "default-src 'none'")
		require.NotContains(t, csp, "unsafe")
		require.Equal(t, "DENY", resp.Header.Get("X-Frame-Options"))
		require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
	}
}

// No page of a scope shows what is of another tenant, or beside the scope.
func TestScopesAreKeptApart(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend it", func(o *dash.Options) { o.Scopes = []memory.Scope{"acme/ada", "acme/ben"} })
	for _, scope := range []memory.Scope{"acme/ada", "acme/ben", "evil", "acme"} {
		_, err := b.agent.Run(t.Context(), arc.Objective{ID: "of-" + scope.Tenant() + "-" + strings.TrimPrefix(string(scope), "acme/"), Text: "mend " + string(scope), Scope: scope})
		require.NoError(t, err)
		_, err = b.agent.In(scope).Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "known by " + string(scope)})
		require.NoError(t, err)
	}
	for path, codes := range map[string][2]int{
		"/run?id=of-acme-ada": {200, 200}, "/run?id=of-acme-ben": {404, 200}, "/run?id=of-evil-evil": {404, 404}, "/run?id=of-acme-acme": {404, 404},
	} {
		code, _ := b.get(t, path)
		require.Equal(t, codes[0], code, path)
		for _, scope := range []string{"acme/ada", "acme/ben"} {
			if code, _ := b.get(t, path+"&scope="+scope); code == 200 {
				codes[0] = 200
			}
		}
		require.Equal(t, codes[1], codes[0], path)
	}
	for _, scope := range []string{"evil", "acme", "acme/", "acme/ada/x", "*", "a b"} {
		code, _ := b.get(t, "/runs?scope="+url.QueryEscape(scope))
		require.Equal(t, http.StatusNotFound, code, scope)
		code, _ = b.send(t, http.MethodPost, "/approvals", url.Values{"scope": {scope}, "run": {"of-evil-evil"}, "attempt": {"1"}, "say": {"allow"}}.Encode())
		require.Equal(t, http.StatusNotFound, code, scope)
	}
	for _, say := range []string{"answer", "right"} {
		code, _ := b.send(t, http.MethodPost, "/run", url.Values{"scope": {"acme/ada"}, "id": {"of-acme-ben"}, "say": {say}, "text": {"x"}}.Encode())
		require.Equal(t, http.StatusNotFound, code)
	}
	for _, path := range pages {
		for scope, not := range map[string]string{"acme/ada": "acme/ben", "acme/ben": "acme/ada"} {
			_, text := b.get(t, path+"?scope="+url.QueryEscape(scope))
			for _, hidden := range []string{"mend evil", "known by evil", "mend " + not, "known by " + not} {
				require.NotContains(t, text, hidden, path)
			}
		}
	}
}

func TestWhoDecides(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend it", func(o *dash.Options) {
		o.Token, o.Base = "", "/dash"
		o.Who = func(r *http.Request) (dash.Viewer, error) {
			if r.Header.Get("X-User") == "" {
				return dash.Viewer{}, errors.New("a secret reason")
			}
			return dash.Viewer{Name: r.Header.Get("X-User"), Scopes: []memory.Scope{"acme"}}, nil
		}
	})
	b.deploy(t)
	code, text := b.get(t, "/dash/approvals")
	require.Equal(t, http.StatusForbidden, code)
	require.NotContains(t, text, "secret")
	code, text = b.get(t, "/dash/approvals", "X-User", "ada")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, text, `action="/dash/approvals"`)
	require.Contains(t, text, `href="/dash/static/style.css"`)
	code, _ = b.send(t, http.MethodPost, "/dash/approvals", "run=deploy&attempt=1&say=allow", "X-User", "ada")
	require.Equal(t, http.StatusForbidden, code, "what the host lets in is checked for its origin, too")
	code, text = b.send(t, http.MethodPost, "/dash/approvals", "run=deploy&attempt=1&say=allow", "X-User", "ada", "Sec-Fetch-Site", "same-origin")
	require.Equal(t, http.StatusSeeOther, code)
	require.Contains(t, text, "/dash/approvals?said=allowed")
	<-b.delivered("deploy")
	code, _ = b.get(t, "/dash/static/style.css", "X-User", "ada")
	require.Equal(t, http.StatusOK, code)
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	agent := deployer(nil)
	defer agent.Close()
	_, err := dash.New(nil, &dash.Options{
		Token: "short", Base: "dash/", Scopes: []memory.Scope{"a b"}, Who: func(*http.Request) (dash.Viewer, error) { return dash.Viewer{}, nil },
	})
	for _, want := range []string{"no agent", "token: 5 bytes", "token and Who", "base:", "scopes:"} {
		require.ErrorContains(t, err, want)
	}
	a, err := dash.New(agent, nil)
	require.NoError(t, err)
	b, err := dash.New(agent, nil)
	require.NoError(t, err)
	require.NotEqual(t, a.Token(), b.Token())
}

// An id that is no text is not found, and no error of the server.
func TestBadIDsAreNotErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend it", nil)
	for _, say := range []string{"approve", "reject", "undo"} {
		code, _ := b.send(t, http.MethodPost, "/proposals", "id=%ff%fe&say="+say)
		require.Less(t, code, 500, say)
	}
}

// No text turns the direction of what stands on a page, so that it reads as another one.
func TestTextsDoNotTurnPages(t *testing.T) {
	t.Parallel()
	b := newBench(t, "run \u202egnp.exe\u202c \u2067for\u2069 \u05e9\u05dc\u05d5\u05dd", nil)
	b.fill(t, 3)
	for _, path := range append(b.details(t), pages...) {
		_, text := b.get(t, path)
		require.NotRegexp(t, `>[^<]*[\x{202a}-\x{202e}\x{2066}-\x{2069}]`, text, path)
	}
	_, text := b.get(t, "/approvals")
	require.Contains(t, text, "run \ufffdgnp.exe\ufffd \ufffdfor\ufffd \u05e9\u05dc\u05d5\u05dd")
}

// One who agrees where two have to is not told that the run goes on.
func TestAgreeingIsNotAllowing(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend it", nil)
	_, err := b.agent.Run(t.Context(), arc.Objective{ID: "both", Text: "both", Tasks: []reason.Task{{Objective: "both", Skill: "pair"}}})
	require.NoError(t, err)
	_, text := b.send(t, http.MethodPost, "/approvals", "run=both&attempt=1&say=allow")
	require.Contains(t, text, "/approvals?said=agreed")
	_, text = b.get(t, "/approvals?said=agreed")
	require.Contains(t, text, "waits until others have agreed")
	require.Contains(t, text, "1 of 2")
}

// Two names that are typed beside one token are not two people; two whom the host knows are.
func TestOneTokenIsOneVoice(t *testing.T) {
	t.Parallel()
	both := arc.Objective{ID: "both", Text: "once both", Tasks: []reason.Task{{Objective: "both", Skill: "pair"}}}
	b := newBench(t, "mend it", nil)
	_, err := b.agent.Run(t.Context(), both)
	require.NoError(t, err)
	for _, name := range []string{"ada", "bob"} {
		c := b.enter(t, token, name).Cookies()[0]
		_, text := b.send(t, http.MethodPost, "/approvals", "run=both&attempt=1&say=allow&note=fine",
			"Authorization", "", "Cookie", c.Name+"="+c.Value, "Origin", b.URL)
		require.Contains(t, text, "/approvals?said=agreed", name)
	}
	r, err := b.agent.In("").Report(t.Context(), "both")
	require.NoError(t, err)
	require.Equal(t, arc.Waiting, r.Status)
	require.Equal(t, []string{"token"}, r.Approval.AllowedBy)

	b = newBench(t, "mend it", func(o *dash.Options) {
		o.Token, o.Who = "", func(r *http.Request) (dash.Viewer, error) {
			return dash.Viewer{Name: r.Header.Get("X-User"), Scopes: []memory.Scope{"acme"}}, nil
		}
	})
	_, err = b.agent.Run(t.Context(), both)
	require.NoError(t, err)
	for i, said := range []string{"agreed", "allowed"} {
		_, text := b.send(t, http.MethodPost, "/approvals", "run=both&attempt=1&say=allow",
			"X-User", []string{"ada", "bob"}[i], "Sec-Fetch-Site", "same-origin")
		require.Contains(t, text, "/approvals?said="+said)
	}
	<-b.delivered("both")
}

// How long a run took is without what it has waited for a person, which is said beside it.
func TestTookIsWithoutTheWaiting(t *testing.T) {
	t.Parallel()
	b := newBench(t, "mend it", nil)
	b.deploy(t)
	b.pass(14 * time.Hour)
	_, text := b.send(t, http.MethodPost, "/approvals", "run=deploy&attempt=1&say=allow")
	require.Contains(t, text, "/approvals?said=allowed")
	<-b.delivered("deploy")
	_, text = b.get(t, "/run?id=deploy")
	require.Regexp(t, `<dt>Took</dt><dd>[^<h]*, and waited 14 h`, text)
	_, text = b.get(t, "/runs")
	require.NotContains(t, text, "14 h 0")
}

// long is the store of a queue that, once it is said so, has no end.
type long struct {
	store.Store
	endless bool
}

func (s *long) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range s.Store.Scan(ctx, r) {
			if !yield(e, err) {
				return
			}
		}
		if s.endless {
			<-ctx.Done()
			yield(store.Entry{}, ctx.Err())
		}
	}
}

// A page of a long queue says what a few seconds have found.
func TestLongQueues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent, err := arc.New(t.Context(), store.NewMem(), host(), &arc.Options{Scope: "acme"})
		require.NoError(t, err)
		st := &long{Store: store.NewMem()}
		q, err := queue.Open(t.Context(), st, &queue.Options{Scope: "acme"})
		require.NoError(t, err)
		_, _, err = q.Enqueue(t.Context(), queue.Draft{Subject: "mend the cache"})
		require.NoError(t, err)
		st.endless = true
		board, err := dash.New(agent, &dash.Options{Token: token, Queue: q, Scopes: []memory.Scope{"acme", "other"}})
		require.NoError(t, err)
		page := func(path string) string {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			board.ServeHTTP(w, r)
			require.Equal(t, http.StatusOK, w.Code)
			return w.Body.String()
		}
		began := time.Now()
		require.Contains(t, page("/queue?scope=other"), "No job here")
		require.Zero(t, time.Since(began), "it is another tenant's")
		text := page("/queue")
		require.Contains(t, text, "mend the cache")
		require.Contains(t, text, "there may be more")
		require.Equal(t, 5*time.Second, time.Since(began))
		require.NoError(t, agent.Close())
	})
}
