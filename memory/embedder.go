package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/vector"
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
// while a recall waits. After a failure, nothing is asked of it for
// firstPause, twice as long after the next one, and so on up to lastPause.
const (
	batchTexts   = 32
	batchBytes   = 256 << 10
	embedLimit   = time.Minute
	queryLimit   = 2 * time.Second
	firstPause   = time.Second
	lastPause    = 5 * time.Minute
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
	wake  chan struct{}
	turn  sync.Mutex // held by who embeds
	stop  context.CancelFunc
	done  chan struct{}

	mu struct {
		sync.Mutex
		noted    vectorModel // as the store has it
		failures int         // in a row
		next     time.Time   // when to try again
		err      error       // of the last attempt
		size     int         // of the next batch
		queue    []*shard    // with records that have no vector
	}
}

// start prepares for vectors. The Bank is not in use yet.
func (v *embedding) start(host Embedder, noted vectorModel) error {
	v.host, v.mu.noted, v.mu.size = host, noted, batchTexts
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
	v.wake = make(chan struct{}, 1)
	return nil
}

// run calls behind in a goroutine until close.
func (v *embedding) run(behind func(context.Context)) {
	if v.host == nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	v.stop, v.done = stop, make(chan struct{})
	go func() {
		defer close(v.done)
		behind(ctx)
	}()
}

// close ends what run has begun, and waits for it.
func (v *embedding) close() {
	if v.stop != nil {
		v.stop()
		<-v.done
	}
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
	out, err := guard.Do(ctx, limit, func(ctx context.Context) ([][]float32, error) { return v.host.Embed(ctx, texts) })
	if err != nil {
		return nil, fmt.Errorf("embedder: %w", err)
	}
	if len(out) != len(texts) {
		return nil, fmt.Errorf("embedder: %d vectors for %d texts", len(out), len(texts))
	}
	for i, x := range out {
		if zero(x) {
			out[i] = nil
			continue
		}
		if err := checkVector(x); err != nil {
			return nil, fmt.Errorf("embedder: %w", err)
		}
		if !v.fits(len(x)) {
			return nil, fmt.Errorf("embedder: %w: dimension %d, not %d as before", ErrVector, len(x), v.model.Load().Dim)
		}
	}
	return out, nil
}

func zero(v []float32) bool {
	for _, x := range v {
		if x != 0 {
			return false
		}
	}
	return true
}

// textKey is what a text's vector is cached by. It does not give the text away.
func textKey(text string) (k [16]byte) {
	sum := digest("vector", text)
	copy(k[:], sum[:])
	return k
}

// rest reports how long the Embedder is to be left alone.
func (v *embedding) rest(now time.Time) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.mu.next.Sub(now)
}

func (v *embedding) lastError() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.mu.err
}

// report keeps what an attempt has come to. A batch that failed is tried again as
// two halves; what fails alone comes back last.
func (v *embedding) report(now time.Time, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.mu.err = err; err == nil {
		v.mu.failures, v.mu.next, v.mu.size = 0, time.Time{}, min(2*v.mu.size, batchTexts)
		return
	}
	pause := lastPause
	if v.mu.failures < 16 {
		pause = min(pause, firstPause<<v.mu.failures)
	}
	v.mu.failures++
	v.mu.next = now.Add(pause)
	v.mu.size = max(1, v.mu.size/2)
}

