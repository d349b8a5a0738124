// Package mcp joins arc to the Model Context Protocol: an Agent as a server, and the tools of any server as tools of
// an agent.
//
//	err := mcp.Serve(ctx, agent, os.Stdin, os.Stdout, nil)            // one client, over stdio
//	handler, err := mcp.Handler(agent, &mcp.Options{Verify: tokens}) // streamable HTTP
//
//	github := mcp.Command(func() *exec.Cmd { return exec.Command("github-mcp-server", "stdio") }, nil)
//	defer github.Close()
//	support := act.Worker{Name: "support", Executor: github.Executor(model, nil), Gates: gates}
//
// # The server's tools
//
// Memory: recall, remember, feedback and forget. The loop: think, do, runs and health; tasks_add where the host gives
// a queue. Identity: arete_get_identity, arete_update_identity, arete_get_recent_context, arete_add_context_event,
// arete_validate_fact, arete_context, arete_infer and arete_reject_fact, as the Arete v2 design names them. Each has
// schemas of its input and its output. An error is one of the tool, in words that the client can act on; one that it
// can do nothing about is logged, and the client gets a reference to it.
//
// do returns when the run has ended, asks or waits. The answer to its questions is another do with the run's id.
// An approval is a person's, so no tool gives one. Where a client asks for progress, it is told of each event. A call
// that the client cancels cancels its run; a connection that is lost leaves the run, and a do with its id goes on.
//
// # Trust
//
// A client is a model, or speaks for one. Without Options.Trusted, what it remembers is of memory.Model or memory.User
// and quarantined until somebody vouches for it; it cannot forget what is trusted. What it says about a person is a
// candidate; its validations count once a day and make a fact established at most, and it changes and rejects
// candidates only. The scope is the host's to say: no tool takes one.
//
// # The other direction
//
// What a server says is data. Descriptions, results and errors lose the characters that hide or reorder text, and the
// control words of chat templates are broken up; nothing that a server claims about its tools loosens what the host
// has decided. Whether a result is right is for gates to say.
package mcp
