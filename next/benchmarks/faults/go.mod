module github.com/arc-learn/arc/next/benchmarks/faults

go 1.26.0