// embedQuery fills in the vector of a query that has only a text.
func (s Space) embedQuery(ctx context.Context, q *Query) (err error) {
	if s.b.vectors.host == nil || len(q.Vector) > 0 || len(q.Text) > MaxText || strings.TrimSpace(q.Text) == "" {
		return nil
	}
	q.Vector, err = s.b.queryVector(ctx, q.Text)
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
func (b *Bank) queryVector(ctx context.Context, text string) ([]float32, error) {
	v := &b.vectors
	text = b.sanitize.Sanitize(text)
	k := textKey(text)
	if x, ok := v.cache.Get(k); ok {
		return x, nil
	}
	now := b.now()
	if v.rest(now) > 0 {
		return nil, nil // it failed just now, and Health says so
	}
	out, err := v.embed(ctx, queryLimit, []string{text})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	v.report(now, err)
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
func (b *Bank) Embed(ctx context.Context) error {
	if b.closed.Load() {
		return store.ErrClosed
	}
	for {
		n, err := b.embedNext(ctx)
		if err != nil {
			return fmt.Errorf("memory: embed: %w", err)
		}
		if n == 0 {
			return nil
		}
	}
}

// embedBehind embeds until ctx ends.
func (b *Bank) embedBehind(ctx context.Context) {
	v := &b.vectors
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		n := 0
		pause := v.rest(b.now())
		if pause <= 0 {
			// An error is noted, and in Health until an attempt succeeds.
			if n, _ = b.embedNext(ctx); n > 0 {
				continue
			}
			pause = v.rest(b.now())
		}
		timer.Stop()
		if pause > 0 {
			timer.Reset(pause)
		}
		select {
		case <-v.wake:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
	}
}

// embedNext embeds the next records that wait, and returns how many they were.
func (b *Bank) embedNext(ctx context.Context) (int, error) {
	v := &b.vectors
	if v.host == nil {
		return 0, nil
	}
	v.turn.Lock()
	defer v.turn.Unlock()
	sh, next, err := b.nextWaiting(ctx)
	if err == nil && len(next) > 0 {
		err = b.embedThese(ctx, sh, next)
	}
	if ctx.Err() != nil {
		return 0, ctx.Err() // which is no failure of the Embedder
	}
	if err != nil || len(next) > 0 {
		v.report(b.now(), err)
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
			k := textKey(texts[i])
			found[k] = x
			v.cache.Add(k, x)
		}
	}
	for _, w := range next {
		if err := b.keepVector(ctx, sh, w, found[w.key]); err != nil {
			return err
		}
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
	queued atomic.Bool
	from   uint32
	off    uint32 // 1 + the first slot that was put off; 0: none
}

// putOff lets others go before those that failed.
func (w *waits) putOff(failed []waiting) {
	first, last := failed[0].e.slot, failed[len(failed)-1].e.slot
	if w.off == 0 || first < w.off-1 {
		w.off = 1 + first
	}
	w.from = last + 1
}

// wanted tells the Embedder that there are records without a vector.
func (b *Bank) wanted(sh *shard) {
	v := &b.vectors
	if v.host == nil || !sh.waits.queued.CompareAndSwap(false, true) {
		return
	}
	v.mu.Lock()
	v.mu.queue = append(v.mu.queue, sh)
	v.mu.Unlock()
	select {
	case v.wake <- struct{}{}:
	default: // it is awake
	}
}

// nextWaiting returns the next batch, of one shard. The caller has the turn.
func (b *Bank) nextWaiting(ctx context.Context) (*shard, []waiting, error) {
	v := &b.vectors
	for {
		v.mu.Lock()
		if len(v.mu.queue) == 0 {
			v.mu.Unlock()
			return nil, nil, nil
		}
		sh, size := v.mu.queue[0], v.mu.size
		v.mu.queue = v.mu.queue[1:]
		v.mu.Unlock()
		sh.waits.queued.Store(false) // what comes from now on queues it again
		next, err := b.waitingIn(ctx, sh, size)
		if len(next) > 0 || err != nil {
			b.wanted(sh)
			return sh, next, err
		}
	}
}

func (b *Bank) waitingIn(ctx context.Context, sh *shard, size int) ([]waiting, error) {
	w := &sh.waits
	end := sh.entries.next.Load()
	var next []waiting
	bytes := 0
	for slot := w.from; ; slot++ {
		if slot >= end {
			if len(next) > 0 || w.off == 0 {
				return next, nil
			}
			slot, w.off = w.off-1, 0
			w.from = slot
		}
		e := sh.entries.at(slot)
		if e == nil || e.slot != slot || !sh.vectorless(e) {
			if len(next) == 0 {
				w.from = slot + 1
			}
			continue
		}
		r, err := b.record(ctx, sh, e)
		if err = sh.missing(e, err); errors.Is(err, store.ErrNotFound) {
			continue // it has just gone
		}
		if err != nil {
			return nil, err
		}
		text := embedded(r)
		if bytes += len(text); len(next) == size || len(next) > 0 && bytes > batchBytes {
			return next, nil
		}
		next = append(next, waiting{e, text, textKey(text)})
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
	if sh.entries.at(e.slot) != e || !sh.vectorless(e) {
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
