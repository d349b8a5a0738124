package badger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/arc-learn/arc/store/badger/internal/disk"
	"github.com/arc-learn/arc/store/badger/internal/engine"
	"github.com/arc-learn/arc/store/badger/internal/files"
	"github.com/arc-learn/arc/store/badger/internal/layout"
	"github.com/arc-learn/arc/store/badger/internal/record"
)

// gap is how many numbers a rewrite leaves for the groups in which it applies the commits since its snapshot.
const gap = 1 << 20

// rewrite writes a new generation and switches to it, in the steps of [engine.Generation].
func (s *Store) rewrite(ctx context.Context) (err error) {
	begin := time.Now()
	old, seq := s.reads.Begin()
	done := sync.OnceFunc(func() { s.reads.End(old) })
	defer done()
	next, err := s.build(ctx, old, seq)
	if err != nil {
		return fmt.Errorf("rewrite: %w", err)
	}
	if err := s.follow(ctx, old, next, seq); err != nil {
		if s.failed() == nil {
			err = errors.Join(err, s.discard(ctx, next))
		} else {
			err = errors.Join(err, s.shut(ctx, next)) // it may be the one that counts
		}
		return fmt.Errorf("rewrite: %w", err)
	}
	done()
	s.log.Info("the store was rewritten", "generation", next.Name, "took", time.Since(begin))
	<-old.Idle()
	return errors.Join(s.step("switched"), s.discard(ctx, old))
}

// shut closes a generation's engine, once there is room for what that writes.
func (s *Store) shut(ctx context.Context, gen *engine.Generation) error {
	for {
		err := s.checkSpace(s.minFree(gen.Tables()), s.dir)
		if err == nil {
			return gen.DB.Close()
		}
		select {
		case <-ctx.Done():
			return err // it stays open, and the next Open of the store clears it away
		case <-time.After(time.Second / 10):
		}
	}
}

// discard closes a generation and deletes it.
func (s *Store) discard(ctx context.Context, gen *engine.Generation) error {
	if err := s.shut(ctx, gen); err != nil {
		return fmt.Errorf("closing %s: %w", gen.Dir, err)
	}
	if gen.Name != "" {
		return os.RemoveAll(gen.Dir)
	}
	there, err := os.ReadDir(gen.Dir)
	if err != nil {
		return err
	}
	for _, f := range there {
		if f.Type().IsRegular() && (layout.Engines(f.Name())) {
			err = errors.Join(err, os.Remove(filepath.Join(gen.Dir, f.Name())))
		}
	}
	return err
}

// build copies the entries of old as of seq, opens the copy, and compares the two.
func (s *Store) build(ctx context.Context, old *engine.Generation, seq uint64) (next *engine.Generation, err error) {
	name := layout.NextName(old.Name)
	dir := filepath.Join(s.dir, name)
	if err := s.checkSpace(s.minFree(old.Tables())+old.Tables(), s.dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	w, err := layout.Begin(dir)
	if err != nil {
		return nil, err
	}
	if err := s.step("begun"); err != nil {
		return nil, err
	}
	if err := old.Each(ctx, 0, seq, func(key []byte, version uint64, rec []byte) error {
		if string(key) == record.SeqKey {
			return nil // the new one has another number of entries
		}
		return w.Add(files.Entry{Key: key, Version: version, Rec: rec})
	}); err != nil {
		return nil, err
	}
	if err := errors.Join(layout.Finish(w, dir, seq), s.step("copied")); err != nil {
		return nil, err
	}
	v := &layout.Survey{Dir: dir, Seq: seq, Entries: w.Entries, Newest: w.Newest, Tables: w.Tables}
	if next, err = s.openGeneration(name, v, w.Size); err != nil {
		return nil, err
	}
	if err = errors.Join(next.HoldBallast(filepath.Join(s.dir, layout.BallastName)), s.step("opened")); err == nil {
		err = next.Compare(ctx, old, seq)
	}
	if err == nil {
		err = s.step("verified")
	}
	if err != nil {
		return nil, errors.Join(err, s.shut(ctx, next))
	}
	return next, nil
}

// few is the number of writes that may be left for the time in which commits wait.
const few = 256

// follow applies the commits since seq, and switches.
func (s *Store) follow(ctx context.Context, old, next *engine.Generation, seq uint64) (err error) {
	<-s.turn
	from := s.reads.Last()
	s.tail = &tail{}
	s.reads.Advance(from+gap, func() {}) // numbers for this function's groups
	s.turn <- struct{}{}
	defer func() {
		<-s.turn
		s.tail = nil
		s.turn <- struct{}{}
	}()
	var room engine.Reserve
	a := next.Apply(from, func() error {
		return errors.Join(s.checkSpace(s.minFree(next.Tables()), s.dir), room.Logs(next))
	}, s.commitAt)
	if err := old.Each(ctx, seq, from, func(key []byte, _ uint64, rec []byte) error {
		if string(key) == record.SeqKey {
			return nil
		}
		return a.Add(bytes.Clone(key), bytes.Clone(rec))
	}); err != nil {
		return err
	}
	if err := errors.Join(a.Flush(0), s.step("followed")); err != nil {
		return err
	}
	for last := false; !last; {
		<-s.turn
		late := *s.tail
		*s.tail = tail{}
		last = len(late.writes) <= few
		if !last {
			s.turn <- struct{}{}
		}
		for _, w := range late.writes {
			if err == nil {
				err = a.Add(w.key, w.rec)
			}
		}
		if err == nil {
			err = a.Flush(late.seq) // which is the number of its last group
		}
		if last {
			if err == nil {
				err = s.switchTo(ctx, next)
			}
			s.turn <- struct{}{}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// switchTo makes next the current generation. The caller has the turn.
func (s *Store) switchTo(ctx context.Context, next *engine.Generation) error {
	if err := errors.Join(s.failed(), ctx.Err(), s.step("switching")); err != nil {
		return err
	}
	path := filepath.Join(s.dir, layout.CurrentName)
	if err := disk.Write(path+disk.Tmp, layout.EncodeCurrent(next.Name)); err != nil {
		return err
	}
	err := os.Rename(path+disk.Tmp, path)
	if err == nil {
		err = disk.SyncDir(s.dir)
	}
	if err != nil {
		s.fail(err) // either may count now
		return err
	}
	s.reads.SwitchTo(next)
	return nil
}

// tail is what was committed while a rewrite follows. The caller has the turn.
type tail struct {
	writes []write
	seq    uint64
}
