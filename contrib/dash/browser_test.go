package dash_test

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/contrib/dash"
)

var (
	axeFile = flag.String("axe", "", "axe.min.js of axe-core, to check accessibility")
	many    = flag.Int("runs", 130, "runs that the pages of the browser test have at most")
	every   = flag.Bool("every", false, "open every page that shows a payload, not the first ones and every tenth")
)

// browser is a tab of chromium, and what went wrong in it.
type browser struct {
	context.Context
	home string

	mu     sync.Mutex
	errors []string
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Skip("SKIPPED: there is no chromium: what pages do in a browser is not checked")
	}
	flags := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1280, 900), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true),
	}
	all, stop := chromedp.NewExecAllocator(context.Background(), flags...)
	ctx, cancel := chromedp.NewContext(all)
	b := &browser{Context: ctx}
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // ends the process, and waits for it
		cancel()
		stop()
	})
	require.NoError(t, chromedp.Do(ctx))
	require.NoError(t, chromedp.Listen(ctx, func(ev any) {
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			b.note("exception: " + e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError {
				b.note(fmt.Sprintf("console: %s", e.Args[0].Value))
			}
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError {
				b.note("log: " + e.Entry.Text + " " + e.Entry.URL)
			}
		case *page.EventJavascriptDialogOpening:
			b.note("dialog: " + e.Message)
		case *network.EventRequestWillBeSent:
			b.mu.Lock()
			home := b.home
			b.mu.Unlock()
			if !strings.HasPrefix(e.Request.URL, home+"/") {
				b.note("a request leaves for " + e.Request.URL)
			}
		}
	}))
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	return b
}

func (b *browser) note(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.errors = append(b.errors, s)
}

// clean fails for what went wrong since it was asked last. Of a page that is not found
// the browser says so itself.
func (b *browser) clean(t *testing.T, where string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.errors {
		if strings.Contains(e, "status of 40") {
			continue
		}
		require.Fail(t, e, where)
	}
	b.errors = nil
}

// enter opens a dashboard by its token.
func (b *browser) enter(t *testing.T, of *bench) {
	t.Helper()
	b.mu.Lock()
	b.home = of.URL
	b.mu.Unlock()
	_, err := chromedp.Call(b, network.ClearBrowserCookies, cdp.Empty{})
	require.NoError(t, err)
	b.do(t, chromedp.Navigate(of.URL+"/?token="+token), chromedp.WaitVisible("main h1"))
}

// do takes steps, for a minute at most.
func (b *browser) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b, time.Minute)
	defer cancel()
	require.NoError(t, chromedp.Do(ctx, steps...))
}

// ask takes a step that returns something.
func ask[T any](t *testing.T, b *browser, a chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b, time.Minute)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	require.NoError(t, err)
	return v
}

// accessible has axe look at the page at hand, in both colour schemes.
func (b *browser) accessible(t *testing.T, axe, where string) {
	t.Helper()
	if axe == "" {
		return
	}
	for _, scheme := range []string{"dark", "light"} {
		b.colours(t, scheme)
		b.do(t, chromedp.Evaluate[chromedp.Void](axe+";0"))
		found := ask(t, b, chromedp.Evaluate[[]string](`axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations
			.map(v => v.impact + " " + v.id + ": " + v.nodes.map(n => n.html + " " + n.failureSummary).slice(0, 3).join(" | ")))`,
			chromedp.EvalAwaitPromise))
		for _, v := range found {
			if strings.HasPrefix(v, "serious") || strings.HasPrefix(v, "critical") {
				t.Errorf("%s, %s: %s", where, scheme, v)
			} else {
				t.Log(where, scheme, v)
			}
		}
	}
}

// colours has the browser prefer a colour scheme.
func (b *browser) colours(t *testing.T, scheme string) {
	t.Helper()
	_, err := chromedp.Call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		},
	})
	require.NoError(t, err)
}

func TestBrowser(t *testing.T) {
	w := newBrowser(t)
	t.Run("pages", w.pages)
	t.Run("approves", w.approves)
	t.Run("renews", w.renews)
	t.Run("follows", w.follows)
	t.Run("by keys", w.byKeys)
	t.Run("runs no payload", w.runsNoPayload)
}

