package rank

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/store"
)

// filled returns a record with n samples, an hour apart, and the kinds of case that they are of.
func filled(n int) *record {
	r, sk, usd := new(record), &skill{pairs: map[string]*pair{}}, .01
	for i := range n {
		s := &Sample{Outcome: outcomes[1+i%(len(outcomes)-1)], Task: Task{Key: string(rune('a' + i%90))}, At: time.Unix(int64(i)*3600, 0), Class: "c", Figures: Figures{CostUSD: &usd}}
		if i%3 == 0 {
			s.Reward = &usd
		}
		r.observe(sk, s)
	}
	return r
}

func TestRecordIsBounded(t *testing.T) {
	r := filled(5000)
	require.Len(t, r.Ring, window)
	require.Len(t, r.Cells, kinds)
	require.Len(t, r.Recent, recent)
	for i := range r.Days {
		require.EqualValues(t, 5000/24-i, r.Days[(5000/24-i)%days].N)
	}
	value, err := codec.Marshal(r)
	require.NoError(t, err)
	require.Less(t, len(value), 12<<10)
}

func TestDamagedRecord(t *testing.T) {
	for name, harm := range map[string]func(*record){
		"outcome": func(r *record) { r.Ring[0].Outcome = uint8(len(outcomes)) }, "no outcome": func(r *record) { r.Ring[0].Outcome = 0 },
		"time": func(r *record) { r.Ring[0].At = -1 }, "attempts": func(r *record) { r.Attempts = 1 },
		"ring": func(r *record) { r.Ring = append(r.Ring, r.Ring...) }, "cells": func(r *record) { r.Cells = append(r.Cells, r.Cells...) },
	} {
		r := filled(300)
		harm(r)
		value, err := codec.Marshal(r)
		require.NoError(t, err)
		_, err = decode(value)
		require.ErrorIs(t, err, store.ErrDamaged, name)
	}
}

// FuzzRecord: what decode takes can be used and written, and is read again as it was; all else is an error.
func FuzzRecord(f *testing.F) {
	for _, n := range []int{0, 1, 300} {
		value, err := codec.Marshal(filled(n))
		require.NoError(f, err)
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		r, err := decode(value)
		if err != nil {
			return
		}
		first, err := codec.Marshal(r)
		require.NoError(t, err)
		again, err := decode(first)
		require.NoError(t, err)
		second, err := codec.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, first, second)
		summaryOf(r, nil).stats()
		new(span).take(r, time.Now().UnixMilli())
		again.observe(&skill{pairs: map[string]*pair{}}, &Sample{Outcome: Delivered, At: time.Now()})
	})
}
