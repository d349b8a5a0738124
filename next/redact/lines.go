package redact

import (
	"bytes"
	"io"
	"strings"
)

// maxLine bounds what is kept of a line, or of a private key, before it is passed on.
const maxLine = 64 << 10

// Lines returns a Writer that sanitises what is written as Prose and passes it on to w by whole lines, and private
// keys by whole blocks. Of a line of over 64 KiB, pieces are passed on. Close passes on what is left; it does not
// close w. The Writer is for one goroutine.
func (s *Sanitizer) Lines(w io.Writer) io.WriteCloser { return &lines{s: s, w: w} }

type lines struct {
	s    *Sanitizer
	w    io.Writer
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	if begin := strings.LastIndex(string(l.rest[:end]), "-----BEGIN "); begin >= 0 &&
		!bytes.Contains(l.rest[begin:end], []byte("-----END ")) {
		end = begin
	}
	if len(l.rest)-end > maxLine {
		end = max(bytes.LastIndexAny(l.rest, " \t\n")+1, len(l.rest)-maxLine)
	}
	if err := l.pass(end); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (l *lines) Close() error { return l.pass(len(l.rest)) }

// pass passes the first n bytes on.
func (l *lines) pass(n int) error {
	if n == 0 {
		return nil
	}
	_, err := io.WriteString(l.w, l.s.Prose(string(l.rest[:n])))
	l.rest = append(l.rest[:0], l.rest[n:]...)
	return err
}
