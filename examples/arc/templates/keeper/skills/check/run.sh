set -eu
if [ -f go.mod ]; then go vet ./... && go test ./...
elif [ -f Makefile ] && grep -q '^test:' Makefile; then make -s test
elif [ -f package.json ]; then npm test --silent
else echo "no checks are known for this project: it has no go.mod, Makefile or package.json" >&2; exit 1
fi
