package dash_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// payloads are texts that would run in a page that does not escape them.
func payloads(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile("testdata/payloads.txt")
	require.NoError(t, err)
	out := strings.Split(strings.TrimSpace(string(raw)), "\n")
	require.GreaterOrEqual(t, len(out), 50)
	return out
}

// hostile fills a bench with payloads, each in every text that a host, a model, a
// worker, a gate or a user can fill.
func hostile(t *testing.T, b *bench) {
	t.Helper()
	ctx := t.Context()
	for i, p := range payloads(t) {
		b.mu.Lock()
		b.say = p
		b.mu.Unlock()
		kind := [...]string{"fail", "mend", "ask"}[i%3]
		inputs, err := json.Marshal(map[string]string{p: p})
		require.NoError(t, err)
		_, err = b.agent.Run(ctx, arc.Objective{
			ID: fmt.Sprintf("run-%d %s", i, p), Text: kind + " " + p, Situation: "a situation " + p, Session: p,
			Conditions: map[string]string{p: p}, Inputs: inputs,
		})
		require.NoError(t, err)
		for _, k := range []memory.Kind{memory.Fact, memory.Failure} {
			_, err = b.agent.In("").Memory().Remember(ctx, memory.Draft{
				Kind: k, Trigger: "in a situation " + p, Content: p, Actor: p, Thread: p,
				Source: memory.Source{Origin: memory.User, Ref: p, Run: p}, Slot: memory.Slot{Subject: p, Attribute: "a" + p, Value: p},
			})
			require.NoError(t, err)
		}
		_, _, err = b.queue.Enqueue(ctx, queue.Draft{Subject: p, Description: p, Source: p, Key: p})
		require.NoError(t, err)
		if i%10 == 0 {
			_, err = b.agent.Run(ctx, arc.Objective{ID: fmt.Sprintf("deploy-%d %s", i, p), Text: p, Tasks: []reason.Task{{
				Objective: p, Delta: p, Verify: p, Skill: "deploy", Inputs: inputs,
			}}})
			require.NoError(t, err)
		}
		b.pass(time.Second)
	}
	_, err := b.queue.Sense(ctx, queue.Sensor{Name: b.say, Read: func(context.Context, string) (queue.Reading, error) {
		return queue.Reading{}, errors.New(b.say)
	}})
	require.Error(t, err)
	_, err = b.agent.Maintain(ctx, "")
	require.NoError(t, err)
}

// hostilePages are all pages with what hostile has made, and with payloads in what an
// address can say.
func hostilePages(t *testing.T, b *bench) (out []string) {
	t.Helper()
	out = slices.Clone(pages)
	for r, err := range b.agent.In("").Runs(t.Context(), arc.Filter{}) {
		require.NoError(t, err)
		out = append(out, "/run?id="+url.QueryEscape(r.ID))
	}
	hits, err := b.agent.In("").Memory().Recall(t.Context(), memory.Query{K: 500})
	require.NoError(t, err)
	for i, h := range hits {
		if i%4 == 0 {
			out = append(out, "/memory?id="+url.QueryEscape(string(h.Record.ID)))
		}
	}
	for i, p := range payloads(t) {
		q := url.QueryEscape(p)
		all := []string{
			"/memories?text=" + q, "/why?text=" + q + "&wanted=" + q, "/chunks?text=" + q + "&situation=" + q,
			"/ranking?skill=" + q + "&situation=" + q, "/runs?session=" + q + "&said=" + q, "/run?id=" + q, "/memory?id=" + q,
			"/runs?status=" + q, "/runs?after=" + q, "/runs?scope=" + q, "/queue?state=" + q, "/memories?kind=" + q + "&n=" + q,
			"/?token=" + q,
		}
		out = append(out, all[i%len(all)], all[(i+5)%len(all)])
	}
	return out
}

// What a template writes: every element and attribute, and no other.
var (
	elements = strings.Fields(`html head meta title link script body a header svg path circle rect line polyline text nav p ul ol li
		div form label select option input textarea button datalist main h1 h2 h3 section article span small strong time table caption
		thead tbody tr th td dl dt dd details summary pre`)
	attributes = strings.Fields(`lang charset name content rel href type src defer class id tabindex action method for value selected
		checked required placeholder maxlength autocomplete autofocus list role scope datetime title open viewbox d cx cy r x y
		x1 x2 y1 y2 rx width height points rows hx-get hx-trigger hx-swap data-every data-stream`)
)

// sound says what an element of a page has that no template writes.
func sound(n *html.Node) error {
	if !slices.Contains(elements, n.Data) {
		return fmt.Errorf("element %q", n.Data)
	}
	for _, a := range n.Attr {
		if name := strings.ToLower(a.Key); !slices.Contains(attributes, name) && !strings.HasPrefix(name, "aria-") {
			return fmt.Errorf("attribute %q of %q", a.Key, n.Data)
		}
		switch a.Key {
		case "href", "src", "action", "hx-get", "data-stream":
			if (!strings.HasPrefix(a.Val, "/") || strings.HasPrefix(a.Val, "//")) && a.Val != "#main" {
				return fmt.Errorf("%s %q of %q", a.Key, a.Val, n.Data)
			}
		case "autofocus", "tabindex":
			if strings.Contains(a.Val, "xss") {
				return fmt.Errorf("%s %q of %q", a.Key, a.Val, n.Data)
			}
		}
	}
	if n.Data == "script" && n.FirstChild != nil || n.Data == "style" {
		return fmt.Errorf("%s in the page", n.Data)
	}
	return nil
}

func TestNoPayloadMakesAnElement(t *testing.T) {
	t.Parallel()
	b := newBench(t, "", nil)
	hostile(t, b)
	shown := 0
	for _, path := range hostilePages(t, b) {
		code, text := b.get(t, path)
		require.NotEqual(t, http.StatusInternalServerError, code, path)
		shown += strings.Count(text, "xss")
		doc, err := html.Parse(strings.NewReader(text))
		require.NoError(t, err)
		scripts := 0
		for n := range doc.Descendants() {
			if n.Type != html.ElementNode {
				require.NotEqual(t, html.CommentNode, n.Type, path)
				continue
			}
			require.NoError(t, sound(n), path)
			if n.Data == "script" {
				scripts++
			}
		}
		require.Equal(t, 2, scripts, path)
	}
	require.Greater(t, shown, 4000, "the payloads stand in the pages")
	_, text := b.get(t, "/proposals")
	require.Contains(t, text, "Reject")
}

// The check itself finds what a page that does not escape would have.
func TestPayloadsWouldMakeElements(t *testing.T) {
	t.Parallel()
	harmless := 0
	for _, p := range payloads(t) {
		found := false
		for _, page := range []string{"<p>" + p + "</p>", `<p title="` + p + `">x</p>`, `<p title='` + p + `'>x</p>`, `<a href="` + p + `">x</a>`} {
			doc, err := html.Parse(strings.NewReader(page))
			require.NoError(t, err)
			for n := range doc.Descendants() {
				found = found || n.Type == html.ElementNode && sound(n) != nil
			}
		}
		if !found {
			harmless++
		}
	}
	require.LessOrEqual(t, harmless, 3, "of all, those that only another context would run")
}
