package actr_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/actr"
)

// The files of testdata name their sources. Those of ACT-R give traces and
// tables that its tutorials publish, those of Soar the numbers of its unit
// tests.

// each runs fn with each case of a file of testdata, as subtests.
func each[In, Want any](t *testing.T, file string, fn func(*testing.T, In, Want)) {
	var f struct {
		Cases []struct {
			Name  string
			Input In
			Want  Want
		}
	}
	read(t, file, &f)
	require.NotEmpty(t, f.Cases)
	for _, c := range f.Cases {
		t.Run(c.Name, func(t *testing.T) { fn(t, c.Input, c.Want) })
	}
}

func read(t *testing.T, file string, v any) {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, v))
}

// ages are a list, or n uses at regular intervals within 1000 s.
type ages []float64

func (a *ages) UnmarshalJSON(b []byte) error {
	if string(b) == `"i*1000/n for i in 1..n (most recent first)"` {
		return nil // made when n is known
	}
	return json.Unmarshal(b, (*[]float64)(a))
}

func regular(n int) []float64 {
	var out []float64
	for i := range n {
		out = append(out, float64(i+1)*1000/float64(n))
	}
	return out
}

// exact is the base level of uses whose ages are all known.
func exact(ages []float64, d float64) float64 {
	return actr.Hybrid(ages, len(ages), ages[len(ages)-1], d)
}

// spread is Σ (W/n)·S over the associations of n sources that share w.
func spread(w float64, associations ...float64) float64 {
	sum := 0.0
	for _, s := range associations {
		sum += w * s / float64(len(associations))
	}
	return sum
}

func TestBaseLevelCases(t *testing.T) {
	type in struct {
		Formula  string
		N, K     int
		Lifetime float64 `json:"lifetime_s"`
		Ages     ages    `json:"ages_s"`
		D        float64
	}
	type want struct {
		B, Tol float64
		Exact  *float64
	}
	each(t, "actr-baselevel.json", func(t *testing.T, in in, want want) {
		all := []float64(in.Ages)
		if all == nil && in.Lifetime == 0 {
			all = regular(in.N)
		}
		life := in.Lifetime
		if life == 0 {
			life = all[len(all)-1]
		}
		var got float64
		switch {
		case strings.HasPrefix(in.Formula, "exact"):
			got = exact(all, in.D)
		case in.Formula == "optimized":
			got = actr.Optimized(in.N, life, in.D)
		default:
			got = actr.Hybrid(all[:min(in.K, in.N)], in.N, life, in.D)
		}
		want.Tol = max(want.Tol, 6e-9) // eight decimals are given
		require.InDelta(t, want.B, got, want.Tol)
		if want.Exact != nil && all != nil {
			require.InDelta(t, *want.Exact, exact(all, in.D), want.Tol)
		}
	})
}

// logProbability turns a base level into what Soar's semantic memory calls so:
// ln(s/(1+s)) with s = e^b. Soar's manual prints ln(s), which is b itself; the
// 9.6 kernel (lti_calc_base) and its unit tests have this form.
func logProbability(b float64) float64 { return b - math.Log1p(math.Exp(b)) }

func TestSMemCases(t *testing.T) {
	type in struct {
		Ages, Recent []float64
		RecentAges   []float64 `json:"recent_ages"`
		N            int
		Tn           float64 `json:"t_n"`
		D            float64
	}
	type want struct {
		Activation *float64
		Manual     float64 `json:"BLA_manual_ln(s)"`
		Kernel     float64 `json:"smem_code_ln(s/(1+s))"`
	}
	each(t, "soar-smem-baselevel.json", func(t *testing.T, in in, want want) {
		if want.Activation != nil {
			require.InDelta(t, *want.Activation, logProbability(exact(in.Ages, in.D)), 1e-6)
			return
		}
		b := actr.Hybrid(in.RecentAges, in.N, in.Tn, in.D)
		require.InDelta(t, want.Manual, b, 1e-6)
		require.InDelta(t, want.Kernel, logProbability(b), 1e-6)
	})
}

