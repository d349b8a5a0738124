# Passes when todo.md has as many lines as there are TODOs.
set -eu
want=$(grep -rh '^ *TODO' notes | grep -c . || true)
have=$(grep -c . todo.md || true)
[ "$want" = "$have" ] || { echo "todo.md has $have of $want TODOs"; exit 1; }
