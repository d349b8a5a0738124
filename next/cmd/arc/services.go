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
	each := func(f func(ctx context.Context, file string, u unit) error) func(context.Context, *app, []string) error {
		return func(ctx context.Context, _ *app, _ []string) error {
			dir, all, err := c.units()
			for _, u := range all {
				err = errors.Join(err, f(ctx, filepath.Join(dir, u.Name), u))
			}
			return err
		}
	}
	dryRun := func(f *pflag.FlagSet) { f.BoolVar(&dry, "dry-run", false, "print what would be written") }
	return group(&cobra.Command{Use: "services", Short: "Two services of the system: dispatch and sensors", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }},
		c.leaf(local, "install", "Install and start the services", each(func(ctx context.Context, file string, u unit) error {
			if dry {
				c.Print("# " + file + "\n" + u.Text)
				return nil
			}
			if err := writeFile(file, []byte(u.Text), 0o644); err != nil {
				return err
			}
			c.Print("wrote " + file)
			if strings.HasSuffix(file, "sensors.service") {
				return nil // its timer starts it
			}
			return c.control(ctx, file, true)
		}), dryRun),
		c.leaf(local, "uninstall", "Stop and remove the services", each(func(ctx context.Context, file string, _ unit) error {
			if _, err := os.Stat(file); err != nil {
				return nil // it is not installed
			}
			c.Print("removing " + file)
			return errors.Join(c.control(ctx, file, false), os.Remove(file))
		}), nil),
		c.leaf(local, "status", "Say how the services are", each(func(_ context.Context, file string, u unit) error {
			state := "installed"
			text, err := os.ReadFile(file)
			switch {
			case err != nil:
				state = "not installed"
			case string(text) != u.Text:
				state += ", with another PATH, program or folder than this shell has: arc services install"
			}
			c.Print(u.Name + ": " + state)
			return nil
		}), nil))
}

// control starts a service with the system from now on, or stops it.
func (c *command) control(ctx context.Context, file string, on bool) error {
	argv := []string{"systemctl", "--user", map[bool]string{true: "enable", false: "disable"}[on], "--now", filepath.Base(file)}
	if runtime.GOOS == "darwin" {
		argv = []string{"launchctl", map[bool]string{true: "load", false: "unload"}[on], "-w", file}
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = c.Out, c.Err
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return nil
}

// writeFile replaces a file, whole or not at all.
func writeFile(file string, data []byte, mode fs.FileMode) error {
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file+".new", data, mode)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	return err
}
