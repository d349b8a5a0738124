package spelling_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/spelling"
)

// What decoders of other packages read as v is among the spellings of v.
func TestAllAreRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.StringN(1, 20, 40).Draw(t, "v")
		all := spelling.All(v)
		require.Equal(t, v, all[0])
		read := func(decode func(s string) (string, error)) {
			n := 0
			for _, s := range all[1:] {
				if back, err := decode(s); err == nil && back == v {
					n++
				}
			}
			require.NotZero(t, n, "%q of %q", v, all)
		}
		read(func(s string) (back string, err error) { return back, json.Unmarshal([]byte(`"`+s+`"`), &back) })
		read(func(s string) (string, error) { return strconv.Unquote(`"` + s + `"`) })
		read(func(s string) (string, error) { return html.UnescapeString(s), nil })
		read(url.PathUnescape)
		read(url.QueryUnescape)
		read(func(s string) (string, error) { b, err := hex.DecodeString(s); return string(b), err })
		before, behind := rapid.StringN(0, 5, 9).Draw(t, "before"), rapid.StringN(0, 5, 9).Draw(t, "behind")
		longer := base64.URLEncoding.EncodeToString([]byte(before + v + behind))
		found := false
		for _, s := range all[len(all)-3:] {
			found = found || strings.Contains(longer, s)
		}
		require.True(t, found, "%q in %q", all, longer)
	})
}
