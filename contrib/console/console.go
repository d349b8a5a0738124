// Package console executes the command lines of other processes in the one that has the store open. arc's
// default store is of one process: while a daemon has it, the program's own command line would be locked out.
// With console the daemon executes it, at the terminal where it was typed: output comes as it is printed,
// questions go to who typed, and Ctrl-C there cancels the command here.
//
//	func main() {
//		t, path := console.Local("MY_VAR"), console.Path(dir, "my.sock")
//		code, err := console.Forward(ctx, path, t) // where a daemon listens
//		if errors.Is(err, console.ErrNobody) {
//			code = execute(ctx, t) // opens the store; a daemon then calls console.Listen(path, execute)
//		}
//		os.Exit(code)
//	}
//
// The socket can be opened by its user alone. Not for Windows. [Screen] prints on such a terminal: tables
// that fit it, JSON, and a line that says what goes on.
package console

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/term"
)

// ErrNobody says that no process listens at a path.
var ErrNobody = errors.New("console: nobody listens")

// Terminal is a command line and where it was typed: here, or at the other end of a socket.
type Terminal struct {
	Args   []string          // without the program
	Cwd    string            // the working folder
	Env    map[string]string // the variables that commands read
	Width  int               // in cells; 80 where it is unknown
	Live   bool              // Err is a terminal: a line may be written over
	Piped  bool              // Out is none: what reads it wants lines whole
	Color  bool              // and both are, and NO_COLOR is not set
	Person string            // the name of who types; "": nobody can be asked

	Out io.Writer `json:"-"`
	Err io.Writer `json:"-"`

	// Ask prints a prompt to Err and returns the line that is typed then, without spaces around it; io.EOF:
	// there is none. nil: nobody can be asked.
	Ask func(ctx context.Context, prompt string) (string, error) `json:"-"`
}

// Local is the terminal of this process, with its arguments and those variables of its environment.
func Local(env ...string) *Terminal {
	t := &Terminal{Args: os.Args[1:], Out: os.Stdout, Err: os.Stderr, Width: 80, Env: map[string]string{}}
	t.Cwd, _ = os.Getwd()
	for _, name := range env {
		t.Env[name] = os.Getenv(name)
	}
	tty := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	t.Live = tty(os.Stderr) && os.Getenv("TERM") != "dumb"
	t.Piped = !tty(os.Stdout)
	t.Color = t.Live && !t.Piped && os.Getenv("NO_COLOR") == ""
	for _, f := range []*os.File{os.Stderr, os.Stdout} {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			t.Width = w
		}
	}
	if tty(os.Stdin) && t.Live {
		t.Person = "you"
		if u, err := user.Current(); err == nil {
			t.Person = u.Username
		}
		lines := make(chan string)
		read := sync.OnceFunc(func() {
			go func() { // ends with the input, or with the process
				defer close(lines)
				for r := bufio.NewScanner(os.Stdin); r.Scan(); {
					lines <- r.Text()
				}
			}()
		})
		t.Ask = asks(lines, func(prompt string) { read(); fmt.Fprint(t.Err, prompt) })
	}
	return t
}

// asks takes answers from a channel. A line that nobody waits for any more is that of the next question.
func asks(lines <-chan string, show func(prompt string)) func(context.Context, string) (string, error) {
	return func(ctx context.Context, prompt string) (string, error) {
		show(prompt)
		select {
		case line, ok := <-lines:
			if !ok {
				return "", io.EOF
			}
			return strings.TrimSpace(line), nil
		case <-ctx.Done():
			show("\n")
			return "", ctx.Err()
		}
	}
}

// Path is that of a folder's socket: in the folder, or where that is too long, in the user's cache, where
// nobody else can put one.
func Path(dir, name string) string {
	path := filepath.Join(dir, name)
	if cache, err := os.UserCacheDir(); err == nil && len(path) > 100 {
		sum := sha256.Sum256([]byte(path))
		path = filepath.Join(cache, fmt.Sprintf("%x-%s", sum[:8], name))
	}
	return path
}

// The two sides exchange JSON on one connection: the Terminal, then frames one way, the first before the
// command is begun, and replies the other. Its end is the end of both.
type frame struct {
	Out, Err string `json:",omitempty"`
	Ask      bool   `json:",omitempty"` // a line is wanted
	Exit     *int   `json:",omitempty"`
}

type reply struct {
	Line string
	End  bool
}

