package badger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4/y"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/disk"
	"github.com/arc-learn/arc/store/badger/internal/files"
)

// A store that was closed has a file, arc.clean, with a hash over the names, sizes
// and times of its files, and over MANIFEST. While it holds, no process has written
// to the store since, and Open leaves the blocks of the tables for later: see
// [unread]. It reads all else: MANIFEST, the index of each table, which has a
// checksum and says how many entries there are, and the number of the last commit.
// Open deletes the file before it lets Badger write.
const cleanMagic = "arcclean1 "

// vouch returns what arc.clean says of a directory as it is: nothing where there
// is a log, which a store that was closed has not.
func (c *contents) vouch() ([]byte, error) {
	manifest, err := os.ReadFile(filepath.Join(c.current, files.Manifest))
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %x\n", strings.TrimPrefix(c.current, c.dir), manifest)
	for _, name := range c.data {
		info, err := os.Stat(filepath.Join(c.current, name))
		switch {
		case err != nil:
			return nil, err
		case info.Size() == 0, name == discardName, strings.HasSuffix(name, ".vlog"):
			continue // it holds nothing, see clear
		case strings.HasSuffix(name, ".mem"):
			return nil, nil
		}
		fmt.Fprintf(sum, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
	}
	return fmt.Appendf(nil, "%s%x\n", cleanMagic, sum.Sum(nil)), nil
}

// vouched reports whether the directory is as a Close has left it.
func (c *contents) vouched() bool {
	said, err := os.ReadFile(filepath.Join(c.dir, cleanName))
	if err != nil || len(said) == 0 {
		return false
	}
	is, err := c.vouch()
	return err == nil && bytes.Equal(is, said)
}

// vouch writes arc.clean, unless something is wrong with the store. It is not
// synced: without it, or with a part of it, Open reads all.
func (s *Store) vouch(gen *generation) {
	if s.failure.Load() != nil || gen.unread.damaged() {
		return
	}
	c, err := inspect(s.dir)
	var is []byte
	if err == nil {
		is, err = c.vouch()
	}
	if err == nil && is != nil {
		err = os.WriteFile(filepath.Join(s.dir, cleanName), is, 0o600)
	}
	if err != nil {
		s.log.Debug("the next Open reads all tables", "dir", s.dir, "error", err)
	}
}

// unread are the tables of a generation whose blocks have not been compared with
// their checksums: a bit may have changed since the store was closed, and Badger
// takes a block that it cannot read for one without entries. Whoever reads a key
// has the tables compared that may hold it, once, before the caller sees the
// outcome; sweep compares the others.
type unread struct {
	none   atomic.Bool
	tables []*pending
}

// pending is a table, with its first key and its last.
type pending struct {
	id          uint64
	left, right []byte

	mu struct {
		sync.Mutex
		compared bool
		err      error
	}
}

// expect notes the tables that Badger has opened, if the survey left their blocks
// for later.
func (g *generation) expect(v *survey) {
	if !v.quick {
		g.unread.none.Store(true)
		return
	}
	for _, t := range g.db.Tables() {
		g.unread.tables = append(g.unread.tables, &pending{id: t.ID, left: y.ParseKey(t.Left), right: y.ParseKey(t.Right)})
	}
}

// check compares the tables that may hold keys between two, both included, or all
// from the first one on that begin with prefix if the second is nil.
func (g *generation) check(from, to, prefix []byte) error {
	if g.unread.none.Load() {
		return nil
	}
	for _, t := range g.unread.tables {
		switch {
		case bytes.Compare(t.right, from) < 0:
		case to != nil && bytes.Compare(t.left, to) > 0:
		case to == nil && bytes.Compare(t.left[:min(len(t.left), len(prefix))], prefix) > 0:
		default:
			if err := g.compareTable(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkAll compares all tables, until ctx ends.
func (g *generation) checkAll(ctx context.Context) error {
	for _, t := range g.unread.tables {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := g.compareTable(t); err != nil {
			return err
		}
	}
	g.unread.none.Store(true)
	return nil
}

// suspect has a deferred panic of Badger's returned as the damage that it met.
func (g *generation) suspect(err *error) {
	if r := recover(); r != nil {
		if *err = g.checkAll(context.Background()); *err == nil {
			panic(r) // it met none
		}
	}
}

// compareTable compares a table, once unless that cannot be done now.
func (g *generation) compareTable(t *pending) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.compared {
		return t.mu.err
	}
	_, _, err := files.CheckTable(g.dir, t.id, false, func([]byte, uint64, []byte) error { return nil })
	err = disk.Typed(err, nil)
	t.mu.compared, t.mu.err = err == nil || errors.Is(err, store.ErrDamaged), err
	return err
}

// damaged reports whether a table has been found damaged. No other call is made.
func (u *unread) damaged() bool {
	return slices.ContainsFunc(u.tables, func(t *pending) bool { return t.mu.err != nil })
}
