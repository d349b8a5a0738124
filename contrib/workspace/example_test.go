package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/arc-learn/arc/contrib/workspace"
)

// The tools for files reach nothing outside of the folder.
func ExampleWorkspace_Files() {
	dir, err := os.MkdirTemp("", "workspace")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "greeting.txt"), []byte("hello, Ann\n"), 0o600); err != nil {
		panic(err)
	}
	w := &workspace.Workspace{Dir: workspace.In(dir)}
	for _, t := range w.Files() {
		if t.Name != "read_file" {
			continue
		}
		for _, path := range []string{"greeting.txt", "../secret"} {
			text, err := t.Call(context.Background(), json.RawMessage(`{"path":"`+path+`"}`))
			fmt.Printf("%s: %s refused: %t\n", path, text, err != nil)
		}
	}
	// Output:
	// greeting.txt: "hello, Ann\n" refused: false
	// ../secret:  refused: true
}
