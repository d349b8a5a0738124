package layout

import (
	"errors"
	"testing"

	"github.com/arc-learn/arc/store"
)

func FuzzMark(f *testing.F) {
	f.Add(encodeMark([16]byte{1, 2, 3}, 99))
	f.Add([]byte("arcmark1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		id, seq, err := decodeMark(data)
		if err != nil {
			if !errors.Is(err, store.ErrDamaged) {
				t.Fatalf("decode(%x): %v", data, err)
			}
			return
		}
		if again := encodeMark(id, seq); string(again) != string(data) {
			t.Fatalf("encode(%x, %d): got %x, want %x", id, seq, again, data)
		}
	})
}
