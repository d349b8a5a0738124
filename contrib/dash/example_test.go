package dash_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/contrib/dash"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Each user sees one scope, which the host's own sign-in has put into a header here.
func ExampleNew() {
	ctx := context.Background()
	agent, err := arc.New(ctx, store.NewMem(), arc.Host{}, nil)
	if err != nil {
		panic(err)
	}
	defer agent.Close()
	pages, err := dash.New(agent, &dash.Options{
		Scope: func(r *http.Request) (memory.Scope, error) {
			if user := r.Header.Get("X-User"); user != "" {
				return memory.Scope("acme/" + user), nil
			}
			return "", fmt.Errorf("nobody is signed in")
		},
	})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/dash/", http.StripPrefix("/dash", pages))
	for _, user := range []string{"anna", ""} {
		r := httptest.NewRequest(http.MethodGet, "/dash/", nil)
		r.Header.Set("X-User", user)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 403
}
