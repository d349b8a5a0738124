package rank

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/store"
)

func (r *record) clone() *record { return &record{r.head, slices.Clone(r.value)} }

// filled returns a record with n samples, an hour apart, and the kinds of case that they are of.
func filled(n int) *record {
	r, sk, usd := nothing.clone(), &skill{pairs: map[string]*pair{}}, .01
	for i := range n {
		s := &Sample{Outcome: outcomes[1+i%(len(outcomes)-1)], Task: Task{Key: string(rune('a' + i%90))}, At: time.Unix(int64(i)*3600, 0), Class: "c", Usage: Usage{CostUSD: &usd}}
		if i%3 == 0 {
			s.Reward = &usd
		}
		if _, err := r.observe(sk, s); err != nil {
			panic(err)
		}
	}
	return r
}

func TestRecordIsBounded(t *testing.T) {
	r := filled(5000)
	require.Equal(t, [tables]int32{hours, days, kinds, window}, r.Rows)
	failures, err := r.failures()
	require.NoError(t, err)
	require.Len(t, failures, recent)
	for i := range days {
		require.GreaterOrEqual(t, r.index(dayTable, int32(5000/24-i)), 0)
	}
	require.Less(t, len(r.seal()), 21<<10)
	var packed []byte
	require.NoError(t, codec.Unmarshal(r.value, &packed), "CBOR")
	require.Equal(t, r.value[prefix:], packed)
}

// The bytes of a record stay what stores have, whatever becomes of the types that they are read into.
func TestRecordFormat(t *testing.T) {
	var all []byte
	for _, v := range []any{
		&head{1, [tables]int32{2, 3, 4, 5}, evidence{6, 7, 8}, evidence{9, 10, 11}, evidence{12, 13, 14}, 15, rating{16, 17, 18, 19}},
		&tally{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, &entry{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, &cell{1, evidence{2, 3, 4}},
	} {
		b := make([]byte, binary.Size(v))
		pack(b, v)
		all = append(all, b...)
	}
	require.Equal(t, "7802cc599bec163db3a30c8b43152a9098f350ee185fbd5b5095d627e11582bf", fmt.Sprintf("%x", sha256.Sum256(all)))
}

// A later verdict on a sample that was forgotten neither counts nor takes from those since.
func TestForgottenSampleIsCorrected(t *testing.T) {
	r, sk := nothing.clone(), &skill{pairs: map[string]*pair{}}
	see := func(run string, o Outcome) {
		_, err := r.observe(sk, &Sample{Run: run, Outcome: o, Task: Task{Key: "k"}, At: time.Unix(0, 0)})
		require.NoError(t, err)
	}
	see("1", Failed)
	for range 7 {
		r.notice(-100)
		require.Equal(t, 1.0, r.All.N, "no single sample is a change")
	}
	r.notice(-100)
	require.Equal(t, []any{evidence{}, int32(0), 0.0}, []any{r.All, r.Rows[cellTable], r.Change})
	see("2", Delivered)
	see("1", Delivered)
	see("1", Failed)
	see("3", Failed)
	see("3", Delivered)
	n, sum := r.at(hash("k"), 0)
	require.Equal(t, []float64{2, 2, 2}, []float64{r.All.N, n, sum})
	require.InDelta(t, 2, r.All.Sum, .5, "but for what the kind adds for all")
	require.EqualValues(t, []int32{3, 2}, []int32{r.tally(dayTable, 0).Judged, r.tally(dayTable, 0).Delivered})
}

// Who scatters more than the others of a skill, which have most of its samples, has not changed.
func TestScatterIsNoChange(t *testing.T) {
	a, b, sk := nothing.clone(), nothing.clone(), &skill{pairs: map[string]*pair{}}
	sk.sorted = []*pair{{candidate: "a", rec: a}, {candidate: "b", rec: b}}
	rng := rand.New(rand.NewPCG(1, 2))
	see := func(r *record, chance float64) {
		s := Sample{Outcome: Failed, At: time.Unix(0, 0)}
		if rng.Float64() < chance {
			s.Outcome = Delivered
		}
		_, err := r.observe(sk, &s)
		require.NoError(t, err)
		sk.fresh = false
	}
	for n := range 10_000 {
		see(a, .99)
		if n%10 == 0 {
			see(b, .5)
		}
	}
	require.Equal(t, []float64{10_000, 1000}, []float64{a.All.N, b.All.N})
}

func TestDamagedRecord(t *testing.T) {
	for name, harm := range map[string]func(*record){
		"outcome": func(r *record) { r.row(ringTable, 0)[8] = byte(len(outcomes)) }, "no outcome": func(r *record) { r.row(ringTable, 0)[8] = 0 },
		"time": func(r *record) { r.row(ringTable, 0)[35] = 255 }, "attempts": func(r *record) { r.Attempts = 1 },
		"ring": func(r *record) { r.Rows[ringTable]++ }, "cells": func(r *record) { r.Rows[cellTable] = 1 << 30 }, "rows": func(r *record) { r.Rows[0] = -1 },
		"cut": func(r *record) { r.value = r.value[:len(r.value)-1] }, "empty": func(r *record) { r.value = r.value[:prefix+headBytes-1] },
	} {
		r := filled(300)
		harm(r)
		r.seal()
		_, err := decode(r.value)
		require.ErrorIs(t, err, store.ErrDamaged, name)
	}
	value := filled(3).seal()
	_, err := decode(value[:len(value)-1])
	require.ErrorIs(t, err, store.ErrDamaged)
	value[0]++
	_, err = decode(value)
	require.ErrorIs(t, err, store.ErrVersion)
}

// FuzzRecord: what decode takes can be used and written, and is read again as it was; all else is an error.
func FuzzRecord(f *testing.F) {
	for _, n := range []int{0, 1, 300} {
		f.Add(filled(n).seal())
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		r, err := decode(value)
		if err != nil {
			return
		}
		require.Equal(t, value[:len(r.value)], r.clone().seal(), "but for pieces of a longer one behind it")
		summaryOf(r).stats()
		new(summary).take(r, time.Now().UnixMilli()-dayMillis, time.Now().UnixMilli())
		c := r.clone()
		if _, err := c.observe(&skill{pairs: map[string]*pair{}}, &Sample{Outcome: Delivered, At: time.Now()}); err == nil {
			_, err := decode(c.seal())
			require.NoError(t, err)
		}
	})
}
