package memory

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/memory/internal/vector"
	"github.com/arc-learn/arc/store"
)

// Embedder turns texts into vectors of one dimension, whose cosine says how like they are in meaning.
//
// Embed returns as many vectors as texts, of up to 32 KiB each, or an error. After an error it is asked
// again, after a pause of a second that grows to five minutes, whatever the server says of waiting: for one
// text, then for twice as many each time, up to 32. So a text that it refuses holds up no other. Such a text
// is found by its words, and is sent again every five minutes: cut what is too long for the model. A recall
// waits for Embed, up to 2 s or half of what its context has left, also where Embed ignores its context.
// Where 200 ms or more have brought no vector, recalls go by words alone for 5 s: so a learn.Layer waits once
// for a case, and else calls Embed up to three times. Embed may be called concurrently. Model names the model
// and, if it can be chosen, the dimension: under another name all vectors are made anew.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Model() string
}

const (
	embedBatch   = 32
	embedTimeout = time.Minute     // of a batch
	queryTimeout = 2 * time.Second // of a query; then its words have to do
	queryFair    = queryTimeout / 10
	queryRest    = 5 * time.Second // of all queries, after one that took that long and failed
	maxAsking    = 64              // queries that have not returned; then, too, words have to do
	queriesKept  = 256
	longestPause = 5 * time.Minute // after errors
	maxDimension = 8192
)

// embeds makes vectors behind writes, as a write must not wait for a model. One goroutine does, from Open to
// Close; until it has, words find the record.
type embeds struct {
	Embedder
	model   string
	queries *lru.Cache[string, []float32]
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{}
	wake    chan struct{}
	asking  chan struct{} // held by each query that has not returned

	mu      sync.Mutex
	waiting []waiting // records that may lack a vector
	err     error     // the last one
	failed  time.Time // when a query last did
}

type waiting struct {
	t  *table
	id ID
}

func newEmbeds(b *Bank) (*embeds, error) {
	m := &embeds{Embedder: b.o.Embedder, wake: make(chan struct{}, 1), done: make(chan struct{})}
	m.asking = make(chan struct{}, maxAsking)
	m.queries, _ = lru.New[string, []float32](queriesKept)     // an error: of a size of 0
	m.ctx, m.cancel = context.WithCancel(context.Background()) // which Close ends
	var err error
	m.model, err = call.Do(m.ctx, 0, func(context.Context) (string, error) { return m.Model(), nil })
	if err != nil {
		return nil, fmt.Errorf("memory: embedder: %w", err)
	}
	return m, nil
}

// want has records embedded.
func (m *embeds) want(ws ...waiting) {
	m.mu.Lock()
	m.waiting = append(m.waiting, ws...)
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *embeds) run(b *Bank) {
	defer close(m.done)
	size, pause := embedBatch, time.Second
	for {
		n, err := m.next(b, size)
		m.mu.Lock()
		m.err = err
		m.mu.Unlock()
		wait, wake := time.Duration(math.MaxInt64), m.wake
		switch {
		case err != nil: // one at a time, so that a text that cannot be embedded does not hold up the others
			wait, wake = pause, nil
			size, pause = 1, min(2*pause, longestPause)
		case n > 0:
			size, pause, wait = min(2*size, embedBatch), time.Second, 0
		}
		select {
		case <-m.ctx.Done():
			return
		case <-wake:
		case <-time.After(wait):
		}
	}
}

