// Package model wraps models: what it returns is a [reason.Model] again, which
// streams if the one inside does.
package model
