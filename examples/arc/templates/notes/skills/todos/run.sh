set -eu
grep -rn '^ *TODO' notes > todo.tmp || true
sed 's/^\([^:]*\):\([0-9]*\): *TODO:* */- [ ] /' todo.tmp > todo.md
n=$(grep -c . todo.md || true)
rm todo.tmp
echo "$n open, in todo.md"
