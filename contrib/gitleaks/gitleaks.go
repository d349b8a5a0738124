// Package gitleaks finds secrets by the rules of gitleaks, for redact.Options.Find.
//
//	find, err := gitleaks.New()
//	…
//	clean := redact.New(&redact.Options{Find: find})
//
// gitleaks has 222 rules. They are made for files of code, and cost some 20 times the Sanitizer's own time.
// Package redact has the forms of nearly all issuers that they know; they add rules by names of variables.
package gitleaks

import (
	"fmt"

	"github.com/zricethezav/gitleaks/v8/detect"
)

// New returns a function that returns the secrets in a text by gitleaks' default rules. A comment
// "gitleaks:allow" in the text allows nothing. The function may be called concurrently.
//
// New reads the rules through the global configuration of the process (spf13/viper): call it once, at first.
func New() (func(text string) []string, error) {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return nil, fmt.Errorf("gitleaks: %w", err)
	}
	d.IgnoreGitleaksAllow = true // the text is a stranger's
	return func(text string) []string {
		var secrets []string
		for _, f := range d.DetectString(text) {
			secrets = append(secrets, f.Secret)
		}
		return secrets
	}, nil
}
