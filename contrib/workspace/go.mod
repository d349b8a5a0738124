module github.com/arc-learn/arc/contrib/workspace

go 1.26.0

require (
	github.com/arc-learn/arc v0.1.0
	github.com/arc-learn/arc/contrib/command v0.1.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/blevesearch/snowballstem v0.9.0 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/fxamacker/cbor/v2 v2.9.6 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	github.com/tidwall/btree v1.8.2 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/text v0.39.0 // indirect
)

replace github.com/arc-learn/arc => ../..

replace github.com/arc-learn/arc/contrib/command => ../command
