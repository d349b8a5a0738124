package redact_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/next/redact"
)

func TestProse(t *testing.T) {
	s := redact.New(nil)
	for _, c := range [][2]string{
		{"postgres://svc:Tr0ub4#dorK9x@db:5432/app", "postgres://svc:[redacted:url-password]@db:5432/app"},
		{"svc:pw@tcp(127.0.0.1:3306)/app", "svc:[redacted:url-password]@tcp(127.0.0.1:3306)/app"},
		{"Set-Cookie: sessionid=38afes7a8; Path=/", "Set-Cookie: sessionid=[redacted:cookie]; Path=/"},
		{"%wheel ALL=(ALL) NOPASSWD: ALL", "%wheel ALL=(ALL) NOPASSWD: ALL"},
		{"order no. 4539 1488 0343 6467", "order no. 4539 1488 0343 6467"},
	} {
		require.Equal(t, c[1], s.Prose(c[0]))
	}
}
