#!/bin/sh
# Installs the packages of this clone with progress: `deploy/install.sh` for development, `deploy/install.sh --omit=dev` to serve.
# Does nothing if they are up to date.
set -eu
cd "$(dirname "$0")/.."

# `npm ci` builds the console, and copies the lock file when all packages are in place (`prepare` in package.json).
is_installed() {
  cmp -s package-lock.json node_modules/.installed-lock || return 1
  [ $# -gt 0 ] || [ -d node_modules/@biomejs/biome ]
}

is_installed "$@" && exec deploy/console.sh

# Two installations at once would remove each other's packages, so the second one waits for the first.
lock=.installing
until mkdir "$lock" 2>/dev/null; do
  holder=$(cat "$lock/pid" 2>/dev/null || true)
  if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then
    rm -rf "$lock"
  else
    sleep 1
  fi
done
echo $$ >"$lock/pid"
trap 'rm -rf "$lock"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
is_installed "$@" && exit # the other one has built the console, too

echo 'Installing packages from the npm registry. This happens once, and after each update.' >&2
npm ci "$@" --no-audit --no-fund --loglevel=error >/dev/null &
npm=$!
seconds=0
while kill -0 "$npm" 2>/dev/null; do
  sleep 1
  seconds=$((seconds + 1))
  [ $((seconds % 3)) -ne 0 ] || echo "  … $seconds s" >&2
done
wait "$npm"
echo "Installed in $seconds s." >&2
