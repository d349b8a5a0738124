package memory

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/arc-learn/arc/next/internal/call"
	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/internal/index"
	"github.com/arc-learn/arc/next/internal/vector"
	"github.com/arc-learn/arc/next/store"
)

// Embedder turns texts into vectors of one dimension, whose cosine says how like they are in meaning.
//
// Embed returns as many vectors as texts, or an error, after which it is asked again. It may be called concurrently.
// Model names the model and does not change while the Bank is open; vectors of another model are made anew.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Model() string
}

const (
	embedBatch   = 32
	embedTimeout = time.Minute     // of a batch
	queryTimeout = 2 * time.Second // of a query; then its words have to do
	queriesKept  = 256
	longestPause = 5 * time.Minute // after errors
	maxDimension = 8192
)

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
	if err := limit("dimension of a vector", len(v), maxDimension); err != nil {
		return err
	}
	if _, err := vector.New(len(v)).Ask(v); err != nil {
		return &store.LimitError{What: "a vector must have a length, and finite numbers"}
	}
	return nil
}

// putVector stages the vector of a record.
func (s Space) putVector(b *store.Batch, id ID, model, text string, v []float32) error {
	kept := storedVector{Model: model, Of: hashed(text)}
	for _, x := range v {
		kept.Bytes = binary.LittleEndian.AppendUint32(kept.Bytes, math.Float32bits(x))
	}
	key := s.scope.Key(vectorKind, string(id))
	value, err := codec.Marshal(&kept)
	if err == nil {
		err = b.Put(key, value, store.Any)
	}
	if err == nil {
		b.After(func(rev store.Revision) {
			// It was made of a vector that can be read.
			_ = s.b.apply(store.Entry{Key: key, Value: value, Rev: rev})
		})
	}
	return err
}

// applyVector takes a stored vector in, if it is of what the record says now and can be compared with the others.
func (b *Bank) applyVector(scope Scope, id ID, e store.Entry) error {
	var kept storedVector
	if err := codec.Unmarshal(e.Value, &kept); err != nil {
		return fmt.Errorf("memory: %s: %w", e.Key, err)
	}
	t := b.table(scope)
	if t == nil || b.embeds != nil && kept.Model != "" && kept.Model != b.embeds.model {
		return nil
	}
	rec := t.entry(id)
	if rec == nil || kept.Of != hashed(embedded(rec.trigger, rec.content)) {
		return nil
	}
	v := make([]float32, len(kept.Bytes)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(kept.Bytes[4*i:]))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.set == nil || t.set.Len() == 0 {
		t.set = vector.New(len(v))
	}
	row := t.byID[rec.id]
	if t.set.Put(row, v) == nil { // an error: of another dimension
		t.vectors[row] = struct{}{}
	}
	return nil
}

// oddsRoot is the x of which index makes Lexical: what a vector adds to it does not depend on how much there is.
func oddsRoot(lexical float64) float64 { return math.Cbrt(lexical / max(1-lexical, 1e-9)) }

// The least cosine that adds something, how many of the nearest are candidates, at least and for each hit.
const (
	leastCosine = 0.3
	nearest     = 128
	nearestPerK = 4
)

// hybrid appends what the vector and the words of a query find. A vector adds to what words say, and takes nothing.
func (t *table) hybrid(fs []found, a *ask, skip func(uint32) bool) ([]found, error) {
	q, err := t.set.Ask(a.vector)
	if err != nil {
		return nil, &store.LimitError{What: "a query's vector must have the dimension of the others"}
	}
	unwanted := func(row uint32) bool { return !a.wants(t.rows[row]) }
	k := nearestPerK * a.k
	near := t.set.Search(q, max(nearest, k), unwanted)
	found1 := len(fs)
	at := map[uint32]int{}
	add := func(row uint32, f found) {
		if _, ok := at[row]; !ok {
			f.t, f.e, at[row] = t, t.rows[row], len(fs)
			f.Cosine, _ = t.set.Cosine(q, row)
			fs = append(fs, f)
		}
	}
	attributed := 1.0
	if a.Text != "" {
		ask := index.Query{Text: a.Text, At: a.now, K: k, Gate: gate, Exclude: a.exclude, Skip: skip}
		ms := t.ix.Search(&ask)
		for _, m := range ms {
			attributed = m.Relevance / m.Lexical
			add(m.Row, found{words: m.Ratio >= gate*ms[0].Ratio, Parts: Parts{Lexical: m.Lexical}})
		}
		rows := map[uint32]bool{}
		for _, n := range near {
			rows[n.Row] = true
		}
		ask.K, ask.Gate, ask.Skip = 0, 0, func(row uint32) bool { return !rows[row] }
		for _, m := range t.ix.Search(&ask) {
			add(m.Row, found{Parts: Parts{Lexical: m.Lexical}})
		}
	}
	for _, n := range near {
		add(n.Row, found{})
	}
	for i := found1; i < len(fs); i++ {
		f := &fs[i]
		if a.Text == "" {
			f.ratio = max(0, f.Cosine)
			f.Relevance = f.ratio
			continue
		}
		x := oddsRoot(f.Lexical)
		if f.Cosine > leastCosine {
			x += a.weight * (f.Cosine - leastCosine) / (1 - leastCosine)
		}
		f.ratio, f.Relevance = x, attributed*max(f.Lexical, x*x*x/(1+x*x*x))
	}
	return slices.DeleteFunc(fs, func(f found) bool { return f.ratio <= 0 }), nil
}

