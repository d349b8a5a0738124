package benchmarks

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
)

var embedderCommand = flag.String("embedder", os.Getenv("ARC_EMBEDDER"),
	"program that reads texts and writes their vectors, a line of JSON each; recall has words alone without it; default $ARC_EMBEDDER")

var minCosine = flag.Float64("mincosine", 0, "Options.MinCosine, which depends on the model of -embedder; 0: the default")

// program is an Embedder that asks another program, each text once.
type program struct {
	sync.Mutex
	in    io.Writer
	out   *json.Decoder
	known map[string][]float32
}

// started is the program of the flag, for the whole run: a model may be slow to load.
var started = sync.OnceValues(func() (*program, error) {
	args := strings.Fields(*embedderCommand)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p := &program{in: in, out: json.NewDecoder(bufio.NewReader(out)), known: map[string][]float32{}}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_, err = p.Embed(context.Background(), []string{"ready"})
	return p, err
})

// embedder returns the Embedder that the flag names, or nil.
func embedder(t testing.TB) memory.Embedder {
	t.Helper()
	if *embedderCommand == "" {
		return nil
	}
	p, err := started()
	require.NoError(t, err)
	return p
}

func (p *program) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	p.Lock()
	defer p.Unlock()
	out := make([][]float32, len(texts))
	for i, s := range texts {
		v, ok := p.known[s]
		if !ok {
			line, err := json.Marshal(s)
			if err != nil {
				return nil, err
			}
			if _, err := fmt.Fprintf(p.in, "%s\n", line); err != nil {
				return nil, err
			}
			if err := p.out.Decode(&v); err != nil {
				return nil, fmt.Errorf("%s: %w", *embedderCommand, err)
			}
			p.known[s] = v
		}
		out[i] = v
	}
	return out, ctx.Err()
}

func (p *program) Model() string { return *embedderCommand }
