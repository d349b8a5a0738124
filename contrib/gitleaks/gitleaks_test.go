package gitleaks_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/contrib/gitleaks"
	"github.com/arc-learn/arc/redact"
)

func TestFind(t *testing.T) {
	find, err := gitleaks.New()
	require.NoError(t, err)
	clean := redact.New(&redact.Options{Find: find})
	// A rule by the variable's name, which package redact does not have.
	const secret = "cafe" + "babe:deadbeef"
	for _, text := range []string{
		"BUNDLE_ENTERPRISE__CONTRIBSYS__COM: " + secret,
		"BUNDLE_ENTERPRISE__CONTRIBSYS__COM: " + secret + " # gitleaks:allow",
	} {
		require.Contains(t, redact.New(nil).Prose(text), secret)
		require.NotContains(t, clean.Prose(text), secret)
	}
	const plain = "The build of 14:30 took 12 minutes, see https://ci.example.com/runs/4711."
	require.Equal(t, plain, clean.Prose(plain))
}

func TestConcurrently(t *testing.T) {
	find, err := gitleaks.New()
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				find("aws_access_key_id = AKIA" + "Z7Q2K4M6P3R5T7V2")
			}
		})
	}
	wg.Wait()
	require.Empty(t, find(""))
}
