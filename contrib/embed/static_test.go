package embed_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/contrib/embed"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

var _ memory.Embedder = (*embed.Static)(nil)

// array is a tensor of a file to be.
type array struct {
	dtype string
	shape []int
	data  any
}

func safetensors(t testing.TB, arrays map[string]array) []byte {
	t.Helper()
	header := map[string]any{"__metadata__": map[string]string{"format": "np"}}
	var data bytes.Buffer
	for name, a := range arrays {
		from := data.Len()
		require.NoError(t, binary.Write(&data, binary.LittleEndian, a.data))
		header[name] = map[string]any{"dtype": a.dtype, "shape": a.shape, "data_offsets": []int{from, data.Len()}}
	}
	h, err := json.Marshal(header)
	require.NoError(t, err)
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(h)))
	return append(append(file, h...), data.Bytes()...)
}

// oneHot is a matrix whose row i has a one at i: a text's vector shows its
// tokens.
func oneHot(n int) array {
	data := make([]float32, n*n)
	for i := range n {
		data[i*n+i] = 1
	}
	return array{"F32", []int{n, n}, data}
}

const bert = `{
	"normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
	"pre_tokenizer": {"type": "BertPreTokenizer"},
	"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 12,
		"vocab": {"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "cafe": 4, "!": 5, "中": 6, "文": 7, "a": 8, "##a": 9}}}`

const unigram = `{
	"normalizer": {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": "AAAA"},
		{"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
	"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
	"model": {"type": "Unigram", "unk_id": 0,
		"vocab": [["<unk>", 0], ["▁", -4], ["▁the", -2], ["▁th", -1], ["e", -1.5], ["s", -3], ["▁cat", -5], ["cat", -6], ["ﬁ", -1], ["fi", -2]]}}`

func model(t testing.TB, tokenizer string, arrays map[string]array) fstest.MapFS {
	return fstest.MapFS{
		"tokenizer.json":    {Data: []byte(tokenizer)},
		"model.safetensors": {Data: safetensors(t, arrays)},
	}
}

// counts embeds by the model and returns how often each token occurs.
func counts(t *testing.T, m *embed.Static, text string) map[int]int {
	t.Helper()
	vs, err := m.Embed(t.Context(), []string{text})
	require.NoError(t, err)
	sum, least := 0.0, math.Inf(1)
	for _, x := range vs[0] {
		if x > 0 {
			least = min(least, float64(x))
		}
		sum += float64(x)
	}
	out := map[int]int{}
	for i, x := range vs[0] {
		if x > 0 {
			out[i] = int(math.Round(float64(x) / least))
		}
	}
	if vs[0] != nil {
		require.InDelta(t, 1, sum, 1e-5, "it is a mean")
	}
	return out
}

func TestWordPiece(t *testing.T) {
	m, err := embed.Open(model(t, bert, map[string]array{"embeddings": oneHot(10)}), nil)
	require.NoError(t, err)
	require.Equal(t, 10, m.Dim())
	for text, want := range map[string]map[int]int{
		"unaffable":                    {1: 1, 2: 1, 3: 1},
		"  UNaffable\tun ":             {1: 2, 2: 1, 3: 1},
		"Café!!":                       {4: 1, 5: 2},
		"Cafe\u0301":                   {4: 1},
		"中文":                           {6: 1, 7: 1},
		"cafe un\u00adable":            {4: 1, 1: 1, 3: 1}, // a soft hyphen is no character
		"unknown":                      {},                 // a word that leaves a rest, as a whole
		"":                             {},
		"[UNK]":                        {},
		"cafe aaaaaaaaaaaa":            {4: 1, 8: 1, 9: 11},
		"cafe aaaaaaaaaaaaa":           {4: 1}, // longer than 12
		"un\x00able \xff\xfe ca\xfffe": {1: 1, 3: 1, 4: 1},
	} {
		require.Equal(t, want, counts(t, m, text), "%q", text)
	}
	require.Equal(t, map[int]int{1: 1, 8: 511}, counts(t, m, "un "+strings.Repeat("a ", 511)+"!"), "the first 512 tokens")
}

