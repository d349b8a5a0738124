package dash

import (
	"sync"

	"github.com/arc-learn/arc"
)

// Bounds of a Journal.
const (
	maxEvents = 4096
	maxWords  = 2 << 10 // bytes of an event's text
)

// Journal keeps the last 4096 events of an Agent's runs in memory, so that a run's
// page can tell all that happened, and open pages are told at once. The zero value is
// ready.
type Journal struct {
	mu     sync.Mutex
	events []arc.Event
	next   int // where the next one goes, once there are maxEvents

	listeners map[*listener]bool
}

// Event takes in an event: it is a hook, for [arc.Hooks].
func (j *Journal) Event(e arc.Event) {
	e.Text = shortened(e.Text, maxWords)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tell(&e)
	if len(j.events) < maxEvents {
		j.events = append(j.events, e)
		return
	}
	j.events[j.next] = e
	j.next = (j.next + 1) % maxEvents
}

// eventsOf returns the events of a run, in order, if the Journal has all of them.
func (j *Journal) eventsOf(tenant, run string) (out []arc.Event) {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range j.events {
		e := j.events[(j.next+i)%len(j.events)]
		if e.Run == run && e.Scope.Tenant() == tenant {
			out = append(out, e)
		}
	}
	for i := range out {
		if out[i].Seq != i+1 {
			return nil
		}
	}
	return out
}
