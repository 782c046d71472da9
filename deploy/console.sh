#!/bin/sh
# Builds the console if its sources have changed since the last build, for example after a `git pull` without new packages.
set -eu
cd "$(dirname "$0")/.."

built=dist/console/manifest.json
[ -f "$built" ] && [ -z "$(find src/console src/http/console/pages.css deploy/console.ts -newer "$built")" ] && exit
exec node_modules/.bin/bun deploy/console.ts
