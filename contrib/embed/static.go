package embed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/arc-learn/arc/store"
)

// Errors of Open, wrapped with what is wrong.
var (
	// ErrModel: a file of the model is damaged, or does not fit the others.
	ErrModel = errors.New("bad model file")
	// ErrUnsupported: the model needs a type of numbers, a tokenizer or a part
	// of one that this package does not have.
	ErrUnsupported = errors.New("unsupported model")
)

// Limits of what Open reads, in bytes. Over one the error is a
// *store.LimitError.
const (
	MaxTensors   = 1 << 30   // model.safetensors
	MaxTokenizer = 128 << 20 // tokenizer.json
)

// maxTokens is the number of tokens of a text that count, as in model2vec.
const maxTokens = 512

// Options configure [Open]. Nil and the zero value are ready.
type Options struct {
	// Name is what Model returns: it has to change with the vectors. "": made of a
	// hash of the vectors and the tokenizer. What config.json says is not in it: that
	// changes the lengths of vectors, and not where they point.
	Name string
}

// Static embeds a text as the mean of the vectors of its tokens. It is
// immutable, and safe for concurrent use.
type Static struct {
	name    string
	dim     int
	rows    []float32 // dim for each row
	row     []int32   // of a token; nil: its id
	weights []float32 // of a token; nil: 1
	unit    bool      // vectors are scaled to length 1
	tok     *tokenizer
	chars   int // of a text that count
}

// Open reads a model in the form that model2vec writes (MinishLab/model2vec):
// model.safetensors with "embeddings" and perhaps "weights" and "mapping",
// tokenizer.json, and config.json for "normalize", if it is there. Numbers may
// be F64, F32, F16, BF16 or I8.
//
// Of tokenizers it has the models WordPiece, Unigram (without byte fallback)
// and WordLevel, the usual normalizers and splitters; special tokens in a
// text count as text, and the tables of SentencePiece normalizers are
// replaced by NFKC. Anything else is ErrUnsupported, so that no text is embedded
// wrongly in silence. The errors are ErrModel, ErrUnsupported,
// *store.LimitError, and those of fsys.
func Open(fsys fs.FS, opts *Options) (*Static, error) {
	m, err := open(fsys)
	if err != nil {
		return nil, fmt.Errorf("embed: open: %w", err)
	}
	if opts != nil && opts.Name != "" {
		m.name = opts.Name
	}
	return m, nil
}

func open(fsys fs.FS) (*Static, error) {
	file, err := read(fsys, "model.safetensors", MaxTensors)
	if err != nil {
		return nil, err
	}
	raw, err := read(fsys, "tokenizer.json", MaxTokenizer)
	if err != nil {
		return nil, err
	}
	config, err := read(fsys, "config.json", 1<<20)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	m := &Static{}
	if m.tok, err = newTokenizer(raw); err != nil {
		return nil, err
	}
	if err := m.readTensors(file); err != nil {
		return nil, err
	}
	if config != nil {
		var c struct {
			Normalize bool `json:"normalize"`
		}
		if err := json.Unmarshal(config, &c); err != nil {
			return nil, fmt.Errorf("%w: config.json: %v", ErrModel, err)
		}
		m.unit = c.Normalize
	}
	both := sha256.Sum256(file)
	sum := sha256.Sum256(append(both[:], raw...)) // the vectors depend on the tokenizer, too
	m.name = fmt.Sprintf("static-%s/%d", hex.EncodeToString(sum[:8]), m.dim)
	m.chars = maxTokens * m.tok.medianLength()
	return m, nil
}

func read(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Size() > limit {
		return nil, errors.Join(&store.LimitError{Field: name, Limit: int(limit), Got: int(info.Size())}, f.Close())
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1)) // some files do not know their size
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if int64(len(b)) > limit {
		return nil, &store.LimitError{Field: name, Limit: int(limit), Got: len(b)}
	}
	return b, nil
}

func (m *Static) readTensors(file []byte) error {
	ts, err := tensors(file)
	if err != nil {
		return err
	}
	const name = "embeddings"
	t, ok := ts[name]
	if !ok || len(t.Shape) != 2 {
		return fmt.Errorf("%w: no matrix %q", ErrModel, name)
	}
	if m.rows, err = t.floats(name); err != nil {
		return err
	}
	rows := int(t.Shape[0])
	m.dim = int(t.Shape[1])
	tokens := rows
	if t, ok := ts["mapping"]; ok {
		if m.row, err = t.indices("mapping", rows); err != nil {
			return err
		}
		tokens = len(m.row)
	}
	if t, ok := ts["weights"]; ok {
		if m.weights, err = t.floats("weights"); err != nil {
			return err
		}
		tokens = min(tokens, len(m.weights))
	}
	if most := m.tok.maxID(); int(most) >= tokens {
		return fmt.Errorf("%w: token %d of %d", ErrModel, most, tokens)
	}
	return nil
}

// indices returns whole numbers from 0 and below n.
func (t tensor) indices(name string, n int) ([]int32, error) {
	size, err := t.count(name)
	if err != nil {
		return nil, err
	}
	if t.Type != "I64" && t.Type != "I32" {
		return nil, fmt.Errorf("%w: %s of type %s", ErrUnsupported, name, t.Type)
	}
	out := make([]int32, size)
	for i := range out {
		x := t.int(i)
		if x < 0 || x >= int64(n) {
			return nil, fmt.Errorf("%w: %s: row %d of %d", ErrModel, name, x, n)
		}
		out[i] = int32(x)
	}
	return out, nil
}

// Dim returns the dimension of the vectors.
func (m *Static) Dim() int { return m.dim }

// Model returns Options.Name, or a name made of a hash.
func (m *Static) Model() string { return m.name }

// Embed returns a vector for each text, nil for one without a known token, or whose
// mean has no direction. As in model2vec, the first 512 tokens count. It fails if ctx
// has ended.
func (m *Static) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	var ids []int32
	for i, s := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ids = m.tok.append(ids[:0], cut(s, m.chars))
		ids = ids[:min(len(ids), maxTokens)]
		out[i] = m.mean(ids)
	}
	return out, nil
}

// mean returns the mean of the tokens' vectors, or nil if it has no direction.
func (m *Static) mean(ids []int32) []float32 {
	v := make([]float32, m.dim)
	for _, id := range ids {
		w := float32(1)
		if m.weights != nil {
			w = m.weights[id]
		}
		row := int(id)
		if m.row != nil {
			row = int(m.row[id])
		}
		for j, x := range m.rows[row*m.dim:][:m.dim] {
			v[j] += w * x
		}
	}
	finite, zero := true, true
	for j := range v {
		if v[j] != 0 {
			v[j] /= float32(len(ids))
			zero = false
		}
		finite = finite && !math.IsInf(float64(v[j]), 0) && v[j] == v[j]
	}
	if zero || !finite || m.unit && !normalize(v) {
		return nil
	}
	return v
}

// normalize scales v to length 1. It reports false for a v without a length:
// one of zeros, or one whose squares overflow.
func normalize(v []float32) bool {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if !(sum > 0) || math.IsInf(sum, 1) {
		return false
	}
	inv := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * inv)
	}
	return true
}

// cut returns the first n characters of s.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
