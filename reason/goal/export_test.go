package goal

// Evaluate says how the goals stand, in the order of the document, and acts on none.
func (g *Goals) Evaluate(w *World) []Standing {
	var out []Standing
	for _, each := range g.all() {
		out = append(out, each.evaluate(w).Standing)
	}
	return out
}
