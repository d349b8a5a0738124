package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/examples/quickstart/internal/repair"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// result is what a run of the program comes to, as -json prints it.
type result struct {
	Dir       string     `json:"dir"`
	Seed      uint64     `json:"seed"`
	Known     int        `json:"known"` // memories at the start
	Sessions  []*session `json:"sessions"`
	Resonance []float64  `json:"resonance"` // of each attempt, in order
	Memory    health     `json:"memory"`
	Ranking   []ranked   `json:"ranking"`
}

// session counts what happened to a number of packages.
type session struct {
	Name          string     `json:"name"`
	Objectives    int        `json:"objectives"`
	Delivered     int        `json:"delivered"`
	Attempts      int        `json:"attempts"`      // each of them checked by the gate
	Edited        int        `json:"edited"`        // attempts that changed the source
	Deliberations int        `json:"deliberations"` // calls of the reasoner
	Fired         int        `json:"fired"`         // chunks that ran first
	ByChunk       int        `json:"by_chunk"`      // delivered by a chunk, without the reasoner
	Seconds       float64    `json:"seconds"`
	Packages      []repaired `json:"packages"`
}

// repaired is what became of a package.
type repaired struct {
	Name          string   `json:"name"`
	Situation     string   `json:"situation"`
	Delivered     bool     `json:"delivered"`
	Dir           string   `json:"dir,omitempty"` // of the repaired copy
	Worker        string   `json:"worker,omitempty"`
	Edits         []string `json:"edits,omitempty"`
	Attempts      int      `json:"attempts"`
	Deliberations int      `json:"deliberations"`
	Fired         int      `json:"fired"`
	Reason        string   `json:"reason,omitempty"` // why it is blocked
	Edited        []string `json:"edited,omitempty"` // who edited it, in vain
	Looked        []string `json:"looked,omitempty"` // who found no edit to make
	Spared        []string `json:"spared,omitempty"` // who was not asked, see crew.strangers
	Seconds       float64  `json:"seconds"`
}

type health struct {
	Status        string              `json:"status"`
	Total         int                 `json:"total"`
	Kinds         map[memory.Kind]int `json:"kinds"`
	Effectiveness float64             `json:"effectiveness"`
	Issues        []string            `json:"issues,omitempty"`
}

type ranked struct {
	Worker  string  `json:"worker"`
	Score   float64 `json:"score"`
	Draw    float64 `json:"draw"` // of chance, which the order counts in
	Samples int     `json:"samples"`
	Reason  string  `json:"reason"`
}

// complete reports whether everything was repaired.
func (r *result) complete() bool {
	for _, s := range r.Sessions {
		if s.Delivered < s.Objectives {
			return false
		}
	}
	return true
}

// shop is a run of the program.
type shop struct {
	agent   *arc.Agent
	crew    *crew
	config  config
	scratch string
	stamp   string // names the sessions of this run
	out     *printer
	result  *result
}

// work opens the agent and does what the command line asks for.
func work(ctx context.Context, c config, out *printer) (_ *result, err error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, badUsage("-dir: %w", err)
	}
	scratch, err := os.MkdirTemp("", "quickstart-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	h := host(filepath.Join(scratch, "attempt"), c.seed)
	crew := &crew{}
	agent, err := arc.Open(ctx, filepath.Join(c.dir, "memory"), h, &arc.Options{
		Seed: c.seed, Attempts: len(h.Workers), Pivot: arc.PivotAuto, Policy: crew.policy,
	})
	if err != nil {
		return nil, badUsage("-dir: %w", err)
	}
	defer func() {
		if e := agent.Close(); err == nil {
			err = e
		}
	}()
	s := &shop{
		agent: agent, crew: crew, config: c, scratch: scratch, out: out,
		stamp:  time.Now().UTC().Format("20060102T150405.000"),
		result: &result{Dir: c.dir, Seed: c.seed},
	}
	known, err := agent.Health(ctx, "")
	if err != nil {
		return nil, err
	}
	s.result.Known = known.Total
	if c.pkg != "" {
		return s.result, s.repairPackage(ctx)
	}
	return s.result, s.repairCorpus(ctx)
}

// repairCorpus runs the two sessions and reports.
func (s *shop) repairCorpus(ctx context.Context) error {
	sub, err := sessionsOf(s.config)
	if err != nil {
		return err
	}
	s.out.welcome(s.result, len(repair.Fixers()))
	for i, packages := range sub {
		if _, err := s.session(ctx, fmt.Sprintf("session %d", i+1), packages); err != nil {
			return err
		}
	}
	if err := s.finish(ctx); err != nil {
		return err
	}
	s.out.comparison(s.result)
	s.out.learned(s.result)
	return nil
}

