[ "$(cat "outbox/$INPUT_TICKET.txt")" = "$INPUT_TEXT" ] || { echo "the outbox has another text"; exit 1; }
