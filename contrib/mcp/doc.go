// Package mcp connects arc with the Model Context Protocol, in both directions.
//
// A [Server] offers the memory, the identity and the judgement of an
// [arc.Agent] as tools to any MCP client. An [Executor] makes a tool of a
// remote MCP server one of an agent's workers.
//
//	server, err := mcp.NewServer(agent, &mcp.Options{Scope: "acme/anna"})
//	err = server.Stdio(ctx, os.Stdin, os.Stdout) // one client
//
//	handler, err := server.HTTP(mcp.HTTPOptions{Token: os.Getenv("TOKEN")})
//	err = http.ListenAndServe("127.0.0.1:8080", handler) // any number of them
//
// The command arc-mcp, below cmd, is such a server for one directory and one
// scope, without a reasoner.
//
// # The tools
//
// Memory: recall, explain (why, or why not), remember, feedback, forget, health.
// Judgement: think, which asks the agent's reasoner and executes nothing, assess, runs
// and rank. For operators: trust, judge, chunk, costs and confidence. Identity: get_identity,
// update_identity, validate_fact, reject_fact, context (what is worth telling
// for a task), infer, add_context and get_recent_context. Each has schemas of
// input and output; no field of an output is ever null.
//
// # Trust
//
// The host fixes the scope: for a server, or for each token. No tool takes a
// scope, and an id, a key or a session of another one is as unknown as one
// that never was.
//
// A client is a model, or speaks for one, so nothing that it says is taken for
// verified, unless the host has made it an operator ([Principal]), which may vouch
// for a memory, judge what was delivered, and forget what was verified. What it
// remembers is quarantined: it is recalled with its mark, and stays out of arc's own
// prompts until the host trusts it or a verified outcome derives the same. It cannot
// give a plan. What it says about a person is a candidate; a client's confirmation
// counts once a day and makes a fact established at most, facts that were confirmed
// are reworded by nobody but the host, and local facts are neither shown nor
// changed. Recalled texts come fenced as data in a result's text, and raw in its
// structured content. What is wrong with a call is told in fixed words; what is
// wrong inside is logged, and the client gets a reference.
//
// Feedback is the client's word: it moves the effectiveness of memories in its
// own scope, and no trust.
//
// # HTTP
//
// [Server.HTTP] refuses to work without a token or a verifier. A request needs
// a host name that is allowed, no foreign origin, and a token that holds at
// that moment; a session goes on only with the token that has opened it, and
// ends its calls when it ends. Sessions and calls are bounded by scope, so that
// a tenant is in nobody else's way; a body has half a minute to arrive. TLS is
// the host's.
//
// # The other direction
//
// An [Executor] pins the tool that the host has seen: when the server changes
// its description or a schema, the tool is refused, with [ErrToolChanged]. The
// session's client needs [Fresh] for servers that have clients keep their list
// of tools. What it answers is bounded and is data: gates decide whether it is right.
//
// # Concurrency
//
// Everything here is safe for concurrent use. A Server starts no goroutine of
// its own beyond the sessions that it serves, and does not close the agent.
//
// # What is not here
//
// Resources, prompts, sampling and elicitation; OAuth flows (a verifier checks
// tokens that others issue); and running objectives, which is the host's call.
package mcp