// sessionsOf returns the packages of each session in an order drawn from the
// seed.
func sessionsOf(c config) ([2][]repair.Package, error) {
	var sessions [2][]repair.Package
	all, err := repair.Load(corpus, "testdata/*.txtar")
	if err != nil {
		return sessions, err
	}
	r := rand.New(rand.NewPCG(c.seed, 2))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, p := range all {
		if c.only == nil || slices.Contains(c.only, p.Family) {
			sessions[p.Session-1] = append(sessions[p.Session-1], p)
		}
	}
	return sessions, nil
}

// session repairs packages of the corpus, one after the other.
func (s *shop) session(ctx context.Context, name string, packages []repair.Package) (*session, error) {
	start := time.Now()
	ses := &session{Name: name}
	s.result.Sessions = append(s.result.Sessions, ses)
	s.out.session(name, len(packages))
	for _, p := range packages {
		dir := filepath.Join(s.scratch, "broken", p.Name)
		if err := p.Unpack(dir); err != nil {
			return ses, err
		}
		d, err := repair.Check(ctx, dir)
		if err != nil {
			return ses, err
		}
		if err := s.repair(ctx, ses, job{p.Name, dir, dir, d}); err != nil {
			return ses, err
		}
		ses.Seconds = time.Since(start).Seconds()
	}
	return ses, nil
}

// job is a package to repair.
type job struct {
	name      string
	module    string // root of its module
	dir       string
	diagnosis repair.Diagnosis
}

// repair gives the agent the objective to repair a package, and takes down
// what came of it.
func (s *shop) repair(ctx context.Context, ses *session, j job) error {
	start := time.Now()
	raw, err := json.Marshal(inputs{j.name, j.module, j.dir, diagnosis{j.diagnosis}})
	if err != nil {
		return err
	}
	o := arc.Objective{
		ID:        s.stamp + "/" + ses.Name + "/" + j.name,
		Text:      fmt.Sprintf("Repair package %s so that build, vet and tests pass", j.name),
		Situation: j.diagnosis.Situation(),
		Inputs:    raw,
		Session:   s.stamp + "/" + ses.Name,
	}
	p := repaired{Name: j.name, Situation: o.Situation}
	if p.Spared, err = s.crew.strangers(ctx, o.Situation, enough); err != nil {
		return err
	}
	o.Attempts = len(repair.Fixers()) - len(p.Spared)
	s.out.objective(j.name, o.Situation)
	for e, err := range s.agent.Events(ctx, o) {
		if err != nil {
			return err
		}
		switch {
		case e.Kind != arc.EventVerified:
		case e.Text == repair.Unchanged:
			p.Looked = append(p.Looked, e.Worker)
		default:
			ses.Edited++
			p.Edited = append(p.Edited, e.Worker)
		}
		s.out.event(e)
	}
	report, err := s.agent.Run(ctx, o) // finished: this returns its report
	if err != nil {
		return err
	}
	p.Delivered, p.Reason = report.Status == arc.Delivered, report.Reason
	p.Attempts, p.Deliberations, p.Fired = report.Attempts, report.Deliberations, report.Fired
	if p.Delivered {
		p.Edited, p.Looked, p.Spared = nil, nil, nil
		if err := s.keep(&p, report.Deliveries[len(report.Deliveries)-1]); err != nil {
			return err
		}
	}
	p.Seconds = time.Since(start).Seconds() + j.diagnosis.Wall.Seconds()
	s.result.Resonance = append(s.result.Resonance, report.Resonance...)
	ses.add(p)
	s.out.repaired(p)
	return nil
}

// keep moves a repaired package to where the user finds it.
func (s *shop) keep(p *repaired, d act.Delivery) error {
	var out output
	if err := json.Unmarshal(d.Output, &out); err != nil {
		return err
	}
	p.Worker, p.Edits = d.Worker, out.Edits
	p.Dir = filepath.Join(s.config.dir, "repaired", p.Name)
	return repair.Copy(p.Dir, out.Package)
}

func (ses *session) add(p repaired) {
	ses.Packages = append(ses.Packages, p)
	ses.Objectives++
	ses.Attempts += p.Attempts
	ses.Deliberations += p.Deliberations
	ses.Fired += p.Fired
	if p.Delivered {
		ses.Delivered++
		if p.Fired > 0 && p.Deliberations == 0 {
			ses.ByChunk++
		}
	}
}

// finish takes down what the agent knows at the end.
func (s *shop) finish(ctx context.Context) error {
	h, err := s.agent.Health(ctx, "")
	if err != nil {
		return err
	}
	s.result.Memory = health{h.Status, h.Total, h.Kinds, h.Effectiveness, nil}
	for _, issue := range h.Issues {
		s.result.Memory.Issues = append(s.result.Memory.Issues, issue.Text)
	}
	order, err := s.agent.In("").Rank(ctx, "", reason.Task{Skill: skill})
	if err != nil {
		return err
	}
	for _, o := range order {
		s.result.Ranking = append(s.result.Ranking, ranked{o.Candidate.Name, o.Score, o.Parts.Draw, o.Samples, o.Reason()})
	}
	return nil
}
