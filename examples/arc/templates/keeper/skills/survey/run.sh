set -eu
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
	{ git status --short --branch; echo; git log --oneline -10 2>/dev/null || echo "no commit yet"; } > STATUS.md
	echo "not committed: $(git status --short | grep -c . || true); see STATUS.md"
else
	find . -type f -not -path './.*/*' | wc -l | sed 's/^ */no git repository; files: /' > STATUS.md
	cat STATUS.md
fi
