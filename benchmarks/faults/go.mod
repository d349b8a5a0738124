module github.com/arc-learn/arc/benchmarks/faults

go 1.26.0
