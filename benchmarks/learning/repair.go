package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/store"
)

// broken is a package of the set, and the data of an objective.
type broken struct {
	Name    string            `json:"name"`
	Class   string            `json:"class"`
	Covered bool              `json:"covered"` // one of the programs claims its class
	File    string            `json:"file"`    // that has to be mended
	Files   map[string]string `json:"files"`
	Says    string            `json:"says"` // what build, vet or tests say of it
}

// repair has the packages mended in two sessions, each of which has all of them. The figures are means of
// runs by several seeds.
func repair(dir string) error {
	set, err := packages(filepath.Join(dir, "repair-dev.tar.gz"))
	if err != nil {
		return err
	}
	ctx := context.Background()
	for i := range set {
		if set[i].Says, err = check(ctx, set[i]); err != nil {
			return err
		}
	}
	set = append(set, set...)
	var sum [2]struct{ packages, claimed, mended, plain, attempts, plainAttempts float64 }
	const seeds = 5
	for seed := range uint64(seeds) {
		knows, err := mender(seed + 1)
		if err != nil {
			return err
		}
		for i, p := range set {
			of := &sum[2*i/len(set)]
			of.packages++
			if p.Covered {
				of.claimed++
			}
			with, err := mend(ctx, knows, p)
			if err != nil {
				return err
			}
			fresh, err := mender(seed + 1)
			if err != nil {
				return err
			}
			without, err := mend(ctx, fresh, p)
			if err = errors.Join(err, fresh.Close()); err != nil {
				return err
			}
			if with.Status == arc.Delivered {
				of.mended++
			}
			if without.Status == arc.Delivered {
				of.plain++
			}
			if with.Status == arc.Delivered && without.Status == arc.Delivered {
				of.attempts += float64(with.Attempts)
				of.plainAttempts += float64(without.Attempts)
			}
		}
		if err := knows.Close(); err != nil {
			return err
		}
	}
	fmt.Println("| session | packages | a program claims | mended | without memory " +
		"| attempts at these | without |\n|--:|--:|--:|--:|--:|--:|--:|")
	for i, s := range sum {
		fmt.Printf("| %d | %.0f | %.0f | %.1f | %.1f | %.0f | %.0f |\n", i+1, s.packages/seeds, s.claimed/seeds,
			s.mended/seeds, s.plain/seeds, s.attempts/seeds, s.plainAttempts/seeds)
	}
	return nil
}

// mender is an Agent with a worker for each program.
func mender(seed uint64) (*arc.Agent, error) {
	verify := func(ctx context.Context, c *act.Call, r *act.Result) (act.Verdict, error) {
		var p broken
		if err := json.Unmarshal(c.Data, &p); err != nil {
			return act.Verdict{}, err
		}
		if r.Text == p.Files[p.File] {
			return act.Verdict{Complaint: "nothing was changed"}, nil
		}
		p.Files[p.File] = r.Text
		says, err := check(ctx, p)
		return act.Verdict{Pass: says == "", Complaint: says}, err
	}
	h := arc.Host{Gates: []act.Gate{act.GateFunc(verify)}}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		fix := programs[name]
		execute := func(_ context.Context, c *act.Call) (*act.Result, error) {
			var p broken
			if err := json.Unmarshal(c.Data, &p); err != nil {
				return nil, err
			}
			return &act.Result{Text: fix(p.Files[p.File], p.Says)}, nil
		}
		h.Workers = append(h.Workers, act.Worker{Name: name, Executor: act.ExecutorFunc(execute)})
	}
	o := &arc.Options{Attempts: 2 * len(programs), Replans: -1, Seed: seed}
	return arc.New(context.Background(), store.NewMem(), h, o)
}

func mend(ctx context.Context, a *arc.Agent, p broken) (*arc.Report, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return a.Run(ctx, arc.Objective{Text: "mend the package", Situation: situation(p.Says), Data: data})
}

// said has what check said, by the package and the file that is mended.
var said sync.Map

// check says what build, vet or tests say of a package, from the line that matters on; "" if they pass.
func check(ctx context.Context, p broken) (says string, err error) {
	key := p.Name + "\n" + p.Files[p.File]
	if v, ok := said.Load(key); ok {
		return v.(string), nil
	}
	defer func() {
		if err == nil {
			said.Store(key, says)
		}
	}()
	dir, err := os.MkdirTemp("", "repair")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	for name, text := range p.Files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	for _, args := range [][]string{{"build", "./..."}, {"vet", "./..."},
		{"test", "-vet=off", "-timeout=20s", "./..."}} {
		ctx, stop := context.WithTimeout(ctx, time.Minute)
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
		out, err := cmd.CombinedOutput()
		stop()
		if err != nil {
			says := string(out)
			if at := strings.Index(says, "panic: "); args[0] == "test" && at >= 0 {
				says = says[at:]
			} else if _, rest, ok := strings.Cut(says, "\n"); ok && strings.HasPrefix(says, "# ") {
				says = rest
			}
			return args[0] + ": " + says[:min(len(says), 1000)], nil
		}
	}
	return "", nil
}

var (
	position = regexp.MustCompile(`^\S*\.go:\d+:\d+: `)
	plain    = regexp.MustCompile(`^[a-z]+$`)
)

// situation is the kind of break: the step that fails, and the plain words of what it says.
func situation(says string) string {
	step, said, _ := strings.Cut(says, ": ")
	said, _, _ = strings.Cut(said, "\n")
	if strings.HasPrefix(said, "---") {
		return step + " fails"
	}
	said = position.ReplaceAllString(said, "")
	if step == "build" {
		said, _, _ = strings.Cut(said, ": ")
	}
	kind := step
	for _, w := range strings.Fields(said) {
		if strings.HasPrefix(w, "(") || strings.HasPrefix(w, "[") {
			break
		}
		if plain.MatchString(w) {
			kind += " " + w
		}
	}
	return kind
}

// packages reads the set.
func packages(archive string) (set []broken, err error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	files := map[string]map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(r, 1<<20))
		if err != nil {
			return nil, err
		}
		dir, name := path.Split(path.Clean(h.Name))
		if name == "manifest.json" {
			if err := json.Unmarshal(text, &set); err != nil {
				return nil, err
			}
			continue
		}
		if dir = path.Base(dir); files[dir] == nil {
			files[dir] = map[string]string{}
		}
		files[dir][name] = string(text)
	}
	for i := range set {
		if set[i].Files = files[set[i].Name]; set[i].Files[set[i].File] == "" {
			return nil, fmt.Errorf("%s: there is no %s", set[i].Name, set[i].File)
		}
	}
	return set, nil
}
