import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../support/ports.ts';
import { cleanEnvironment } from '../../support/signalbox.ts';
import { textOf } from './manifests.ts';

/**
 * The commands of a page for a machine with systemd run as they are: `sudo` and `systemctl` are small scripts, and the folders of the machine are
 * under a temporary folder.
 */
const SCRIPTS: Readonly<Record<string, string>> = {
  // The test is the only user.
  sudo: `case $1 in -u) shift 2; exec "$@" ;; install) shift; while [ "$1" != "\${1#-}" ]; do case $1 in -d) d=1; shift ;; -m|-o|-g) shift 2 ;; esac; done
if [ "\${d:-}" ]; then mkdir -p "$1"; else rm -f "$2"; cp -P "$1" "$2"; fi ;; *) exec "$@" ;; esac`,
  'systemd-sysusers': '',
  systemctl: `case $1 in daemon-reload) ;; start|enable) set -a; [ ! -f "$ROOT/etc/signalbox/keys.env" ] || . "$ROOT/etc/signalbox/keys.env"; set +a
signalbox serve --log json >> "$ROOT/log" 2>&1 & echo $! > "$ROOT/pid" ;;
stop) kill "$(cat "$ROOT/pid")"; while kill -0 "$(cat "$ROOT/pid")" 2>/dev/null; do sleep 0.1; done ;; esac`,
};

/**
 * Makes the folders and scripts of a machine under `root`.
 * @param program its command `signalbox`; null if the page installs the command
 * @param more further variables
 * @returns the variables of its shell, and the address of its server
 */
export function makeMachine(root: string, program: string | null, more: Readonly<Record<string, string>>) {
  for (const folder of ['bin', 'backups', 'etc/signalbox', 'var/lib'])
    mkdirSync(join(root, folder), { recursive: true });
  for (const [name, script] of Object.entries(SCRIPTS))
    writeFileSync(join(root, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  if (program !== null) symlinkSync(program, join(root, 'bin/signalbox'));
  const port = freePort();
  const env = {
    ...more,
    ROOT: root,
    PORT: `${port}`,
    SIGNALBOX_DATA: join(root, 'var/lib/signalbox'),
    SIGNALBOX_POLICIES: join(root, 'etc/signalbox/policies'),
    PATH: `${join(root, 'bin')}:${cleanEnvironment({}).PATH}`,
  };
  return { env, url: `http://127.0.0.1:${port}` };
}

/** Returns the blocks of commands in a section of a page. */
export function blocksOf(page: string, heading: string): string[] {
  const section =
    textOf(page)
      .split(`\n## ${heading}\n`)[1]
      ?.split(/\n##+ /)[0] ?? '';
  return [...section.matchAll(/^ *```sh\n(.*?)^ *```$/gms)].map(([, commands = '']) => commands);
}

/** Replaces the folders of a machine by folders under its root. */
export const belowRoot = (commands: string, root: string): string =>
  commands
    .replace(/(?<=\s)\/(var\/lib|backups|etc|usr\/lib)(?=[\s/])/g, `${root}/$1`)
    .replaceAll('/usr/local/bin/', `${root}/bin/`);
