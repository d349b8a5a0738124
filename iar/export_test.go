package iar

// Trend is for the reference data, which has it.
func (t *Tracker) Trend(n int) []float64 { return t.trend(n) }
