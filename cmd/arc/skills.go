package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/arc-learn/arc/contrib/agefile"
	"github.com/arc-learn/arc/contrib/taskfile"
	"github.com/arc-learn/arc/contrib/workspace"
	"github.com/arc-learn/arc/reason"
)

// skills are those of the folder: skills/NAME/SKILL.md, with AGENT.md, an executable sensor and an executable
// cli beside it where it has them, each with any extension.
func (c *command) skills() ([]reason.Skill, error) {
	return reason.LoadSkills(os.DirFS(filepath.Join(c.dir, "skills")))
}

// named are the skills of these names.
func (c *command) named(names ...string) (out []reason.Skill, err error) {
	all, _ := c.skills() // arc skills says which cannot be read
	for _, name := range names {
		i := slices.IndexFunc(all, func(s reason.Skill) bool { return s.Name == name })
		if i < 0 {
			return nil, usage("no skill %q: arc skills lists them", name)
		}
		out = append(out, all[i])
	}
	return out, nil
}

func (c *command) skillCommands() []*cobra.Command {
	var due bool
	sensors := func(ctx context.Context, a *app, _ string) error { return c.sense(ctx, a, due) }
	return []*cobra.Command{
		group(c.leaf(local, "skills", "List skills", func(context.Context, *app, string) error {
			all, err := c.skills()
			none := "no skills: write skills/NAME/SKILL.md"
			return list(c, all, 0, err, "skill has for", none, func(s reason.Skill) []string {
				has := ""
				for _, what := range []string{"cli", "sensor"} {
					if taskfile.Program(filepath.Join(c.dir, "skills", s.Name), what) != "" {
						has += " " + what
					}
				}
				return []string{s.Name, strings.TrimSpace(has), s.Description}
			})
		}, nil),
			c.leaf(local, "show NAME", "Print a skill's SKILL.md", func(_ context.Context, _ *app, name string) error {
				found, err := c.named(name)
				if err == nil {
					c.Print(found[0].Text)
				}
				return err
			}, nil),
			c.leaf(local, "run NAME", "Run a skill's own command: arc skills run NAME -- ARGS", c.runSkill, nil)),
		group(c.leaf(reads, "sensors", "Run all sensors once", sensors,
			func(f *pflag.FlagSet) { f.BoolVar(&due, "due", false, "only those whose time has come") }),
			c.leaf(local, "list", "List sensors", func(context.Context, *app, string) error {
				all := taskfile.Sensors(filepath.Join(c.dir, "skills"))
				return list(c, all, 0, nil, "sensor every file", noSensors, func(s taskfile.Sensor) []string {
					return []string{s.Name, s.Every.String(), s.File}
				})
			}, nil)),
	}
}

func (c *command) runSkill(ctx context.Context, _ *app, name string) error {
	args := c.rest
	if len(args) > 0 && name == strings.Join(args, " ") { // it stands without its flag
		name, args = args[0], args[1:]
	}
	file := taskfile.Program(filepath.Join(c.dir, "skills", name), "cli")
	if file == "" {
		return usage("skill %q has no command: an executable skills/%s/cli", name, name)
	}
	cmd := exec.CommandContext(ctx, file, args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Cwd, os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "ARC_DIR="+c.dir)
	err := cmd.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit(max(1, ended.ExitCode()))
	}
	return err
}

const noSensors = "no sensors: an executable skills/NAME/sensor prints tasks"

// sense runs the sensors side by side; one that fails holds no other up.
func (c *command) sense(ctx context.Context, a *app, due bool) error {
	all := taskfile.Sensors(a.path("skills"))
	if len(all) == 0 && !due {
		c.Print(noSensors)
	}
	var each sync.WaitGroup
	var failed atomic.Bool
	for _, s := range all {
		interval := time.Second // the least that the queue takes
		if due {
			interval = s.Every
		}
		each.Go(func() {
			added, err := a.queue.Sense(ctx, s.Name, interval, s.Look(a.in(workspace.In(a.dir)).Text))
			if err != nil {
				failed.Store(true)
				c.Say(c.Paint(red, "sensor "+s.Name+": ") + err.Error())
			}
			for _, j := range added {
				c.Print(s.Name + ": " + short(j.ID) + " " + j.Subject)
			}
		})
	}
	if each.Wait(); failed.Load() {
		return exit(exitFailed)
	}
	return nil
}

