#!/bin/sh
# A wallet of curl and a signer: gets coins in a devnet, issues a token, sends some of it, and reads who has how much.
# Run: docs/examples/wallet.sh MINER ENCODER EXPLORER, the addresses that npm run devnet prints
set -eu
miner=$1 encoder=$2 explorer=$3
here=$(dirname "$0")
keys=$(mktemp -d)
trap 'rm -rf "$keys"' EXIT
trap 'exit 130' INT TERM

sign() { "$here/../../scripts/run-node" "$here/signer.ts" "$@"; }
# One call by JSON-RPC; ends the wallet when the answer is an error.
call() {
  answer=$(curl -sS "$1/" -H 'content-type: application/json' \
    -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$2\",\"params\":$3}")
  case $answer in *'"error"'*) echo "$2: $answer" >&2 && exit 1 ;; esac
  printf '%s\n' "$answer"
}
text_of() { printf '%s\n' "$2" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
mine() { call "$miner" generate_blocks '{"count":1}' >"$keys/blocks"; }
# Builds, signs and broadcasts an action, in one transaction or two, and mines the block that confirms it.
act() {
  built=$(call "$encoder" create_tx "{\"pubkey\":\"$address\",\"data\":\"$1\",\"encoding\":\"${2:-AUTO}\"}")
  for part in psbt revealPsbt; do
    psbt=$(text_of "$part" "$built")
    test -n "$psbt" || continue
    signed=$(sign sign "$keys/own" "$psbt")
    sent=$(call "$encoder" broadcast_tx "{\"tx_hex\":\"$signed\"}")
  done
  mine
  echo "$1 in $(text_of txid "$sent")"
}
# Waits until the explorer knows a balance of the token.
balance() {
  for _ in $(seq 60); do
    curl -sS "$explorer/api/balances/$1" >"$keys/balance"
    ! grep "\"$token\"" "$keys/balance" || return 0
    sleep 1
  done
  echo "the explorer knows no balance of $1" >&2 && exit 1
}

address=$(sign new "$keys/own")
receiver=$(sign new "$keys/other")
token="WALLET$(date +%s)"
call "$miner" send_funds "{\"address\":\"$address\",\"amount\":1}" >"$keys/paid"
mine
act "ISSUE|0|$token|1000000|1000|2|made by an example|5000"
balance "$address"
act "SEND|0|$token|5|$receiver|$(printf 'thanks%.0s' $(seq 30))" P2WSH
balance "$receiver"
