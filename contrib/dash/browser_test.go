package dash_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
)

var (
	axeFile = flag.String("axe", os.Getenv("ARC_AXE"), "axe.min.js of axe-core (npm), to check accessibility")
	many    = flag.Int("many", 0, "runs, memories and jobs of a measurement")
	shots   = flag.String("shots", "", "directory for screenshots of every page")
)

// browser is a tab of chromium, and what went wrong in it.
type browser struct {
	context.Context
	t    *testing.T
	home string

	mu     sync.Mutex
	errors []string
}

func newBrowser(t *testing.T, home string) *browser {
	t.Helper()
	program, err := "", error(nil)
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if program, err = exec.LookPath(name); err == nil {
			break
		}
	}
	if program == "" {
		t.Skip("SKIPPED: there is no chromium: what pages do in a browser is not checked")
	}
	all, stop := chromedp.NewExecAllocator(context.Background(), chromedp.ExecPath(program), chromedp.Headless,
		chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true))
	ctx, cancel := chromedp.NewContext(all)
	b := &browser{Context: ctx, t: t, home: home}
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
			if !strings.HasPrefix(e.Request.URL, b.home+"/") {
				b.note("a request leaves for " + e.Request.URL)
			}
		}
	}))
	_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	return b
}

func (b *browser) note(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.errors = append(b.errors, s)
}

// clean fails for what went wrong since it was asked last.
func (b *browser) clean(where string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.errors, where)
}

// do takes steps, for two minutes at most. A step whose element a live page has replaced since it was looked
// up is taken again, as a person would.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b, 2*time.Minute)
	defer cancel()
	for _, step := range steps {
		err := chromedp.Do(ctx, step)
		for ctx.Err() == nil && err != nil && strings.Contains(strings.ToLower(err.Error()), "node") {
			err = chromedp.Do(ctx, step)
		}
		require.NoError(b.t, err)
	}
}

// ask evaluates an expression.
func ask[T any](b *browser, js string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b, 2*time.Minute)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err)
	return v
}

// size makes the tab as wide as a telephone or a screen, in a colour scheme.
func (b *browser) size(width int, scheme string) {
	b.t.Helper()
	_, err := chromedp.Call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(width), Height: 900, DeviceScaleFactor: 1, Mobile: width < 500})
	require.NoError(b.t, err)
	_, err = chromedp.Call(b, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
	require.NoError(b.t, err)
}

// looks opens each page at each width in each scheme: nothing is cut, nothing goes wrong, and axe finds
// nothing.
func TestBrowserLooks(t *testing.T) {
	h := newBench(t, nil, nil)
	asks, waits, failed := h.fill()
	b := newBrowser(t, h.URL)
	var axe []byte
	if *axeFile == "" {
		t.Log("SKIPPED: there is no axe-core (flag -axe, or ARC_AXE): accessibility is not checked")
	} else {
		raw, err := os.ReadFile(*axeFile)
		require.NoError(t, err)
		axe = raw
	}
	pages := map[string]string{"now": "", "runs": "runs", "asks": "run?id=" + asks.ID, "waits": "run?id=" +
		waits.ID, "failed": "run?id=" + failed.ID,
		"learned":  "learned?text=look+where+order+SO-7+is&inputs=%7B%22order%22%3A%22SO-7%22%7D",
		"memories": "memories", "worth": "worth", "queue": "queue",
		"nowhere": "run?id=nowhere"}
	for name, path := range pages {
		b.do(chromedp.Navigate(h.URL+"/dash/"+path), chromedp.WaitVisible("main h1"))
		for _, width := range []int{390, 1440} {
			for _, scheme := range []string{"light", "dark"} {
				b.size(width, scheme)
				where := fmt.Sprintf("%s, %d px, %s", name, width, scheme)
				wide := ask[[]string](b,
					`[...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll, .out, .skip, svg") &&
					e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 120))`)
				require.Empty(t, wide, where)
				require.LessOrEqual(t, ask[int](b, "document.documentElement.scrollWidth"), width, where)
				if *shots != "" {
					png := ask2(b, chromedp.FullScreenshot(100))
					require.NoError(t, os.WriteFile(filepath.Join(*shots, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)),
						png, 0o644))
				}
				if name != "nowhere" {
					b.clean(where)
				}
				if axe != nil {
					b.do(chromedp.Evaluate[chromedp.Void](string(axe) + ";0"))
					require.Empty(t, ask[[]string](b,
						`axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations
						.map(v => v.impact + " " + v.id + ": " +
							v.nodes.map(n => n.html + " " + n.failureSummary).slice(0, 3).join(" | ")))`), where)
				}
				b.mu.Lock()
				b.errors = nil // what axe does is not the page's, and of a page that is not there the browser says so
				b.mu.Unlock()
			}
		}
	}
}

