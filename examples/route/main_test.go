package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Example shows that an agent which begins with no knowledge comes close to the
// best fixed ladder, and solves with a sixth of the money nearly as much as the
// strongest model.
func Example() {
	if err := run(context.Background(), os.Stdout, config{spend: 0.25, seed: 1, orders: 5}); err != nil {
		panic(err)
	}
	// Output:
	// 400 tasks, 7 models. A gate sees whether an attempt has solved its task; if
	// not, another model may try, and each attempt is paid for. An agent of arc may
	// spend 0.25 USD a task on average, and knows nothing of the models at first.
	//
	//                                                 solved  USD a task  attempts
	// always the cheapest: pico                        31.3%       0.011      1.00
	// always the strongest: giant                      97.2%       1.382      1.00
	// best fixed ladder for the money, in hindsight    97.2%       0.226      1.21
	// arc                                              96.5%       0.236      1.29
	// arc, in the second half of the tasks             97.4%       0.246      1.23
	// oracle: the cheapest that solves it              99.0%       0.133      0.99
	//
	// The fixed ladder is, of all those of up to 4 models within the money, the best
	// by the outcomes, which no host knows beforehand:
	//   swift, medium, large, grand
	// The oracle knows for each task who will solve it, and asks none if none will.
	// The figures of arc are the mean of 5 orders of the tasks.
}

// three writes a log of three models: the dear one solves all, the cheap one half.
func three(t *testing.T) string {
	t.Helper()
	rows := "set,task,cheap,weak,dear\n"
	for range 30 {
		rows += "a,easy,1:0.02,0:0.5,1:0.9\na,hard,0:0.03,0:0.5,1:1.1\n"
	}
	file := filepath.Join(t.TempDir(), "log.csv")
	require.NoError(t, os.WriteFile(file, []byte(rows+"b,other,1,1,\n"), 0o644))
	return file
}

func TestPictureAndLog(t *testing.T) {
	t.Parallel()
	file := three(t)
	svg := filepath.Join(t.TempDir(), "cascade.svg")
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, config{file: file, spend: 0.7, seed: 1, orders: 2, svg: svg}))
	require.Contains(t, out.String(), "60 tasks, 3 models", "that which one did not try is left out")
	require.Contains(t, out.String(), "  cheap, dear\n")
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 81, "%q", line)
	}
	raw, err := os.ReadFile(svg)
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(raw, new(struct{})))
	require.Contains(t, string(raw), "from a cold start")

	out.Reset()
	require.NoError(t, run(t.Context(), &out, config{file: file, models: "cheap,weak", set: "b", spend: 1, orders: 1}))
	require.Contains(t, out.String(), "1 tasks, 2 models")
}

func TestBadLogs(t *testing.T) {
	t.Parallel()
	for name, rows := range map[string]string{
		"empty": "", "no tasks": "a,b,c\n", "no models": "a,b\nx,y\n", "no outcome": "a,b,c\ns,t,won\n",
		"no cost": "a,b,c\ns,t,1:much\n", "none tried by all": "a,b,c\ns,t,\n", "ragged": "a,b,c\ns,t\n",
	} {
		file := filepath.Join(t.TempDir(), "log.csv")
		require.NoError(t, os.WriteFile(file, []byte(rows), 0o644))
		require.Error(t, run(t.Context(), &bytes.Buffer{}, config{file: file, spend: 1, orders: 1}), name)
	}
	require.Error(t, run(t.Context(), &bytes.Buffer{}, config{file: filepath.Join(t.TempDir(), "none.csv")}))
	require.ErrorContains(t, run(t.Context(), &bytes.Buffer{}, config{file: three(t), models: "cheap,brave"}), "brave")
}