func TestUnigram(t *testing.T) {
	m, err := embed.Open(model(t, unigram, map[string]array{"embeddings": oneHot(10)}), nil)
	require.NoError(t, err)
	for text, want := range map[string]map[int]int{
		"the":          {2: 1}, // -2, where ▁th and e have -2.5
		"thes":         {2: 1, 5: 1},
		"the  cat":     {2: 1, 6: 1},
		"cat":          {6: 1},
		"catcat":       {6: 1, 7: 1},
		"theXcat":      {2: 1, 7: 1}, // X is no token
		"the\u00a0cat": {2: 1, 6: 1},
		"the ﬁ":        {2: 1, 1: 1, 9: 1}, // NFKC makes fi of the ligature
		"the \xff":     {2: 1, 1: 1},
	} {
		require.Equal(t, want, counts(t, m, text), "%q", text)
	}
}

func TestParts(t *testing.T) {
	vocab := `"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1, "b": 2, "ab": 3, "_x": 4, "1": 5, "2": 6, ".": 7, "...": 8, "é": 9}}}`
	for parts, tests := range map[string]map[string]map[int]int{
		`{"pre_tokenizer": {"type": "WhitespaceSplit"},`:                                                   {" a  ab a.": {1: 1, 3: 1}},
		`{"pre_tokenizer": {"type": "Whitespace"},`:                                                        {"a... _x é": {1: 1, 8: 1, 4: 1, 9: 1}},
		`{"normalizer": {"type": "Lowercase"},`:                                                            {"AB": {3: 1}, "A B": {}},
		`{"normalizer": {"type": "Strip", "strip_left": true, "strip_right": true},`:                       {" a ": {1: 1}},
		`{"normalizer": {"type": "Replace", "pattern": {"String": "x"}, "content": ""},`:                   {"xaxb": {3: 1}},
		`{"normalizer": {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": ""},`:                 {" a \t b": {3: 1}},
		`{"normalizer": {"type": "Prepend", "prepend": "a"},`:                                              {"b": {3: 1}, "": {}},
		`{"normalizer": {"type": "NFC"},`:                                                                  {"e\u0301": {9: 1}},
		`{"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]},`: {"á": {1: 1}},
		`{"normalizer": null, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
			{"type": "Digits", "individual_digits": true}, {"type": "Punctuation", "behavior": "Isolated"}]},`: {"a12. b": {1: 1, 5: 1, 6: 1, 7: 1, 2: 1}},
	} {
		m, err := embed.Open(model(t, parts+vocab, map[string]array{"embeddings": oneHot(10)}), nil)
		require.NoError(t, err, parts)
		for text, want := range tests {
			require.Equal(t, want, counts(t, m, text), "%s %q", parts, text)
		}
	}
}

