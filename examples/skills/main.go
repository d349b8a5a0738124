// Skills writes what an agent has learned to do as SKILL.md files, and takes up what a person changes in
// them.
//
//	go run ./examples/skills -dir skills
//
// Read the file, change a call or set retired: true, and run it again: a changed plan is suggested until it
// was delivered twice, a retired one is left alone.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"path/filepath"

	"github.com/arc-learn/arc/contrib/skills"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/reason"
)

func main() {
	dir := flag.String("dir", "skills", "where the skills are written")
	flag.Parse()
	if err := work(context.Background(), *dir); err != nil {
		log.Fatal(err)
	}
}

func work(ctx context.Context, dir string) error {
	layer, err := learn.Open(ctx, filepath.Join(dir, ".memory"), nil)
	if err != nil {
		return err
	}
	defer layer.Close()
	changed, err := skills.Sync(ctx, layer, "", dir)
	if err != nil {
		return err
	}
	fmt.Printf("%d skills were changed by a person\n", changed)
	for _, order := range []string{"SO-1041", "SO-1042", "SO-1043"} {
		inputs, err := json.Marshal(map[string]string{"order": order})
		if err != nil {
			return err
		}
		c := learn.Case{Situation: "small refund", Text: "refund order " + order, Inputs: inputs}
		advice, err := layer.Before(ctx, c)
		if err != nil {
			return err
		}
		plan, how := advice.Fires, "by the plan that fires"
		if plan == nil && len(advice.Suggestions) > 0 {
			how = "by a suggestion: " + advice.Suggestions[0].Differs
			plan, _ = advice.Use(advice.Suggestions[0].Name, nil) // nil: the case's inputs do not fill it
		}
		if plan == nil { // here a model would be asked
			how = "by thinking, since " + advice.Why
			mail := json.RawMessage(`{"template":"refunded","subject":"Refund of ` + order + `"}`)
			plan = &reason.Plan{Calls: []reason.PlanCall{
				{Name: "payments.refund", Inputs: inputs}, {Name: "mail.send", Inputs: mail},
			}}
		}
		for _, c := range plan.Calls {
			fmt.Printf("%s: %s %s\n", order, c.Name, c.Inputs)
		}
		fmt.Printf("%s: done %s\n", order, how)
		// Here the calls would be made, and checked: only what a check has passed becomes a plan.
		_, err = layer.After(ctx, advice, learn.Outcome{Verdict: learn.Delivered, Plan: plan})
		if err != nil {
			return err
		}
	}
	written, err := skills.Write(ctx, layer, "", dir)
	if err != nil {
		return err
	}
	fmt.Printf("%d skills are written below %s\n", written, dir)
	return nil
}
