package selector_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal/internal/selector"
)

func parse(t *testing.T, s string) selector.Place {
	t.Helper()
	p, err := selector.Parse(s)
	require.NoError(t, err, s)
	return p
}

func TestSelectorsHaveNoWildcards(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"domains.*.data.x", "domains.m.data.*", "domains.m.data.jobs[*].name"} {
		_, err := selector.Parse(s)
		require.Error(t, err, s)
	}
	for _, s := range []string{`domains.m.data["*"]`, "domains.größe.data.温度", `domains.m.data["a.b"].c`} {
		parse(t, s)
	}
}

// What is put at a place is found there, nothing else changes, and what was there before
// stays as it was.
func TestPut(t *testing.T) {
	t.Parallel()
	data := map[string]any{"l": []any{1.0, map[string]any{"x": 2.0}}, "n": 3.0}
	for s, want := range map[string]any{
		"domains.m.data.n":      map[string]any{"l": []any{1.0, map[string]any{"x": 2.0}}, "n": "v"},
		"domains.m.data.n.deep": map[string]any{"l": []any{1.0, map[string]any{"x": 2.0}}, "n": map[string]any{"deep": "v"}},
		"domains.m.data.l[1].x": map[string]any{"l": []any{1.0, map[string]any{"x": "v"}}, "n": 3.0},
		"domains.m.data":        "v",
	} {
		p := parse(t, s)
		got, ok := p.Put(data, "v")
		require.True(t, ok)
		require.Equal(t, want, got)
		v, found := p.In(got)
		require.True(t, found)
		require.Equal(t, "v", v)
	}
	for _, s := range []string{"domains.m.data.l.2", "domains.m.data.l.x", "domains.m.data.l.01", "domains.m.data.l.-1"} {
		_, ok := parse(t, s).Put(data, "v")
		require.False(t, ok, s)
		_, found := parse(t, s).In(data)
		require.False(t, found, s)
	}
	require.Equal(t, map[string]any{"l": []any{1.0, map[string]any{"x": 2.0}}, "n": 3.0}, data)
}

// What is read and put at places is as in the whole, and what lies beside them is left out.
func TestOnly(t *testing.T) {
	t.Parallel()
	beside := map[string]any{"l": []any{1.0, 2.0}, "n": 3.0, "big": []any{"x"}}
	data := map[string]any{"o": map[string]any{"x": beside, "y": 1.0, "z": nil}, "l": []any{beside, 5.0}, "more": beside}
	var all []selector.Place
	for _, s := range []string{"o.x.n", "o.x.none.deep", "o.z", "l[0].n", "l[7]", "none", "o.y.deep"} {
		all = append(all, parse(t, "domains.m.data."+s))
	}
	part := selector.Only(data, all)
	require.Equal(t, map[string]any{
		"o": map[string]any{"x": map[string]any{"n": 3.0}, "y": 1.0, "z": nil}, "l": data["l"],
	}, part)
	require.Equal(t, data, selector.Only(data, append(all, parse(t, "domains.m.data"))))
	require.Nil(t, selector.Only(nil, all))
	for _, p := range all {
		whole, ok := p.Put(data, "v")
		less, same := p.Put(part, "v")
		require.Equal(t, ok, same, p)
		for _, q := range all {
			v, found := q.In(whole)
			w, found2 := q.In(less)
			require.Equal(t, []any{found, v}, []any{found2, w}, "%s after %s", q, p)
		}
	}
}

func TestOverlaps(t *testing.T) {
	t.Parallel()
	o, x, y := parse(t, "domains.m.data.o"), parse(t, "domains.m.data.o.x"), parse(t, "domains.m.data.o.y")
	require.True(t, x.Within(o) && x.Overlaps(o) && o.Overlaps(x) && x.Overlaps(x))
	require.False(t, o.Within(x) || x.Overlaps(y) || x.Overlaps(parse(t, "domains.n.data.o.x")))
}

// A selector that is read is written as one that means the same, and so is its effect.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"domains.m.data.x", `domains["a.b"].data["x y"][0].z`, "domains.m.data", "x", `domains.m.data["\u00e9"]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := selector.Parse(s)
		if err != nil {
			require.Zero(t, p)
			return
		}
		again, err := selector.Parse(p.String())
		require.NoError(t, err)
		require.Equal(t, p, again)
		again, err = selector.OfEffect(p.Effect())
		require.NoError(t, err)
		require.Equal(t, p, again)
		require.True(t, p.Overlaps(p))
		_, err = selector.OfEffect(reason.Effect{Domain: p.Domain, Path: "x" + p.Effect().Path})
		require.Error(t, err)
	})
}
