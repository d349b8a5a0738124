package benchmarks

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/redact"
)

var (
	redactCases    = flag.String("redact.cases", "", "a file of cases, one JSON object a line: kind, rule, text, secret")
	redactPart     = flag.String("redact.part", "", "dev or held: half of the cases, split by rule; all without")
	redactByText   = flag.Bool("redact.bytext", false, "split by text: for suites of few rules")
	redactOrdinary = flag.String("redact.ordinary", "", "directories of ordinary text, separated by commas")
)

// TestRedactCases counts how many secrets of public test suites are gone from
// their texts, and how many of the suites' negatives are changed.
func TestRedactCases(t *testing.T) {
	if *redactCases == "" {
		t.Skip("no -redact.cases")
	}
	f, err := os.Open(*redactCases)
	require.NoError(t, err)
	defer f.Close()
	var san redact.Sanitizer
	var found, secrets, changed, negatives int
	missed, seen := map[string]int{}, map[string]bool{}
	for lines := scanner(f); lines.Scan(); {
		var c struct{ Kind, Rule, Text, Secret string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		if seen[c.Kind+c.Text] {
			continue
		}
		seen[c.Kind+c.Text] = true
		if *redactPart != "" && *redactPart != part(c.Kind, c.Rule, c.Text) {
			continue
		}
		clean := san.Sanitize(c.Text)
		switch {
		case c.Kind == "negative":
			if negatives++; clean != c.Text {
				changed++
			}
		case clean != c.Text && (c.Secret == "" || !strings.Contains(clean, c.Secret)):
			secrets++
			found++
		default:
			secrets++
			missed[c.Rule]++
		}
	}
	rules := make([]string, 0, len(missed))
	for rule := range missed {
		rules = append(rules, rule)
	}
	slices.SortFunc(rules, func(a, b string) int { return missed[b] - missed[a] })
	t.Logf("%d of %d secrets are gone, %.1f %%; %d of %d negatives are changed, %.1f %%", found, secrets,
		100*float64(found)/float64(secrets), changed, negatives, 100*float64(changed)/float64(max(1, negatives)))
	t.Logf("missed most: %v", rules[:min(20, len(rules))])
}

// part is the half that a case belongs to, by a seeded hash. Gitleaks' generic rule has most of
// its negatives, which are nothing like each other.
func part(kind, rule, text string) string {
	h := fnv.New32a()
	if *redactByText || kind == "negative" && rule == "generic-api-key" {
		rule = text
	}
	fmt.Fprintf(h, "13/%s", rule)
	return []string{"dev", "held"}[h.Sum32()>>7&1]
}

// TestRedactOrdinary counts the lines of ordinary text that are changed.
func TestRedactOrdinary(t *testing.T) {
	if *redactOrdinary == "" {
		t.Skip("no -redact.ordinary")
	}
	kinds := strings.Fields(".go .md .txt .log .c .h .py .js .ts .yaml .yml .json .jsonl .html .css .sh .rst .toml .csv")
	var san redact.Sanitizer
	lines, changed := 0, 0
	for dir := range strings.SplitSeq(*redactOrdinary, ",") {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains(kinds, filepath.Ext(path)) ||
				strings.Contains(path, "testdata") || strings.Contains(path, "_test.") || strings.Contains(path, "/crypto/") {
				return err
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			for s := scanner(f); s.Scan(); lines++ {
				if san.Sanitize(s.Text()) != s.Text() {
					changed++
				}
			}
			return nil
		})
		require.NoError(t, err)
	}
	t.Logf("%d of %d lines are changed, %.4f %%", changed, lines, 100*float64(changed)/float64(max(1, lines)))
}

// scanner reads lines of up to 16 MiB.
func scanner(f *os.File) *bufio.Scanner {
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	return s
}
