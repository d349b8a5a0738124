package agefile_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/arc-learn/arc/contrib/agefile"
)

func Example() {
	dir, err := os.MkdirTemp("", "agefile")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	secrets := agefile.New(filepath.Join(dir, "credentials.age"), "correct horse battery staple")
	secrets.WorkFactor = 10 // for an example; the default of 18 takes a guess about a second
	err = secrets.Change(func(all map[string]string) error {
		all["DB_PASSWORD"] = "Tr0ub4dor&3"
		return nil
	})
	if err != nil {
		panic(err)
	}
	value, err := secrets.Get(context.Background(), "DB_PASSWORD") // as arc.Host.Secrets is asked
	fmt.Println(value, err)
	_, err = secrets.Get(context.Background(), "MAIL_PASSWORD")
	fmt.Println(err)
	// Output:
	// Tr0ub4dor&3 <nil>
	// agefile: no such secret: MAIL_PASSWORD
}
