package memory_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/storetest"
)

// A process that is killed while it writes leaves what it was told is kept, and nothing by halves: who followed it has
// the same as who opens anew.
func TestAWriterIsKilled(t *testing.T) {
	if socket := os.Getenv("ARC_MEMORY_WRITER"); socket != "" {
		st, err := storetest.Dial(socket)
		require.NoError(t, err)
		b, _ := open(t, st, memory.Options{})
		for i := 0; ; i++ {
			r, err := b.In("a").Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: fmt.Sprint("shelf ", i/2), Key: fmt.Sprint(i)})
			require.NoError(t, err)
			fmt.Println("kept", r.ID)
			require.NoError(t, b.In("a").Feedback(t.Context(), memory.Feedback{Key: fmt.Sprint(i), Shown: []memory.ID{r.ID}, Utilized: []memory.ID{r.ID}}))
			fmt.Println("helped", r.ID)
		}
	}
	t.Parallel()
	socket := t.TempDir() + "/s"
	st := store.NewMem()
	stop, err := storetest.Serve(st, socket)
	require.NoError(t, err)
	b, _ := open(t, st, memory.Options{})
	kept := map[memory.ID]memory.Stats{}
	for round := range 3 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAWriterIsKilled$")
		cmd.Env = append(os.Environ(), "ARC_MEMORY_WRITER="+socket)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		told := map[memory.ID]memory.Stats{}
		lines := bufio.NewScanner(out)
		for n := 0; n < 50+7*round && lines.Scan(); n++ {
			what, id, _ := strings.Cut(lines.Text(), " ")
			s := told[memory.ID(id)]
			if what == "helped" {
				s.Helped++
			}
			told[memory.ID(id)] = s
			fact(t, b.In("a"), fmt.Sprint("shelf ", n/2)) // beside it
		}
		require.NoError(t, cmd.Process.Kill())
		for lines.Scan() { // what it said before it died
		}
		require.Error(t, cmd.Wait())
		require.GreaterOrEqual(t, len(told), 13)
		for id, s := range told {
			kept[id] = memory.Stats{Helped: max(kept[id].Helped, s.Helped)}
		}
	}
	again, _ := open(t, st, memory.Options{})
	var followed, opened []memory.Record
	for r, err := range b.In("a").All(t.Context()) {
		require.NoError(t, err)
		followed = append(followed, r)
		require.GreaterOrEqual(t, r.Helped, kept[r.ID].Helped)
		delete(kept, r.ID)
	}
	for r, err := range again.In("a").All(t.Context()) {
		require.NoError(t, err)
		opened = append(opened, r)
	}
	require.Empty(t, kept)
	require.Equal(t, opened, followed)
	require.NoError(t, stop())
}