// workFactor is that of agefile; 0: its default.
var workFactor int

// vault has the credentials of a folder as SERVICE.KEY; the service «env» is of variables.
func vault(dir string) *agefile.File {
	f := agefile.New(filepath.Join(dir, ".arc", "credentials.age"), os.Getenv("ARC_CREDS_PASSWORD"))
	f.WorkFactor = workFactor
	return f
}

// unlocked has an error of the vault say what to type.
func unlocked(err error) error {
	switch {
	case errors.Is(err, agefile.ErrLocked):
		return errors.New("the credentials are locked: ARC_CREDS_PASSWORD is not set")
	case errors.Is(err, agefile.ErrPassword):
		return errors.New("the credentials cannot be opened: ARC_CREDS_PASSWORD is wrong, or the file damaged")
	case errors.Is(err, agefile.ErrNotFound):
		return usage("there is no such credential: see arc creds list")
	}
	return err
}

func (c *command) credsCommands() []*cobra.Command {
	var service, key, val string
	flags := func(f *pflag.FlagSet) {
		f.StringVar(&service, "service", "", "whose it is; env: a variable")
		f.StringVar(&key, "key", "", "its name")
	}
	do := func(use, short string, set func(*pflag.FlagSet), f func(*agefile.File, string) error) *cobra.Command {
		return c.leaf(local, use, short, func(context.Context, *app, string) error {
			if set != nil && (service == "" || key == "") {
				return usage("--service and --key say which one")
			}
			return unlocked(f(vault(c.dir), strings.TrimPrefix(service+"."+key, "env.")))
		}, set)
	}
	names := func(v *agefile.File, _ string) error {
		all, err := v.All()
		names, none := slices.Sorted(maps.Keys(all)), "no credentials: arc creds set --service NAME --key NAME"
		return list(c, names, 0, err, "credential", none, func(name string) []string { return []string{name} })
	}
	return []*cobra.Command{group(do("creds", "Credentials in an encrypted file: list, get, set", nil, names),
		do("list", "List the names of credentials: as arc creds alone", nil, names),
		do("get", "Print the value of a credential", flags, func(v *agefile.File, name string) error {
			value, err := v.Get(context.Background(), name)
			if err == nil {
				fmt.Fprintln(c.Out, value) // to the byte: what Print leaves out may be a part of it
			}
			return err
		}),
		do("set", "Keep a credential; without --value it is read from standard input", func(f *pflag.FlagSet) {
			flags(f)
			f.StringVar(&val, "value", "", "at least 8 bytes")
		}, func(v *agefile.File, name string) error {
			if val == "" {
				data, err := io.ReadAll(io.LimitReader(os.Stdin, 64<<10))
				if err != nil {
					return err
				}
				val = strings.TrimSpace(string(data))
			}
			if len(val) < 8 {
				return usage("a credential has at least 8 bytes: a shorter one cannot be kept out of texts")
			}
			return v.Change(func(all map[string]string) error {
				all[name] = val
				return nil
			})
		}),
		do("delete", "Remove a credential", flags, func(v *agefile.File, name string) error {
			return v.Change(func(all map[string]string) error {
				if _, ok := all[name]; !ok {
					return agefile.ErrNotFound
				}
				delete(all, name)
				return nil
			})
		}),
		do("unlock", "Check that ARC_CREDS_PASSWORD opens the file", nil, func(v *agefile.File, _ string) error {
			if os.Getenv("ARC_CREDS_PASSWORD") == "" {
				return agefile.ErrLocked
			}
			_, err := v.All()
			if err == nil {
				c.Print("the password is right")
			}
			return err
		}))}
}

// secret is a credential, or else a variable of the environment.
func (a *app) secret(ctx context.Context, name string) (string, error) {
	if value := os.Getenv(name); value != "" {
		return value, nil
	}
	value, err := a.vault.Get(ctx, name)
	if !errors.Is(err, agefile.ErrNotFound) {
		return value, unlocked(err)
	}
	if service, key, ok := strings.Cut(name, "."); ok {
		return "", fmt.Errorf("no credential %s: arc creds set --service %s --key %s", name, service, key)
	}
	const missing = "%[1]s is not set: export %[1]s=…, or arc creds set --service env --key %[1]s"
	return "", fmt.Errorf(missing, name)
}
