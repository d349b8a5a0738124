package identity

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// RejectedError says that something was rejected, and why. It matches
// [ErrRejected].
type RejectedError struct {
	Content string    // what was rejected
	Reasons []string  // the oldest first
	At      time.Time // the last time
}

// Error names the reason, not the text.
func (e *RejectedError) Error() string {
	s := fmt.Sprintf("identity: %v, on %s", ErrRejected, e.At.Format(time.DateOnly))
	if n := len(e.Reasons); n > 0 {
		s += ": " + e.Reasons[n-1]
	}
	return s
}

// Unwrap returns ErrRejected.
func (e *RejectedError) Unwrap() error { return ErrRejected }

// Rejection is a text that is not to be suggested again.
type Rejection struct {
	Content string    `json:"content" cbor:"1,keyasint"`
	Reasons []string  `json:"reasons,omitempty" cbor:"2,keyasint,omitempty"` // each once, the oldest first; the last 16
	At      time.Time `json:"at" cbor:"3,keyasint"`
}

// blocks reports whether the rejection covers a text: one of them holds the
// other as whole words. So «Go» covers «Learning Go», and not «MongoDB». The
// word that Infer puts behind a topic does not count.
func (r *Rejection) blocks(text string) bool {
	return overlaps(r.Content, text) || overlaps(r.Content, strings.TrimSuffix(canonical(text), developing))
}

// Reject archives a fact, and has it never suggested again, for a reason, which may be
// empty: Infer leaves out every candidate that holds its words, whole and next to each
// other, or whose words it holds; and Add refuses a draft like that unless it is Manual.
// A Suggestion becomes such a fact. It is idempotent.
func (x *Identity) Reject(ctx context.Context, id ID, reason string) (Fact, error) {
	return x.edit(ctx, id, func(b *batch, f *Fact) (bool, error) {
		if err := x.block(ctx, b, f.Content, reason); err != nil {
			return false, err
		}
		if b.topic != "" && canonical(b.topic) != canonical(f.Content) {
			if err := x.block(ctx, b, b.topic, reason); err != nil {
				return false, err
			}
		}
		if !f.Rejected.IsZero() {
			return false, nil
		}
		f.reject(x.clock())
		f.Updated = f.Rejected
		return true, nil
	})
}

func (f *Fact) reject(at time.Time) {
	f.Rejected = at
	if f.Archived.IsZero() {
		f.Archived = at
	}
}

// block has a text never suggested again.
func (x *Identity) block(ctx context.Context, b *batch, content, reason string) error {
	if reason = x.clean(reason); len(reason) > maxContent {
		return &store.LimitError{Field: "reason", Limit: maxContent, Got: len(reason)}
	}
	r, err := fetch[Rejection](ctx, x, rejectionID(content))
	if err != nil || r.stored() && (reason == "" || slices.Contains(r.v.Reasons, reason)) {
		return err
	}
	next := Rejection{content, slices.Clone(r.v.Reasons), x.clock()}
	if reason != "" {
		next.Reasons = lastOf(append(next.Reasons, reason), maxReasons)
	}
	b.putRejection(r, &next)
	return nil
}

func (b *batch) putRejection(was row[Rejection], r *Rejection) {
	put(b, was, memory.Record{ID: rejectionID(r.Content), Thread: rejectionPart, At: r.At}, r)
}

func rejectionID(content string) ID {
	return idOf(rejectionPart, digest("rejection", canonical(content)))
}

// unblock allows a text that was rejected to be suggested again.
func (x *Identity) unblock(ctx context.Context, b *batch, content string) error {
	r, err := fetch[Rejection](ctx, x, rejectionID(content))
	if err == nil && r.stored() {
		b.remove(r.was)
	}
	return err
}

// Rejections returns what is not to be suggested, the oldest first.
func (x *Identity) Rejections(ctx context.Context) ([]Rejection, error) {
	rows, err := each[Rejection](ctx, x, rejectionPart)
	var out []Rejection
	for _, r := range rows {
		out = append(out, r.v)
	}
	slices.SortFunc(out, func(a, b Rejection) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Content, b.Content)) })
	return out, err
}

// checkRejected returns a *RejectedError for a text that was rejected.
func (x *Identity) checkRejected(ctx context.Context, text string) error {
	refused, err := x.Rejections(ctx)
	for _, r := range refused {
		if r.blocks(text) {
			return &RejectedError{Content: r.Content, Reasons: r.Reasons, At: r.At}
		}
	}
	return err
}
