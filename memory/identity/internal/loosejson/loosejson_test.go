package loosejson_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/identity/internal/loosejson"
)

type thing struct {
	Name  string            `json:"name,omitempty"`
	Count int               `json:"count"`
	Share float64           `json:"share"`
	At    time.Time         `json:"at"`
	List  []json.RawMessage `json:"list"`
	Tags  []string          `json:"tags"`
	Extra loosejson.Fields  `json:"extra"`
}

// What can be taken is, and the rest is kept as it came.
func TestRead(t *testing.T) {
	t.Parallel()
	v := thing{Share: 9, Count: -1}
	o, ok := loosejson.Read([]byte(`{"name":"a","count":"7","share":"many","at":"2024-05-06","list":1,"tags":[1],"new":{}}`), &v)
	require.True(t, ok)
	require.Equal(t, thing{
		Name: "a", Count: 7, Share: 9, At: time.Date(2024, 5, 6, 0, 0, 0, 0, time.UTC), List: []json.RawMessage{[]byte("1")},
	}, v)
	require.Equal(t, loosejson.Fields{"new": []byte("{}")}, o.Left)
	require.Equal(t, loosejson.Fields{"share": []byte(`"many"`), "tags": []byte("[1]")}, o.Damaged)
	for _, day := range []int{6, 7} {
		v.At = time.Date(2024, 5, day, 0, 0, 0, 0, time.UTC)
		o.Past("at", &v.At, time.Date(2024, 5, 6, 0, 0, 0, 0, time.UTC))
		require.Equal(t, day > 6, v.At.IsZero() && o.Damaged["at"] != nil)
	}
	o.Clamp("count", &v.Share, 0, 1)
	loosejson.Expect(&o, "name", &v.Name, func(s string) bool { return s == "b" })
	require.Equal(t, 1.0, v.Share)
	require.Empty(t, v.Name)
	require.Equal(t, `"7"`, string(o.Damaged["count"]))
	require.Equal(t, `"a"`, string(o.Damaged["name"]))
	for _, none := range []string{"[]", "7", "", "{"} {
		_, ok = loosejson.Read([]byte(none), &v)
		require.False(t, ok, none)
	}
	o, ok = loosejson.Read([]byte(`{"name":null,"count":-3}`), &v)
	require.True(t, ok)
	require.Equal(t, loosejson.Fields{"count": []byte("-3")}, o.Damaged)
}

func TestTime(t *testing.T) {
	t.Parallel()
	want := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	for _, raw := range []string{
		`"2024-05-06T07:08:09Z"`, `"2024-05-06 07:08:09"`, `1714979289`, `1714979289000`, `"Mon May 06 2024 07:08:09 GMT+0000 (UTC)"`,
		`" Mon, 06 May 2024 07:08:09 UTC"`, `"2024-05-06T09:08:09+02:00"`,
	} {
		got, ok := loosejson.Time([]byte(raw))
		require.True(t, ok, raw)
		require.Equal(t, want, got, raw)
	}
	for _, raw := range []string{`"05/06/2024"`, `"soon"`, `-1`, `1e300`, `{}`, `"0001-01-01T00:00:00Z"`, `"9999-12-31T23:59:59-01:00"`} {
		_, ok := loosejson.Time([]byte(raw))
		require.False(t, ok, raw)
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	f := loosejson.FieldsOf([]byte(`{"a":"x","b":[1,2],"c":3,"d":null}`))
	require.Equal(t, "x", loosejson.Pluck(f, "a"))
	require.Empty(t, loosejson.Pluck(f, "b"))
	require.NotContains(t, f, "a")
	require.Len(t, loosejson.Elements(f["b"]), 2)
	require.Len(t, loosejson.Elements(f["c"]), 1)
	require.Empty(t, loosejson.Elements(f["d"]))
	require.Equal(t, []string{"x", "3"}, []string{loosejson.Plain([]byte(`"x"`)), loosejson.Plain(f["c"])})
	require.Equal(t, loosejson.Fields{"a": []byte("1"), "b": []byte("3")},
		loosejson.Union(loosejson.Fields{"a": []byte("1")}, loosejson.Fields{"a": []byte("2"), "b": []byte("3")}))
}
