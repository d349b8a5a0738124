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
	Content string
	Reasons []string // each once, the oldest first; the last 16
	At      time.Time
}

// storedRejection is a Rejection on disk.
type storedRejection struct {
	Content string    `cbor:"1,keyasint"`
	Reasons []string  `cbor:"2,keyasint,omitempty"`
	At      time.Time `cbor:"3,keyasint"`
}

// blocks reports whether the rejection covers a text: one of them holds the
// other as whole words. So «Go» covers «Learning Go», and not «MongoDB». The
// word that Infer puts behind a topic does not count.
func (r *storedRejection) blocks(text string) bool {
	return overlaps(r.Content, text) || overlaps(r.Content, strings.TrimSuffix(canonical(text), developing))
}

// Reject archives a fact, and has it and what says the same never suggested
// again: see Block. A Suggestion becomes such a fact. It is idempotent.
func (x *Identity) Reject(ctx context.Context, id ID, reason string) (Fact, error) {
	return x.edit(ctx, id, func(b *batch, f *Fact) (bool, error) {
		for _, text := range slices.Compact([]string{f.Content, cmp.Or(b.topic, f.Content)}) {
			if err := x.block(ctx, b, text, reason); err != nil {
				return false, err
			}
		}
		if !f.Rejected.IsZero() {
			return false, nil
		}
		f.Rejected = x.clock()
		f.Updated = f.Rejected
		if f.Archived.IsZero() {
			f.Archived = f.Rejected
		}
		return true, nil
	})
}

// Block has a text never suggested again, for a reason, which may be empty:
// Infer leaves out every candidate that holds its words, whole and next to
// each other, or whose words it holds; and Add refuses a draft like that
// unless it is Manual. It is idempotent.
func (x *Identity) Block(ctx context.Context, content, reason string) error {
	return x.change(ctx, func(b *batch) error { return x.block(ctx, b, content, reason) })
}

func (x *Identity) block(ctx context.Context, b *batch, content, reason string) error {
	content, reason = x.clean(content), x.clean(reason)
	for _, s := range []struct{ field, text string }{{"content", content}, {"reason", reason}} {
		if len(s.text) > MaxContent {
			return &store.LimitError{Field: s.field, Limit: MaxContent, Got: len(s.text)}
		}
	}
	if strings.TrimSpace(content) == "" {
		return fmt.Errorf("identity: content: %w", memory.ErrEmpty)
	}
	name := rejectionName(content)
	r, err := fetch[storedRejection](ctx, x, rejectionPart, name)
	if err != nil || r.rev != 0 && (reason == "" || slices.Contains(r.v.Reasons, reason)) {
		return err
	}
	r.v.Content, r.v.At = content, x.clock()
	if reason != "" {
		r.v.Reasons = append(r.v.Reasons, reason)
		r.v.Reasons = r.v.Reasons[max(0, len(r.v.Reasons)-maxReasons):]
	}
	b.put(rejectionPart, name, r.rev, r.v)
	return nil
}

func rejectionName(content string) string { return digest("rejection", canonical(content)) }

// Unblock allows a text that was blocked to be suggested again. A rejected
// fact stays archived: see Restore. It is idempotent.
func (x *Identity) Unblock(ctx context.Context, content string) error {
	return x.change(ctx, func(b *batch) error { return x.unblock(ctx, b, x.clean(content)) })
}

func (x *Identity) unblock(ctx context.Context, b *batch, content string) error {
	name := rejectionName(content)
	r, err := fetch[storedRejection](ctx, x, rejectionPart, name)
	if err == nil && r.rev != 0 {
		b.remove(rejectionPart, name, r.rev)
	}
	return err
}

// Rejections returns what is not to be suggested, the oldest first.
func (x *Identity) Rejections(ctx context.Context) ([]Rejection, error) {
	var out []Rejection
	for r, err := range each[storedRejection](ctx, x, rejectionPart, 0) {
		if err != nil {
			return nil, err
		}
		out = append(out, Rejection(r.v))
	}
	slices.SortStableFunc(out, func(a, b Rejection) int { return a.At.Compare(b.At) })
	return out, nil
}

// checkRejected returns a *RejectedError for a text that was rejected.
func (x *Identity) checkRejected(ctx context.Context, text string) error {
	for r, err := range each[storedRejection](ctx, x, rejectionPart, 0) {
		if err != nil {
			return err
		}
		if r.v.blocks(text) {
			return &RejectedError{Content: r.v.Content, Reasons: r.v.Reasons, At: r.v.At}
		}
	}
	return nil
}
