package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/examples/quickstart/internal/repair"
)

// The styles of a terminal.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// printer writes for people: in colour on a terminal, plain elsewhere.
type printer struct {
	w      io.Writer
	colour bool
}

func newPrinter(w io.Writer) *printer {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return &printer{w: w}
	}
	info, err := f.Stat()
	return &printer{w: w, colour: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

func (p *printer) printf(format string, args ...any) {
	fmt.Fprintf(p.w, format, args...)
}

// style puts text in colour, on a terminal.
func (p *printer) style(code, text string) string {
	if !p.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p *printer) welcome(r *result, crew int) {
	p.printf("%s\n", p.style(bold, fmt.Sprintf("A crew of %d workers repairs broken Go packages.", crew)))
	p.printf("The gate runs go build, go vet and go test. Which worker can repair what is to\n" +
		"be learned. Beside the name of a package stands what its first check says.\n" +
		"  reasons        the reasoner plans; the ranking chooses whom to try\n" +
		"  fires a chunk  a plan that delivered before runs without the reasoner\n")
	p.printf("%d memories of earlier runs, in %s\n", r.Known, r.Dir)
}

func (p *printer) session(name string, packages int) {
	p.printf("\n%s\n", p.style(bold, fmt.Sprintf("%s: %d packages", name, packages)))
}

func (p *printer) objective(name, situation string) {
	p.printf("\n%s  %s\n", p.style(cyan, fmt.Sprintf("%-12s", name)), p.style(dim, line(situation)))
}

// event prints what happens in a run, as it happens.
func (p *printer) event(e arc.Event) {
	switch e.Kind {
	case arc.EventFired:
		p.printf("  %s\n", p.style(yellow, "fires a chunk"))
	case arc.EventDecided:
		if len(e.IDs) > 0 {
			p.printf("  reasons, with a pattern that worked before\n")
		} else {
			p.printf("  reasons\n")
		}
	case arc.EventAssessed, arc.EventPivot:
		p.printf("  %s: %s\n", e.Kind, line(e.Text))
	case arc.EventRefused: // the reasoner has no other approach, and says it again
		p.printf("  %s\n", p.style(dim, line(e.Text)))
	case arc.EventExecuted:
		if !strings.HasPrefix(e.Text, "finished") {
			p.printf("    %-12s %s\n", e.Worker, p.style(red, line(e.Text)))
		}
	case arc.EventVerified:
		if e.Text == repair.Unchanged {
			p.printf("    %-12s %s\n", e.Worker, p.style(dim, "finds no edit to make"))
		} else if !e.Pass {
			p.printf("    %-12s %s\n", e.Worker, p.style(dim, line("refused: "+e.Text)))
		}
	}
}

// line puts the beginning of a text on one line, which with what stands before
// it has at most 80 columns.
func line(text string) string {
	const width = 62
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > width {
		return string(r[:width]) + "…"
	}
	return text
}

// repaired prints what came of a package.
func (p *printer) repaired(r repaired) {
	if !r.Delivered {
		p.printf("  %s after %s\n", p.style(red, "BLOCKED"), count(r.Attempts, "attempt"))
		p.why(r)
		return
	}
	p.printf("    %-12s %s\n", r.Worker, line(strings.Join(r.Edits, "; ")))
	p.printf("  %s by %s after %s, %.1f s\n", p.style(green, "DELIVERED"), r.Worker, count(r.Attempts, "attempt"), r.Seconds)
}

// why says who tried in vain to repair a package.
func (p *printer) why(r repaired) {
	if len(r.Edited)+len(r.Looked) == 0 {
		p.printf("    %s\n", line(r.Reason))
	}
	for _, part := range []struct {
		who  []string
		text string
	}{
		{r.Edited, "edited it, and it still does not pass:"},
		{r.Looked, "looked at it, and found no edit to make:"},
		{r.Spared, "not asked, as they mend what fails in other steps:"},
	} {
		if len(part.who) > 0 {
			p.printf("    %s\n", part.text)
			p.roll(part.who)
		}
	}
	if len(r.Edited) == 0 && len(r.Looked) > 0 {
		p.printf("    None of them can mend it: that takes a worker of another kind, or you.\n")
	}
}

// roll prints a list in lines of at most 80 columns.
func (p *printer) roll(who []string) {
	text := "     "
	for i, name := range slices.Compact(slices.Sorted(slices.Values(who))) {
		if i > 0 {
			text += ","
		}
		if len(text)+1+len(name) > 79 {
			p.printf("%s\n", text)
			text = "     "
		}
		text += " " + name
	}
	p.printf("%s\n", text)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// comparison sets the sessions side by side.
func (p *printer) comparison(r *result) {
	p.printf("\n%s\n", p.style(bold, "           packages  delivered  attempts  edits  each  reasoned  fired   time"))
	for _, s := range r.Sessions {
		p.printf("%-10s %8d %10d %9d %6d %s %9d %6d %5.0fs\n", s.Name, s.Objectives, s.Delivered, s.Attempts, s.Edited,
			p.style(green, fmt.Sprintf("%5.1f", s.perDelivery())), s.Deliberations, s.Fired, s.Seconds)
	}
	crew := len(r.Ranking)
	p.printf("edits: attempts that changed the source; each: attempts per delivery, which\n"+
		"would be %.1f for a crew that is tried in random order\n", float64(crew+1)/2)
}

// perDelivery is how many attempts a delivered objective took.
func (s *session) perDelivery() float64 {
	if s.Delivered == 0 {
		return 0
	}
	return float64(s.Attempts) / float64(s.Delivered)
}

// learned prints what the agent knows at the end.
func (p *printer) learned(r *result) {
	p.printf("\n%s  %s  of %d attempts\n", p.style(bold, "Resonance"), sparkline(r.Resonance, 50), len(r.Resonance))
	p.printf("           0 to 1: how sure a worker was, and how well it kept to its task\n")
	m := r.Memory
	p.printf("%s     %s: %d memories (%d before), effectiveness %.2f\n", p.style(bold, "Memory"), m.Status, m.Total, r.Known, m.Effectiveness)
	for _, issue := range m.Issues {
		p.printf("           %s\n", issue)
	}
	p.printf("%s    of the crew in a new situation: the worth that is expected, and the\n"+
		"           draw of chance that lets others be tried\n", p.style(bold, "Ranking"))
	for i, w := range r.Ranking {
		p.printf("     %2d. %-12s %.2f %+.2f  %s\n", i+1, w.Worker, w.Score, w.Draw,
			p.style(dim, "from "+count(w.Samples, "attempt")))
	}
	p.printf("\nWhat was learned is in\n  %s\nand the repaired packages in its folder repaired. Run it again: it starts from\n"+
		"there. -h shows what else it does.\n", r.Dir)
}

// sparkline draws values in [0,1] as a row of at most width bars, each the mean
// of its share.
func sparkline(values []float64, width int) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	n := min(width, len(values))
	var b strings.Builder
	for i := range n {
		part := values[i*len(values)/n : (i+1)*len(values)/n]
		sum := 0.0
		for _, v := range part {
			sum += v
		}
		mean := min(max(sum/float64(len(part)), 0), 1)
		b.WriteRune(bars[int(mean*float64(len(bars)-1)+0.5)])
	}
	return b.String()
}
