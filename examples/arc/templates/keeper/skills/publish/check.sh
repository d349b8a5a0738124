[ "$(git rev-parse HEAD)" = "$(git rev-parse '@{upstream}')" ] || { echo "the remote has another commit"; exit 1; }
