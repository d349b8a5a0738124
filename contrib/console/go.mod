module github.com/arc-learn/arc/contrib/console

go 1.26.0

require (
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
	golang.org/x/term v0.48.0
)

require github.com/clipperhouse/uax29/v2 v2.2.0 // indirect

require (
	github.com/mattn/go-runewidth v0.0.31
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.50.0 // indirect
)
