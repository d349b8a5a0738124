package dash_test

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store/badger"
)

// TestMany measures each page with as many runs, memories and jobs as the flag -many says, in Badger.
func TestMany(t *testing.T) {
	if *many == 0 {
		t.Skip("a measurement: -many 10000")
	}
	st, err := badger.Open(t.Context(), t.TempDir(), nil)
	require.NoError(t, err)
	h := newBench(t, st, &arc.Options{Seed: 1, Attempts: 2, Replans: -1})
	space, err := h.view.Memory(t.Context())
	require.NoError(t, err)
	var ds []memory.Draft
	for n := range *many {
		ds = append(ds, memory.Draft{Kind: memory.Fact,
			Content: fmt.Sprintf("Customer %d of region %d prefers delivery on day %d.", n, n%97, n%31)})
	}
	_, err = space.RememberAll(t.Context(), ds)
	require.NoError(t, err)
	var all sync.WaitGroup
	const side = 64
	for worker := range side {
		all.Go(func() {
			for n := worker; n < *many; n += side {
				o := arc.Objective{Text: fmt.Sprintf("look where order SO-%d of kind %d is", 10000+n, n%200),
					Inputs: fmt.Appendf(nil, `{"order":"SO-%d"}`, 10000+n)}
				if n%50 == 0 {
					o.Text = fmt.Sprintf("wreck the index %d", n)
				}
				_, err := h.agent.Run(t.Context(), o)
				require.NoError(t, err)
				_, _, err = h.queue.Add(t.Context(), queue.Draft{Subject: o.Text, Source: "human"})
				require.NoError(t, err)
			}
		})
	}
	all.Wait()
	asks := h.run("ask for the account", "")
	b := newBrowser(t, h.URL)
	for _, path := range append(pages, "runs?q=SO-19999", "runs?page=200", "memories?q=customer+77",
		"queue?page=200", "run?id="+asks.ID) {
		var whole, work []time.Duration
		for range 3 {
			<-time.After(1100 * time.Millisecond)
			h.run("look where order SO-1 is", `{"order":"SO-1"}`) // what was read is out of date
			began, worked := time.Now(), cpu()
			code, _ := h.get(path)
			whole, work = append(whole, time.Since(began).Round(time.Millisecond)), append(work,
				(cpu()-worked).Round(time.Millisecond))
			require.Equal(t, 200, code)
		}
		<-time.After(1100 * time.Millisecond)
		b.do(chromedp.Navigate(h.URL+"/dash/"+path), chromedp.WaitVisible("main h1"))
		paint := ask[float64](b, `new Promise(done => requestAnimationFrame(() => setTimeout(done, 20)))
			.then(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1)`)
		t.Logf("%-24s %v, of the processor %v, first paint after %.0f ms", path, whole, work, paint)
	}
}

// cpu is what this process has taken of the processor: what a page takes on a machine that others use.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
