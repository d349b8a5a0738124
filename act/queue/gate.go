package queue

import (
	"fmt"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/cooldown"
)

// budget is a Budget.
type budget struct {
	usd   float64
	spare int

	mu    sync.Mutex
	hours map[int64]float64 // US dollars by hour since 1970, of the last day
}

// Budget returns a Gate that holds jobs up once all attempts of the last 24 hours, failed
// ones too, have cost usd US dollars; those of priority spare and before go on. It counts
// by hours of the clock: what an attempt has cost, for 24 to 25 hours. An
// attempt that reports no cost counts with its estimate. Processes that work side by side
// each spend a Budget: see Gate.
func Budget(usd float64, spare int) Gate {
	return &budget{usd: usd, spare: spare, hours: make(map[int64]float64)}
}

// hour numbers the hours.
func hour(t time.Time) int64 { return t.Unix() / 3600 }

// Admit implements Gate.
func (b *budget) Admit(now time.Time) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	sum, ahead, is := 0.0, 0.0, hour(now)
	for h, usd := range b.hours {
		switch {
		case h > is:
			ahead += usd
			delete(b.hours, h)
		case h < is-24:
			delete(b.hours, h)
		default:
			sum += usd
		}
	}
	if ahead != 0 { // the clock was put back: it counts for a day from now
		b.hours[is] += ahead
	}
	if sum+ahead < b.usd {
		return priorities
	}
	return b.spare // also of a budget that is no number
}

// Ended implements Gate.
func (b *budget) Ended(c Cycle) {
	usd := c.Usage.CostUSD
	if usd == 0 {
		usd = c.Usage.APICostUSD
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hours[hour(c.Started.Add(c.Wall))] += usd
}

// breaker is a Breaker.
type breaker struct {
	mu    sync.Mutex
	loop  *cooldown.Loop
	rest  time.Duration
	until time.Time // it is open, if that is to come
	trial bool      // it was open: one attempt at a time until one succeeds
}

// Breaker returns a Gate that lets no job begin for a rest once failures attempts have
// ended with an error within a window: what all of them need may be away. Then it lets one
// begin in each rest, and all once one has returned a Result, also one that is Failed.
func Breaker(failures int, window, rest time.Duration) (Gate, error) {
	loop, err := cooldown.NewLoop(failures, window)
	if err == nil && rest < 0 {
		err = fmt.Errorf("%w: a rest of %v", cooldown.ErrLoop, rest)
	}
	if err != nil {
		return nil, fmt.Errorf("breaker: %w", err)
	}
	return &breaker{loop: loop, rest: rest}, nil
}

// Admit implements Gate.
func (b *breaker) Admit(now time.Time) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if left := b.until.Sub(now); left > 0 && left <= b.rest {
		return 0
	}
	if b.trial {
		b.until = now.Add(b.rest)
	}
	return priorities
}

// Ended implements Gate.
func (b *breaker) Ended(c Cycle) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var k cooldown.Key
	at := c.Started.Add(c.Wall)
	if c.Error == "" {
		b.trial, b.until = false, time.Time{}
		return
	}
	b.loop.Fail(k, at)
	if b.loop.Looping(k, at) {
		b.trial, b.until = true, at.Add(b.rest)
	}
}
