#!/bin/sh
# Builds the console where its sources have changed since it was built, as after a `git pull` that brings no new packages.
set -eu
cd "$(dirname "$0")/.."

built=dist/console/manifest.json
[ -f "$built" ] && [ -z "$(find src/console src/http/console/pages.css deploy/console.ts -newer "$built")" ] && exit
exec node_modules/.bin/bun deploy/console.ts
