package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/strictyaml"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Bounds of LoadTemplates: bytes of a file, and files.
const (
	maxTemplate  = 128 << 10
	maxTemplates = 256
)

// span is a duration as Go writes it, such as "1h30m".
type span time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*s = span(d)
	return err
}

// template is the form of a file.
type template struct {
	Subject     string          `json:"subject"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input"`
	Priority    int             `json:"priority"`
	Skills      []string        `json:"skills"`
	Scope       memory.Scope    `json:"scope"`
	Key         string          `json:"key"`
	Quiet       span            `json:"quiet"`
	Cron        string          `json:"cron"`
	MaxAttempts int             `json:"max_attempts"`
	Timeout     span            `json:"timeout"`
	Model       string          `json:"model"`
}

// draft is what the file says.
func (t *template) draft() Draft {
	return Draft{
		Subject: t.Subject, Description: t.Description, Input: t.Input, Priority: t.Priority, Skills: t.Skills,
		Scope: t.Scope, Key: t.Key, Quiet: time.Duration(t.Quiet), Cron: t.Cron, MaxAttempts: t.MaxAttempts,
		Timeout: time.Duration(t.Timeout), Model: t.Model,
	}
}

// LoadTemplates reads the drafts of a folder: each file NAME.yaml, .yml or .json in it
// is the template NAME, a mapping of subject, description, input, priority, skills,
// scope, key, quiet, cron, max_attempts, timeout and model. What it gives stands
// wherever a draft that names it leaves the same empty.
//
//	subject: look through the inbox
//	priority: 3
//	skills: [mail]
//	cron: "*/10 * * * *"
//
// The error names every file that is no template; the map has the others.
func LoadTemplates(fsys fs.FS) (map[string]Draft, error) {
	if guard.IsNil(fsys) {
		return nil, errors.New("templates: the file system is nil")
	}
	files, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("templates: %w", err)
	}
	found, errs := make(map[string]Draft), []error(nil)
	for _, f := range files {
		ext := path.Ext(f.Name())
		if !f.Type().IsRegular() || ext != ".yaml" && ext != ".yml" && ext != ".json" {
			continue
		}
		name := strings.TrimSuffix(f.Name(), ext)
		if _, twice := found[name]; twice {
			err = errors.New("the name is that of another template")
		} else if len(found) == maxTemplates {
			err = &store.LimitError{Field: "templates", Limit: maxTemplates, Got: maxTemplates + 1}
		} else {
			err = key.CheckID("name", name)
		}
		var d Draft
		if err == nil {
			d, err = readTemplate(fsys, f.Name())
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("template %q: %w", f.Name(), err))
			continue
		}
		found[name] = d
	}
	return found, errors.Join(errs...)
}

// readTemplate reads a file.
func readTemplate(fsys fs.FS, name string) (Draft, error) {
	raw, err := fs.ReadFile(fsys, name)
	if err != nil {
		return Draft{}, err
	}
	if len(raw) > maxTemplate {
		return Draft{}, &store.LimitError{Field: "template", Limit: maxTemplate, Got: len(raw)}
	}
	var any map[string]any
	if _, err := strictyaml.Decode(raw, &any, nil); err != nil && !errors.Is(err, io.EOF) {
		return Draft{}, err
	}
	if raw, err = json.Marshal(any); err != nil {
		return Draft{}, err
	}
	var t template
	in := json.NewDecoder(bytes.NewReader(raw))
	in.DisallowUnknownFields()
	if err := in.Decode(&t); err != nil {
		return Draft{}, err
	}
	d := t.draft()
	full := d.or(Draft{Subject: name, Priority: 5, Scope: "local", MaxAttempts: 1})
	return d, full.unfit()
}
