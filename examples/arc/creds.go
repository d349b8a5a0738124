package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"filippo.io/age"
	"github.com/zalando/go-keyring"
	"golang.org/x/term"
)

// vault keeps credentials by SERVICE/KEY: in the keyring of the system or, where there is
// none, in a file that age encrypts by a passphrase. A file that is there counts, and so
// does ARC_CREDS_PASSWORD.
type vault struct {
	file     string
	password func() (string, error)
}

const (
	passwordVariable = "ARC_CREDS_PASSWORD"
	ringName         = "arc"
	ringIndex        = "arc:names" // a keyring cannot list what it has
)

// vault returns the credentials of the user. ARC_CREDS_FILE says where the file lies.
func (a *app) vault() (*vault, error) {
	dir, err := os.UserConfigDir()
	file := cmp.Or(os.Getenv("ARC_CREDS_FILE"), filepath.Join(dir, "arc", "creds.age"))
	if dir == "" && err != nil {
		return &vault{}, err
	}
	return &vault{file, func() (string, error) {
		if word := os.Getenv(passwordVariable); word != "" {
			return word, nil
		}
		if !a.person {
			return "", misuse("the passphrase of %s belongs into %s", file, passwordVariable)
		}
		return a.hidden("passphrase of " + file + ":")
	}}, nil
}

// hidden reads a line that the terminal does not show, or the input's first line.
func (a *app) hidden(question string) (string, error) {
	if f, ok := a.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		was, err := term.GetState(int(f.Fd()))
		if err != nil {
			return "", err
		}
		fmt.Fprint(a.err, question+" ")
		word, err := unlessOver(a.ctx, func() ([]byte, error) { return term.ReadPassword(int(f.Fd())) })
		fmt.Fprintln(a.err)
		return string(word), errors.Join(err, term.Restore(int(f.Fd()), was))
	}
	text, err := io.ReadAll(io.LimitReader(&input{a.ctx, a.in}, 64<<10))
	if err == nil && len(text) == 0 {
		err = misuse("%s say it on standard input", question)
	}
	return strings.TrimRight(string(text), "\r\n"), err
}

// inFile reports whether the file counts.
func (v *vault) inFile() bool {
	_, err := os.Stat(v.file)
	if err == nil || os.Getenv(passwordVariable) != "" {
		return true
	}
	_, err = keyring.Get(ringName, ringIndex)
	return err != nil && !errors.Is(err, keyring.ErrNotFound)
}

// read returns all that the file has, and the passphrase.
func (v *vault) read() (all map[string]string, word string, err error) {
	all = map[string]string{}
	sealed, err := os.ReadFile(v.file)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, "", err
	}
	if word, err = v.password(); err != nil || missing {
		return all, word, err
	}
	id, err := age.NewScryptIdentity(word)
	if err != nil {
		return nil, "", err
	}
	r, err := age.Decrypt(bytes.NewReader(sealed), id)
	if err != nil {
		return nil, "", fmt.Errorf("the passphrase does not open %s, or the file is damaged: %w", v.file, err)
	}
	text, err := io.ReadAll(r)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	return all, word, err
}

// unsealed returns all that the file has. Without a file there is no passphrase to ask for.
func (v *vault) unsealed() (map[string]string, error) {
	if _, err := os.Stat(v.file); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	all, _, err := v.read()
	return all, err
}

// change rewrites the file. What another process has written meanwhile is changed in its
// turn: a passphrase takes long to try.
func (v *vault) change(fn func(map[string]string)) error {
	for {
		was, err := os.ReadFile(v.file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		sealed, err := v.changed(fn)
		if err != nil {
			return err
		}
		if now, err := os.ReadFile(v.file); err != nil || bytes.Equal(was, now) {
			return replaceFile(v.file, sealed, 0o600)
		}
	}
}

// changed returns what the file is to be.
func (v *vault) changed(fn func(map[string]string)) ([]byte, error) {
	all, word, err := v.read()
	if err != nil {
		return nil, err
	}
	fn(all)
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	to, err := age.NewScryptRecipient(word)
	if err != nil {
		return nil, err
	}
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, to)
	if err == nil {
		_, err = w.Write(text)
		err = errors.Join(err, w.Close(), os.MkdirAll(filepath.Dir(v.file), 0o700))
	}
	if err != nil {
		return nil, err
	}
	return sealed.Bytes(), nil
}

// names lists what there is, without a value.
func (v *vault) names() ([]string, error) {
	if v.inFile() {
		all, err := v.unsealed()
		return slices.Sorted(maps.Keys(all)), err
	}
	text, err := keyring.Get(ringName, ringIndex)
	if errors.Is(err, keyring.ErrNotFound) {
		return nil, nil
	}
	var names []string
	if err == nil {
		err = json.Unmarshal([]byte(text), &names)
	}
	return names, err
}

