package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/arc-learn/arc/internal/behind"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/ident"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Embedder turns texts into vectors that are near one another if the texts
// mean alike. It is called concurrently: by recalls, and by one goroutine of the
// Bank. memorytest.CheckEmbedder checks what is said here.
type Embedder interface {
	// Embed returns one vector for each text, in their order. All vectors have
	// the same number of finite numbers, at most MaxDimension; their lengths
	// do not matter. Nil says that a text has none, which is no error. The
	// vector of a text depends on nothing but the text.
	//
	// Texts have been sanitised. One may be 128 KiB long: an Embedder with a
	// shorter limit cuts it. After an error the same texts come again later,
	// in smaller batches. Embed must heed ctx, and keeps no slice that it is
	// given or returns.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Model names the model and all else that the vectors depend on, with at
	// most 256 bytes. Vectors of different models are never compared: when the
	// name changes, all texts are embedded again.
	Model() string
}

// What is asked of an Embedder at once, and how long it may take: behind, and
// while a recall waits.
const (
	batchTexts   = 32
	batchBytes   = 256 << 10
	embedLimit   = time.Minute
	queryLimit   = 2 * time.Second
	cacheVectors = 2048
)

// model says which vectors can be compared: those of a model, in as many
// dimensions. Until the first of them, Dim is 0.
type vectorModel struct {
	Name string `cbor:"1,keyasint,omitempty"` // "": the host's, which brings no Embedder
	Dim  int    `cbor:"2,keyasint,omitempty"`
}

// embedding is what a Bank has for vectors, with or without an Embedder.
type embedding struct {
	host  Embedder // nil: none
	model atomic.Pointer[vectorModel]
	cache *lru.Cache[[16]byte, []float32] // by textKey; nil: the text has none

	behind.Part                // its lock is that of what follows
	known       vectorModel    // as the store has it
	size        int            // of the next batch
	queue       []Scope        // with records that have no vector
	queued      map[Scope]bool // those of queue
}

// start prepares for vectors. The Bank is not in use yet.
func (v *embedding) start(host Embedder, noted vectorModel) error {
	v.host, v.known, v.size, v.queued = host, noted, batchTexts, make(map[Scope]bool)
	v.model.Store(&noted)
	var err error
	if v.cache, err = lru.New[[16]byte, []float32](cacheVectors); err != nil || host == nil {
		return err
	}
	name := ""
	if err := guard.Call(func() { name = host.Model() }); err != nil {
		return fmt.Errorf("embedder: model: %w", err)
	}
	if name == "" {
		return fmt.Errorf("embedder's model: %w", ErrEmpty)
	}
	if err := key.CheckID("embedder's model", name); err != nil {
		return err
	}
	if name != noted.Name {
		v.model.Store(&vectorModel{Name: name})
	}
	return nil
}

// fits reports whether vectors of dim numbers can be compared with those of
// the Bank. The first that asks settles it.
func (v *embedding) fits(dim int) bool {
	for {
		m := v.model.Load()
		if m.Dim != 0 {
			return m.Dim == dim
		}
		if v.model.CompareAndSwap(m, &vectorModel{m.Name, dim}) {
			return true
		}
	}
}

// embed asks the Embedder, and checks what it says.
func (v *embedding) embed(ctx context.Context, limit time.Duration, texts []string) ([][]float32, error) {
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
		if zero(x) {
			out[i] = nil
			continue
		}
		if err := checkVector(x); err != nil {
			return nil, fmt.Errorf("embedder: %w", err)
		}
		out[i] = slices.Clone(x)
		if !v.fits(len(x)) {
			return nil, fmt.Errorf("embedder: %w: dimension %d, not %d as before", ErrVector, len(x), v.model.Load().Dim)
		}
	}
	return out, nil
}

// zero reports whether a vector has no direction.
func zero(v []float32) bool { return !slices.ContainsFunc(v, func(x float32) bool { return x != 0 }) }

// textKey is what a text's vector is cached by, for a tenant: how fast an answer comes
// must not tell it what others have said. It does not give the text away.
func textKey(tenant, text string) (k [16]byte) {
	sum := ident.Digest("vector", tenant, text)
	copy(k[:], sum[:])
	return k
}

// report keeps what an attempt for a tenant has come to. A batch that failed is
// tried again as two halves; what fails alone comes back last.
func (v *embedding) report(now time.Time, tenant string, err error) {
	v.Part.Report(now, tenant, err)
	v.Lock()
	defer v.Unlock()
	if err == nil {
		v.size = min(2*v.size, batchTexts)
	} else {
		v.size = max(1, v.size/2)
	}
}