func TestRetrievalCases(t *testing.T) {
	type in struct {
		A      *float64
		Tau    float64
		F, S   float64
		Unused float64 `json:"le"`
	}
	type want struct {
		Latency   *float64 `json:"latency_s"`
		Published *float64 `json:"published_s"`
		P         *float64
		Variance  *float64
		Tol       float64
	}
	each(t, "actr-latency-recall.json", func(t *testing.T, in in, want want) {
		switch {
		case want.Latency != nil:
			a := in.Tau // a failure
			if in.A != nil {
				a = *in.A
			}
			require.InDelta(t, *want.Latency, actr.Latency(in.F, a), 1e-6)
			require.InDelta(t, *want.Published, actr.Latency(in.F, a), want.Tol)
		case want.P != nil:
			require.InDelta(t, *want.P, actr.Probability(*in.A, in.Tau, in.S), want.Tol)
		default:
			mean, variance := moments(in.S, 200_000)
			require.InDelta(t, 0, mean, 4*in.S*math.Pi/math.Sqrt(3*200_000))
			require.InEpsilon(t, *want.Variance, variance, .02)
		}
	})
}

// moments are those of n draws of noise.
func moments(s float64, n int) (mean, variance float64) {
	for i := range n {
		x := actr.Noise(s, uint64(i), "draw")
		mean += x / float64(n)
		variance += x * x / float64(n)
	}
	return mean, variance - mean*mean
}

func TestSpreadingCases(t *testing.T) {
	type buffer struct {
		W    float64
		N    int
		Fans []int
	}
	type in struct {
		S     float64
		InDM  int  `json:"fan_in_dm"`
		Held  *int `json:"times_in_chunk"`
		Out   int  `json:"fan_out"`
		NSji  bool
		W     float64
		N     int `json:"n_sources"`
		Fans  []int
		Bufs  []buffer `json:"buffers"`
		Other any
	}
	type want struct{ Sji, SA *float64 }
	each(t, "actr-spreading.json", func(t *testing.T, in in, want want) {
		if want.Sji != nil {
			require.InDelta(t, *want.Sji, actr.Association(in.S, in.InDM, *in.Held, in.NSji), 1e-6)
			return
		}
		if in.Held != nil { // the source is in two slots of the chunk
			require.InDelta(t, *want.SA, spread(in.W, actr.Association(in.S, in.Out-1, *in.Held, false)), 1e-6)
			return
		}
		if in.Bufs == nil {
			in.Bufs = []buffer{{in.W, in.N, in.Fans}}
		}
		sum := 0.0
		for _, b := range in.Bufs {
			s := make([]float64, b.N)
			for i, fan := range b.Fans {
				s[i] = actr.Association(in.S, fan, 1, false)
			}
			sum += spread(b.W, s...)
		}
		require.InDelta(t, *want.SA, sum, 1e-6)
	})
}

func TestPartialMatchingCases(t *testing.T) {
	type in struct {
		B, P, Noise    float64
		Sims           []float64
		Candidates     map[string]float64
		Tau            float64
		Md             float64
		Request, Chunk json.RawMessage
	}
	type want struct {
		A, Penalty *float64
		Retrieved  *string
	}
	each(t, "actr-partial-matching.json", func(t *testing.T, in in, want want) {
		switch {
		case in.Candidates != nil:
			var got *string
			best := in.Tau
			for name, a := range in.Candidates {
				if a >= best {
					best, got = a, &name
				}
			}
			require.Equal(t, want.Retrieved, got)
		case want.Penalty != nil:
			require.InDelta(t, *want.Penalty, actr.Mismatch(in.P, in.Md), 1e-9)
		default:
			if in.Sims == nil { // numbers, by their distance
				var request, chunk []float64
				require.NoError(t, json.Unmarshal(in.Request, &request))
				require.NoError(t, json.Unmarshal(in.Chunk, &chunk))
				for i := range request {
					in.Sims = append(in.Sims, -.1*math.Abs(request[i]-chunk[i]))
				}
			}
			require.InDelta(t, *want.A, in.B+actr.Mismatch(in.P, in.Sims...)+in.Noise, 1e-7)
		}
	})
}
