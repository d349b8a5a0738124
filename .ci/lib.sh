# What .ci/run and .ci/nightly share. Sourced, not run.

AXE=4.14.1
STATICCHECK=honnef.co/go/tools/cmd/staticcheck@v0.8.2
export GOWORK=off

failed=()
skipped=()

# step NAME COMMAND... runs one command and takes down whether it failed.
step() {
	local name=$1 start=$SECONDS
	shift
	echo "=== $name"
	if "$@"; then
		echo "--- ok: $name ($((SECONDS - start))s)"
	else
		echo "--- FAILED: $name ($((SECONDS - start))s)"
		failed+=("$name")
	fi
}

# skip NAME REASON says, here and at the end, what was not checked.
skip() {
	echo "SKIPPED: $1: $2"
	skipped+=("$1: $2")
}

# finish lists what was skipped and what failed, and exits.
finish() {
	echo
	((${#skipped[@]} == 0)) || printf 'SKIPPED %s\n' "${skipped[@]}"
	if ((${#failed[@]})); then
		echo "FAILED after ${SECONDS}s:"
		printf '  %s\n' "${failed[@]}"
		exit 1
	fi
	echo "all steps passed in ${SECONDS}s"
}

# within DIR COMMAND... runs a command in a directory.
within() (
	cd "$1" && shift && "$@"
)

# quiet COMMAND... fails when the command prints anything, as gofmt -l does.
quiet() {
	local out
	out=$("$@" 2>&1)
	local code=$?
	[[ -z $out ]] || printf '%s\n' "$out"
	[[ $code -eq 0 && -z $out ]]
}

# nested DIR prints the directories of the other modules below DIR.
nested() {
	git ls-files --cached --others --exclude-standard -- "$1/**go.mod" ':!:**/testdata/**' | xargs -r -n1 dirname | grep -vx . || true
}

# compiler sees to a C compiler, which the race detector links with. On a
# machine with apt and the right to use it, it installs one.
compiler() {
	local cc sudo=()
	cc=$(go env CC)
	command -v "${cc%% *}" >/dev/null && return 0
	((EUID == 0)) || sudo=(sudo -n)
	"${sudo[@]}" apt-get update -q && "${sudo[@]}" apt-get install -qy gcc libc6-dev
}

# server sees to a PostgreSQL and a PgBouncer for contrib/postgres, whose tests start
# their own. Where they cannot be installed, those tests are skipped.
server() {
	local sudo=()
	if ! compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null && ! command -v postgres >/dev/null || ! compgen -G '/usr/sbin/pgbouncer' >/dev/null; then
		((EUID == 0)) || sudo=(sudo -n)
		"${sudo[@]}" apt-get update -q && "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy postgresql pgbouncer ||
			skip "contrib/postgres" "PostgreSQL or PgBouncer could not be installed"
	fi
	return 0
}

# chromium sees to a browser, in which contrib/dash is tested, as compiler does to a
# compiler, and to axe-core from npm, with which its pages are checked for
# accessibility. Without one or the other that is skipped.
chromium() {
	local sudo=() dir=${XDG_CACHE_HOME:-$HOME/.cache}/axe-core-$AXE
	if ! command -v chromium >/dev/null; then
		((EUID == 0)) || sudo=(sudo -n)
		"${sudo[@]}" apt-get update -q && "${sudo[@]}" apt-get install -qy --no-install-recommends chromium ||
			skip "contrib/dash: browser" "there is no chromium, and it could not be installed"
	fi
	export ARC_AXE=${ARC_AXE:-$dir/node_modules/axe-core/axe.min.js}
	if [[ ! -f $ARC_AXE ]] && ! npm install --prefix "$dir" --no-save --ignore-scripts --no-audit --no-fund "axe-core@$AXE"; then
		skip "contrib/dash: accessibility" "axe-core could not be had from npm"
		unset ARC_AXE
	fi
	return 0
}

# fuzzers prints "directory package fuzzer" for each fuzz test of the module in the work directory.
fuzzers() {
	go list -f '{{$p := .ImportPath}}{{$d := .Dir}}{{range .TestGoFiles}}{{$p}} {{$d}}/{{.}}
{{end}}{{range .XTestGoFiles}}{{$p}} {{$d}}/{{.}}
{{end}}' "$1" | while read -r pkg path; do
		sed -n "s|^func \(Fuzz[A-Za-z0-9_]*\)(.*|$pkg \1|p" "$path"
	done
}

# fuzz runs each fuzzer of the tree, and of the modules below it, for FUZZTIME.
fuzz() {
	local dir code=0
	fuzzin . "./..." || code=1
	for dir in $(nested "."); do
		fuzzin "$dir" ./... || code=1
	done
	return $code
}

# fuzzin DIR PATTERN runs the fuzzers of the packages that match, in the module at DIR.
fuzzin() {
	local pkg name list code=0
	list=$(within "$1" fuzzers "$2") || return 1
	while read -r pkg name; do
		[[ -n $pkg ]] || continue
		within "$1" go test "$pkg" -run '^$' -fuzz "^$name\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 5s || code=1
	done <<<"$list"
	return $code
}
