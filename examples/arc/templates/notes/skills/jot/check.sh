grep -qxF -- "- $INPUT_LINE" notes/inbox.md || { echo "notes/inbox.md has no such line"; exit 1; }
