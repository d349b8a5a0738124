// Package winddown ends the parts of something one after another, and passes by those that hang.
package winddown

import (
	"context"
	"errors"
	"time"
)

// Part is something that ends. What uses others comes before them.
type Part struct {
	name string
	end  func() error
}

// Named returns a Part that ends when end returns.
func Named(name string, end func() error) Part { return Part{name, end} }

// A part that has not ended lateWait after the time is up is passed by, and lastWait after it
// Wait returns. The part that comes last has the rest.
const (
	lateWait = 100 * time.Millisecond
	lastWait = 800 * time.Millisecond
)

// Down is the end of some parts, in the background. It is safe for concurrent use.
type Down struct {
	parts []Part
	over  []chan struct{} // closed when that part has ended
	late  context.Context // it ends when a caller of Wait has waited long enough
	hurry context.CancelFunc

	all chan struct{} // closed when all have ended; then err is theirs
	err error
}

// Begin begins to end the parts.
func Begin(parts ...Part) *Down {
	d := &Down{parts: parts, all: make(chan struct{})}
	for range parts {
		d.over = append(d.over, make(chan struct{}))
	}
	d.late, d.hurry = context.WithCancel(context.Background())
	go d.wind()
	return d
}

// wind ends the parts. One that hangs when the time is up has the next one begin without it.
func (d *Down) wind() {
	errs := make([]error, len(d.parts))
	for i, p := range d.parts {
		go func() {
			defer close(d.over[i])
			errs[i] = p.end()
		}()
		select {
		case <-d.over[i]:
			continue
		case <-d.late.Done():
		}
		select {
		case <-d.over[i]:
		case <-time.After(lateWait):
		}
	}
	for _, over := range d.over {
		<-over
	}
	d.hurry()
	d.err = errors.Join(errs...)
	close(d.all)
}

// Wait returns the errors of the parts once all have ended. When ctx ends before, it calls late,
// has parts that hang be passed by, and returns within a second, with the names of those that
// are left behind: they end when what they wait for returns.
func (d *Down) Wait(ctx context.Context, late func()) (left []string, err error) {
	select {
	case <-d.all:
		return nil, d.err
	case <-ctx.Done():
	}
	d.hurry()
	late()
	last := time.NewTimer(lastWait)
	defer last.Stop()
	select {
	case <-d.all:
		return nil, d.err
	case <-last.C:
	}
	for i, p := range d.parts {
		select {
		case <-d.over[i]:
		default:
			left = append(left, p.name)
		}
	}
	return left, nil
}
