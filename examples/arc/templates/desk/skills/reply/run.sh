set -eu
[ -f "tickets/$INPUT_TICKET.txt" ] || { echo "there is no ticket $INPUT_TICKET" >&2; exit 1; }
mkdir -p outbox
printf '%s\n' "$INPUT_TEXT" > "outbox/$INPUT_TICKET.txt"
echo "outbox/$INPUT_TICKET.txt"