// value returns a credential.
func (v *vault) value(name string) (string, error) {
	if !v.inFile() {
		value, err := keyring.Get(ringName, name)
		if errors.Is(err, keyring.ErrNotFound) {
			err = refused("no credential is called %s: arc creds set", name)
		}
		return value, err
	}
	all, err := v.unsealed()
	if _, ok := all[name]; err == nil && !ok {
		err = refused("no credential is called %s: arc creds set", name)
	}
	return all[name], err
}

// put stores a credential; "" removes it.
func (v *vault) put(name, value string) error {
	if v.inFile() {
		return v.change(func(all map[string]string) {
			if all[name] = value; value == "" {
				delete(all, name)
			}
		})
	}
	names, err := v.names()
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == name })
	if value == "" {
		err = keyring.Delete(ringName, name)
	} else {
		err = keyring.Set(ringName, name, value)
		names = append(names, name)
	}
	if err != nil {
		return err
	}
	slices.Sort(names)
	text, err := json.Marshal(names)
	if err != nil {
		return err
	}
	return keyring.Set(ringName, ringIndex, string(text))
}

// apiKey is the key of a provider: the variable's, or that of SERVICE/api-key. A server
// at home needs none, and gets a word.
func (a *app) apiKey(service, variable string) string {
	key := os.Getenv(variable)
	v, err := a.vault()
	if _, missing := os.Stat(v.file); key == "" && err == nil && (missing == nil || !v.inFile()) {
		key, _ = v.value(service + "/api-key") // without one the provider says so
	}
	return cmp.Or(key, "none")
}

// allowed returns the credentials that commands of arc.yaml may read, by name.
func (a *app) allowed() (map[string]string, error) {
	all := map[string]string{}
	for _, w := range a.config.Workers {
		for _, name := range w.Creds {
			v, err := a.vault()
			if err != nil {
				return nil, err
			}
			if all[name] == "" {
				if all[name], err = v.value(name); err != nil {
					return nil, err
				}
			}
		}
	}
	return all, nil
}

var noName = regexp.MustCompile(`[^A-Z0-9]+`)

// variable is the name of a credential in the environment: github/token is GITHUB_TOKEN.
func variable(name string) string { return noName.ReplaceAllString(strings.ToUpper(name), "_") }

type credsCmd struct {
	List   credsListCmd   `cmd:"" default:"1" help:"The names of credentials, without a value."`
	Get    credsGetCmd    `cmd:"" help:"Print one."`
	Set    credsSetCmd    `cmd:"" help:"Store one: the value is read without being shown, or from standard input."`
	Delete credsDeleteCmd `cmd:"" help:"Remove one."`
	Unlock credsUnlockCmd `cmd:"" help:"See whether the passphrase opens the file."`
}

type credName struct {
	Service string `help:"The service, without a /." required:"" placeholder:"NAME"`
	Key     string `help:"The key." required:"" placeholder:"NAME"`
}

func (c credName) String() string { return c.Service + "/" + c.Key }

// Validate keeps one name from being that of two: a/b and c would be a and b/c.
func (c credName) Validate() error {
	if strings.Contains(c.Service, "/") {
		return fmt.Errorf("the service %q has a /, behind which its key begins", c.Service)
	}
	return nil
}

type credsListCmd struct{}

// Run implements the command.
func (credsListCmd) Run(a *app, v *vault) error {
	names, err := v.names()
	if err != nil {
		return err
	}
	return listed(
		a.screen, names, []string{"credential", "in commands"}, func(n string) []string { return []string{n, variable(n)} },
	)
}

type credsGetCmd struct{ credName }

// Run implements the command.
func (c *credsGetCmd) Run(a *app, v *vault) error {
	value, err := v.value(c.String())
	if err != nil {
		return err
	}
	return a.present(value, func() { a.say("%s", value) })
}

type credsSetCmd struct{ credName }

// Run implements the command.
func (c *credsSetCmd) Run(a *app, v *vault) error {
	value, err := a.hidden("value of " + c.String() + ":")
	if err != nil {
		return err
	}
	if value == "" {
		return misuse("the value is empty")
	}
	return a.did(v.put(c.String(), value), "kept", c.String())
}

type credsDeleteCmd struct{ credName }

// Run implements the command.
func (c *credsDeleteCmd) Run(a *app, v *vault) error {
	if _, err := v.value(c.String()); err != nil {
		return err
	}
	return a.did(v.put(c.String(), ""), "deleted", c.String())
}

type credsUnlockCmd struct{}

// Run implements the command.
func (credsUnlockCmd) Run(a *app, v *vault) error {
	if !v.inFile() {
		a.say("the keyring of the system keeps them: nothing is to be unlocked")
		return nil
	}
	all, _, err := v.read()
	if err == nil {
		a.say("%s", plural(len(all), "credential", "credentials"))
	}
	return err
}
