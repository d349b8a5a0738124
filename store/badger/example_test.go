package badger_test

import (
	"context"
	"fmt"
	"os"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "arc")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	for range 2 {
		st, err := badger.Open(dir, &badger.Options{MinFree: 64 << 20})
		if err != nil {
			fmt.Println(err)
			return
		}
		e, err := st.Get(ctx, "visits")
		fmt.Printf("before: %q (%v)\n", e.Value, err)
		if _, err := st.Commit(ctx, store.Op{Key: "visits", Value: append(e.Value, '|'), If: store.At(e.Rev)}); err != nil {
			fmt.Println(err)
		}
		if err := st.Close(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// before: "" (not found: "visits")
	// before: "|" (<nil>)
}

func ExampleStore_Maintain() {
	dir, err := os.MkdirTemp("", "arc")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	var st *badger.Store
	if st, err = badger.Open(dir, nil); err != nil {
		fmt.Println(err)
		return
	}
	// Once a day, for instance: it is quick where there is little to give back.
	fmt.Println(st.Maintain(context.Background()))
	for e, err := range st.Scan(context.Background(), store.Range{}) {
		fmt.Println(e.Key, err)
	}
	fmt.Println(st.Close())
	// Output:
	// <nil>
	// <nil>
}

func ExampleRepair() {
	dir, err := os.MkdirTemp("", "arc")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	st, err := badger.Open(dir+"/store", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := st.Commit(context.Background(), store.Op{Key: "greeting", Value: []byte("hello")}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(st.Close())
	// A host does so when Open says store.ErrDamaged, and looks at what is missing.
	var found *badger.Repaired
	if found, err = badger.Repair(dir+"/store", dir+"/repaired"); err != nil {
		fmt.Println(err)
		return
	}
	show := func(m badger.Missing) { fmt.Printf("%s: from %q to %q\n", m.File, m.From, m.To) }
	for _, m := range found.Missing {
		show(m)
	}
	fmt.Println(found.Entries, found.Commits)
	// Output:
	// <nil>
	// 1 0
}
