set -eu
mkdir -p notes
grep -qxF -- "- $INPUT_LINE" notes/inbox.md 2>/dev/null || printf -- '- %s\n' "$INPUT_LINE" >> notes/inbox.md
echo "written into notes/inbox.md"
