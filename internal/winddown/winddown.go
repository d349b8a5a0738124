// Package winddown ends the parts of something one after another, and skips parts that hang.
package winddown

import (
	"context"
	"errors"
	"time"
)

// Part is something to be ended. A part comes before the parts that it uses.
type Part struct {
	name string
	end  func() error
}

// Named returns a Part that ends when end returns.
func Named(name string, end func() error) Part { return Part{name, end} }

// Once the time is up, a part that has not ended after lateWait is skipped, and after lastWait Wait returns.
// The last part has the rest of that time.
const (
	lateWait = 100 * time.Millisecond
	lastWait = 800 * time.Millisecond
)

// Down ends parts in the background. It is safe for concurrent use.
type Down struct {
	parts []Part
	over  []chan struct{} // closed when that part has ended
	late  context.Context // ends when a caller's time is up
	hurry context.CancelFunc

	all chan struct{} // closed when all have ended; then err is set
	err error
}

// Begin starts to end the parts, in order.
func Begin(parts ...Part) *Down {
	d := &Down{parts: parts, all: make(chan struct{})}
	for range parts {
		d.over = append(d.over, make(chan struct{}))
	}
	d.late, d.hurry = context.WithCancel(context.Background())
	go d.wind()
	return d
}

// wind ends the parts. If one hangs when the time is up, the next one begins without it.
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

// Wait returns the errors of the parts once all have ended. If ctx ends before, it calls late, skips parts
// that hang, and returns within a second the names of those that are left behind.
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
