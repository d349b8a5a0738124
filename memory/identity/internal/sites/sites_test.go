package sites_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/identity/internal/sites"
)

// The host is read as a browser reads it.
func TestHostOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://www.Example.org:8080/a?b#c": "example.org", "example.org": "example.org", "http:example.org/x": "example.org",
		"https:\\\\example.org\\a": "example.org", "https://user:pw@example.org": "example.org", "//example.org": "example.org",
		"http://[::1]:80/": "::1", "例え。org": "例え.org", "": "", " ": "", "/path": "path",
	} {
		require.Equal(t, want, sites.HostOf(address), address)
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	domains := []string{"bank.example"}
	require.True(t, sites.Within("bank.example", domains) && sites.Within("my.bank.example", domains))
	require.False(t, sites.Within("notbank.example", domains) || sites.Within("", domains))
}

func TestOf(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, sites.Of("pkg.go.dev").Content)
	require.Equal(t, sites.Of("pkg.go.dev"), sites.Of("some.pkg.go.dev"))
	require.Empty(t, sites.Of("nothing.example").Content)
	require.Empty(t, sites.Of("").Content)
}
