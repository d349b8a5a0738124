package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/arc-learn/arc/next/contrib/agefile"
)

// workFactor is that of agefile; 0: its default.
var workFactor int

// vault has the credentials of a folder as SERVICE.KEY; those of the service «env» are variables, by the key alone.
func vault(dir string) *agefile.File {
	f := agefile.Open(filepath.Join(dir, ".arc", "credentials.age"), os.Getenv("ARC_CREDS_PASSWORD"))
	f.WorkFactor = workFactor
	return f
}

// unlocked has an error of the vault say what to type.
func unlocked(err error) error {
	switch {
	case errors.Is(err, agefile.ErrLocked):
		return errors.New("the credentials are locked: ARC_CREDS_PASSWORD is not set")
	case errors.Is(err, agefile.ErrPassword):
		return errors.New("the credentials cannot be opened: ARC_CREDS_PASSWORD is another's, or the file is damaged")
	}
	return err
}

func (c *command) credsCommands() []*cobra.Command {
	var service, key, val string
	flags := func(f *pflag.FlagSet) {
		f.StringVar(&service, "service", "", "whose it is; env: a variable")
		f.StringVar(&key, "key", "", "its name")
	}
	do := func(use, short string, flags func(*pflag.FlagSet), f func(v *agefile.File, name string) error) *cobra.Command {
		return c.leaf(local, use, short, func(context.Context, *app, []string) error {
			if flags != nil && (service == "" || key == "") {
				return usage("--service and --key say which one")
			}
			return unlocked(f(vault(c.dir), strings.TrimPrefix(service+"."+key, "env.")))
		}, flags)
	}
	none := func(name string) error { return usage("no credential %s: see arc creds list", name) }
	return []*cobra.Command{group(&cobra.Command{Use: "creds", Short: "Credentials, in an encrypted file", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }},
		do("list", "List the names of credentials", nil, func(v *agefile.File, _ string) error {
			all, err := v.All()
			names := slices.Sorted(maps.Keys(all))
			if err != nil || c.json {
				return errors.Join(err, c.JSON(names))
			}
			for _, name := range names {
				c.Print(name)
			}
			return nil
		}),
		do("get", "Print the value of a credential", flags, func(v *agefile.File, name string) error {
			value, err := v.Get(context.Background(), name)
			switch {
			case errors.Is(err, agefile.ErrNotFound):
				return none(name)
			case err == nil:
				c.Print(value)
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
			return v.Change(func(all map[string]string) error { all[name] = val; return nil })
		}),
		do("delete", "Remove a credential", flags, func(v *agefile.File, name string) error {
			return v.Change(func(all map[string]string) error {
				if _, ok := all[name]; !ok {
					return none(name)
				}
				delete(all, name)
				return nil
			})
		}),
		do("unlock", "Check that ARC_CREDS_PASSWORD opens the file", nil, func(v *agefile.File, _ string) error {
			if os.Getenv("ARC_CREDS_PASSWORD") == "" {
				return agefile.ErrLocked
			}
			if _, err := v.All(); err != nil {
				return err
			}
			c.Print("the password is right")
			return nil
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
	service, key, ok := strings.Cut(name, ".")
	if !ok {
		return "", fmt.Errorf("%s is not set: export %s=…, or arc creds set --service env --key %s --value …", name, name, name)
	}
	return "", fmt.Errorf("no credential %s: arc creds set --service %s --key %s --value …", name, service, key)
}
