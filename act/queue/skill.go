package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/strictyaml"
	"github.com/arc-learn/arc/store"
)

// LoadSensors returns the sensors of skills, which the host allows by their names:
// NAME/sensor.yaml says which program looks, without a shell, and when. Without names
// there are none, whatever the folders bring.
//
//	every: 10m
//	jitter: 1m                   # also: timeout
//	argv: [./look.sh, --unread]  # in the skill's folder
//
// The folders are in base.Dir; base.Env and base.MaxOutput are those of the programs, which
// have the cursor in ARC_CURSOR too. A program prints a line of JSON for each job, with
// the fields of a template and template and at, and may print where it is to go on:
//
//	{"subject": "answer Ann", "key": "mail/17", "skills": ["mail"]}
//	{"cursor": "17"}
//
// The error names every skill that has none, or a bad one. The commands that a skill
// brings are actions: act.LoadActions of its folder, with ActionOptions.Commands.
func LoadSensors(base act.Command, skills ...string) ([]Sensor, error) {
	var found []Sensor
	var errs []error
	for _, name := range skills {
		s, err := loadSensor(base, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("sensor of skill %q: %w", name, err))
			continue
		}
		found = append(found, s)
	}
	return found, errors.Join(errs...)
}

// loadSensor returns the sensor of a skill.
func loadSensor(base act.Command, name string) (Sensor, error) {
	if filepath.Base(name) != name || !filepath.IsLocal(name) {
		return Sensor{}, errors.New("no name of a folder")
	}
	base.Dir = filepath.Join(base.Dir, name)
	raw, err := os.ReadFile(filepath.Join(base.Dir, "sensor.yaml"))
	if err != nil {
		return Sensor{}, err
	}
	if len(raw) > maxTemplate {
		return Sensor{}, &store.LimitError{Field: "sensor.yaml", Limit: maxTemplate, Got: len(raw)}
	}
	var form struct {
		Every, Jitter, Timeout span
		Argv                   []string
	}
	if _, err := strictyaml.Decode(raw, &form, nil); err != nil && !errors.Is(err, io.EOF) {
		return Sensor{}, fmt.Errorf("sensor.yaml: %w", err)
	}
	if base.Argv = form.Argv; len(form.Argv) == 0 {
		return Sensor{}, errors.New("sensor.yaml: no argv")
	}
	s := Sensor{
		Name: name, Every: time.Duration(form.Every), Jitter: time.Duration(form.Jitter),
		Timeout: time.Duration(form.Timeout),

		Read: func(ctx context.Context, cursor string) (Reading, error) { return readCommand(ctx, base, cursor) },
	}
	_, err = readied(context.Background(), []Sensor{s})
	return s, err
}

// readCommand is what a program has found.
func readCommand(ctx context.Context, c act.Command, cursor string) (Reading, error) {
	c.Env = append(slices.Clip(c.Env), "ARC_CURSOR="+cursor)
	out, err := c.Execute(ctx, act.Work{})
	if err != nil {
		return Reading{}, err
	}
	text := []byte(out.Output)
	if whole := ""; json.Unmarshal(text, &whole) == nil { // lines, and no one value
		text = []byte(whole)
	}
	r := Reading{Cursor: cursor}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	for n := 1; ; n++ {
		var line struct {
			template
			Template string    `json:"template"`
			At       time.Time `json:"at"`
			Cursor   *string   `json:"cursor"`
		}
		switch err := in.Decode(&line); {
		case errors.Is(err, io.EOF):
			return r, nil
		case err != nil:
			return Reading{}, fmt.Errorf("%s: job %d that it printed: %w", c.Argv[0], n, err)
		}
		if line.Cursor != nil {
			r.Cursor = *line.Cursor
		}
		if line.Cursor == nil || line.Subject != "" || line.Template != "" {
			d := line.draft()
			d.Template, d.At = line.Template, line.At
			r.Jobs = append(r.Jobs, d)
		}
	}
}
