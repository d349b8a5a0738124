package queue_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

const killed = 20 // jobs of TestKill

// laborer is the process that TestKill kills: it does what is there, and prints what it has begun and ended.
func laborer(t *testing.T, dir string) {
	st, err := badger.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	defer st.Close()
	ahead := time.Duration(0)
	q, err := queue.Open(t.Context(), store.NewGroup(st), &queue.Options{
		Now: func() time.Time { return time.Now().Add(ahead) },
	})
	require.NoError(t, err)
	ahead = time.Minute // the leases of former processes have run out
	for i := range killed {
		_, _, err := q.Add(t.Context(), queue.Draft{Subject: "first", Key: fmt.Sprint(i), MaxAttempts: 100})
		require.NoError(t, err)
	}
	for {
		j, err := q.Claim(t.Context())
		if errors.Is(err, queue.ErrEmpty) {
			return
		}
		require.NoError(t, err)
		fmt.Println("begun", j.ID)
		var then []queue.Draft
		if j.Subject == "first" {
			then = []queue.Draft{{Subject: "then", MaxAttempts: 100}}
		}
		require.NoError(t, q.End(t.Context(), j, nil, then...))
		fmt.Println("ended", j.ID)
	}
}

// kill −9 at any time: what was ended stays so and is not begun again, what was begun is tried again, and each
// follow-up is there once.
func TestKill(t *testing.T) {
	if dir := os.Getenv("ARC_LABORER"); dir != "" {
		laborer(t, dir)
		return
	}
	dir, ended, draw := t.TempDir(), map[string]bool{}, rand.New(rand.NewPCG(1, 2))
	for round := 1; ; round++ {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), "ARC_LABORER="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		at := draw.IntN(10)
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			switch verb, id, _ := strings.Cut(lines.Text(), " "); verb {
			case "begun":
				require.False(t, ended[id], "round %d: %s has ended, and was begun again", round, id)
			case "ended":
				ended[id] = true
			}
			if n == at && round <= 10 {
				for end := time.Now().Add(time.Duration(draw.IntN(2000)) * time.Microsecond); time.Now().Before(end); {
				}
				_ = cmd.Process.Kill()
			}
		}
		if err := cmd.Wait(); err == nil {
			break
		} else {
			require.ErrorContains(t, err, "killed")
		}
	}
	st, err := badger.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	defer st.Close()
	q, err := queue.Open(t.Context(), store.NewGroup(st), nil)
	require.NoError(t, err)
	n := map[string]int{}
	for j, err := range q.List(t.Context(), "") {
		require.NoError(t, err)
		require.Equal(t, queue.Completed, j.State, j.ID)
		n[j.Subject]++
	}
	require.Equal(t, map[string]int{"first": killed, "then": killed}, n)
}