// pages opens each page, with few runs and with many.
func (w *browser) pages(t *testing.T) {
	var axe string
	if *axeFile == "" {
		t.Log("SKIPPED: there is no axe-core (flag -axe): accessibility is not checked")
	} else {
		raw, err := os.ReadFile(*axeFile)
		require.NoError(t, err)
		axe = string(raw)
	}
	for _, runs := range []int{0, 3, *many} {
		b := newBench(t, "mend the cache", nil)
		b.fill(t, runs)
		w.enter(t, b)
		all := pages
		if runs == 3 {
			all = append(all[:len(all):len(all)], "/run?id=run-0", "/run?id=run-1", "/run?id=run-2", "/run?id=deploy",
				"/why?text=mend&wanted=mend", "/chunks?text=mend+it", "/memories?text=mend", "/nowhere", "/runs?scope=other")
			hits := b.details(t)
			all = append(all, hits[0], hits[1])
		}
		for _, path := range all {
			w.do(t, chromedp.Navigate(b.URL+path), chromedp.WaitVisible("main h1, body"))
			w.clean(t, path)
			if runs == *many {
				t.Logf("%d runs, %s: first paint after %.0f ms", runs, path, ask(t, w, chromedp.Evaluate[float64](
					`new Promise(done => requestAnimationFrame(() => setTimeout(done, 20)))
					.then(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1)`, chromedp.EvalAwaitPromise)))
			}
			if runs == 3 {
				w.accessible(t, axe, path)
				w.mu.Lock()
				w.errors = nil // what axe does is not the page's
				w.mu.Unlock()
			}
		}
	}
}

// approves gives an approval by a click, which lets the action be made, once.
func (w *browser) approves(t *testing.T) {
	b := newBench(t, "tell everybody", nil)
	b.deploy(t)
	w.mu.Lock()
	w.home = b.URL
	w.mu.Unlock()
	_, err := chromedp.Call(w, network.ClearBrowserCookies, cdp.Empty{})
	require.NoError(t, err)
	w.do(t, chromedp.Navigate(b.URL+"/approvals"), chromedp.SendKeys("#token", token), chromedp.SendKeys("#name", "ada"),
		chromedp.Click("button"), chromedp.WaitVisible("main .tiles"),
		chromedp.Navigate(b.URL+"/approvals"))
	// Tab leads from the note to the button that allows.
	w.do(t, chromedp.Focus(`input[name="note"]`), chromedp.KeyEvent("it is Monday\t"))
	require.Equal(t, "allow", ask(t, w, chromedp.Evaluate[string]("document.activeElement.value")))
	w.do(t, chromedp.Click(`button[value="allow"]`), chromedp.WaitVisible(".said"))
	require.Contains(t, ask(t, w, chromedp.Text(".said")), "Allowed")
	<-b.delivered("deploy")
	require.EqualValues(t, 1, b.made.Load())
	w.do(t, chromedp.Navigate(b.URL+"/approvals"), chromedp.WaitVisible("#main"), chromedp.KeyEvent("\t"))
	require.Equal(t, "Skip to the content", ask(t, w, chromedp.Evaluate[string]("document.activeElement.textContent")))
	w.do(t, chromedp.Reload(), chromedp.WaitVisible(".empty"), chromedp.Navigate(b.URL+"/run?id=deploy"),
		chromedp.WaitVisible(".line"))
	require.Contains(t, ask(t, w, chromedp.Text("main")), "Delivered")
	require.EqualValues(t, 1, b.made.Load())
	w.clean(t, "approve")
}

// requested counts the requests for a path that the page at hand has made.
func (w *browser) requested(t *testing.T, path string) int {
	t.Helper()
	return ask(t, w, chromedp.Evaluate[int](fmt.Sprintf(
		`performance.getEntriesByType("resource").filter(e => new URL(e.name).pathname === %q).length`, path)))
}

// renews waits for a list to show a run that begins later, without being loaded again:
// told by a stream, or by looking again where there is none.
func (w *browser) renews(t *testing.T) {
	for _, streams := range []bool{true, false} {
		b := newBench(t, "mend the cache", func(o *dash.Options) {
			if !streams {
				o.Journal = nil
			}
		})
		w.enter(t, b)
		w.do(t, chromedp.Navigate(b.URL+"/runs"), chromedp.WaitVisible(".empty"), chromedp.Evaluate[chromedp.Void]("window.same = 1"))
		_, err := b.agent.Run(t.Context(), arc.Objective{ID: "later", Text: "mend the pool"})
		require.NoError(t, err)
		w.do(t, chromedp.WaitVisible(`#run-later`))
		require.Equal(t, 1, ask(t, w, chromedp.Evaluate[int]("window.same")), "it is the same page")
		w.clean(t, "renew")
	}
}

