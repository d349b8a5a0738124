package act

import (
	"context"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/store"
)

// Put commits a step that is done, with all that was noted before.
func (j *Journal) Put(ctx context.Context, name string, events ...Event) error {
	return j.commit(ctx, func(b *store.Batch) ([]Event, error) {
		return events, codec.Put(b, j.prefix+"s/"+name, record{Name: name, State: stepDone}, store.Any)
	})
}

// Note tells of an event.
func (j *Journal) Note(e Event) { j.note(e) }

// Steps is how many steps there are whose names begin with prefix.
func (j *Journal) Steps(ctx context.Context, prefix string) (n int, err error) {
	for _, err := range scan[record](ctx, j, store.Range{Prefix: "s/" + prefix}) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
