package extract

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// maxEpisodes are kept of a scope, the last ones.
const maxEpisodes = 256

// Episodes stages what was said in a case that has an Actor as an Episode of its Scope, which all agents
// share; the Ref of its Source is the one who answered. The last 256 of a scope are kept. Of an answer that
// is refused nothing is: it was kept until a person found it wrong.
func Episodes(ctx context.Context, b *store.Batch, bank *memory.Bank, c *reason.Case, agent, answer string,
	refused bool, at time.Time) error {
	if refused {
		answer = ""
	}
	data, _ := schema.Read(c.Data)
	said, _ := data.(string) // other JSON is nobody's message
	said = strings.TrimSuffix(cmp.Or(said, c.Text)+"\n→ "+answer, "\n→ ")
	if c.Actor == "" || strings.TrimSpace(said) == "" {
		return nil
	}
	d := memory.Draft{
		Kind: memory.Episode, Content: fence.Clip(said, memory.MaxText-4), Actor: c.Actor, Thread: c.Session,
		At: at, Key: fmt.Sprintf("episode %x", sha256.Sum256([]byte(c.ID))),
		Source: memory.Source{Origin: memory.User, Run: c.ID},
	}
	if store.CheckID(agent) == nil { // else it has too long or odd a name
		d.Source.Ref = agent
	}
	space, key := bank.In(c.Scope).Stage(b), c.Scope.Key("le", "last")
	r, err := space.Remember(ctx, d) // or what was kept when it was told before
	content := r.Content
	if asked, _, answered := strings.Cut(content, "\n→ "); refused && answered {
		content = asked
	} else if !answered && answer != "" { // a verdict is taken back
		content = fence.Clip(content+"\n→ "+answer, memory.MaxText-4)
	}
	if err == nil && content != r.Content {
		err = space.Update(ctx, r.ID, func(r *memory.Record) error {
			r.Content = content
			return nil
		})
	}
	last, unchanged, no := codec.Load[[]memory.ID](ctx, b, key)
	if err = cmp.Or(err, no); err != nil || slices.Contains(last, r.ID) { // it was told before
		return err
	}
	if last = append(last, r.ID); len(last) > maxEpisodes {
		if err = space.Forget(ctx, last[0]); errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		last = last[1:]
	}
	return cmp.Or(err, codec.Put(b, key, last, unchanged))
}
