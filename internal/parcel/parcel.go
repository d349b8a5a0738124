// Package parcel is the file format of an export: one entry a line, in JSON.
//
//	{"arc":"parcel","format":1,"scope":"acme/anna"}
//	{"key":["memory","r","acme/anna","0f3…"],"value":"AQ4…"}
//	{"entries":1,"sha256":"9b2…"}
//
// A key is given by its parts, a value in base64, as it is stored: an envelope of version, checksum and
// CBOR, see package codec. The last line has the number of entries, and the SHA-256 of all lines before
// it, so that a file that was truncated or altered is refused.
package parcel

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Format is the version of the file's format.
const Format = 1

// maxLine is the longest line in bytes: it has room for the longest value in base64, and a key.
const maxLine = 2 << 20

// header, record and footer are the lines.
type header struct {
	Arc    string `json:"arc"`
	Format int    `json:"format"`
	Scope  string `json:"scope"`
}

type record struct {
	Key   []string `json:"key"`
	Value []byte   `json:"value"`
}

type footer struct {
	Entries int    `json:"entries"`
	SHA256  string `json:"sha256"`
}

// Writer writes a parcel.
type Writer struct {
	out     *bufio.Writer
	sum     hash.Hash
	entries int
}

// NewWriter returns a Writer, and writes the first line, which names the scope of the entries.
func NewWriter(w io.Writer, scope string) (*Writer, error) {
	x := &Writer{out: bufio.NewWriterSize(w, 64<<10), sum: sha256.New()}
	return x, x.writeLine(header{"parcel", Format, scope})
}

func (x *Writer) writeLine(line any) error {
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	x.sum.Write(b)
	_, err = x.out.Write(b)
	return err
}

// Put writes an entry.
func (x *Writer) Put(e store.Entry) error {
	x.entries++
	return x.writeLine(record{key.Split(e.Key), e.Value})
}

// Close writes the last line, without which a Reader refuses the parcel.
func (x *Writer) Close() error {
	if err := x.writeLine(footer{x.entries, hex.EncodeToString(x.sum.Sum(nil))}); err != nil {
		return err
	}
	return x.out.Flush()
}

// Reader reads a parcel. Beside one line it keeps 16 bytes of each key, to detect duplicates.
type Reader struct {
	// Scope is that of the entries.
	Scope string

	in   *bufio.Reader
	line int
	sum  hash.Hash
}

// NewReader returns a Reader, and reads the first line. The error is store.ErrForeign for another kind of
// file, store.ErrNewer for a later format, store.ErrDamaged for a line that no Writer writes, and else that
// of r.
func NewReader(r io.Reader) (*Reader, error) {
	x := &Reader{in: bufio.NewReaderSize(r, maxLine), sum: sha256.New()}
	line, err := x.readLine()
	h, long := header{}, new(store.LimitError)
	switch {
	case err != nil && !errors.Is(err, store.ErrDamaged) && !errors.As(err, &long):
		return nil, err
	case err != nil || json.Unmarshal(line, &h) != nil || h.Arc != "parcel":
		err = fmt.Errorf("%w: no parcel", store.ErrForeign)
	case h.Format > Format:
		err = fmt.Errorf("%w: format %d", store.ErrNewer, h.Format)
	case h.Format < Format || !exact(line, h):
		err = fmt.Errorf("%w: not as it was written", store.ErrDamaged)
	}
	x.Scope = h.Scope
	x.sum.Write(line)
	return x, x.onLine(err)
}

// onLine adds the line number to an error.
func (x *Reader) onLine(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("line %d: %w", x.line, err)
}

// readLine reads a line.
func (x *Reader) readLine() ([]byte, error) {
	x.line++
	line, err := x.in.ReadSlice('\n')
	switch {
	case err == nil:
		return line, nil
	case errors.Is(err, bufio.ErrBufferFull):
		err = &store.LimitError{Field: "line", Limit: maxLine, Got: maxLine + 1}
	case errors.Is(err, io.EOF):
		err = fmt.Errorf("%w: the end is missing", store.ErrDamaged)
	}
	return nil, x.onLine(err)
}

// exact reports whether a line is exactly what a Writer writes for a value: hence without other members,
// duplicates, or invalid UTF-8.
func exact(line []byte, v any) bool {
	b, err := json.Marshal(v)
	return err == nil && bytes.Equal(append(b, '\n'), line)
}

// Each calls fn with each entry until fn returns an error, and checks the last line. Errors name the line:
// that of fn, a *store.LimitError for a line that is too long, and else store.ErrDamaged or that of
// the underlying reader.
func (x *Reader) Each(fn func(store.Entry) error) error {
	seen := make(map[[16]byte]bool)
	for {
		line, err := x.readLine()
		if err != nil {
			return err
		}
		if bytes.HasPrefix(line, []byte(`{"entries":`)) {
			return x.onLine(x.matches(line, len(seen)))
		}
		e, err := parsed(line)
		if err == nil {
			var short [16]byte
			sum := sha256.Sum256([]byte(e.Key))
			if copy(short[:], sum[:]); seen[short] {
				err = fmt.Errorf("%w: %q for the second time", store.ErrDamaged, e.Key)
			}
			seen[short] = true
		}
		if err == nil {
			err = fn(e)
		}
		if err != nil {
			return x.onLine(err)
		}
		x.sum.Write(line)
	}
}

// parsed returns the entry of a line.
func parsed(line []byte) (store.Entry, error) {
	var r record
	if err := json.Unmarshal(line, &r); err != nil || !exact(line, r) {
		return store.Entry{}, fmt.Errorf("%w: no entry as it was written", store.ErrDamaged)
	}
	e := store.Entry{Key: key.Join(r.Key...), Value: r.Value}
	if len(key.Split(e.Key)) != len(r.Key) {
		return store.Entry{}, fmt.Errorf("%w: a part of %q is two", store.ErrDamaged, e.Key)
	}
	return e, store.CheckOps([]store.Op{{Key: e.Key, Value: e.Value}})
}

// matches checks the last line, and that the file ends behind it.
func (x *Reader) matches(line []byte, n int) error {
	want := footer{n, hex.EncodeToString(x.sum.Sum(nil))}
	if !exact(line, want) {
		return fmt.Errorf("%w: %d lines do not match the last", store.ErrDamaged, n+1)
	}
	if _, err := x.in.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: more behind the last line", store.ErrDamaged)
	}
	return nil
}
