package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Example shows that routing spends the budget where the strong model is
// worth it: 29.9 % of it at random would be right in 70.8 %.
func Example() {
	if err := run(context.Background(), os.Stdout, "", 45, 1, ""); err != nil {
		panic(err)
	}
	// Output:
	// 3000 questions, each for a cheap or a strong model, at 1.50 or 150.00 USD per
	// 1000. The budget is 45.00. The oracle knows beforehand which model is right.
	//
	// policy             right   USD per 1000  sent strong
	// always cheap       62.4%           1.50         0.0%
	// always strong      90.4%         150.00       100.0%
	// routed             74.9%          45.95        29.9%
	// oracle             96.0%          51.45        33.6%
}

func TestPictureAndLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, svg := filepath.Join(dir, "log.csv"), filepath.Join(dir, "regret.svg")
	rows := "topic,id,chars,small,large\n"
	for range 50 {
		rows += "a,1,10,1,1\nb,2,10,0,1\n"
	}
	require.NoError(t, os.WriteFile(log, []byte(rows), 0o644))
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, log, 80, 1, svg))
	require.Contains(t, out.String(), "100 questions")
	raw, err := os.ReadFile(svg)
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(raw, new(struct{})))
	require.Contains(t, string(raw), "Learned")

	require.NoError(t, os.WriteFile(log, []byte("a,b,c,d,e\nt,1,1,x,1\n"), 0o644))
	require.Error(t, run(t.Context(), &out, log, 80, 1, ""))
	require.NoError(t, os.WriteFile(log, []byte("a,b,c,d,e\n"), 0o644))
	require.Error(t, run(t.Context(), &out, log, 80, 1, ""))
	require.Error(t, run(t.Context(), &out, filepath.Join(dir, "none.csv"), 80, 1, ""))
}
