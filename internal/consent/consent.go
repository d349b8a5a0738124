// Package consent is the request for a person's approval of an attempt, and the answers.
package consent

import (
	"fmt"
	"slices"
	"time"

	"github.com/arc-learn/arc/act"
)

// Ask is a request for approval with its answers.
type Ask struct {
	Mode    act.Mode  `cbor:"1,keyasint,omitempty" json:"mode"`
	Blast   act.Blast `cbor:"2,keyasint,omitempty" json:"blast,omitempty"`
	Why     []string  `cbor:"3,keyasint,omitempty" json:"why,omitempty"`
	Success float64   `cbor:"4,keyasint,omitempty" json:"success,omitempty"`
	CostUSD float64   `cbor:"5,keyasint,omitempty" json:"cost_usd,omitempty"`
	Asked   int64     `cbor:"6,keyasint,omitempty" json:"asked,omitempty"`
	Until   int64     `cbor:"7,keyasint,omitempty" json:"until,omitempty"`
	// Need is how many people have to agree.
	Need int `cbor:"8,keyasint,omitempty" json:"need,omitempty"`
	// Irreversible: an attempt that was approved may be begun once only.
	Irreversible bool `cbor:"13,keyasint,omitempty" json:"irreversible,omitempty"`

	AllowedBy []string `cbor:"9,keyasint,omitempty" json:"allowed_by,omitempty"`
	RefusedBy string   `cbor:"10,keyasint,omitempty" json:"refused_by,omitempty"`
	Note      string   `cbor:"11,keyasint,omitempty" json:"note,omitempty"`
	// Closed: the run has continued by the answers, or because time was up.
	Closed bool `cbor:"12,keyasint,omitempty" json:"closed,omitempty"`
}

// Say adds a person's answer. A person who agrees twice counts once. The lists are replaced, so that copies of p
// do not change.
func (p *Ask) Say(by string, allow bool, note string) {
	switch {
	case !allow:
		p.RefusedBy, p.Note = by, note
	case !slices.Contains(p.AllowedBy, by):
		p.AllowedBy, p.Note = append(slices.Clip(p.AllowedBy), by), note
	}
}

// Again returns the request for an attempt that was interrupted: p itself, or, if the attempt was approved, may
// have been made and is irreversible, a new request for as long.
func (p *Ask) Again(now time.Time) *Ask {
	if ok, _, _ := p.Permitted(); !ok || !p.Irreversible {
		return p
	}
	again := Ask{
		Mode: p.Mode, Blast: p.Blast, Why: p.Why, Success: p.Success, CostUSD: p.CostUSD,
		Asked: now.UnixNano(), Until: now.UnixNano() + p.Until - p.Asked, Need: p.Need, Irreversible: p.Irreversible,
	}
	if !slices.Contains(again.Why, cutOff) {
		again.Why = append(slices.Clip(again.Why), cutOff)
	}
	return &again
}

const cutOff = "it was allowed before, and cut off: it may have been made already"

// Decided reports whether there are enough answers, or time is up.
func (p *Ask) Decided(now time.Time) bool {
	return p.RefusedBy != "" || len(p.AllowedBy) >= p.Need || now.UnixNano() >= p.Until
}

// Permitted reports whether a closed request permits the attempt. If not it returns the end of the attempt, and
// why.
func (p *Ask) Permitted() (ok bool, end act.End, why string) {
	switch {
	case p.RefusedBy != "":
		why = fmt.Sprintf("%v: approval was refused by %s", act.ErrDenied, p.RefusedBy)
		if p.Note != "" {
			why += ": " + p.Note
		}
		return false, act.Refused, why
	case p.Mode == act.Veto || len(p.AllowedBy) >= p.Need:
		return true, "", ""
	}
	return false, act.Unanswered, fmt.Sprintf("%v: approval: no answer in time", act.ErrDenied)
}
