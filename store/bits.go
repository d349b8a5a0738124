//go:build 386 || arm || mips || mipsle

package store

// The compiler refuses this, and quotes the reason.
var _ int = "arc needs a machine of 64 bits: on those of 32, Badger and vectors panic; set GOARCH to amd64 or arm64"
