package date_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/date"
)

func TestDays(t *testing.T) {
	t.Parallel()
	at := time.Date(2025, 3, 7, 1, 30, 0, 0, time.FixedZone("", 8*3600)) // a Friday, and 6 March in UTC
	const march6 = 20250306
	for q, want := range map[string][]int{
		"What did we decide on March 6, 2025?": {march6}, "was said on 2025-03-06 there": {march6}, "6.3.2025": {march6},
		"3/6/2025": {march6, 20250603}, "2025年3月6日の会議": {march6}, "3月6日": {306}, "6 March": {306}, "7 Sept 2023": {20230907},
		"the 7th of May": {507}, "May 7th, 2023": {20230507}, "yesterday?": {march6}, "the day before yesterday": {20250305},
		"two days ago": {20250305}, "3 days ago": {20250304}, "last Friday": {20250307, 20250228}, "on Thursday": {march6},
		"昨天我们决定了什么": {march6}, "어제": {march6}, "что решили вчера": {march6}, "was war gestern?": {march6}, "أمس": {march6},
		"the Friday before 10.01.2024": {20240110}, "29 February": {229},
		"How is the weather today?": nil, "今天天氣如何": nil, "كيف الطقس اليوم": nil, "": nil, "30 February": nil, "2025-13-01": nil, "2 of 5 games": nil, "May I sit?": nil, "in 2022": nil, "1.2.3": nil,
	} {
		var got []int
		for _, d := range date.Days(q, at) {
			got = append(got, d.Year*10000+d.Month*100+d.Day)
		}
		require.Equal(t, want, got, q)
	}
}

func TestTerms(t *testing.T) {
	t.Parallel()
	at := date.Of(time.Date(2025, 3, 7, 1, 30, 0, 0, time.FixedZone("", 8*3600))) // 6 March in UTC
	require.Equal(t, date.Day{Year: 2025, Month: 3, Day: 7}, at)
	an, err := text.New()
	require.NoError(t, err)
	var got []string
	for _, x := range at.Terms(an) {
		got = append(got, x.Text)
	}
	require.Equal(t, []string{"2025", "march", "@03-07"}, got)
}

func FuzzDays(f *testing.F) {
	for _, s := range []string{"3月6日", "6.3.2025", "the 7th of May", "two days ago", "\xff yesterday"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, d := range date.Days(s, time.Unix(0, 0)) {
			if d.Month < 1 || d.Month > 12 || d.Day < 1 || d.Day > 31 {
				t.Fatalf("%v in %q", d, s)
			}
		}
	})
}

func BenchmarkDays(b *testing.B) {
	for b.Loop() {
		date.Days("What did we decide in the standup last Friday, or on March 6, 2025?", time.Unix(0, 0))
	}
}
