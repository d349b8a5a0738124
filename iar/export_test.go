package iar

// Trend returns the last n resonances, oldest first, as the reference data has it: none if n is negative.
func (t *Tracker) Trend(n int) []float64 {
	values := []float64{}
	for _, e := range last(t.Recent, max(0, n)) {
		values = append(values, e.Resonance)
	}
	return values
}
