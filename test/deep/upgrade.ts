import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { INSTALLED } from '../fixtures/folder.ts';
import { runToEnd, temporaryFolder } from '../support/signalbox.ts';
import { startMachine } from '../system/deploy/upgrade-guide.ts';
import { effort } from './effort.ts';

/**
 * `npm run test:deep -- upgrade`: the commands of docs/operate/backup-upgrade.md, from the program of 0.1 to this version and back. 0.1 is
 * the commit that wrote the fixture.
 */
const { proved } = effort('upgrade', 1, 1);
const ROOT = join(import.meta.dir, '../..');
const COMMIT_0_1 = '8b120e23';
const PATIENCE = 900_000;

const home = temporaryFolder();
const clone = join(home, 'clone');
const old = join(home, 'signalbox-0.1');
beforeAll(async () => {
  const run = async (command: readonly string[], cwd: string) =>
    expect(await runToEnd(command, {}, cwd)).toMatchObject({ code: 0 });
  await run(['git', 'clone', '--quiet', '--shared', '--no-checkout', ROOT, clone], home);
  await run(['git', 'checkout', '--quiet', COMMIT_0_1], clone);
  await run(['npm', 'ci', '--omit=dev', '--no-audit', '--no-fund'], clone);
  const path = `${join(clone, 'node_modules/.bin')}:$PATH`;
  writeFileSync(old, `#!/bin/sh\nPATH="${path}" exec '${join(clone, 'src/main.ts')}' "$@"\n`, { mode: 0o755 });
}, PATIENCE);
afterAll(() => rmSync(home, { recursive: true, force: true }));

test(
  'the upgrade guide leads from 0.1 to this version and back, and each version serves the same keys and the same journal',
  async () => {
    await using machine = startMachine(old);
    await machine.systemctl('start');
    expect(await machine.statusOf(INSTALLED)).toBe(200);
    expect(await machine.chat(INSTALLED)).toBe(200);
    const before = machine.journal();
    await machine.follow('Upgrade');
    expect(await machine.statusOf(INSTALLED)).toBe(200);
    expect(machine.journal().slice(0, before.length)).toEqual(before);
    expect(await machine.chat(INSTALLED)).toBe(200);
    expect(machine.journal().length).toBeGreaterThan(before.length);
    await machine.follow('Go back');
    expect(await machine.statusOf(INSTALLED)).toBe(200);
    expect(machine.journal().slice(0, before.length)).toEqual(before);
    expect(await machine.chat(INSTALLED)).toBe(200);
    expect(readFileSync(machine.file('charges.csv'), 'utf8').trim().split('\n').length).toBeGreaterThan(30);
    proved('the upgrade guide: from the program of 0.1 to this version and back, on the data and the policy of 0.1');
  },
  PATIENCE,
);
