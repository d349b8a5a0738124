// Package agefile keeps an agent's secrets in one file that a password encrypts (age, scrypt), for hosts
// without a secret service.
//
//	secrets := agefile.New("/srv/agent/credentials.age", os.Getenv("AGENT_PASSWORD"))
//	agent, err := arc.Open(ctx, dir, arc.Host{Secrets: secrets.Get, …}, nil)
//
// A worker or tool that lists a name under Secrets gets the value; nothing else of the agent sees it. The
// file can be read with the age program, too: it holds one JSON object of strings.
package agefile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"filippo.io/age"
	"github.com/google/renameio/v2/maybe"
)

// Errors of a File. They may be wrapped.
var (
	ErrLocked   = errors.New("agefile: there is no password")
	ErrPassword = errors.New("agefile: the password is another's, or the file is damaged")
	ErrNotFound = errors.New("agefile: no such secret")
)

// File is an encrypted file of secrets by name. It may be used concurrently; but by one process at a time.
type File struct {
	// WorkFactor is the logarithm of the work that a guess at the password takes; 0: 18, about a second.
	WorkFactor int

	path, password string

	mu     sync.Mutex
	values map[string]string
	read   time.Time // when the file was changed that values are of
}

// New returns the file at path, which need not exist. Nothing is read before it is asked for.
func New(path, password string) *File { return &File{path: path, password: password} }

// Get returns a secret, as arc.Host.Secrets does. An unknown name is ErrNotFound.
func (f *File) Get(_ context.Context, name string) (string, error) {
	all, err := f.All()
	value, ok := all[name]
	if err == nil && !ok {
		err = fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	return value, err
}

// All returns a copy of all secrets. It is decrypted again only where the file has changed. A file that does
// not exist has none, and needs no password.
func (f *File) All() (map[string]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	values, err := f.load()
	return maps.Clone(values), err
}

func (f *File) load() (map[string]string, error) {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return map[string]string{}, nil
	case err != nil:
		return nil, err
	case info.ModTime().Equal(f.read):
		return f.values, nil
	case f.password == "":
		return nil, ErrLocked
	}
	identity, err := age.NewScryptIdentity(f.password)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(f.path)
	if err != nil {
		return nil, err
	}
	var values map[string]string
	r, err := age.Decrypt(bytes.NewReader(data), identity)
	if err == nil {
		err = json.NewDecoder(r).Decode(&values)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPassword, err)
	}
	f.values, f.read = values, info.ModTime()
	return values, nil
}

// Change has a function change the secrets, and replaces the file as a whole, unless it returns an error.
func (f *File) Change(change func(all map[string]string) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.password == "" {
		return ErrLocked
	}
	values, err := f.load()
	if err != nil {
		return err
	}
	values = maps.Clone(values)
	if err := change(values); err != nil {
		return err
	}
	recipient, err := age.NewScryptRecipient(f.password)
	if err != nil {
		return err
	}
	recipient.SetWorkFactor(cmp.Or(f.WorkFactor, 18))
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, recipient)
	if err != nil {
		return err
	}
	if err := errors.Join(json.NewEncoder(w).Encode(values), w.Close()); err != nil {
		return err
	}
	err = errors.Join(os.MkdirAll(filepath.Dir(f.path), 0o700),
		maybe.WriteFile(f.path, sealed.Bytes(), 0o600), os.Chmod(f.path, 0o600)) // else it keeps its mode
	f.read = time.Time{} // the next reader looks at the file
	return err
}
