// Command durable measures what a durable turn costs: a decision, a call and its check, each kept before the
// next one begins. arc on Badger stands beside DBOS on SQLite with synchronous=FULL, so that both survive a
// power cut.
//
//	GOWORK=off go run . [-rounds 5] [-dir DIR]
//
// Rounds run the systems in turn at 1, 8 and 64 turns at once, each in a directory of its own below DIR ("":
// that for temporary files, which must be on a disk). It prints medians of microseconds of wall time a turn,
// and the ratio.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const question, answer = "why does the build fail?", "an unused import"

// system makes turns.
type system interface {
	turn(ctx context.Context) error // returns once the turn is kept
	close() error
}

var systems = []struct {
	name string
	open func(ctx context.Context, dir string) (system, error)
}{{"arc", openArc}, {"dbos", openDBOS}}

func main() {
	log.SetFlags(0)
	rounds, dir := flag.Int("rounds", 5, "of all systems"), flag.String("dir", "", "")
	flag.Parse()
	fmt.Println("| at once | system | µs a turn | commits a turn | beside DBOS |\n|--:|---|--:|--:|--:|")
	for _, c := range []struct{ atOnce, turns int }{{1, 300}, {8, 800}, {64, 1600}} {
		took := map[string][]float64{}
		commits := 0.
		for range *rounds {
			for _, s := range systems {
				us, n, err := measure(*dir, s.open, c.atOnce, c.turns)
				if err != nil {
					log.Fatal(s.name, ": ", err)
				}
				took[s.name] = append(took[s.name], us)
				commits = max(commits, n)
			}
		}
		arc, dbos := median(took["arc"]), median(took["dbos"])
		fmt.Printf("| %d | arc on Badger | %.0f | %.1f | %.2f |\n", c.atOnce, arc, commits, arc/dbos)
		fmt.Printf("| %d | DBOS on SQLite | %.0f | – | 1 |\n", c.atOnce, dbos)
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// measure returns the wall time a turn, and the commits, of a system that has made some before.
func measure(
	dir string, open func(context.Context, string) (system, error), atOnce, turns int,
) (us, commits float64, err error) {
	ctx := context.Background()
	if dir, err = os.MkdirTemp(dir, "durable-"); err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	s, err := open(ctx, dir)
	if err != nil {
		return 0, 0, err
	}
	if err = drive(ctx, s, atOnce, 50); err == nil {
		count := func() float64 { return 0 }
		if c, ok := s.(interface{ commits() float64 }); ok {
			count = c.commits
		}
		before, began := count(), time.Now()
		err = drive(ctx, s, atOnce, turns)
		us = float64(time.Since(began).Microseconds()) / float64(turns)
		commits = (count() - before) / float64(turns)
	}
	if err2 := s.close(); err == nil {
		err = err2
	}
	return us, commits, err
}

// drive makes turns, so many at once.
func drive(ctx context.Context, s system, atOnce, turns int) (err error) {
	var left atomic.Int64
	var mu sync.Mutex
	var all sync.WaitGroup
	left.Store(int64(turns))
	for range atOnce {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if e := s.turn(ctx); e != nil {
					mu.Lock()
					err = e
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return err
}