func TestNumbers(t *testing.T) {
	tokenizer := `{"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"a": 0, "b": 1}}}`
	for name, a := range map[string]array{
		"F32":  {"F32", []int{2, 2}, []float32{1, -2, 0.5, 65504}},
		"F64":  {"F64", []int{2, 2}, []float64{1, -2, 0.5, 65504}},
		"F16":  {"F16", []int{2, 2}, []uint16{0x3c00, 0xc000, 0x3800, 0x7bff}},
		"BF16": {"BF16", []int{2, 2}, []uint16{0x3f80, 0xc000, 0x3f00, 0x4780}},
		"I8":   {"I8", []int{2, 2}, []int8{1, -2, 0, 127}},
	} {
		m, err := embed.Open(model(t, tokenizer, map[string]array{"embeddings": a}), nil)
		require.NoError(t, err, name)
		vs, err := m.Embed(t.Context(), []string{"a", "b", "c"})
		require.NoError(t, err)
		require.Equal(t, []float32{1, -2}, vs[0], name)
		require.Greater(t, vs[1][1], float32(100), name)
		require.Nil(t, vs[2], "no known token")
	}
	small, err := embed.Open(model(t, tokenizer, map[string]array{"embeddings": {"F16", []int{2, 1}, []uint16{1, 0x8001}}}), nil)
	require.NoError(t, err)
	vs, err := small.Embed(t.Context(), []string{"a", "b"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{{0x1p-24}, {-0x1p-24}}, vs)

	fsys := model(t, tokenizer, map[string]array{
		"embeddings": {"F32", []int{1, 2}, []float32{3, 4}},
		"mapping":    {"I64", []int{2}, []int64{0, 0}},
		"weights":    {"F32", []int{2}, []float32{2, 0}},
	})
	m, err := embed.Open(fsys, nil)
	require.NoError(t, err)
	vs, err = m.Embed(t.Context(), []string{"a", "b"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{{6, 8}, nil}, vs)
	fsys["config.json"] = &fstest.MapFile{Data: []byte(`{"normalize": true}`)}
	m, err = embed.Open(fsys, &embed.Options{Name: "mine"})
	require.NoError(t, err)
	require.Equal(t, "mine", m.Model())
	vs, err = m.Embed(t.Context(), []string{"a", "b"})
	require.NoError(t, err)
	require.InDeltaSlice(t, []float32{0.6, 0.8}, vs[0], 1e-6)
}

// The name tells models apart whose vectors or tokenizer differ: their vectors are never compared.
func TestModelNames(t *testing.T) {
	arrays, other := map[string]array{"embeddings": oneHot(10)}, oneHot(10)
	other.data.([]float32)[7] = 1
	one, err := embed.Open(model(t, bert, arrays), nil)
	require.NoError(t, err)
	for name, files := range map[string]fstest.MapFS{
		"vectors":   model(t, bert, map[string]array{"embeddings": other}),
		"tokenizer": model(t, strings.Replace(bert, `"cafe": 4, "!": 5`, `"cafe": 5, "!": 4`, 1), arrays),
	} {
		two, err := embed.Open(files, nil)
		require.NoError(t, err)
		require.NotEqual(t, one.Model(), two.Model(), name)
	}
}

func TestBadFiles(t *testing.T) {
	good := map[string]array{"embeddings": oneHot(10)}
	header := func(h string) []byte { return append(binary.LittleEndian.AppendUint64(nil, uint64(len(h))), h...) }
	for name, test := range map[string]struct {
		tokenizer string
		tensors   []byte
		err       error
	}{
		"empty tensors":     {bert, nil, embed.ErrModel},
		"long header":       {bert, binary.LittleEndian.AppendUint64(nil, math.MaxUint64), embed.ErrModel},
		"no header":         {bert, header("x"), embed.ErrModel},
		"no embeddings":     {bert, header("{}"), embed.ErrModel},
		"outside":           {bert, header(`{"embeddings":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}`), embed.ErrModel},
		"backwards":         {bert, header(`{"embeddings":{"dtype":"F32","shape":[1,1],"data_offsets":[4,0]}}`), embed.ErrModel},
		"shape overflows":   {bert, header(`{"embeddings":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`), embed.ErrModel},
		"negative shape":    {bert, header(`{"embeddings":{"dtype":"F32","shape":[-1,-1],"data_offsets":[0,0]}}`), embed.ErrModel},
		"other type":        {bert, header(`{"embeddings":{"dtype":"F8_E4M3","shape":[1,1],"data_offsets":[0,0]}}`), embed.ErrUnsupported},
		"not finite":        {bert, safetensors(t, map[string]array{"embeddings": {"F32", []int{10, 1}, []float32{9: float32(math.NaN())}}}), embed.ErrModel},
		"no matrix":         {bert, safetensors(t, map[string]array{"embeddings": {"F32", []int{10}, make([]float32, 10)}}), embed.ErrModel},
		"too few rows":      {bert, safetensors(t, map[string]array{"embeddings": oneHot(9)}), embed.ErrModel},
		"mapping outside":   {bert, safetensors(t, map[string]array{"embeddings": oneHot(2), "mapping": {"I32", []int{10}, []int32{9: 2}}}), embed.ErrModel},
		"mapping of floats": {bert, safetensors(t, map[string]array{"embeddings": oneHot(2), "mapping": {"F32", []int{10}, make([]float32, 10)}}), embed.ErrUnsupported},
		"too few weights":   {bert, safetensors(t, map[string]array{"embeddings": oneHot(10), "weights": {"F32", []int{9}, make([]float32, 9)}}), embed.ErrModel},
		"no JSON":           {`{`, safetensors(t, good), embed.ErrModel},
		"BPE":               {`{"model": {"type": "BPE", "vocab": {"a": 0}}}`, safetensors(t, good), embed.ErrUnsupported},
		"byte fallback":     {`{"model": {"type": "Unigram", "byte_fallback": true, "vocab": []}}`, safetensors(t, good), embed.ErrUnsupported},
		"normalizer":        {`{"normalizer": {"type": "Nmt"}, "model": {"type": "WordLevel", "vocab": {}}}`, safetensors(t, good), embed.ErrUnsupported},
		"pre-tokenizer":     {`{"pre_tokenizer": {"type": "ByteLevel"}, "model": {"type": "WordLevel", "vocab": {}}}`, safetensors(t, good), embed.ErrUnsupported},
		"negative id":       {`{"model": {"type": "WordLevel", "vocab": {"a": -1}}}`, safetensors(t, good), embed.ErrModel},
		"no score":          {`{"model": {"type": "Unigram", "vocab": [["a", "b"]]}}`, safetensors(t, good), embed.ErrModel},
		"unk_id":            {`{"model": {"type": "Unigram", "unk_id": 1, "vocab": [["a", 0]]}}`, safetensors(t, good), embed.ErrModel},
		"deep": {`{"normalizer": ` + strings.Repeat(`{"type": "Sequence", "normalizers": [`, 20) + strings.Repeat(`]}`, 20) +
			`, "model": {"type": "WordLevel", "vocab": {}}}`, safetensors(t, good), embed.ErrUnsupported},
	} {
		_, err := embed.Open(fstest.MapFS{"tokenizer.json": {Data: []byte(test.tokenizer)}, "model.safetensors": {Data: test.tensors}}, nil)
		require.ErrorIs(t, err, test.err, name)
	}
	_, err := embed.Open(fstest.MapFS{}, nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
	fsys := model(t, bert, good)
	fsys["config.json"] = &fstest.MapFile{Data: []byte("[]")}
	_, err = embed.Open(fsys, nil)
	require.ErrorIs(t, err, embed.ErrModel)
}

// long says that its files are longer than they are.
type long struct{ fs.FS }

type longFile struct {
	fs.File
	fs.FileInfo
}

func (l long) Open(name string) (fs.File, error) {
	f, err := l.FS.Open(name)
	return longFile{File: f}, err
}

func (f longFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f longFile) Size() int64                { return embed.MaxTensors + 1 }

func TestLongFiles(t *testing.T) {
	_, err := embed.Open(long{model(t, bert, map[string]array{"embeddings": oneHot(10)})}, nil)
	limit, ok := errors.AsType[*store.LimitError](err)
	require.True(t, ok)
	require.Equal(t, embed.MaxTensors, limit.Limit)
	require.Less(t, embed.MaxTokenizer, embed.MaxTensors)
}

func TestStaticContext(t *testing.T) {
	m, err := embed.Open(model(t, bert, map[string]array{"embeddings": oneHot(10)}), nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = m.Embed(ctx, []string{"a"})
	require.ErrorIs(t, err, context.Canceled)
}

// Whatever the files hold, Open gives a model that embeds without a panic, or
// an error of the package.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(bert), safetensors(f, map[string]array{"embeddings": oneHot(10)}), "unaffable café")
	f.Add([]byte(unigram), safetensors(f, map[string]array{"embeddings": oneHot(10), "weights": {"F16", []int{10}, make([]uint16, 10)}}), "the cats")
	f.Add([]byte(bert), safetensors(f, map[string]array{"embeddings": {"I8", []int{1, 3}, []int8{1, 2, 3}}, "mapping": {"I32", []int{10}, make([]int32, 10)}}), "中 \xff")
	f.Fuzz(func(t *testing.T, tokenizer, tensors []byte, text string) {
		m, err := embed.Open(fstest.MapFS{"tokenizer.json": {Data: tokenizer}, "model.safetensors": {Data: tensors}}, nil)
		if err != nil {
			for _, known := range []error{embed.ErrModel, embed.ErrUnsupported} {
				if errors.Is(err, known) {
					return
				}
			}
			t.Fatalf("another error: %v", err)
		}
		vs, err := m.Embed(t.Context(), []string{text, "", text})
		require.NoError(t, err)
		require.Len(t, vs, 3)
		require.Equal(t, vs[0], vs[2])
		for _, x := range vs[0] {
			require.False(t, math.IsNaN(float64(x)) || math.IsInf(float64(x), 0))
		}
	})
}
