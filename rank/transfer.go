package rank

import "math"

// transfer is what first meetings of candidates with keys have taught: whether
// a candidate that has delivered elsewhere is the likelier, or the less likely,
// to deliver where it was never tried. Its two predictions compete: the
// candidate's mean as it ranks, and the mean of all first meetings of candidates
// that have, or have not, delivered before. Each weighs as its errors say
// (Bayesian model averaging, as for the spreads).
type transfer struct {
	first [2]meetings // of candidates that have not delivered, and that have
	loss  [2]float64  // squared errors of the candidate's mean, and of the meetings' mean
}

// meetings are first meetings, with worth in units of the scale, in [0,1].
type meetings struct{ n, sum float64 }

const (
	transferOdds   = 10 // of the candidate's mean, before any meeting
	transferPooled = 4  // meetings of all kinds that those of one kind begin with
)

// unit is a worth in units of the scale, in [0,1].
func (h *head) unit(worth float64) float64 { return min(1, max(0, (worth-h.low())/h.scale())) }

func class(proven bool) int {
	if proven {
		return 1
	}
	return 0
}

// expects is what a first meeting is worth, by the meetings so far.
func (t *transfer) expects(proven bool) float64 {
	all := (t.first[0].sum + t.first[1].sum + 1) / (t.first[0].n + t.first[1].n + 2)
	of := t.first[class(proven)]
	return (of.sum + transferPooled*all) / (of.n + transferPooled)
}

// weight is that of expects against the candidate's mean.
func (t *transfer) weight(h *head) float64 {
	noise2 := h.noise2 / (h.scale() * h.scale())
	return 1 / (1 + transferOdds*math.Exp(min(700, (t.loss[1]-t.loss[0])/(2*noise2))))
}

// cold reports whether a candidate was never tried where the view looks.
func (v *view) cold(i int32, a *arm) bool {
	if v.setting == nil || i < 0 {
		return true
	}
	c := v.setting.find(i)
	return c == nil || c.Epoch != a.epoch
}

// meet takes a first meeting into the update, which has not counted the sample
// in the candidate's mean yet.
func (m *model) meet(u *update, f *fact) {
	v := m.keyView(f.key)
	if !v.ok || !v.cold(u.index, &u.arm) {
		return
	}
	h, t := &m.head, &u.head.transfer
	mean, _ := u.arm.posterior(h, h.mean, h.noise2/mostPrior)
	worth := u.head.unit(f.worth)
	for i, p := range [...]float64{h.unit(mean), t.expects(u.arm.proven)} {
		t.loss[i] = keepLoss*t.loss[i] + (worth-p)*(worth-p)
	}
	of := &t.first[class(u.arm.proven)]
	of.n++
	of.sum += worth
}

// first is what a candidate is expected to be worth where it was never tried,
// by what first meetings were worth.
func (h *head) first(proven bool) float64 { return h.low() + h.scale()*h.transfer.expects(proven) }
