// Package lint has tests of the rules that no compiler checks: which package may import which, and what no test calls.
package lint
