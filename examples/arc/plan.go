package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/arc-learn/arc/contrib/anthropic"
	"github.com/arc-learn/arc/contrib/ollama"
	"github.com/arc-learn/arc/contrib/openai"
	"github.com/arc-learn/arc/reason"

	anthropicsdk "github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	openaisdk "github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
)

// plan is what to do about objectives of some words, for an agent without a model.
type plan struct {
	Name  string `yaml:"name"`
	When  string `yaml:"when"` // a regular expression; inputs can have its groups
	Tasks []struct {
		Do     string         `yaml:"do"`
		Worker string         `yaml:"worker"`
		Skill  string         `yaml:"skill"`
		Verify string         `yaml:"verify"`
		Inputs map[string]any `yaml:"inputs"`
	} `yaml:"tasks"`
	when *regexp.Regexp
}

// planner is the reasoner of an agent without a model: the first plan whose words the
// objective has, or else a question.
type planner []plan

// Reason implements reason.Reasoner.
func (p planner) Reason(_ context.Context, b reason.Brief) (reason.Decision, error) {
	text := b.Objective
	if n := len(b.Answers); n > 0 {
		text = b.Answers[n-1].Text
	}
	var names []string
	for i := range p {
		if at := p[i].when.FindStringSubmatchIndex(text); at != nil {
			return p[i].tasks(text, at)
		}
		if strings.EqualFold(p[i].Name, strings.TrimSpace(text)) {
			return p[i].tasks(text, make([]int, 2*(p[i].when.NumSubexp()+1)))
		}
		names = append(names, p[i].Name)
	}
	if len(names) == 0 {
		return reason.Decision{Impasse: &reason.Impasse{
			Kind: reason.NoApproach, Reason: "arc.yaml has neither a model nor plans", Subgoal: "write a plan into arc.yaml",
		}}, nil
	}
	return reason.Decision{Complexity: reason.Unclear, Questions: []string{
		fmt.Sprintf("No plan in arc.yaml has these words. Which one is meant: %s?", strings.Join(names, ", ")),
	}}, nil
}

// tasks makes tasks of the plan. Where inputs name groups of the expression, they get
// what the text has there.
func (p *plan) tasks(text string, at []int) (reason.Decision, error) {
	d := reason.Decision{Complexity: reason.Simple, Approach: p.Name}
	for _, t := range p.Tasks {
		inputs := map[string]any{}
		for name, v := range t.Inputs {
			if s, ok := v.(string); ok {
				v = strings.TrimSpace(string(p.when.ExpandString(nil, s, text, at)))
			}
			inputs[name] = v
		}
		task := reason.Task{Objective: t.Do, Worker: t.Worker, Skill: t.Skill, Verify: cmp.Or(t.Verify, "the gates of "+t.Worker)}
		if len(inputs) > 0 {
			raw, err := json.Marshal(inputs)
			if err != nil {
				return reason.Decision{}, err
			}
			task.Inputs = raw
		}
		d.Tasks = append(d.Tasks, task)
	}
	return d, nil
}

// reasoner is the planner, or the model that arc.yaml names.
func (c *config) reasoner(a *app, skills map[string]reason.Skill) (reason.Reasoner, error) {
	if c.Model == "" {
		return planner(c.Plans), nil
	}
	m, err := c.dial()
	if err != nil {
		return nil, err
	}
	return reason.NewLLM(&character{Model: m, dir: a.dir}, &reason.LLMOptions{Skills: skills})
}

// dial returns the model that a line such as "openai gpt-5-mini" or
// "openai qwen3 http://localhost:11434/v1" names.
func (c *config) dial() (reason.Model, error) {
	words := strings.Fields(c.Model)
	if len(words) < 2 || len(words) > 3 {
		return nil, misuse(`arc.yaml: model is "PROVIDER NAME" or "PROVIDER NAME ADDRESS", not %q`, c.Model)
	}
	words = append(words, "")
	provider, name, address := words[0], words[1], words[2]
	switch provider {
	case "openai":
		opts := []openaioption.RequestOption{openaioption.WithAPIKey(secret("openai", "OPENAI_API_KEY"))}
		if address = cmp.Or(address, os.Getenv("OPENAI_BASE_URL")); address != "" {
			opts = append(opts, openaioption.WithBaseURL(address))
		}
		return openai.New(openaisdk.NewClient(opts...), name, nil), nil
	case "anthropic":
		opts := []anthropicoption.RequestOption{anthropicoption.WithAPIKey(secret("anthropic", "ANTHROPIC_API_KEY"))}
		if address != "" {
			opts = append(opts, anthropicoption.WithBaseURL(address))
		}
		return anthropic.New(anthropicsdk.NewClient(opts...), name, nil), nil
	case "ollama":
		return ollama.New(cmp.Or(address, os.Getenv("OLLAMA_HOST"), "http://localhost:11434"), name, nil)
	}
	return nil, misuse("arc.yaml: no provider is called %q: openai, anthropic or ollama", provider)
}

// secret is the key of a provider. A server at home needs none, and gets a word.
func secret(_ string, variable string) string {
	return cmp.Or(os.Getenv(variable), "none")
}

// character is a model that is told first what SOUL.md says.
type character struct {
	reason.Model
	dir string
}

// Generate implements reason.Model.
func (c *character) Generate(ctx context.Context, req *reason.Request) (*reason.Response, error) {
	soul, err := os.ReadFile(filepath.Join(c.dir, "SOUL.md"))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	told := *req
	told.System = strings.TrimSpace(string(soul) + "\n\n" + req.System)
	return c.Model.Generate(ctx, &told)
}
