#!/bin/sh
# Installs the packages of this clone with progress: `deploy/install.sh` for development, `deploy/install.sh --omit=dev` to serve.
# Packages for development that follow `--omit=dev` are installed as well. `deploy/install.sh test/system` installs the packages of a
# folder that has a lock file of its own. Does nothing if all are up to date.
set -eu
cd "$(dirname "$0")/.."

folder=.
case "${1:-}" in test/*)
  folder=$1
  shift
  ;;
esac
cd "$folder"

# If development packages are installed, keep them.
if [ "${1:-}" = --omit=dev ]; then
  shift
  omit=--omit=dev
  [ ! -d node_modules/@biomejs/biome ] || omit=
else
  omit=
fi

# `npm ci` builds the console, and copies the lock file when all packages are in place (`prepare` in package.json).
is_current() {
  cmp -s package-lock.json node_modules/.installed-lock || return 1
  [ -n "$omit" ] || [ "$folder" != . ] || [ -d node_modules/@biomejs/biome ]
}

# Prints the packages among its arguments that are not installed, with their versions in package.json.
missing() {
  for package in "$@"; do
    [ -d "node_modules/$package" ] ||
      node -p "process.argv[1] + '@' + require('./package.json').devDependencies[process.argv[1]]" "$package"
  done
}

is_installed() {
  is_current && [ -z "$(missing "$@")" ]
}

if is_installed "$@"; then
  [ "$folder" != . ] || exec deploy/console.sh
  exit
fi

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
is_installed "$@" && exit # the other installation has also built the console

# Runs npm, and shows every 3 s that it is still running.
with_progress() {
  npm "$@" --no-audit --no-fund --loglevel=error >/dev/null &
  npm=$!
  while kill -0 "$npm" 2>/dev/null; do
    sleep 1
    seconds=$((seconds + 1))
    [ $((seconds % 3)) -ne 0 ] || echo "  … $seconds s" >&2
  done
  wait "$npm"
}

echo 'Installing packages from the npm registry. This happens once, and after each update.' >&2
seconds=0
is_current || with_progress ci $omit
more=$(missing "$@")
# `npm install` adds packages at the versions of the lock file and keeps the others, so a server that runs from this clone keeps running.
[ -z "$more" ] || with_progress install --no-save --save-prod --omit=dev --ignore-scripts $more
echo "Installed in $seconds s." >&2
