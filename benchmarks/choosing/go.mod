module github.com/arc-learn/arc/benchmarks/choosing

go 1.26.0

require github.com/arc-learn/arc v0.1.0

require (
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/fxamacker/cbor/v2 v2.9.6 // indirect
	github.com/tidwall/btree v1.8.2 // indirect
	github.com/x448/float16 v0.8.4 // indirect
)

replace github.com/arc-learn/arc => ../..
