package store_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/arc-learn/arc/store"
)

// A commit takes place only if its conditions hold: who has read an old value is told, and reads it again.
func Example() {
	ctx := context.Background()
	st := store.NewMem() // badger.Open and postgres.Open have stores that stay
	defer st.Close()
	first, err := st.Commit(ctx, store.Op{Key: "stock", Value: []byte("3"), If: store.Absent})
	if err != nil {
		panic(err)
	}
	for _, value := range []string{"2", "1"} { // both have read the 3
		_, err = st.Commit(ctx, store.Op{Key: "stock", Value: []byte(value), If: store.At(first)})
		fmt.Println(value, errors.Is(err, store.ErrConflict))
	}
	// Output:
	// 2 false
	// 1 true
}

// What two parts stage is one commit, with one sync. Each sees what was staged before it.
func ExampleGroup_Update() {
	ctx := context.Background()
	st := store.NewMem()
	defer st.Close()
	g := store.NewGroup(store.Sub(st, store.Scope("acme").TenantPrefix()))
	key := store.Scope("acme/anna").Key("visits", "2026")
	err := g.Update(ctx, func(b *store.Batch) error {
		if err := b.Put(key, []byte("one"), store.Absent); err != nil {
			return err
		}
		e, err := b.Get(ctx, key)
		fmt.Printf("staged: %s\n", e.Value)
		b.After(func(store.Revision) { fmt.Println("committed") })
		return err
	})
	if err != nil {
		panic(err)
	}
	e, err := st.Get(ctx, "t/acme/s/acme/anna//visits/2026")
	fmt.Printf("%s %v\n", e.Value, err)
	// Output:
	// staged: one
	// committed
	// one <nil>
}