// embeds makes vectors behind writes. One goroutine does, from Open to Close.
type embeds struct {
	e       Embedder
	model   string
	queries *lru.Cache[string, []float32]
	cancel  context.CancelFunc
	done    chan struct{}
	wake    chan struct{}

	mu      sync.Mutex
	waiting []waiting // records that may lack a vector
	err     error     // of the Embedder, lately
}

type waiting struct {
	t  *table
	id ID
}

func newEmbeds(e Embedder) *embeds {
	queries, _ := lru.New[string, []float32](queriesKept) // an error: of a size of 0
	return &embeds{e: e, model: e.Model(), queries: queries, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

func (m *embeds) start(b *Bank) {
	ctx, cancel := context.WithCancel(context.Background()) // ended by Close
	m.cancel = cancel
	go m.run(ctx, b)
}

func (m *embeds) stop() {
	if m.cancel != nil {
		m.cancel()
		<-m.done
	}
}

// want has a record embedded.
func (m *embeds) want(t *table, id ID) {
	m.mu.Lock()
	m.waiting = append(m.waiting, waiting{t, id})
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *embeds) run(ctx context.Context, b *Bank) {
	defer close(m.done)
	size, pause := embedBatch, time.Second
	for {
		n, err := m.next(ctx, b, size)
		m.mu.Lock()
		m.err = err
		m.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil: // one at a time, so that a text that cannot be embedded does not hold up the others
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			size, pause = 1, min(2*pause, longestPause)
			continue
		}
		size, pause = min(2*size, embedBatch), time.Second
		if n == 0 {
			select {
			case <-ctx.Done():
				return
			case <-m.wake:
			}
		}
	}
}

// next embeds up to n records that wait. After an error they wait behind the others.
func (m *embeds) next(ctx context.Context, b *Bank, n int) (int, error) {
	m.mu.Lock()
	taken := slices.Clone(m.waiting[:min(n, len(m.waiting))])
	m.waiting = m.waiting[len(taken):]
	m.mu.Unlock()
	var texts []string
	var of []waiting
	for _, w := range taken {
		w.t.mu.RLock()
		e := w.t.entry(w.id)
		if e != nil {
			if _, has := w.t.vectors[w.t.byID[e.id]]; !has {
				texts, of = append(texts, embedded(e.trigger, e.content)), append(of, w)
			}
		}
		w.t.mu.RUnlock()
	}
	if len(texts) == 0 {
		return len(taken), nil
	}
	vs, err := m.ask(ctx, embedTimeout, texts)
	for i := 0; i < len(of) && err == nil; i++ {
		err = b.In(of[i].t.scope).keepVector(ctx, of[i].id, texts[i], vs[i])
	}
	if err != nil {
		m.mu.Lock()
		m.waiting = append(m.waiting, of...)
		m.mu.Unlock()
	}
	return len(taken), err
}

// keepVector stores a vector, unless its record says something else by now.
func (s Space) keepVector(ctx context.Context, id ID, text string, v []float32) error {
	return s.b.g.Update(ctx, func(b *store.Batch) error {
		e, err := b.Get(ctx, s.key(id))
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		rec, err := decode(e)
		if err != nil || embedded(rec.Trigger, rec.Content) != text {
			return err
		}
		return s.putVector(b, id, s.b.embeds.model, text, v)
	})
}

// ask calls the Embedder and checks its answer.
func (m *embeds) ask(ctx context.Context, timeout time.Duration, texts []string) ([][]float32, error) {
	vs, err := call.Do(ctx, timeout, func(ctx context.Context) ([][]float32, error) {
		return m.e.Embed(ctx, slices.Clone(texts))
	})
	if err == nil && len(vs) != len(texts) {
		err = fmt.Errorf("%w: %d vectors for %d texts", call.ErrMalformed, len(vs), len(texts))
	}
	for i := 0; i < len(vs) && err == nil; i++ {
		if len(vs[i]) != len(vs[0]) || len(vs[i]) == 0 {
			err = fmt.Errorf("%w: vectors of %d and %d numbers", call.ErrMalformed, len(vs[0]), len(vs[i]))
		} else {
			err = checkVector(vs[i])
		}
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
	vs, err := m.ask(ctx, queryTimeout, []string{text})
	if err != nil {
		return nil
	}
	m.queries.Add(text, vs[0])
	return vs[0]
}
