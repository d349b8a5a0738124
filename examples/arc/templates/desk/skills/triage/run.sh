set -eu
{ grep -ilE 'urgent|down|refund' tickets/*.txt | sed 's/^/- urgent: /' || true
  grep -iLE 'urgent|down|refund' tickets/*.txt | sed 's/^/- normal: /' || true; } > triage.md
echo "$(grep -c urgent: triage.md || true) urgent, $(grep -c normal: triage.md || true) normal, in triage.md"