// Server executes the commands of other processes.
type Server struct {
	listener net.Listener
	busy     sync.WaitGroup
}

// Listen executes commands that come to the socket at path, each in a goroutine of its own, until Close. run
// returns the exit code; its context ends when who typed has gone. The caller has the store open, so that a
// socket which is there already is nobody's, and is replaced.
func Listen(path string, run func(ctx context.Context, t *Terminal) int) (*Server, error) {
	_ = cmp.Or(os.MkdirAll(filepath.Dir(path), 0o700), os.Remove(path)) // net.Listen says what is wrong
	mask := syscall.Umask(0o177)
	l, err := net.Listen("unix", path)
	syscall.Umask(mask)
	if err != nil {
		return nil, fmt.Errorf("console: the socket %s: %w", path, err)
	}
	s := &Server{listener: l}
	s.busy.Go(func() { // ends with Close
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			s.busy.Go(func() { serve(conn, run) })
		}
	})
	return s, nil
}

// Close lets no further command in, and waits for those under way.
func (s *Server) Close() error {
	err := s.listener.Close() // removes the socket
	s.busy.Wait()
	return err
}

func serve(conn net.Conn, run func(context.Context, *Terminal) int) {
	defer conn.Close()
	ctx, gone := context.WithCancel(context.Background())
	defer gone()
	var t Terminal
	in, out := json.NewDecoder(conn), json.NewEncoder(conn)
	if in.Decode(&t) != nil || out.Encode(frame{}) != nil {
		return
	}
	lines := make(chan string, 16)
	go func() { // ends with the connection
		defer gone()
		var r reply
		for in.Decode(&r) == nil && !r.End {
			select {
			case lines <- r.Line:
			default: // nobody asks
			}
		}
		if r.End {
			close(lines)
			_, _ = io.Copy(io.Discard, conn)
		}
	}()
	var mu sync.Mutex
	send := func(f frame) {
		mu.Lock()
		defer mu.Unlock()
		_ = out.Encode(f) // the context tells that the other side has gone
	}
	t.Out, t.Err = writer(func(p string) { send(frame{Out: p}) }), writer(func(p string) { send(frame{Err: p}) })
	if t.Person != "" {
		t.Ask = asks(lines, func(prompt string) { send(frame{Err: prompt, Ask: true}) })
	}
	code := 1
	defer func() {
		if p := recover(); p != nil { // it ends the command, and not this process
			send(frame{Err: fmt.Sprintf("panic: %v\n%s", p, debug.Stack())})
		}
		send(frame{Exit: &code})
	}()
	code = run(ctx, &t)
}

type writer func(string)

func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// Forward has the process that listens at path execute a command line, and returns its exit code: 1 beside an
// error. ErrNobody: there is none, and nothing was executed.
func Forward(ctx context.Context, path string, t *Terminal) (code int, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return 1, cmp.Or(ctx.Err(), fmt.Errorf("%w: %w", ErrNobody, err))
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	out := json.NewEncoder(conn)
	if err := out.Encode(t); err != nil {
		return 1, cmp.Or(ctx.Err(), fmt.Errorf("%w: %w", ErrNobody, err))
	}
	ctx, done := context.WithCancel(ctx)
	defer done()
	wanted := make(chan struct{}, 16)
	defer close(wanted)
	go func() { // ends with the command
		for range wanted {
			line, err := t.Ask(ctx, "")
			_ = out.Encode(reply{line, err != nil}) // the frames tell that the other side has gone
		}
	}()
	in := json.NewDecoder(conn)
	for n := 0; ; n++ {
		var f frame
		if err := in.Decode(&f); n == 0 && err != nil { // it ends just now
			return 1, cmp.Or(ctx.Err(), fmt.Errorf("%w: %w", ErrNobody, err))
		} else if err != nil {
			if t.Live {
				fmt.Fprint(t.Err, wipe) // what the other side has drawn
			}
			return 1, cmp.Or(ctx.Err(), fmt.Errorf("console: who listens at %s is gone: %w", path, err))
		}
		_, wrong := io.WriteString(t.Out, f.Out)
		_, also := io.WriteString(t.Err, f.Err)
		if err := cmp.Or(wrong, also); err != nil {
			return 1, err
		}
		if f.Exit != nil {
			return *f.Exit, nil
		}
		if f.Ask {
			select {
			case wanted <- struct{}{}:
			default: // a line is waited for already
			}
		}
	}
}
