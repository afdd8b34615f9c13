#!/usr/bin/env bash
# Builds the single-file program and lays out below DIRECTORY what a container needs to run it, and nothing else: the program, the
# C libraries that it is linked with, the licences of both, a user without rights, and two directories to write to. The Dockerfile runs this.
set -euo pipefail
umask 022
directory=$(mkdir -p "${1:?usage: scripts/build/image.sh DIRECTORY}" && cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly OWNER=10001
program=$directory/opt/platform-node/platform-node
scripts/run-node scripts/build/binary.ts --out "$(dirname "$program")"

# Where the loader looks for them: "libc.so.6 => /lib/... (0x...)", the loader itself without an arrow.
for library in $(ldd "$program" | grep -o ' */[^ ]*'); do
  [[ $library == "$directory"/* ]] && continue
  install -D "$library" "$directory$library"
  # Debian knows a library by where it was before /lib became a link.
  package=$( (dpkg -S "$library" || dpkg -S "/usr$library" || dpkg -S "${library#/usr}") 2>/dev/null | head -n 1 | cut -d: -f1)
  install -D -m 644 "/usr/share/doc/$package/copyright" "$directory/usr/share/doc/$package/copyright"
done

mkdir -p "$directory"/{etc,dev,proc,sys,tmp,var/lib/platform-node}
echo "platform:x:$OWNER:$OWNER::/var/lib/platform-node:/sbin/nologin" >"$directory/etc/passwd"
echo "platform:x:$OWNER:" >"$directory/etc/group"
echo 'hosts: files dns' >"$directory/etc/nsswitch.conf"
chmod 755 "$directory"
chmod 1777 "$directory/tmp"
[[ $(id -u) != 0 ]] || chown "$OWNER:$OWNER" "$directory/var/lib/platform-node"
chmod 700 "$directory/var/lib/platform-node"
