package repair

import "slices"

// standardPackages maps the name of a package of the standard library to the
// import paths that carry it, the likelier one first.
var standardPackages = map[string][]string{
	"atomic":    {"sync/atomic"},
	"base64":    {"encoding/base64"},
	"big":       {"math/big"},
	"binary":    {"encoding/binary"},
	"bits":      {"math/bits"},
	"bufio":     {"bufio"},
	"bytes":     {"bytes"},
	"cmp":       {"cmp"},
	"context":   {"context"},
	"csv":       {"encoding/csv"},
	"errors":    {"errors"},
	"exec":      {"os/exec"},
	"filepath":  {"path/filepath"},
	"fmt":       {"fmt"},
	"fs":        {"io/fs"},
	"hash":      {"hash"},
	"heap":      {"container/heap"},
	"hex":       {"encoding/hex"},
	"html":      {"html"},
	"http":      {"net/http"},
	"io":        {"io"},
	"iter":      {"iter"},
	"json":      {"encoding/json"},
	"list":      {"container/list"},
	"log":       {"log"},
	"maps":      {"maps"},
	"math":      {"math"},
	"md5":       {"crypto/md5"},
	"net":       {"net"},
	"os":        {"os"},
	"path":      {"path"},
	"rand":      {"math/rand/v2", "math/rand", "crypto/rand"},
	"reflect":   {"reflect"},
	"regexp":    {"regexp"},
	"runtime":   {"runtime"},
	"sha256":    {"crypto/sha256"},
	"slices":    {"slices"},
	"slog":      {"log/slog"},
	"sort":      {"sort"},
	"strconv":   {"strconv"},
	"strings":   {"strings"},
	"sync":      {"sync"},
	"tabwriter": {"text/tabwriter"},
	"template":  {"text/template", "html/template"},
	"time":      {"time"},
	"unicode":   {"unicode"},
	"url":       {"net/url"},
	"utf8":      {"unicode/utf8"},
	"xml":       {"encoding/xml"},
}

func isStandard(path string) bool {
	for _, paths := range standardPackages {
		if slices.Contains(paths, path) {
			return true
		}
	}
	return false
}
