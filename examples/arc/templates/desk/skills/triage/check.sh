for f in tickets/*.txt; do grep -q "$f" triage.md || { echo "triage.md lacks $f"; exit 1; }; done
