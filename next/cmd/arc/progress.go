package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"

	arc "github.com/arc-learn/arc/next"
	"github.com/arc-learn/arc/next/reason"
)

// progress shows a run as it goes on: what happened as lines, what happens now in the live line.
type progress struct {
	*screen
	mu     sync.Mutex
	doing  string
	words  string // the last of the model's
	since  time.Time
	usd    float64
	priced bool
}

func newProgress(s *screen) *progress {
	p := &progress{screen: s}
	p.busy("begins")
	return p
}

func (p *progress) busy(doing string) {
	p.mu.Lock()
	p.doing, p.since, p.words = doing, time.Now(), ""
	p.mu.Unlock()
	p.Show(p.line)
}

// line is the live one: «asking gpt-5-mini … 4 s, $0.006».
func (p *progress) line(width int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("%s … %s", p.doing, span(time.Since(p.since)))
	if p.priced {
		text += fmt.Sprintf(", $%.3f", p.usd)
	}
	if room := width - runewidth.StringWidth(text) - 4; p.words != "" && room > 10 {
		words := []rune(strings.Join(strings.Fields(p.words), " "))
		text += "  " + string(words[max(0, len(words)-room):])
	}
	return text
}

// lines are the events that are said in a line: a colour, a mark, and how many lines of a terminal the text may take.
var lines = map[string]struct {
	color, mark string
	most        int
}{
	"fired": {green, "a learned plan:", 3}, "decided": {faint, "plan:", 3}, "attempt": {cyan, "▸", 1}, "tool": {cyan, "  →", 1},
	"failed": {red, "✗", 0}, "learned": {green, "learned:", 3}, "waiting": {yellow, "waiting:", 3}, "stuck": {yellow, "stuck:", 3},
	"refused": {yellow, "refused:", 3}, "source failed": {yellow, "source failed:", 3}, "subgoal": {yellow, "subgoal:", 3},
	"retried": {yellow, "retried", 1}, "notify": {yellow, "notify:", 3}, "recalled": {faint, "recalled", 1},
}

// tell shows an event.
func (p *progress) tell(e arc.Event) {
	e.Text = visible(e.Text)
	if l, ok := lines[e.Kind]; ok && e.Text != "0 memories, 0 warnings" {
		text := cut(cmp.Or(e.Text, string(e.Data)), l.most*p.Width-len(e.Name)-8)
		if l.most == 0 { // the beginning, of several lines
			all := strings.SplitN(strings.TrimSpace(e.Text), "\n", 12)
			if len(all) == 12 {
				all[11] = "… arc runs show has it whole"
			}
			text = strings.Join(all, "\n    ")
		}
		p.Say(strings.Join(strings.Fields(p.Paint(l.color, l.mark)+" "+p.Paint(bold, e.Name)), " ") + " " + text)
	}
	switch e.Kind {
	case "asked":
		p.busy("asking " + e.Name)
	case "heard":
		var u *reason.Usage
		if json.Unmarshal(e.Data, &u) == nil && u != nil {
			if usd := cmp.Or(u.CostUSD, u.EstimateUSD); usd != nil {
				p.mu.Lock()
				p.usd, p.priced = p.usd+*usd, true
				p.mu.Unlock()
			}
		}
		p.busy(e.Name + map[bool]string{true: " has answered", false: " has failed"}[e.Text == ""])
	case "waiting":
		p.busy("waits, and goes on by itself")
	case "words":
		p.mu.Lock()
		p.words += e.Text
		p.words = p.words[max(0, len(p.words)-500):]
		p.mu.Unlock()
	case "attempt", "calling":
		p.busy(e.Name + " works")
	case "output":
		p.Say(p.Paint(faint, "  │ ") + strings.TrimRight(e.Text, "\r\n"))
	case "delivered":
		if e.Name != "" {
			p.Say(p.Paint(green, "✓ ") + p.Paint(bold, e.Name))
		}
	}
}
