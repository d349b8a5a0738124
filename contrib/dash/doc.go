// Package dash shows an [arc.Agent] in a browser: its runs as they go on, what
// each recalled, decided, did and learned, and what waits for a person.
//
//	d, err := dash.New(agent, nil)
//	fmt.Println("http://127.0.0.1:7400/?token=" + d.Token())
//	err = http.ListenAndServe("127.0.0.1:7400", d)
//
// A [Dash] is an [http.Handler], to be served alone or below Options.Base. Its
// pages are made on the server from templates that are compiled in, and work
// without scripts; with them, what is going on renews itself: told by server-sent
// events where the host keeps a [Journal], and by looking again otherwise. No file
// comes from another host, and nothing is built.
//
// # Who may see what
//
// Without a token nothing is served but the door: the form that takes one, and its
// style sheet. Options.Who replaces the token by what the host's own middleware
// knows. Either says which scopes may be seen, and no page names another: runs are
// those in a scope or below it, memories those of the scope. Statistics of workers,
// proposals, sessions and costs are kept by tenant, so who may see a scope of a
// tenant sees them; no tenant is shown to another.
//
// The name that is typed beside the token is believed in what is recorded, and not where
// several people have to agree: all that come by the token count as one there, whose name
// is "token", and the note says how it was typed. Options.Who tells people apart.
//
// A request that changes something has to come from a page of the same origin.
// Texts of models and users are escaped where they stand, and a Content Security
// Policy lets the browser run and style by the files of this package alone.
//
// # What it costs
//
// Each page reads a bounded part of the store, in the request that asks for it: a
// page of runs, the first hundred jobs. Nothing is kept but a Journal, if the host
// brings one; it tells at most 64 streams, waits for none of them, and a stream ends
// with its request or after a minute. A run is never waited for: one that is given an answer goes on in a
// goroutine, which ends with the run, or with the Agent.
package dash
