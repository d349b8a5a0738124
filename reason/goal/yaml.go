package goal

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/store"
)

const (
	maxYAML     = 1 << 20 // bytes of a file of goals
	maxReported = 100     // errors of one file
)

// Load replaces the set by goals in YAML, and returns whether it did. Content that
// the set came from already changes nothing, and costs next to nothing, so a host
// may load its file as often as it likes. The data is one document of at most 1 MiB
// with the key "goals":
//
//	goals:
//	  - id: ci.green
//	    description: no test fails on main
//	    severity: high                       # low, medium (the default), high, critical
//	    selector: domains.ci.data.failing
//	    max: 0
//	    max_age: 10m
//	    cooldown: 90s
//	  - id: work.balanced
//	    type: distribution
//	    selector: domains.flow.data.work
//	    distribution: {feature: 0.6, defect: 0.4}
//	    tolerance: 0.2
//	    enabled: false
//	    act_on_unknown: true                 # also while it cannot be read
//	  - id: bot.connected
//	    selector: domains.bot.data.state
//	    operator: in
//	    expected: [up, starting]
//
// Unknown and repeated fields, wrong types, flaws of a goal and ids used twice are
// errors. Load returns all of them by line, and then the set stays as it was.
func (g *Goals) Load(data []byte) (changed bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	sum := sha256.Sum256(data)
	if sum == g.current().sum {
		return false, nil
	}
	var goals []Goal
	// The goals may be written by a model, and the parser is foreign code: its
	// panics are errors.
	if p := guard.Call(func() { goals, err = parse(data) }); p != nil {
		err = p
	}
	if err != nil {
		return false, fmt.Errorf("goals are kept as they were: %w", err)
	}
	g.set.Store(&goalSet{goals, sum})
	return true, nil
}

// yamlGoal is a goal as YAML has it.
type yamlGoal struct {
	Goal     `yaml:",inline"`
	Enabled  *bool     `yaml:"enabled"`
	Expected yaml.Node `yaml:"expected"`
}

// problems are what is wrong with a file, by line, and where its goals stand.
type problems struct {
	texts  map[int][]string
	parser map[int]bool // lines of which the parser has reported something
	nodes  []*yaml.Node // of the goals
}

func parse(data []byte) ([]Goal, error) {
	if len(data) > maxYAML {
		return nil, &store.LimitError{Field: "goals as YAML", Limit: maxYAML, Got: len(data)}
	}
	var doc, second yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, errors.New("no goals: the document is empty")
	}
	if err == nil {
		err = dec.Decode(&second)
	}
	ps := &problems{texts: make(map[int][]string), parser: make(map[int]bool)}
	switch {
	case err == nil:
		return nil, fmt.Errorf("line %d: a second document", second.Line)
	case !errors.Is(err, io.EOF):
		ps.decoded(err)
		return nil, ps.err()
	}
	list := field(doc.Content[0], "goals")
	if list == nil || list.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("line %d: no goals: the document needs a list under the key goals", doc.Content[0].Line)
	}
	if n := len(list.Content); n > maxGoals {
		return nil, &store.LimitError{Field: "goals", Limit: maxGoals, Got: n}
	}
	ps.nodes = list.Content
	strict := yaml.NewDecoder(bytes.NewReader(data))
	strict.KnownFields(true)
	var all struct{ Goals []yamlGoal }
	if err := strict.Decode(&all); err != nil {
		ps.decoded(err)
	}
	goals, seen := make([]Goal, len(list.Content)), make(map[string]int)
	for i, n := range list.Content {
		var y yamlGoal
		_ = n.Decode(&y) // what is wrong with it is reported above
		if y.ID == "" && field(n, "id") != nil {
			continue // nothing of it was decoded
		}
		goals[i] = y.goal(ps, n)
		if line, twice := seen[y.ID]; twice && y.ID != "" {
			ps.add(n, "id", fmt.Sprintf("the id is that of the goal of line %d", line))
		} else {
			seen[y.ID] = n.Line
		}
	}
	if err := ps.err(); err != nil {
		return nil, err
	}
	return goals, nil
}

// goal returns the goal of a node.
func (y *yamlGoal) goal(ps *problems, n *yaml.Node) Goal {
	g := y.Goal
	g.Disabled = y.Enabled != nil && !*y.Enabled
	if !y.Expected.IsZero() {
		datesAsText(&y.Expected)
		if err := y.Expected.Decode(&g.Expected); err != nil {
			ps.add(n, "expected", err.Error())
		}
	} else if g.compares() && g.kind() == "invariant" {
		ps.add(n, "operator", fmt.Sprintf("operator %s needs an expected value", g.Operator))
	}
	for _, f := range g.check() {
		ps.add(n, f.field, f.problem)
	}
	return g
}

// datesAsText lets dates be the text that they are written as.
func datesAsText(n *yaml.Node) {
	if n.ShortTag() == "!!timestamp" {
		n.Tag = "!!str"
	}
	for _, c := range n.Content {
		datesAsText(c)
	}
}

// field returns the value of a field of a mapping; nil if it has none.
func field(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// add reports what is wrong with a field of the goal at n, unless the parser has
// reported its line.
func (ps *problems) add(n *yaml.Node, name, text string) {
	if at := field(n, name); at != nil {
		n = at
	}
	if !ps.parser[n.Line] {
		ps.texts[n.Line] = append(ps.texts[n.Line], text)
	}
}

// ours takes our type, which says nothing to the writer, out of what the parser
// says.
var ours = strings.NewReplacer(" in type goal.yamlGoal", "", "into goal.yamlGoal", "as a goal")

// decoded reports what the parser has found, which says the line of each problem.
func (ps *problems) decoded(err error) {
	texts := []string{err.Error()}
	if te, ok := errors.AsType[*yaml.TypeError](err); ok {
		texts = te.Errors
	}
	for _, text := range texts {
		line := 0
		text = ours.Replace(strings.TrimPrefix(text, "yaml: "))
		if n, _ := fmt.Sscanf(text, "line %d:", &line); n == 1 {
			_, text, _ = strings.Cut(text, ": ")
		}
		ps.texts[line], ps.parser[line] = append(ps.texts[line], text), true
	}
}

// err returns all that is wrong, by line and with the goal's id.
func (ps *problems) err() error {
	var errs []error
	lines := make([]int, 0, len(ps.texts))
	for line := range ps.texts {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	for _, line := range lines {
		at := fmt.Sprintf("line %d: ", line)
		for _, n := range slices.Backward(ps.nodes) {
			if id := field(n, "id"); n.Line <= line {
				if id != nil {
					at += fmt.Sprintf("goal %q: ", short(id.Value))
				}
				break
			}
		}
		for _, text := range ps.texts[line] {
			errs = append(errs, errors.New(at+text))
		}
	}
	if n := len(errs) - maxReported; n > 0 {
		errs = append(errs[:maxReported], fmt.Errorf("and %d more", n))
	}
	return errors.Join(errs...)
}