// next embeds up to n records that wait, and returns how many there were. After an error they wait again.
func (m *embeds) next(b *Bank, n int) (int, error) {
	m.mu.Lock()
	taken := slices.Clone(m.waiting[:min(n, len(m.waiting))])
	m.waiting = m.waiting[len(taken):]
	m.mu.Unlock()
	var texts []string
	var of []waiting
	for _, w := range taken {
		w.t.mu.RLock()
		if r := w.t.get(w.id); r != nil && !w.t.hasVector(w.t.byID[r.id]) {
			texts, of = append(texts, r.text()), append(of, w)
		}
		w.t.mu.RUnlock()
	}
	if len(texts) == 0 {
		return len(taken), nil
	}
	vs, err := m.vectors(m.ctx, embedTimeout, texts)
	if err == nil {
		err = b.g.Update(m.ctx, func(batch *store.Batch) error {
			for i, w := range of {
				s := b.In(w.t.scope)
				r, err := s.read(m.ctx, batch, w.id)
				if errors.Is(err, store.ErrNotFound) || err == nil && r.text() != texts[i] {
					continue
				}
				if err == nil {
					err = s.putVector(batch, r.id, m.model, texts[i], vs[i])
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		m.want(of...)
	}
	return len(taken), err
}

// vectors asks the Embedder, and checks its answer.
func (m *embeds) vectors(ctx context.Context, timeout time.Duration, texts []string) ([][]float32, error) {
	vs, err := call.Do(ctx, timeout, func(ctx context.Context) ([][]float32, error) {
		return m.Embed(ctx, slices.Clone(texts))
	})
	if err == nil && len(vs) != len(texts) {
		err = fmt.Errorf("%w: %d vectors for %d texts", call.ErrMalformed, len(vs), len(texts))
	}
	for _, v := range vs {
		err = cmp.Or(err, refuse(len(v) == 0, "the Embedder must make a vector of each text"), checkVector(v))
	}
	if err != nil {
		return nil, fmt.Errorf("memory: embed: %w", err)
	}
	return vs, nil
}

// query returns the vector of a query, nil if it cannot be had soon.
func (m *embeds) query(ctx context.Context, text string) []float32 {
	if v, ok := m.queries.Get(text); ok {
		return v
	}
	most := queryTimeout
	if ends, is := ctx.Deadline(); is { // half of the time is for what words find
		most = max(1, min(most, time.Until(ends)/2))
	}
	m.mu.Lock()
	rests := time.Since(m.failed) < queryRest
	m.mu.Unlock()
	if rests {
		return nil
	}
	select {
	case m.asking <- struct{}{}:
	default:
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	got, began := make(chan []float32, 1), time.Now()
	go func() { // which Embed may hold for longer than its context has
		defer func() { <-m.asking }()
		var v []float32
		if vs, err := m.vectors(limited, 0, []string{text}); err == nil {
			v = slices.Clone(vs[0])
			m.queries.Add(text, v)
		}
		got <- v
	}()
	var v []float32
	select {
	case v = <-got:
	case <-limited.Done():
	}
	if v == nil && ctx.Err() == nil && time.Since(began) >= queryFair { // what fails at once costs no wait
		m.mu.Lock()
		m.failed = time.Now()
		m.mu.Unlock()
	}
	return v
}

// storedVector is a vector as it lies in the store.
type storedVector struct {
	Model string `cbor:"1,keyasint,omitempty"` // "": the host has given it
	Of    string `cbor:"2,keyasint"`           // hash of the text
	Bytes []byte `cbor:"3,keyasint"`           // float32, little endian
}

func checkVector(v []float32) error {
	if v == nil {
		return nil
	}
	if err := store.Limit("dimension of a vector", len(v), maxDimension); err != nil {
		return err
	}
	_, err := vector.New(len(v)).Ask(v)
	return refuse(err != nil, "a vector must have a length, and finite numbers")
}

// putVector stages the vector of a record.
func (s Space) putVector(b *store.Batch, id ID, model, text string, v []float32) error {
	raw, _ := binary.Append(nil, binary.LittleEndian, v) // an error: of another type
	kept := storedVector{Model: model, Of: hashed(text), Bytes: raw}
	key := s.vectorKey(id)
	b.After(func(store.Revision) { s.b.takeVector(key, s.scope, id, &kept) })
	return codec.Put(b, key, &kept, store.Any)
}

// takeVector takes in the vector that a key has, unless it is of a model that the Bank has not; nil: none.
func (b *Bank) takeVector(key string, scope Scope, id ID, kept *storedVector) {
	if kept != nil && b.embeds != nil && kept.Model != "" && kept.Model != b.embeds.model {
		return
	}
	delete(b.early, key)
	t := b.In(scope).table()
	known := t != nil && t.setVector(id, kept)
	if !known && kept != nil {
		b.early[key] = kept
	}
}

// What a cosine of 1 adds to the words of a query, the least that adds something, and how many of the nearest
// are candidates, at least and for each hit.
const (
	vectorWeight = 0.2
	leastCosine  = 0.3
	nearest      = 128
	nearestPerK  = 4
)

// hybrid appends what the vector and the words of a query find: the best by words, then the nearest, of which
// a second search says what words they have; each record once. A cosine adds as much to the Ratio of a match
// of no word as to that of a good one, and at most vectorWeight: to what words say, a vector can only add.
func (t *table) hybrid(fs []found, a *ask, vectors *vector.Set) []found {
	q, _ := vectors.Ask(a.Vector) // which was checked
	ask := a.index(t, nearestPerK*a.K)
	near := vectors.Search(q, max(nearest, nearestPerK*a.K), ask.Wants)
	others := map[uint32]bool{} // rows of the nearest that words have not found
	for _, m := range near {
		others[m.Row] = true
	}
	ms := t.ix.Search(ask)
	said := attributed(ms)
	for _, m := range ms {
		delete(others, m.Row)
	}
	ask.K, ask.Gate, ask.Wants = 0, 0, func(row uint32) bool { return others[row] }
	for _, m := range t.ix.Search(ask) {
		ms = append(ms, m)
		delete(others, m.Row)
	}
	for _, m := range near {
		if others[m.Row] {
			ms = append(ms, index.Match{Row: m.Row}) // by its vector alone
		}
	}
	for _, m := range ms {
		cosine := max(0, vectors.Cosine(q, m.Row))
		f := found{t: t, r: t.rows[m.Row], ratio: m.Ratio + vectorWeight*max(0, cosine-leastCosine)/(1-leastCosine)}
		f.Relevance = said * meant(f.ratio)
		if a.Text == "" {
			f.ratio, f.Relevance = cosine, cosine
		}
		if f.ratio > 0 {
			fs = append(fs, f)
		}
	}
	return fs
}
