package dash_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/contrib/dash"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
)

// A host serves the dashboard by itself, and prints the address that lets in.
func ExampleNew() {
	agent := deployer(nil)
	defer agent.Close()
	d, err := dash.New(agent, nil)
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(d) // a host: http.ListenAndServe("127.0.0.1:7400", d)
	defer server.Close()
	r, err := http.Get(server.URL)
	if err != nil {
		panic(err)
	}
	defer r.Body.Close()
	fmt.Println("without the token:", r.Status)
	fmt.Println("at first: /?token=TOKEN, of", len(d.Token()), "letters")
	// Output:
	// without the token: 401 Unauthorized
	// at first: /?token=TOKEN, of 26 letters
}

// A host that knows its people mounts the dashboard behind what lets them in, and
// says which scopes each may see.
func ExampleOptions() {
	journal := new(dash.Journal)
	agent := deployer(&arc.Options{Hooks: arc.Hooks{Event: journal.Event}})
	defer agent.Close()
	d, err := dash.New(agent, &dash.Options{
		Base: "/dash", Journal: journal,
		Who: func(r *http.Request) (dash.Viewer, error) {
			name, _, ok := r.BasicAuth() // a host: its session
			if !ok {
				return dash.Viewer{}, errors.New("no session")
			}
			return dash.Viewer{Name: name, Scopes: []memory.Scope{"acme"}}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/dash/", d)
	for _, name := range []string{"", "ada"} {
		r := httptest.NewRequest("GET", "/dash/approvals", nil)
		if name != "" {
			r.SetBasicAuth(name, "")
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 403
	// 200
}

// deployer is an agent with one worker, whose effects reach the public.
func deployer(opts *arc.Options) *arc.Agent {
	agent, err := arc.Open(context.Background(), "", arc.Host{
		Workers: []act.Worker{{
			Card: rank.Candidate{Name: "deployer"}, Blast: act.Public,
			Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
				return act.Result{}, errors.New("not yet")
			}),
		}},
		Gates: []act.Gate{act.NoGate},
	}, opts)
	if err != nil {
		panic(err)
	}
	return agent
}
