package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/contrib/mcp"
)

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n" +
	`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

func recallOf(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"recall","arguments":{"query":"the port"}}}`, id)
}

// answered are the answers of a server to what it was sent, by id; errors without an id
// by their code. It sends one more call, last, and waits for so many answers with an id
// before it ends the input.
func answered(t testing.TB, sent string, n int, wrap func(io.Reader) io.Reader) map[string]int {
	t.Helper()
	a, err := arc.Open(t.Context(), "", mcp.MemoryHost(), nil)
	require.NoError(t, err)
	defer a.Close()
	server, err := mcp.NewServer(a, &mcp.Options{Scope: "acme/anna"})
	require.NoError(t, err)
	in, client := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- server.Stdio(t.Context(), wrap(in), out)
		out.Close()
	}()
	go func() { _, _ = io.WriteString(client, hello+sent+recallOf("last")+"\n") }()
	got := map[string]int{}
	lines := bufio.NewReader(answers)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		var m struct {
			ID    *string
			Error *struct{ Code int }
		}
		require.NoError(t, json.Unmarshal(line, &m), "%s", line)
		if m.ID == nil {
			got[fmt.Sprint(m.Error.Code)]++
			continue
		}
		got[*m.ID]++
		if n--; n == 0 {
			client.Close()
		}
	}
	require.NoError(t, <-ended)
	return got
}

func plainly(r io.Reader) io.Reader { return r }

// A line that is no message is answered by an error, and the session goes on.
func TestMalformedLinesDoNotEndTheServer(t *testing.T) {
	t.Parallel()
	long := `{"jsonrpc":"2.0","id":"x","method":"` + strings.Repeat("x", mcp.MaxLine) + `"}`
	full := strings.TrimSuffix(recallOf("full"), "}")
	full += strings.Repeat(" ", mcp.MaxLine-len(full)-1) + "}"
	for name, c := range map[string]struct {
		line string
		want map[string]int
		ids  int // with an id
	}{
		"not JSON":           {`{"jsonrpc":`, map[string]int{"-32700": 1}, 0},
		"words":              {"hello there", map[string]int{"-32700": 1}, 0},
		"bytes":              {"\xff\xfe\x00\x01", map[string]int{"-32700": 1}, 0},
		"two on a line":      {`{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}`, map[string]int{"-32700": 1}, 0},
		"a number":           {"17", map[string]int{"-32600": 1}, 0},
		"null":               {"null", map[string]int{"-32600": 1}, 0},
		"empty object":       {"{}", map[string]int{"-32600": 1}, 0},
		"no version":         {`{"id":1,"method":"ping"}`, map[string]int{"-32600": 1}, 0},
		"id is an object":    {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, map[string]int{"-32600": 1}, 0},
		"method is a number": {`{"jsonrpc":"2.0","id":1,"method":7}`, map[string]int{"-32600": 1}, 0},
		"answer to nothing":  {`{"jsonrpc":"2.0","id":7,"result":{}}`, nil, 0},
		"answer to nobody":   {`{"jsonrpc":"2.0","result":{}}`, map[string]int{"-32600": 1}, 0},
		"empty batch":        {"[]", map[string]int{"-32600": 1}, 0},
		"batch":              {"[" + recallOf("one") + "," + recallOf("two") + "]", map[string]int{"one": 1, "two": 1}, 2},
		"batch, half good":   {"[" + recallOf("one") + ",17]", map[string]int{"-32600": 1}, 0},
		"deep":               {strings.Repeat("[", 100_000), map[string]int{"-32700": 1}, 0},
		"deep and closed":    {strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), map[string]int{"-32700": 1}, 0},
		"as long as may be":  {full, map[string]int{"full": 1}, 1},
		"a byte too long":    {full + " ", map[string]int{"-32600": 1}, 0},
		"too long":           {long, map[string]int{"-32600": 1}, 0},
		"too long, no JSON":  {strings.Repeat("x", 2*mcp.MaxLine), map[string]int{"-32600": 1}, 0},
		"blank":              {" \t\r", nil, 0},
		"unknown method":     {`{"jsonrpc":"2.0","id":"what","method":"what"}`, map[string]int{"what": 1}, 1},
		"many":               {strings.Repeat("{\n", 999) + "{", map[string]int{"-32700": 1000}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := answered(t, recallOf("first")+"\n"+c.line+"\n"+recallOf("then")+"\r\n", 4+c.ids, plainly)
			for _, id := range []string{"hello", "first", "then", "last"} {
				require.Equal(t, 1, got[id], "%s of %v", id, got)
				delete(got, id)
			}
			require.Equal(t, len(c.want), len(got), "%v", got)
			for k, n := range c.want {
				require.Equal(t, n, got[k], "%s of %v", k, got)
			}
		})
	}
}

// A client that says all it has to say, and then ends its input, still reads the answers.
func TestCallsBeforeTheEndAreAnswered(t *testing.T) {
	t.Parallel()
	agent := open(t, mcp.MemoryHost())
	server, err := mcp.NewServer(agent, anna)
	require.NoError(t, err)
	for i := range 20 {
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":"keep","method":"tools/call","params":{"name":"remember","arguments":{"content":"room %d is blue"}}}`, i)
		var out bytes.Buffer
		require.NoError(t, server.Stdio(t.Context(), strings.NewReader(hello+call+"\n"+recallOf("last")+"\n"), &out))
		require.Contains(t, out.String(), `"id":"keep","result"`)
		require.Contains(t, out.String(), `"id":"last","result"`)
	}
	h, err := agent.In(anna.Scope).Memory().Health(t.Context())
	require.NoError(t, err)
	require.Equal(t, 20, h.Total, "what was said is kept")
}

// Lines come in whatever pieces, and the last one without an end.
func TestLinesInPieces(t *testing.T) {
	t.Parallel()
	got := answered(t, recallOf("first")+"\nno message\n", 3, func(r io.Reader) io.Reader { return iotest.OneByteReader(r) })
	require.Equal(t, map[string]int{"hello": 1, "first": 1, "-32700": 1, "last": 1}, got)
}

// FuzzStdio sends any bytes between two calls: both are answered, and what is written
// is JSON, a message a line.
func FuzzStdio(f *testing.F) {
	for _, line := range []string{`{"jsonrpc":"2.0"}`, "[]", "[[]]", "{", "\x00", `{"jsonrpc":"2.0","method":""}`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		if bytes.Contains(sent, []byte(`"id"`)) || bytes.Contains(sent, []byte(`\`)) {
			return // calls of its own, which may cancel ours
		}
		got := answered(t, recallOf("first")+"\n"+string(sent)+"\n", 3, plainly)
		require.Equal(t, 1, got["first"])
		require.Equal(t, 1, got["last"])
	})
}
