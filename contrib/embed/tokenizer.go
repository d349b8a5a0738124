package embed

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// tokenizer turns a text into ids of tokens.
type tokenizer struct {
	normalize normalizer
	split     splitter
	vocab     map[string]int32
	unknown   int32 // left out of the result; -1: there is none
	encode    func(t *tokenizer, ids []int32, word string) []int32

	prefix  string    // WordPiece: of what goes on a word
	maxWord int       // WordPiece: characters of a word that is looked at
	scores  []float64 // Unigram: by id, logarithms
	lost    float64   // Unigram: score of a character that is no token
	longest int       // Unigram: token, in bytes
}

// storedTokenizer is a tokenizer.json.
type storedTokenizer struct {
	Normalizer   json.RawMessage `json:"normalizer"`
	PreTokenizer json.RawMessage `json:"pre_tokenizer"`
	Model        struct {
		Type         string          `json:"type"`
		Vocab        json.RawMessage `json:"vocab"`
		Unknown      string          `json:"unk_token"`
		UnknownID    *int32          `json:"unk_id"`
		Prefix       *string         `json:"continuing_subword_prefix"`
		MaxWord      *int            `json:"max_input_chars_per_word"`
		ByteFallback bool            `json:"byte_fallback"`
		Merges       json.RawMessage `json:"merges"`
	} `json:"model"`
}

func newTokenizer(raw []byte) (*tokenizer, error) {
	var s storedTokenizer
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("%w: tokenizer.json: %v", ErrModel, err)
	}
	t := &tokenizer{unknown: -1, prefix: "##", maxWord: 100}
	var err error
	if t.normalize, err = newNormalizer(s.Normalizer); err != nil {
		return nil, err
	}
	if t.split, err = newSplitter(s.PreTokenizer); err != nil {
		return nil, err
	}
	kind := s.Model.Type
	if kind == "" && s.Model.MaxWord != nil { // older files leave it out
		kind = "WordPiece"
	}
	switch {
	case kind == "Unigram" && !s.Model.ByteFallback:
		t.encode = (*tokenizer).unigram
		err = t.readScores(s.Model.Vocab, s.Model.UnknownID)
	case kind == "WordPiece" || kind == "WordLevel":
		t.encode = (*tokenizer).wordPiece
		if kind == "WordLevel" {
			t.encode = (*tokenizer).wordLevel
		}
		if s.Model.Prefix != nil {
			t.prefix = *s.Model.Prefix
		}
		if s.Model.MaxWord != nil {
			t.maxWord = *s.Model.MaxWord
		}
		err = t.readVocab(s.Model.Vocab, s.Model.Unknown)
	default:
		err = fmt.Errorf("%w: tokenizer model %.32q", ErrUnsupported, kind)
	}
	return t, err
}

func (t *tokenizer) readVocab(raw json.RawMessage, unknown string) error {
	if err := json.Unmarshal(raw, &t.vocab); err != nil {
		return fmt.Errorf("%w: vocabulary: %v", ErrModel, err)
	}
	for _, id := range t.vocab {
		if id < 0 {
			return fmt.Errorf("%w: token %d", ErrModel, id)
		}
	}
	if id, ok := t.vocab[unknown]; ok {
		t.unknown = id
	}
	return nil
}

// readScores reads a list of pairs of a token and its score.
func (t *tokenizer) readScores(raw json.RawMessage, unknown *int32) error {
	var pairs [][2]any
	if err := json.Unmarshal(raw, &pairs); err != nil {
		return fmt.Errorf("%w: vocabulary: %v", ErrModel, err)
	}
	if len(pairs) > math.MaxInt32 {
		return fmt.Errorf("%w: vocabulary is too long", ErrModel)
	}
	t.vocab, t.scores = make(map[string]int32, len(pairs)), make([]float64, len(pairs))
	least := 0.0
	for i, p := range pairs {
		token, ok := p[0].(string)
		score, number := p[1].(float64)
		if !ok || !number || math.Abs(score) > 1e6 {
			return fmt.Errorf("%w: token %d is no pair of a text and a score", ErrModel, i)
		}
		t.vocab[token] = int32(i)
		t.scores[i] = score
		t.longest = max(t.longest, len(token))
		least = min(least, score)
	}
	if t.longest > maxToken {
		return fmt.Errorf("%w: a token of %d bytes", ErrUnsupported, t.longest)
	}
	if unknown != nil {
		if *unknown < 0 || int(*unknown) >= len(pairs) {
			return fmt.Errorf("%w: unk_id %d", ErrModel, *unknown)
		}
		t.unknown = *unknown
	}
	t.lost = least - 10 // as SentencePiece has it
	return nil
}

