package redact

import (
	"bytes"
	"io"
)

// Lines returns a Writer that passes what is written on to w, sanitised as Prose by whole lines, and by whole blocks
// of a private key. What has no end for 64 KiB is passed on in pieces. Close passes on the rest, and leaves w open.
// The Writer is for one goroutine.
func (s *Sanitizer) Lines(w io.Writer) io.WriteCloser { return &lines{s: s, w: w} }

type lines struct {
	s    *Sanitizer
	w    io.Writer
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	n := bytes.LastIndexByte(l.rest, '\n') + 1
	if key := bytes.LastIndex(l.rest[:n], []byte("-----BEGIN ")); key >= 0 && !bytes.Contains(l.rest[key:n], []byte("-----END ")) {
		n = key
	}
	if len(l.rest)-n > 64<<10 {
		n = len(l.rest)
	}
	if err := l.pass(n); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (l *lines) Close() error { return l.pass(len(l.rest)) }

// pass passes the first n bytes on.
func (l *lines) pass(n int) error {
	_, err := io.WriteString(l.w, l.s.Prose(string(l.rest[:n])))
	l.rest = append(l.rest[:0], l.rest[n:]...)
	return err
}
