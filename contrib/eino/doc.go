// Package eino joins arc and eino (github.com/cloudwego/eino), in both directions.
//
// [Model] is a reason.Model on an eino chat model, so that arc's reasoner thinks
// with whatever model an eino program has:
//
//	r, err := reason.NewLLM(eino.NewModel(chat, nil), nil)
//
// [Tool] is an arc agent as an eino tool, so that an eino agent can hand an
// objective to it. What the tool says is done has passed arc's gates.
//
//	t := eino.NewTool(agent, nil)
//
// The go.mod of a program with eino has to require github.com/bytedance/sonic of
// at least v1.15 itself: eino v0.7.36 asks for one that Go 1.26 cannot build.
package eino
