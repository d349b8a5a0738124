package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The two services of a folder: dispatch stays, and executes the commands of others; sensors runs each minute. A unit
// has the PATH of the shell that has installed it, since that of the system lacks what a person has added.
//
//go:embed units.txt
var unitTexts string

type unit struct{ Name, Text string }

// units are the files of the services on this system.
func (c *command) units() (dir string, out []unit, err error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	kind, dir := "systemd", filepath.Join(home, ".config", "systemd", "user")
	switch runtime.GOOS {
	case "linux":
	case "darwin":
		kind, dir = "launchd", filepath.Join(home, "Library", "LaunchAgents")
	default:
		return "", nil, fmt.Errorf("no services on %s: have arc serve started by what starts programs there", runtime.GOOS)
	}
	t, err := template.New("").Parse(unitTexts)
	if err != nil {
		return "", nil, err
	}
	data := map[string]string{"Self": self, "Dir": c.dir, "Path": os.Getenv("PATH"), "ID": handle(c.dir)[:6]}
	for _, name := range map[string][]string{
		"systemd": {"dispatch.service", "sensors.service", "sensors.timer"}, "launchd": {"dispatch.plist", "sensors.plist"},
	}[kind] {
		var b strings.Builder
		if err := t.ExecuteTemplate(&b, name, data); err != nil {
			return "", nil, err
		}
		out = append(out, unit{"arc-" + data["ID"] + "-" + name, strings.TrimLeft(b.String(), "\n")})
	}
	return dir, out, nil
}

func (c *command) servicesCommand() *cobra.Command {
	var dry bool
	control := func(ctx context.Context, args ...string) error {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Stdout, cmd.Stderr = c.out, c.err
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
		}
		return nil
	}
	each := func(install bool) func(context.Context, *app, []string) error {
		return func(ctx context.Context, _ *app, _ []string) error {
			dir, all, err := c.units()
			if err != nil {
				return err
			}
			for _, u := range all {
				file := filepath.Join(dir, u.Name)
				if dry {
					c.print("# " + file + "\n" + u.Text)
					continue
				}
				if install {
					err = writeFile(file, []byte(u.Text), 0o644)
				} else {
					err = errors.Join(c.switchUnit(ctx, control, file, false), os.Remove(file))
				}
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
				c.print(map[bool]string{true: "wrote ", false: "removed "}[install] + file)
			}
			if dry || !install {
				return nil
			}
			if runtime.GOOS == "linux" {
				if err := control(ctx, "systemctl", "--user", "daemon-reload"); err != nil {
					return err
				}
			}
			for _, u := range all {
				if !strings.HasSuffix(u.Name, "sensors.service") { // the timer starts it
					err = errors.Join(err, c.switchUnit(ctx, control, filepath.Join(dir, u.Name), true))
				}
			}
			return err
		}
	}
	dryRun := func(f *pflag.FlagSet) { f.BoolVar(&dry, "dry-run", false, "print what would be written") }
	return group(&cobra.Command{Use: "services", Short: "Two services of the system: dispatch and sensors", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }},
		c.leaf(local, "install", "Install and start the services", each(true), dryRun),
		c.leaf(local, "uninstall", "Stop and remove the services", each(false), dryRun),
		c.leaf(local, "status", "Say how the services are", func(ctx context.Context, _ *app, _ []string) error {
			dir, all, err := c.units()
			if err != nil {
				return err
			}
			for _, u := range all {
				state := "not installed"
				if text, err := os.ReadFile(filepath.Join(dir, u.Name)); err == nil {
					state = "installed"
					if string(text) != u.Text {
						state += ", with another PATH, program or folder than this shell's: arc services install"
					}
					if runtime.GOOS == "linux" {
						out, _ := exec.CommandContext(ctx, "systemctl", "--user", "is-active", u.Name).Output() // its words say it
						state += ", " + strings.TrimSpace(string(out))
					}
				}
				c.print(u.Name + ": " + state)
			}
			return nil
		}, nil))
}

func (c *command) switchUnit(ctx context.Context, control func(context.Context, ...string) error, file string, on bool) error {
	if runtime.GOOS == "darwin" {
		return control(ctx, "launchctl", map[bool]string{true: "load", false: "unload"}[on], "-w", file)
	}
	return control(ctx, "systemctl", "--user", map[bool]string{true: "enable", false: "disable"}[on], "--now", filepath.Base(file))
}
