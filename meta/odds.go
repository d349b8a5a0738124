package meta

const (
	// depths is the number of counts of failures that are told apart: seven and more are one.
	depths = 8
	// believed is how many tries the belief before any count weighs.
	believed = 4
)

// odds count a tenant's tries by the number of failures before them, over all sessions and approaches.
type odds struct {
	Again [depths]count // tries of an approach, by its own failures at the goal
	Other [depths]count // first tries of another approach, by the failures of all
}

// count is a number of tries, and how many of them delivered.
type count struct{ Tries, Delivered int }

// odd is how likely a try is to deliver, and the count that this rests on.
type odd struct {
	chance float64 // in [0,1], the mean of the posterior
	count
}

// count counts a try that came after same failures of its approach at its goal, and all of any.
func (o *odds) count(same, all int, delivered bool) {
	c := &o.Again[min(same, depths-1)]
	if same == 0 && all > 0 {
		c = &o.Other[min(all, depths-1)]
	}
	c.Tries++
	if delivered {
		c.Delivered++
	}
}

// posterior moves a belief by what was counted.
func (c count) posterior(belief float64) float64 {
	return (believed*belief + float64(c.Delivered)) / (believed + float64(c.Tries))
}

// of returns the odds of another try of an approach that failed same times at a goal which failed all times,
// and of the first try of another approach.
//
// Before any count, a goal is a coin of unknown bias, Beta(½, ½): the first try delivers with ½, and
// failure j lowers the chance by the factor j/(j+1). What was counted after j failures corrects that for j
// and all that follow. Another approach is to the goal what the first one was, less what the failures take.
func (o *odds) of(same, all int) (again, other odd) {
	same, all = min(same, depths-1), min(all, depths-1)
	again.chance = o.Again[0].posterior(0.5)
	other = odd{o.Other[all].posterior(again.chance / float64(all+1)), o.Other[all]}
	for j := 1; j <= same; j++ {
		again.chance = o.Again[j].posterior(again.chance * float64(j) / float64(j+1))
	}
	again.count = o.Again[same]
	return again, other
}
