// Package embedder asks a host's embedder for the vectors of texts, remembers the last of them,
// and sees that only vectors of one model and dimension are compared.
package embedder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/internal/behind"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/vectors"
	"github.com/arc-learn/arc/store"
)

// What is asked at once, and how long it may take: behind, and while a recall waits.
const (
	batchTexts   = 32
	behindLimit  = time.Minute
	queryLimit   = 2 * time.Second
	cacheVectors = 2048
)

// Host makes vectors of texts, nil for one that has none, by a model that has a name.
type Host interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Model() string
}

// Model says which vectors can be compared: those of a model, in as many
// dimensions. Until the first of them, Dim is 0.
type Model struct {
	Name string `cbor:"1,keyasint,omitempty"` // "": the host's, which brings no Embedder
	Dim  int    `cbor:"2,keyasint,omitempty"`
}

// Load returns the model of the vectors in a store, zero if there are none.
func Load(ctx context.Context, st store.Store) (m Model, err error) {
	e, err := st.Get(ctx, stored.ModelKey())
	if errors.Is(err, store.ErrNotFound) {
		return m, nil
	}
	if err == nil {
		err = codec.Decode(e, &m)
	}
	if err == nil && (m.Dim < 0 || m.Dim > vectors.MaxDimension) {
		err = fmt.Errorf("%w: %q: dimension %d", store.ErrDamaged, e.Key, m.Dim)
	}
	return m, err
}

// Embedder is what there is for vectors, with or without a Host.
type Embedder struct {
	host  Host // nil: none
	model atomic.Pointer[Model]
	cache *lru.Cache[[16]byte, []float32] // by keyOf; nil: the text has none

	behind.Part                 // batches of records
	queries     behind.Part     // which the failure of a batch does not put off
	known       Model           // as the store has it
	size        int             // of the next batch
	queue       []string        // scopes with texts that have no vector
	queued      map[string]bool // those of queue
}

// ErrEmpty: a name is empty.
var ErrEmpty = errors.New("empty")

// Start prepares for the vectors of a Host, nil for none. Noted is the model of those that are stored. It is
// not in use yet.
func (v *Embedder) Start(host Host, noted Model) (err error) {
	name := ""
	if host != nil {
		if err := guard.Call(func() { name = host.Model() }); err != nil {
			return fmt.Errorf("embedder: model: %w", err)
		}
		if name == "" {
			return fmt.Errorf("embedder's model: %w", ErrEmpty)
		}
		if err := key.CheckID("embedder's model", name); err != nil {
			return err
		}
	}
	v.Prime()
	v.host, v.known, v.size = host, noted, batchTexts
	v.queued = make(map[string]bool)
	v.model.Store(&noted)
	if host != nil && name != noted.Name {
		v.model.Store(&Model{Name: name})
	}
	v.cache, err = lru.New[[16]byte, []float32](cacheVectors)
	return err
}

// Works reports whether there is a Host.
func (v *Embedder) Works() bool { return v.host != nil }

// Model returns the model, as it is now.
func (v *Embedder) Model() Model { return *v.model.Load() }

// Adopt takes a model over, if there is neither one yet nor a Host.
func (v *Embedder) Adopt(m Model) {
	if was := v.model.Load(); *was == (Model{}) && v.host == nil {
		v.model.CompareAndSwap(was, &m)
	}
}

// Fits reports whether vectors of dim numbers can be compared with those before. The first
// that asks settles it.
func (v *Embedder) Fits(dim int) bool {
	for {
		m := v.model.Load()
		if m.Dim != 0 {
			return m.Dim == dim
		}
		if v.model.CompareAndSwap(m, &Model{m.Name, dim}) {
			return true
		}
	}
}

// request asks the Host, and checks what it says.
func (v *Embedder) request(ctx context.Context, limit time.Duration, texts []string) ([][]float32, error) {
	theirs := slices.Clone(texts)
	out, err := guard.Do(ctx, limit, func(ctx context.Context) ([][]float32, error) {
		return v.host.Embed(ctx, theirs)
	})
	if err != nil {
		return nil, fmt.Errorf("embedder: %w", err)
	}
	if len(out) != len(texts) {
		return nil, fmt.Errorf("embedder: %d vectors for %d texts", len(out), len(texts))
	}
	out = slices.Clone(out)
	for i, x := range out {
		if vectors.Zero(x) {
			out[i] = nil
			continue
		}
		if err := vectors.Check(x); err != nil {
			return nil, fmt.Errorf("embedder: %w", err)
		}
		out[i] = slices.Clone(x)
		if !v.Fits(len(x)) {
			return nil, fmt.Errorf("embedder: %w: dimension %d, not %d as before", vectors.ErrVector, len(x), v.Model().Dim)
		}
	}
	return out, nil
}

