package console_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/contrib/console"
)

func TestTable(t *testing.T) {
	long := strings.Repeat("ein langer Satz über Züge ", 10)
	rows := [][]string{{"id", "status", "text"}, {"a1", "failed", long}, {"b22", "新しい", "two\nlines\x1b[2J"}}
	for _, width := range []int{40, 200} {
		at, out, _ := typed("runs")
		at.Width, at.Color = width, true
		(&console.Screen{Terminal: at}).Table(rows, func(n int, cell string) string {
			return map[string]string{"failed": "31"}[cell]
		})
		plain := strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(out.String())
		require.NotEqual(t, plain, out.String())
		require.NotContains(t, plain, "\x1b")
		for line := range strings.Lines(plain) {
			require.LessOrEqual(t, runewidth.StringWidth(strings.TrimSpace(line)), width)
			if !strings.HasPrefix(line, "b22") {
				require.Equal(t, 5, strings.Index(line, strings.Fields(line)[1]))
			}
		}
		at.Piped = true
		out.Reset()
		(&console.Screen{Terminal: at}).Table(rows, func(int, string) string { return "" })
		require.Contains(t, out.String(), strings.TrimSpace(long))
	}
}

func TestJSON(t *testing.T) {
	type inner struct{ CostUSD, EstimateUSD *float64 }
	at, out, _ := typed("runs --json")
	require.NoError(t, (&console.Screen{Terminal: at}).JSON(struct {
		inner
		ID         string
		UtilityOfX float64
		Began, End time.Time
		Raw        json.RawMessage
		List       []string
		Call       func()
		ByKind     map[string]int
	}{inner: inner{CostUSD: new(0.5)}, ID: "a", Began: time.Unix(0, 0), Raw: json.RawMessage(`{"OrderID":1}`),
		ByKind: map[string]int{"x": 1}}))
	require.JSONEq(t, `{"id":"a","utility_of_x":0,"began":"1970-01-01T00:00:00Z","raw":{"OrderID":1},`+
		`"list":[],"by_kind":{"x":1}}`, out.String())
}

// The live line stands below what is said, is drawn each second, and leaves nothing behind.
func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at, out, errs := typed("do")
		at.Live, at.Width = true, 20
		s := &console.Screen{Terminal: at}
		began := time.Now()
		s.Show(func(int) string { return "asking … " + time.Since(began).String() })
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		s.Say("it is said")
		s.Print("result")
		s.Still()
		at.Live = false
		s.Show(func(int) string { panic("nobody sees it") })
		wipe := "\r\x1b[K"
		line := func(s string) string { return wipe + "\x1b[?7l" + s + "\x1b[?7h" } // a narrower terminal cuts it
		require.Equal(t, line("asking … 0s")+line("asking … 1s")+wipe+"it is said\n"+line("asking … 1.5s")+
			wipe+line("asking … 1.5s")+wipe, errs.String())
		require.Equal(t, "result\n", out.String())
	})
}

func TestText(t *testing.T) {
	require.Equal(t, "a[2Jb\tc\n", console.Visible("a\x1b[2Jb\tc\r\n"))
	at, out, errs := typed("do")
	at.Color = true
	s := &console.Screen{Terminal: at}
	s.Print(s.Paint("33", "waits: ") + "Pay \u202e0001\u202c dollars\x1b[8m now\u009b2J, می\u200cخواهم 👩\u200d🚀\n")
	s.Say(s.Paint("1", "w") + " Pay \u20660001\u2069")
	require.Equal(t, "\x1b[33mwaits: \x1b[0mPay 0001 dollars[8m now2J, می\u200cخواهم 👩\u200d🚀\n", out.String())
	require.Equal(t, "\x1b[1mw\x1b[0m Pay 0001\n", errs.String())
	require.Equal(t, "abc …", console.Cut(" abc\ndef", 10))
	require.Equal(t, "新…", console.Cut("新しい", 4))
	_, err := (&console.Screen{Terminal: &console.Terminal{Err: &bytes.Buffer{}}}).Question(t.Context(), "?")
	require.Error(t, err)
}
