// Package taskfile has jobs of a queue as people and programs write them: templates, which are Markdown with
// the job in the front matter, and sensors, which are programs that look, and print jobs.
//
//	draft, err := taskfile.Template("templates/report.md")
//	job, _, err := jobs.Add(ctx, draft)
//	… // once a minute, each in a goroutine of its own:
//	for _, s := range taskfile.Sensors("skills") {
//		added, err := jobs.Sense(ctx, s.Name, s.Every, s.Look(workspace.Text))
//	}
//
// A job is YAML or JSON of the fields subject, description, priority, skills, model, source, parent, key,
// cron, at, max_retries and input, as queue.Draft has them; another field is an error.
package taskfile

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/internal/yaml"
)

// text is a draft as it is written.
type text struct {
	queue.Draft `yaml:",inline"`
	Value       any `yaml:"input"`
}

func (t text) draft() (queue.Draft, error) {
	if t.Value != nil {
		raw, err := json.Marshal(t.Value)
		if t.Input = raw; err != nil {
			return t.Draft, fmt.Errorf("taskfile: input: %w", err)
		}
	}
	return t.Draft, nil
}

// Over puts what a draft says in the place of what d has: its fields that are not zero.
func Over(d *queue.Draft, by queue.Draft) {
	for f, v := range reflect.ValueOf(by).Fields() {
		if !v.IsZero() {
			reflect.ValueOf(d).Elem().FieldByName(f.Name).Set(v)
		}
	}
}

// Parse reads a list of jobs.
func Parse(data []byte) (out []queue.Draft, err error) {
	var texts []text
	if err := yaml.Decode(data, &texts); err != nil {
		return nil, fmt.Errorf("taskfile: no list of jobs: %w", err)
	}
	for _, t := range texts {
		d, wrong := t.draft()
		out, err = append(out, d), cmp.Or(err, wrong)
	}
	return out, err
}

// Template reads a job from a Markdown file: what its front matter does not say is the name of the file as
// Subject, and the text below as Description. Its Template is the file's name without the extension.
func Template(path string) (queue.Draft, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return queue.Draft{}, err
	}
	var t text
	matter, body, closed := yaml.Front(string(data)) // "": there is none
	if !closed {                                     // all of it would be the text of a job that is due at once
		return queue.Draft{}, fmt.Errorf("taskfile: %s: the front matter is not closed by a line ---", path)
	}
	if matter != "" {
		if err := yaml.Decode([]byte(matter), &t); err != nil {
			return queue.Draft{}, fmt.Errorf("taskfile: %s: %w", path, err)
		}
	}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	t.Subject, t.Description = cmp.Or(t.Subject, name), cmp.Or(t.Description, body)
	d, err := t.draft()
	d.Template = name
	return d, err
}

// Sensor is a program that prints a list of jobs, or nothing, or «skip».
type Sensor struct {
	Name, File string
	Every      time.Duration // 5 minutes, or «every» of its SKILL.md; 0: that is none, queue.Sense refuses it
}

// Sensors are those of the folders below dir that have one: NAME/sensor, with any extension.
func Sensors(dir string) (out []Sensor) {
	folders, _ := os.ReadDir(dir) // there may be none
	for _, e := range folders {
		s := Sensor{e.Name(), Program(filepath.Join(dir, e.Name()), "sensor"), 5 * time.Minute}
		if s.File == "" {
			continue
		}
		data, _ := os.ReadFile(filepath.Join(dir, e.Name(), "SKILL.md")) // it may have none
		matter, _, _ := yaml.Front(string(data))
		var fields map[string]yaml.Node
		if yaml.Decode([]byte(matter), &fields) == nil && fields["every"].Value != "" {
			s.Every, _ = time.ParseDuration(fields["every"].Value)
		}
		out = append(out, s)
	}
	return out
}

// Program is the executable file of a name in a folder, with any extension; "": there is none.
func Program(dir, name string) string {
	files, _ := filepath.Glob(filepath.Join(dir, name+"*")) // a name that is no pattern has none
	for _, f := range files {
		base, _, _ := strings.Cut(filepath.Base(f), ".")
		if info, err := os.Stat(f); err == nil && base == name && info.Mode().IsRegular() && info.Mode()&0o111 > 0 {
			return f
		}
	}
	return ""
}

// Look is what queue.Sense reads the sensor's jobs with. run runs a program and returns what it printed, as
// workspace.Workspace.Text does; a sensor has a minute.
func (s Sensor) Look(
	run func(ctx context.Context, stdin []byte, argv ...string) (string, error),
) func(context.Context) ([]queue.Draft, error) {
	return func(ctx context.Context) ([]queue.Draft, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		out, err := run(ctx, nil, s.File)
		if out = strings.TrimSpace(out); err != nil || out == "" || out == "skip" {
			return nil, err
		}
		return Parse([]byte(out))
	}
}