// keyOf is what a text's vector is cached by, for a tenant: how fast an answer comes
// must not tell it what others have said. It does not give the text away.
func keyOf(tenant, text string) (k [16]byte) {
	sum := ident.Digest("vector", tenant, text)
	copy(k[:], sum[:])
	return k
}

// Query returns the vector of a query's text, or nil if there is none: then words alone have
// to do. It fails only if ctx has ended.
func (v *Embedder) Query(ctx context.Context, clock func() time.Time, tenant, text string) ([]float32, error) {
	k := keyOf(tenant, text)
	if x, ok := v.cache.Get(k); ok {
		return x, nil
	}
	now := clock()
	if v.queries.Rest(now) > 0 {
		return nil, nil // it failed just now, and LastError says so
	}
	out, err := v.request(ctx, queryLimit, []string{text})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	v.tried(&v.queries, now, tenant, err)
	if err != nil {
		return nil, nil // LastError says so
	}
	v.cache.Add(k, out[0])
	return out[0], nil
}

// Texts returns the vectors of texts of a tenant, of which it asks for those that it does not
// remember, and how many these were.
func (v *Embedder) Texts(ctx context.Context, tenant string, texts []string) (out [][]float32, asked int, err error) {
	found := make(map[string][]float32)
	var missing []string
	for _, text := range texts {
		if _, ok := found[text]; ok {
			continue
		}
		x, ok := v.cache.Get(keyOf(tenant, text))
		if found[text] = x; !ok {
			missing = append(missing, text)
		}
	}
	if len(missing) > 0 {
		got, err := v.request(ctx, behindLimit, missing)
		if err != nil {
			return nil, len(missing), err
		}
		for i, x := range got {
			found[missing[i]] = x
			v.cache.Add(keyOf(tenant, missing[i]), x)
		}
	}
	for _, text := range texts {
		out = append(out, found[text])
	}
	return out, len(missing), nil
}

// Drop forgets the vector of a text.
func (v *Embedder) Drop(tenant, text string) { v.cache.Remove(keyOf(tenant, text)) }

// Want queues a scope with texts that have no vector, unless it is queued, and wakes the
// part that embeds them.
func (v *Embedder) Want(scope string) {
	if !v.Works() {
		return
	}
	v.Lock()
	defer v.Unlock()
	if !v.queued[scope] {
		v.queue, v.queued[scope] = append(v.queue, scope), true
		v.Nudge()
	}
}

// Next takes the first scope of the queue, and returns how many of its texts are asked for at
// most. It reports false if none waits. What is wanted from then on queues the scope again.
func (v *Embedder) Next() (scope string, batch int, ok bool) {
	v.Lock()
	defer v.Unlock()
	if len(v.queue) == 0 {
		return "", 0, false
	}
	scope = v.queue[0]
	v.queue = v.queue[1:]
	delete(v.queued, scope)
	return scope, v.size, true
}

// LastError returns the error of the last batch, else that of the last query, as a tenant is told of it.
func (v *Embedder) LastError(tenant string) error {
	return cmp.Or(v.Part.LastError(tenant), v.queries.LastError(tenant))
}

// Tried keeps what a batch of a tenant has come to. One that failed is tried
// again as two halves; what fails alone comes back last. One that did not fail
// ends the pause of queries.
func (v *Embedder) Tried(now time.Time, tenant string, err error) {
	if v.tried(&v.Part, now, tenant, err); err == nil {
		v.queries.Report(now, tenant, nil)
	}
}

func (v *Embedder) tried(of *behind.Part, now time.Time, tenant string, err error) {
	of.Report(now, tenant, err)
	v.Lock()
	defer v.Unlock()
	if err == nil {
		v.size = min(2*v.size, batchTexts)
	} else {
		v.size = max(1, v.size/2)
	}
}

// Note returns the model, and what notes it in the store, if it is not there.
func (v *Embedder) Note() (m Model, ops []store.Op, err error) {
	m = v.Model()
	v.Lock()
	defer v.Unlock()
	if v.known == m {
		return m, nil, nil
	}
	op, err := stored.Put(stored.ModelKey(), m)
	return m, []store.Op{op}, err
}

// Noted says that the store has the model.
func (v *Embedder) Noted(m Model) {
	v.Lock()
	defer v.Unlock()
	v.known = m
}