// embedQuery fills in the vector of a query that has only a text.
func (s Space) embedQuery(ctx context.Context, q *Query) (err error) {
	if s.b.vectors.host == nil || q.Triggered || len(q.Vector) > 0 || len(q.Text) > MaxText || strings.TrimSpace(q.Text) == "" {
		return nil
	}
	q.Vector, err = s.b.queryVector(ctx, s.scope.Tenant(), q.Text)
	return err
}

// checkQueryVector returns ErrVector for a vector that cannot be compared.
func (b *Bank) checkQueryVector(x []float32) error {
	if err := checkVector(x); err != nil {
		return err
	}
	if dim := b.vectors.model.Load().Dim; len(x) > 0 && dim != 0 && len(x) != dim {
		return fmt.Errorf("%w: dimension %d, not %d", ErrVector, len(x), dim)
	}
	return nil
}

// queryVector returns the vector of a query's text, or nil if there is none:
// then words alone have to do. It fails only if ctx has ended.
func (b *Bank) queryVector(ctx context.Context, tenant, text string) ([]float32, error) {
	v := &b.vectors
	text = b.sanitize.Sanitize(text)
	k := textKey(tenant, text)
	if x, ok := v.cache.Get(k); ok {
		return x, nil
	}
	now := b.now()
	if v.Rest(now) > 0 {
		return nil, nil // it failed just now, and Health says so
	}
	out, err := v.embed(ctx, queryLimit, []string{text})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	v.report(now, tenant, err)
	if err != nil {
		return nil, nil // Health says so
	}
	v.cache.Add(k, out[0])
	return out[0], nil
}

// Embed embeds what has no vector yet, without waiting for the Bank to do so
// behind, and returns when all is done or the Embedder has failed. It is for
// hosts that have just stored much, and for tests; without an Embedder it does
// nothing.
func (b *Bank) Embed(ctx context.Context) error { return b.exhaust(ctx, "embed", b.embedNext) }

// exhaust calls next until there is nothing to do or it has failed, without waiting for run.
func (b *Bank) exhaust(ctx context.Context, verb string, next func(context.Context) (int, error)) error {
	for n := 1; n > 0; {
		err := b.In("any").check(ctx)
		if err == nil {
			n, err = next(ctx)
		}
		if err != nil {
			return fmt.Errorf("memory: %s: %w", verb, &cleaned{b.sanitize.Sanitize(err.Error()), err})
		}
	}
	return nil
}

// cleaned is an error that may quote a host's secrets, without them.
type cleaned struct {
	text string
	err  error
}

func (c *cleaned) Error() string { return c.text }

// Unwrap lets callers find the cause, with all that it says.
func (c *cleaned) Unwrap() error { return c.err }