// maxToken bounds the work for a character of a text.
const maxToken = 1024

// maxID returns the largest id of a token, or -1.
func (t *tokenizer) maxID() int32 {
	most := int32(-1)
	for _, id := range t.vocab {
		most = max(most, id)
	}
	return most
}

// medianLength returns the median length of a token, in characters; at least 1.
func (t *tokenizer) medianLength() int {
	if len(t.vocab) == 0 {
		return 1
	}
	lengths := make([]int, 0, len(t.vocab))
	for token := range t.vocab {
		lengths = append(lengths, utf8.RuneCountInString(token))
	}
	slices.Sort(lengths)
	return max(1, (lengths[(len(lengths)-1)/2]+lengths[len(lengths)/2])/2)
}

// append appends the tokens of s. It leaves unknown ones out.
func (t *tokenizer) append(ids []int32, s string) []int32 {
	t.split(t.normalize(s), func(word string) {
		ids = t.encode(t, ids, word)
	})
	return slices.DeleteFunc(ids, func(id int32) bool { return id == t.unknown })
}

func (t *tokenizer) wordLevel(ids []int32, word string) []int32 {
	if id, ok := t.vocab[word]; ok {
		ids = append(ids, id)
	}
	return ids
}

// wordPiece takes the longest token that a word begins with, and so on with
// the rest. A word that leaves a rest is unknown as a whole.
func (t *tokenizer) wordPiece(ids []int32, word string) []int32 {
	if utf8.RuneCountInString(word) > t.maxWord {
		return ids
	}
	before := len(ids)
	var buf [256]byte
	for start := 0; start < len(word); {
		id, end := int32(0), len(word)
		for ; end > start; end-- {
			if end < len(word) && !utf8.RuneStart(word[end]) {
				continue
			}
			piece := buf[:0]
			if start > 0 {
				piece = append(piece, t.prefix...)
			}
			known, ok := t.vocab[string(append(piece, word[start:end]...))]
			if ok {
				id = known
				break
			}
		}
		if end == start {
			return ids[:before]
		}
		ids = append(ids, id)
		start = end
	}
	return ids
}

// unigram takes the tokens whose scores have the largest sum (Viterbi;
// Kudo 2018). A character that is no token costs t.lost.
func (t *tokenizer) unigram(ids []int32, word string) []int32 {
	type step struct {
		score float64
		from  int
		id    int32
	}
	best := make([]step, len(word)+1)
	for i := range best {
		best[i].score = math.Inf(-1)
	}
	best[0].score = 0
	reach := func(from, to int, score float64, id int32) {
		if s := best[from].score + score; s > best[to].score {
			best[to] = step{s, from, id}
		}
	}
	for i := 0; i < len(word); {
		_, width := utf8.DecodeRuneInString(word[i:])
		single := false
		for end := i + 1; end <= min(len(word), i+t.longest); end++ {
			if end < len(word) && !utf8.RuneStart(word[end]) {
				continue
			}
			if id, ok := t.vocab[word[i:end]]; ok && id != t.unknown {
				reach(i, end, t.scores[id], id)
				single = single || end == i+width
			}
		}
		if !single {
			reach(i, i+width, t.lost, -1)
		}
		i += width
	}
	before := len(ids)
	for i := len(word); i > 0; i = best[i].from {
		if best[i].id >= 0 {
			ids = append(ids, best[i].id)
		}
	}
	slices.Reverse(ids[before:])
	return ids
}
