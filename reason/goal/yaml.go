package goal

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/strictyaml"
	"github.com/arc-learn/arc/reason/goal/internal/plain"
	"github.com/arc-learn/arc/store"
)

const (
	maxYAML     = 1 << 20 // bytes of a file of goals
	maxExpected = 1 << 24 // bytes of its expected values, with what aliases make of them
	maxNested   = 1 << 7  // nodes of these in one another that are followed
)

// Load replaces the set by goals in YAML, and returns whether it did. Content that
// the set came from already changes nothing, and costs next to nothing, so a host
// may load its file as often as it likes. The data is one document of at most 1 MiB,
// whose expected values come to at most 16 MiB with their aliases, with the key "goals":
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
// Unknown and repeated fields, wrong types, empty entries, flaws of a goal and ids used
// twice are errors, each with its line, and then the set stays as it was. Load returns
// what the YAML parser found or, if that is nothing, all flaws of the goals.
func (g *Goals) Load(data []byte) (changed bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	sum := sha256.Sum256(data)
	if sum == g.current().sum {
		return false, nil
	}
	var targets []target
	// The goals may be written by a model, and the parser is foreign code: its
	// panics are errors.
	if p := guard.Call(func() { targets, err = parse(data) }); p != nil {
		err = p
	}
	if err != nil {
		return false, fmt.Errorf("goals are kept as they were: %w", err)
	}
	set, _ := (&goalSet{loaded: targets, sum: sum}).overridden(g.current().overrides) // what does not fit is left out
	g.set.Store(set)
	return true, nil
}

// yamlGoal is a goal as YAML has it.
type yamlGoal struct {
	Goal     `yaml:",inline"`
	Enabled  *bool     `yaml:"enabled"`
	Expected yaml.Node `yaml:"expected"`
}

// parse returns the goals of a document, or what is wrong with it by line.
func parse(data []byte) ([]target, error) {
	if len(data) > maxYAML {
		return nil, &store.LimitError{Field: "goals as YAML", Limit: maxYAML, Got: len(data)}
	}
	var all struct{ Goals []yamlGoal }
	doc, err := strictyaml.Decode(data, &all, ours)
	if errors.Is(err, io.EOF) {
		return nil, errors.New("no goals: the document is empty")
	} else if err != nil {
		return nil, err
	}
	nodes, err := strictyaml.List(doc, "goals")
	if err != nil {
		return nil, err
	}
	return goalsOf(all.Goals, nodes)
}

// goalsOf compiles decoded goals, whose nodes say the lines of what is wrong.
func goalsOf(ys []yamlGoal, nodes []*yaml.Node) ([]target, error) {
	problems := make(strictyaml.Problems)
	goals := make([]Goal, len(ys))
	wrong := func(i int, name, problem string) {
		if id := goals[i].ID; id != "" {
			problem = fmt.Sprintf("goal %q: %s", plain.Short(id), problem)
		}
		problems.Add(cmp.Or(strictyaml.Field(nodes[i], name), nodes[i]), problem)
	}
	left := maxExpected
	for i, y := range ys {
		g := &goals[i]
		*g = y.Goal
		g.Disabled = y.Enabled != nil && !*y.Enabled
		if left -= expanded(&y.Expected, left, 0); left <= 0 {
			return nil, &store.LimitError{Field: "expected values with their aliases", Limit: maxExpected, Got: maxExpected + 1}
		}
		if err := y.Expected.Decode(&g.Expected); err != nil {
			wrong(i, "expected", err.Error())
		}
		if g.compares() && y.Expected.IsZero() {
			wrong(i, "operator", fmt.Sprintf("operator %s needs an expected value", g.Operator))
		}
	}
	targets, err := compileGoals(goals, wrong)
	if err = cmp.Or(err, problems.Err()); err != nil {
		return nil, err
	}
	return targets, nil
}

// expanded returns how many bytes and nodes a value has once its aliases are followed,
// up to a limit, and lets its dates be the text that they are written as. One that is
// nested too deep, or contains itself, is refused later.
func expanded(n *yaml.Node, limit, nested int) int {
	if n.ShortTag() == "!!timestamp" {
		n.Tag = "!!str"
	}
	size := 1 + len(n.Value)
	below := n.Content
	if n.Alias != nil {
		below = []*yaml.Node{n.Alias}
	}
	for _, c := range below {
		if size < limit && nested < maxNested {
			size += expanded(c, limit-size, nested+1)
		}
	}
	return size
}

// ours takes our type, which says nothing to the writer, out of what the parser
// says.
var ours = strings.NewReplacer("into goal.yamlGoal", "as a goal", "into []goal.yamlGoal", "as a list of goals")