func ask2(b *browser, a chromedp.Action[[]byte]) []byte {
	b.t.Helper()
	v, err := chromedp.Run(b, a)
	require.NoError(b.t, err)
	return v
}

// An answer is shown in place: the question goes, what is typed elsewhere stays, and the focus is on what is
// said.
func TestBrowserActs(t *testing.T) {
	h := newBench(t, nil, nil)
	asks, waits, _ := h.fill()
	b := newBrowser(t, h.URL)
	b.do(chromedp.Navigate(h.URL+"/dash/"), chromedp.WaitVisible("textarea[required]"),
		chromedp.Evaluate[chromedp.Void]("window.same = 1"),
		chromedp.SendKeys("textarea[required]", "the second"),
		chromedp.Click("section.ask form[id$='-a'] button.main"), chromedp.WaitVisible("#said"))
	require.Contains(t, ask[string](b, "document.querySelector('#said').textContent"), "Answered.")
	require.Equal(t, "said", ask[string](b, "document.activeElement.id"))
	require.Zero(t, ask[int](b, "document.querySelectorAll('textarea[required]').length"))
	b.do(chromedp.SendKeys("input[name=text]", "it is r"))
	h.run("look at something else", "") // the page is renewed meanwhile
	h.appears(b, "look at something else")
	require.Contains(t, ask[string](b, "document.querySelector('#said').textContent"), "Answered.",
		"what was said stays to be read")
	require.Equal(t, "it is r", ask[string](b, "document.activeElement.value"),
		"what is typed stays, and so does the focus")
	b.do(chromedp.SendKeys("input[name=text]", "ight"), chromedp.Click("button[value=allow]"),
		chromedp.WaitNotPresent("button[value=allow]"))
	require.Contains(t, ask[string](b, "document.querySelector('#said').textContent"), "Allowed.")
	require.Equal(t, 1, ask[int](b, "window.same"), "it is the same page")
	h.until(asks.ID, "delivered")
	h.until(waits.ID, "delivered")
	b.clean("acts")

	b.do(chromedp.Navigate(h.URL+"/dash/queue"), chromedp.WaitVisible("button[value=retry]"),
		chromedp.Click("button[value=retry]"), chromedp.WaitNotPresent("button[value=retry]"))
	go h.agent.Run(context.Background(), arc.Objective{ID: "held", Text: "hold on"})
	h.until("held", arc.Running)
	b.do(chromedp.Navigate(h.URL+"/dash/run?id=held"), chromedp.WaitVisible("main[data-live]"),
		chromedp.Evaluate[chromedp.Void]("window.same = 1"))
	h.hold <- "it was held"
	h.appears(b, "it was held")
	require.Equal(t, 1, ask[int](b, "window.same"), "it is the same page")
	b.clean("follows")

	_, err := chromedp.Call(b, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: true})
	require.NoError(t, err)
	b.do(chromedp.Navigate(h.URL+"/dash/memories"), chromedp.Click("button[value=trust]"),
		chromedp.WaitVisible("#said"))
}

// appears waits for a text to stand in the page.
func (h *bench) appears(b *browser, text string) {
	h.t.Helper()
	ask[bool](b, fmt.Sprintf(`new Promise(done => { const look = () => `+
		`document.querySelector("main").textContent.includes(%q) ? done(true) : setTimeout(look, 50); look(); })`,
		text))
}

func TestBrowserPayloads(t *testing.T) {
	h := newBench(t, nil, nil)
	paths := hostile(h)
	b := newBrowser(t, h.URL)
	for i, path := range paths {
		if i >= len(pages) && i%4 != 0 {
			continue // others like it are looked at
		}
		b.do(chromedp.Navigate(h.URL+"/dash/"+path), chromedp.WaitReady("body"))
		require.Equal(t, "undefined", ask[string](b, "typeof window.xss"), path)
		b.mu.Lock()
		for _, e := range b.errors {
			require.Contains(t, e, "status of 40", path)
		}
		b.errors = nil
		b.mu.Unlock()
	}
}
