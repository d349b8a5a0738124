package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// vault is the encrypted file of a folder: SERVICE.KEY and values, by the password in ARC_CREDS_PASSWORD. A service
// «env» has variables: their names are the keys alone.
type vault struct {
	file, password string
	read           time.Time // when the file was changed that values are of
	values         map[string]string
}

// workFactor makes guessing a password slow: opening takes about a second. Tests have another.
var workFactor = 18

func newVault(dir, password string) *vault {
	return &vault{file: filepath.Join(dir, ".arc", "credentials.age"), password: password}
}

// load returns the values; a vault without a file has none.
func (v *vault) load() (map[string]string, error) {
	info, err := os.Stat(v.file)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil || info.ModTime().Equal(v.read) {
		return v.values, err
	}
	if v.password == "" {
		return nil, errors.New("the credentials are locked: ARC_CREDS_PASSWORD is not set")
	}
	identity, err := age.NewScryptIdentity(v.password)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(v.file)
	if err != nil {
		return nil, err
	}
	r, err := age.Decrypt(bytes.NewReader(data), identity)
	if err != nil {
		return nil, errors.New("the credentials cannot be opened: ARC_CREDS_PASSWORD is another's, or the file is damaged")
	}
	values := map[string]string{}
	if data, err = io.ReadAll(r); err == nil {
		err = json.Unmarshal(data, &values)
	}
	if err == nil {
		v.values, v.read = values, info.ModTime()
	}
	return values, err
}

func (v *vault) save(values map[string]string) error {
	if v.password == "" {
		return errors.New("ARC_CREDS_PASSWORD is not set: it is the password of the file")
	}
	recipient, err := age.NewScryptRecipient(v.password)
	if err != nil {
		return err
	}
	recipient.SetWorkFactor(workFactor)
	var out bytes.Buffer
	w, err := age.Encrypt(&out, recipient)
	if err == nil {
		err = json.NewEncoder(w).Encode(values)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = writeFile(v.file, out.Bytes(), 0o600)
	}
	return err
}

// credentials are those of the folder, read again when they have changed.
func (a *app) credentials() (map[string]string, error) {
	a.vaultMu.Lock()
	defer a.vaultMu.Unlock()
	return a.vault.load()
}

func (c *command) credsCommands() []*cobra.Command {
	var service, key, val string
	flags := func(f *pflag.FlagSet) {
		f.StringVar(&service, "service", "", "whose it is; env: a variable")
		f.StringVar(&key, "key", "", "its name")
	}
	do := func(use, short string, flags func(*pflag.FlagSet), f func(v *vault, all map[string]string, name string) error) *cobra.Command {
		return c.leaf(local, use, short, func(context.Context, *app, []string) error {
			v := newVault(c.dir, os.Getenv("ARC_CREDS_PASSWORD"))
			all, err := v.load()
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(service+"."+key, "env.")
			if flags != nil && (service == "" || key == "") {
				return usage("--service and --key say which one")
			}
			return f(v, all, name)
		}, flags)
	}
	return []*cobra.Command{group(&cobra.Command{Use: "creds", Short: "Credentials, in an encrypted file", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }},
		do("list", "List the names of credentials", nil, func(_ *vault, all map[string]string, _ string) error {
			if c.json {
				return c.writeJSON(slices.Sorted(maps.Keys(all)))
			}
			for _, name := range slices.Sorted(maps.Keys(all)) {
				c.print(name)
			}
			return nil
		}),
		do("get", "Print the value of a credential", flags, func(_ *vault, all map[string]string, name string) error {
			value, ok := all[name]
			if !ok {
				return usage("no credential %s: see arc creds list", name)
			}
			c.print(value)
			return nil
		}),
		do("set", "Keep a credential; without --value it is read from standard input", func(f *pflag.FlagSet) {
			flags(f)
			f.StringVar(&val, "value", "", "at least 8 bytes")
		}, func(v *vault, all map[string]string, name string) error {
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
			all[name] = val
			return v.save(all)
		}),
		do("delete", "Remove a credential", flags, func(v *vault, all map[string]string, name string) error {
			if _, ok := all[name]; !ok {
				return usage("no credential %s: see arc creds list", name)
			}
			delete(all, name)
			return v.save(all)
		}),
		do("unlock", "Check that ARC_CREDS_PASSWORD opens the file", nil, func(v *vault, all map[string]string, _ string) error {
			if v.password == "" {
				return errors.New("ARC_CREDS_PASSWORD is not set")
			}
			c.print("the password is right")
			return nil
		}))}
}
