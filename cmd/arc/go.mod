module github.com/arc-learn/arc/cmd/arc

go 1.26.0

require (
	github.com/arc-learn/arc v0.1.0
	github.com/arc-learn/arc/contrib/anthropic v0.1.0
	github.com/arc-learn/arc/contrib/command v0.1.0
	github.com/arc-learn/arc/contrib/mcp v0.1.0
	github.com/arc-learn/arc/contrib/openai v0.1.0
	github.com/arc-learn/arc/contrib/skills v0.1.0
	github.com/arc-learn/arc/contrib/worktree v0.1.0
	github.com/creack/pty v1.1.24
	github.com/dustin/go-humanize v1.1.0
	github.com/mattn/go-runewidth v0.0.31
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.9
	github.com/stretchr/testify v1.12.1
)

require (
	filippo.io/age v1.3.2 // indirect
	github.com/google/renameio/v2 v2.0.2 // indirect
	golang.org/x/term v0.48.0 // indirect
)

require (
	filippo.io/hpke v0.4.0 // indirect
	github.com/arc-learn/arc/contrib/agefile v0.1.0
	github.com/arc-learn/arc/contrib/console v0.1.0
	github.com/arc-learn/arc/contrib/dash v0.1.0
	github.com/arc-learn/arc/contrib/notebook v0.1.0
	github.com/arc-learn/arc/contrib/taskfile v0.1.0
	github.com/arc-learn/arc/contrib/workspace v0.1.0
	github.com/blevesearch/snowballstem v0.9.0 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/dgraph-io/badger/v4 v4.9.6 // indirect
	github.com/dgraph-io/ristretto/v2 v2.2.0 // indirect
	github.com/fxamacker/cbor/v2 v2.9.6 // indirect
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/flatbuffers v25.2.10+incompatible // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/klauspost/compress v1.18.7 // indirect
	github.com/modelcontextprotocol/go-sdk v1.8.0 // indirect
	github.com/netresearch/go-cron v0.9.1 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/tidwall/btree v1.8.2 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel v1.44.0 // indirect
	go.opentelemetry.io/otel/metric v1.44.0 // indirect
	go.opentelemetry.io/otel/trace v1.44.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.55.0 // indirect
	golang.org/x/oauth2 v0.35.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	golang.org/x/time v0.15.0 // indirect
	google.golang.org/protobuf v1.36.7 // indirect
)

replace github.com/arc-learn/arc => ../..

replace github.com/arc-learn/arc/contrib/anthropic => ../../contrib/anthropic

replace github.com/arc-learn/arc/contrib/command => ../../contrib/command

replace github.com/arc-learn/arc/contrib/mcp => ../../contrib/mcp

replace github.com/arc-learn/arc/contrib/openai => ../../contrib/openai

replace github.com/arc-learn/arc/contrib/worktree => ../../contrib/worktree

replace github.com/arc-learn/arc/contrib/console => ../../contrib/console

replace github.com/arc-learn/arc/contrib/agefile => ../../contrib/agefile

replace github.com/arc-learn/arc/contrib/workspace => ../../contrib/workspace

replace github.com/arc-learn/arc/contrib/notebook => ../../contrib/notebook

replace github.com/arc-learn/arc/contrib/taskfile => ../../contrib/taskfile

replace github.com/arc-learn/arc/contrib/skills => ../../contrib/skills

replace github.com/arc-learn/arc/contrib/dash => ../../contrib/dash
