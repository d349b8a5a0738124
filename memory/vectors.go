package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/vector"
	"github.com/arc-learn/arc/store"
)

// putVector is put with the vector that a draft came with, if it did.
func (sh *shard) putVector(e *entry, d index.Doc, x []float32) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.putLocked(e, d)
	if x != nil {
		sh.setVectorLocked(e, x)
	}
}

// setVector makes the vector of e visible, nil if there is none for its text.
func (sh *shard) setVector(e *entry, x []float32) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.setVectorLocked(e, x)
}

func (sh *shard) setVectorLocked(e *entry, x []float32) {
	set := sh.vectors.Load()
	if set == nil && x != nil {
		set = vector.New(len(x))
		sh.vectors.Store(set)
	}
	if x == nil || set.Put(e.slot, x, uint32(e.marks())) != nil { // it is too small to have a direction
		if _, was := sh.blank.Swap(e.slot, true); !was {
			sh.blanks.Add(1)
		}
	}
}

// vectorless reports whether e waits for a vector.
func (sh *shard) vectorless(e *entry) bool {
	if set := sh.vectors.Load(); set != nil && set.Has(e.slot) {
		return false
	}
	_, blank := sh.blank.Load(e.slot)
	return !blank
}

// pending returns how many records of the shard wait for a vector.
func (b *Bank) pending(sh *shard) int {
	if b.vectors.host == nil {
		return 0
	}
	n := sh.live.Load() - sh.blanks.Load()
	if set := sh.vectors.Load(); set != nil {
		n -= int64(set.Len())
	}
	return int(max(0, n)) // the three are not read at one moment
}

// moveVectorLocked gives what old has to e, which says the same.
func (sh *shard) moveVectorLocked(old, e *entry) {
	if set := sh.vectors.Load(); set != nil {
		set.Move(old.slot, e.slot, uint32(e.marks()))
	}
}

func (sh *shard) dropVectorLocked(e *entry) {
	if set := sh.vectors.Load(); set != nil {
		set.Delete(e.slot)
	}
	if _, was := sh.blank.LoadAndDelete(e.slot); was {
		sh.blanks.Add(-1)
	}
}

// unwritten makes sure that no write of the record's vector is behind, and
// returns what removes it. The caller holds edit.
func (b *Bank) unwritten(ctx context.Context, sh *shard, id ID) ([]store.Op, error) {
	if *b.vectors.model.Load() == (vectorModel{}) {
		return nil, nil // there never was one
	}
	k := sh.vectorKey(id)
	if _, ok := b.w.Pending(k); ok {
		if err := b.w.Flush(ctx); err != nil {
			return nil, err
		}
	}
	return []store.Op{{Key: k, Delete: true}}, nil
}

// loadVectors reads the vectors of the Bank's model. Those of another wait to be
// made again, and those without a record go.
func (b *Bank) loadVectors(ctx context.Context, shards map[string]*shard) error {
	for s, err := range b.st.Scan(ctx, store.Range{Prefix: key.Prefix(root, vectorPart)}) {
		if err != nil {
			return err
		}
		p := key.Split(s.Key)
		var sh *shard
		var e *entry
		if len(p) == 4 {
			if sh = shards[p[2]]; sh != nil {
				e = sh.entry(ID(p[3]))
			}
		}
		if e == nil || e.name() != ID(p[3]) {
			if err := b.w.Add(ctx, store.Op{Key: s.Key, Delete: true}); err != nil {
				return err
			}
			continue
		}
		name, x, err := decodeVector(s)
		if err != nil {
			return err
		}
		if name == b.vectors.model.Load().Name && (x == nil || b.vectors.fits(len(x))) {
			sh.setVector(e, x)
		}
	}
	for _, sh := range shards {
		if b.pending(sh) > 0 {
			b.wanted(sh)
		}
	}
	return nil
}

func modelKey() string { return key.Join(root, modelPart) }

// note returns the model, and what notes it in the store, if it is not there.
func (v *embedding) note() (m vectorModel, ops []store.Op, err error) {
	m = *v.model.Load()
	v.mu.Lock()
	known := v.mu.noted == m
	v.mu.Unlock()
	if known {
		return m, nil, nil
	}
	value, err := codec.Encode(modelKey(), m)
	return m, []store.Op{{Key: modelKey(), Value: value}}, err
}

func (v *embedding) noted(m vectorModel) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.noted = m
}

// loadModel returns the model of the vectors that are stored.
func (b *Bank) loadModel(ctx context.Context) (m vectorModel, err error) {
	e, err := b.st.Get(ctx, modelKey())
	if errors.Is(err, store.ErrNotFound) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	if err := codec.Decode(e, &m); err != nil {
		return m, err
	}
	if m.Dim < 0 || m.Dim > MaxDimension {
		return m, fmt.Errorf("%w: %q: dimension %d", store.ErrDamaged, e.Key, m.Dim)
	}
	return m, nil
}