// embedNext embeds the next records that wait, and returns how many they were.
func (b *Bank) embedNext(ctx context.Context) (int, error) {
	v := &b.vectors
	if v.host == nil {
		return 0, nil
	}
	release, err := v.Alone(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	sh, next, done, err := b.nextWaiting(ctx)
	defer done()
	if err == nil && len(next) > 0 {
		err = b.embedThese(ctx, sh, next)
	}
	if ctx.Err() != nil {
		return 0, ctx.Err() // which is no failure of the Embedder
	}
	if sh != nil {
		v.report(b.now(), sh.scope.Tenant(), err)
	}
	return len(next), err
}

func (b *Bank) embedThese(ctx context.Context, sh *shard, next []waiting) error {
	v := &b.vectors
	var texts []string
	found := make(map[[16]byte][]float32)
	for _, w := range next {
		if _, ok := found[w.key]; ok {
			continue
		}
		x, ok := v.cache.Get(w.key)
		if found[w.key] = x; !ok {
			texts = append(texts, w.text)
		}
	}
	if len(texts) > 0 {
		out, err := v.embed(ctx, embedLimit, texts)
		if err != nil {
			if len(texts) == 1 {
				sh.waits.putOff(next)
			}
			return err
		}
		for i, x := range out {
			k := textKey(sh.scope.Tenant(), texts[i])
			found[k] = x
			v.cache.Add(k, x)
		}
	}
	for _, w := range next {
		if err := b.keepVector(ctx, sh, w, found[w.key]); err != nil {
			return err
		}
		b.resemble(ctx, sh, w.e, found[w.key])
	}
	return nil
}

// waiting is a record that is being embedded.
type waiting struct {
	e    *entry
	text string
	key  [16]byte
}

// waits is what the holder of the turn knows of a shard: the records below from
// have a vector, but for those that were put off.
type waits struct {
	from uint32
	off  uint32 // 1 + the first row that was put off; 0: none
}

// putOff lets others go before those that failed.
func (w *waits) putOff(failed []waiting) {
	first, last := failed[0].e.row, failed[len(failed)-1].e.row
	if w.off == 0 || first < w.off-1 {
		w.off = 1 + first
	}
	w.from = last + 1
}

// wanted tells the Embedder that there are records without a vector.
func (b *Bank) wanted(sh *shard) {
	v := &b.vectors
	if v.host == nil {
		return
	}
	v.Lock()
	defer v.Unlock()
	if !v.queued[sh.scope] {
		v.queue, v.queued[sh.scope] = append(v.queue, sh.scope), true
		v.Nudge()
	}
}

// nextWaiting returns the next batch, of one shard, which stays in memory until done is called.
// The caller has the turn.
func (b *Bank) nextWaiting(ctx context.Context) (sh *shard, next []waiting, done func(), err error) {
	v := &b.vectors
	for {
		v.Lock()
		if len(v.queue) == 0 {
			v.Unlock()
			return nil, nil, nothing, nil
		}
		s, size := b.In(v.queue[0]), v.size
		v.queue = v.queue[1:]
		delete(v.queued, s.scope) // what comes from now on queues it again
		v.Unlock()
		if sh, done, _ = s.holding(context.WithoutCancel(ctx)); sh == nil { // queued again once it can be read
			done()
			continue
		}
		next, err = b.waitingIn(ctx, sh, size)
		if len(next) > 0 || err != nil {
			b.wanted(sh)
			return sh, next, done, err
		}
		done()
	}
}

// nextVectorless returns the first record from a row on that waits for a vector, and its
// row, or nil and the row that the next record will have.
func (sh *shard) nextVectorless(row uint32) (*entry, uint32) {
	sh.mu.Enter()
	defer sh.mu.Leave()
	for ; int(row) < len(sh.rows); row++ {
		if e := sh.rows[row]; e != nil && sh.vectorlessLocked(e) {
			return e, row
		}
	}
	return nil, row
}

func (b *Bank) waitingIn(ctx context.Context, sh *shard, size int) ([]waiting, error) {
	w := &sh.waits
	var next []waiting
	bytes := 0
	for row := w.from; ; {
		e, at := sh.nextVectorless(row)
		if row = at + 1; len(next) == 0 {
			w.from = at
		}
		if e == nil {
			if len(next) > 0 || w.off == 0 {
				return next, nil
			}
			row, w.off = w.off-1, 0
			continue
		}
		r, err := b.record(ctx, sh, e)
		if err = sh.missing(e, err); errors.Is(err, store.ErrNotFound) {
			continue // it has just gone
		}
		switch {
		case err == nil:
		case len(next) > 0:
			return next, nil // these first
		default:
			w.putOff([]waiting{{e: e}})
			return nil, err
		}
		text := embedded(r)
		if bytes += len(text); len(next) == size || len(next) > 0 && bytes > batchBytes {
			return next, nil
		}
		next = append(next, waiting{e, text, textKey(sh.scope.Tenant(), text)})
	}
}

// embedded is the text of a record that is embedded.
func embedded(r *Record) string {
	if r.Trigger == "" {
		return r.Content
	}
	return r.Trigger + "\n" + r.Content
}

// keepVector makes a vector visible, and has it written behind: one that is
// lost in a crash is made again.
func (b *Bank) keepVector(ctx context.Context, sh *shard, w waiting, x []float32) error {
	sh.edit.Lock()
	defer sh.edit.Unlock()
	e := w.e
	if !sh.holds(e) || !sh.vectorless(e) {
		b.vectors.cache.Remove(w.key)
		return nil // it has gone, or is another by now
	}
	m, ops, err := b.vectors.note()
	if err != nil {
		return err
	}
	op, err := sh.encodeVector(e.name(), m.Name, x)
	if err != nil {
		return err
	}
	taken, err := b.add(ctx, append(ops, op)...)
	if taken {
		b.vectors.noted(m)
		sh.setVector(e, x)
	}
	return err
}