// follows sees a run go on while its page is open, and a stream that is no more once the
// run has ended or the page is hidden.
func (w *browser) follows(t *testing.T) {
	b := newBench(t, "mend the cache", nil)
	w.enter(t, b)
	ended := make(chan error, 1)
	go func() {
		_, err := b.agent.Run(context.Background(), arc.Objective{ID: "slow", Text: "hold the door"})
		ended <- err
	}()
	w.do(t, chromedp.Navigate(b.URL+"/runs"), chromedp.WaitVisible("#run-slow"), chromedp.Navigate(b.URL+"/run?id=slow"),
		chromedp.WaitVisible(`#part[data-stream]`), chromedp.Evaluate[chromedp.Void]("window.same = 1"))
	require.Contains(t, ask(t, w, chromedp.Text("main")), "Attempt 1 at task 1")
	close(b.hold)
	require.NoError(t, <-ended)
	w.do(t, chromedp.WaitVisible(`#part:not([data-every]) #made`))
	require.Contains(t, ask(t, w, chromedp.Text("main")), "Delivered")
	require.Equal(t, 1, ask(t, w, chromedp.Evaluate[int]("window.same")), "it is the same page")
	require.LessOrEqual(t, w.requested(t, "/run"), 6, "it does not poll beside a stream")
	w.clean(t, "follow")
}

// byKeys comes in, finds its way, allows an action and leaves by the keyboard alone, in
// dark colours.
func (w *browser) byKeys(t *testing.T) {
	b := newBench(t, "tell everybody", nil)
	b.deploy(t)
	w.mu.Lock()
	w.home = b.URL
	w.mu.Unlock()
	_, err := chromedp.Call(w, network.ClearBrowserCookies, cdp.Empty{})
	require.NoError(t, err)
	w.colours(t, "dark")
	defer w.colours(t, "light")
	focused := func() string {
		return ask(t, w, chromedp.Evaluate[string](`(e => e.textContent.trim() || e.value || e.name)(document.activeElement)`))
	}
	tab := func(to string) {
		t.Helper()
		for range 60 {
			w.do(t, chromedp.KeyEvent("\t"))
			if focused() == to {
				ring := ask(t, w, chromedp.Evaluate[string]("getComputedStyle(document.activeElement).outlineStyle"))
				require.Equal(t, "solid", ring, "what has the focus shows it")
				return
			}
		}
		require.Fail(t, "no Tab leads to "+to, focused())
	}
	w.do(t, chromedp.Navigate(b.URL+"/"), chromedp.WaitVisible("#token"), chromedp.KeyEvent(token+"\tada\r"), chromedp.WaitVisible(".tiles"))
	require.Equal(t, "rgb(18, 19, 21)", ask(t, w, chromedp.Evaluate[string]("getComputedStyle(document.body).backgroundColor")))
	tab("Skip to the content")
	tab("Approvals")
	w.do(t, chromedp.KeyEvent("\r"), chromedp.WaitVisible(".card.ask button"))
	tab("Allow")
	w.do(t, chromedp.KeyEvent("\r"), chromedp.WaitVisible(".said"))
	<-b.delivered("deploy")
	require.EqualValues(t, 1, b.made.Load())
	tab("Log out")
	w.do(t, chromedp.KeyEvent("\r"), chromedp.WaitVisible("#token"))
	w.clean(t, "keys")
}

// runsNoPayload looks for one that runs, asks another host, or makes the browser complain.
func (w *browser) runsNoPayload(t *testing.T) {
	b := newBench(t, "", nil)
	hostile(t, b)
	w.enter(t, b)
	paths := hostilePages(t, b)
	for i, p := range paths {
		if !*every && i > len(pages) && i%10 != 0 && !strings.Contains(p, "text=") {
			continue // others like it are looked at
		}
		w.do(t, chromedp.Navigate(b.URL+p), chromedp.WaitReady("body"))
		require.Equal(t, "undefined", ask(t, w, chromedp.Evaluate[string]("typeof window.xss")), p)
		w.clean(t, p)
	}
	// One that a listener of events would wait for.
	w.do(t, chromedp.Navigate(b.URL+"/memories?text="+url.QueryEscape(`" onfocus=window.xss=1 autofocus x="`)),
		chromedp.Focus("#text"))
	require.Equal(t, "undefined", ask(t, w, chromedp.Evaluate[string]("typeof window.xss")))
	w.clean(t, "focus")
}
