#!/bin/sh
# Follows one database of a sync server with curl: its status, one whole snapshot, then what is new, every 10 seconds.
# Run: SYNC_API_KEY=... docs/examples/follow.sh http://127.0.0.1:3006 indexer/bitcoin/mainnet
set -eu
server=${1:-http://127.0.0.1:3006}
database=${2:-indexer/bitcoin/mainnet}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# Prints the HTTP status. The key goes through a pipe: it is in no list of processes.
ask() {
  printf 'header = "Authorization: Bearer %s"\n' "${SYNC_API_KEY:-}" |
    curl --config - --silent --show-error --compressed --dump-header "$work/headers" --output "$work/body" \
      --write-out '%{http_code}' "$server/$1"
}
header() { tr -d '\r' <"$work/headers" | sed -n "s/^$1: //Ip"; }
fail() {
  echo "$1" >&2
  exit 1
}

[ "$(ask "status/$database")" = 200 ] || fail "status: $(cat "$work/body")"
echo "status: $(cat "$work/body")"

[ "$(ask "snapshot/$database")" = 200 ] || fail "snapshot: $(cat "$work/body")"
height=$(header x-block-height)
echo "snapshot: $(wc -c <"$work/body") bytes of JSON at block $height"

while :; do
  sleep "${POLL_S:-10}"
  code=$(ask "snapshot/$database/since/$height")
  case $code in
    200) ;;
    404) continue ;; # no block above this one
    429) sleep "$(header retry-after)" && continue ;;
    *) fail "since/$height answered $code: $(cat "$work/body")" ;;
  esac
  # The body holds every block from the next one up to its own height.
  [ "$(header x-since-block)" = "$height" ] || fail "gap: the body begins after block $(header x-since-block), not $height"
  height=$(header x-block-height)
  echo "block $height"
done
