// Package iar holds the Integrated Action Reflection: what an action says of itself.
package iar

// Status is how an action ended, in its own words.
type Status string

// Reflection is what an action says of itself; the fields are those of the protocol.
type Reflection struct{}
