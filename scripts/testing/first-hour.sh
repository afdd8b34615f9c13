#!/usr/bin/env bash
# Measures a first hour on regtest: from a Debian with MariaDB and a coin node to a replica that equals its source, with four settings.
# It starts a MariaDB and a litecoind of its own, then the clock. Prints the seconds of each step as JSON; ends with 1 beyond FIRST_HOUR_LIMIT_S (180).
# FIRST_HOUR_PORT=<n>: services listen on n to n+8 in place of their usual ports.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly limit=${FIRST_HOUR_LIMIT_S:-180} blocks=110
work=$(mktemp -d "${TMPDIR:-/tmp}/first-hour.XXXXXX")
children=()

finish() {
  local pid
  for pid in "${children[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${children[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

say() { echo "first-hour: $*" >&2; }
fail() {
  say "$@"
  [[ ! -s $work/up.log ]] || tail -n 20 "$work/up.log" >&2
  exit 1
}
now() { date +%s%N; }
seconds_since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.1f", (b - a) / 1e9 }'; }
free_port() { "$root/scripts/run-node" -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })'; }

# Repeats a command until it succeeds, or the limit is over.
until_done() {
  local what=$1 end=$((SECONDS + limit))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || fail "$what: not in $limit s"
    sleep 0.2
  done
}

start_mariadb() {
  local user
  user=$(id -un)
  mkdir "$work/tmp"
  (cd "$work" && mariadb-install-db --no-defaults --datadir=./data --user="$user" --auth-root-authentication-method=normal --skip-test-db >install.log 2>&1)
  PATH="$PATH:/usr/sbin" mariadbd --no-defaults --datadir="$work/data" --user="$user" --tmpdir="$work/tmp" --socket="$work/m.sock" --bind-address=127.0.0.1 \
    --port="$database_port" --pid-file="$work/m.pid" >"$work/mariadb.log" 2>&1 &
  children+=($!)
  until_done 'MariaDB answers' mariadb --no-defaults --socket="$work/m.sock" -uroot -e 'SELECT 1'
  mariadb --no-defaults --socket="$work/m.sock" -uroot -e "CREATE USER 'admin'@'127.0.0.1' IDENTIFIED BY 'of-this-run'; GRANT ALL ON *.* TO 'admin'@'127.0.0.1' WITH GRANT OPTION"
}

node_cli() { litecoin-cli -regtest -datadir="$work/node" -rpcport="$node_port" -rpcuser=rpc -rpcpassword=of-this-run "$@"; }

start_node() {
  mkdir "$work/node"
  litecoind -regtest -server -txindex=1 -listen=0 -fallbackfee=0.0002 -printtoconsole=0 -datadir="$work/node" -rpcport="$node_port" -rpcuser=rpc \
    -rpcpassword=of-this-run -vbparams=mweb:9999999999:9999999999 >"$work/node.log" 2>&1 &
  children+=($!)
  until_done 'the coin node answers' node_cli getblockcount
  node_cli createwallet first-hour >/dev/null
  address=$(node_cli getnewaddress '' bech32)
  node_cli generatetoaddress "$blocks" "$address" >/dev/null
}

all_answer() { kill -0 "$up" && grep -q 'all services answer' "$work/up.log"; }
is_equal() {
  local url="mysql://admin:of-this-run@127.0.0.1:$database_port" name
  for name in Indexer Decoder; do
    "$root/scripts/platform-node" verify --source "$url/Platform_LTC_Regtest_$name" --replica "$url/replica_Platform_LTC_Regtest_$name"
  done
}
height_is() {
  [[ $(mariadb --no-defaults --socket="$work/m.sock" -uroot -N -e "SELECT MAX(block_index) FROM replica_Platform_LTC_Regtest_Indexer.blocks") == "$1" ]]
}

# The machine as it is given: programs, a MariaDB, a coin node with blocks.
"$root/scripts/setup.sh"
database_port=$(free_port)
node_port=$(free_port)
start_mariadb
start_node

began=$(now)
cat >"$work/platform-node.env" <<SETTINGS
UP_MARIADB_URL=mysql://admin:of-this-run@127.0.0.1:$database_port
UP_NODE_URL=http://rpc:of-this-run@127.0.0.1:$node_port
NETWORK=litecoin-regtest
UP_STATE_DIR=$work/state
SETTINGS
settings=$(wc -l <"$work/platform-node.env")
if [[ -n ${FIRST_HOUR_PORT:-} ]]; then
  port=$FIRST_HOUR_PORT
  for name in HUB_PORT DECODER_API_PORT INDEXER_API_PORT UTXO_TRACKER_API_PORT ENCODER_API_PORT EXPLORER_API_PORT SYNC_API_PORT UP_REPLICA_PORT REGTEST_MINER_API_PORT; do
    echo "$name=$port" >>"$work/platform-node.env"
    port=$((port + 1))
  done
fi
"$root/scripts/platform-node" up --config "$work/platform-node.env" >"$work/up.log" 2>&1 &
up=$!
children+=("$up")
until_done 'all services answer' all_answer
answer_s=$(seconds_since "$began")
until_done "the replica has block $blocks" height_is "$blocks"
until_done 'the replicas are equal' is_equal
equal_s=$(seconds_since "$began")
node_cli generatetoaddress 1 "$address" >/dev/null
mined=$(now)
until_done 'the replica has the next block' height_is $((blocks + 1))
block_s=$(seconds_since "$mined")
until_done 'the replicas are equal again' is_equal
echo "{\"settings\":$settings,\"answerS\":$answer_s,\"equalS\":$equal_s,\"nextBlockS\":$block_s,\"limitS\":$limit}"
awk -v took="$equal_s" -v limit="$limit" 'BEGIN { exit took > limit }' || fail "$equal_s s is more than $limit s"
