import { expect, test } from 'bun:test';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { openStore } from '../../../src/store/open.ts';
import { DATA_COMMANDS } from '../../cli/data-commands.ts';
import { testPolicy } from '../../support/policies.ts';
import { temporaryFolder, writePolicy } from '../../support/signalbox.ts';

const PROGRAM = join(import.meta.dir, '../../../src/main.ts');
const isRoot = process.getuid?.() === 0;

/** Runs a command as another user, because root may read every folder. */
async function asOther(words: readonly string[], cwd?: string): Promise<readonly [status: unknown, stderr: string]> {
  const child = spawn(process.execPath, [PROGRAM, ...words], {
    ...(isRoot && { uid: 65_534, gid: 65_534 }),
    cwd,
    env: { PATH: process.env.PATH, TMPDIR: '/tmp' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [stderr, [status]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  return [status, stderr];
}

test('a database that the user may not read is reported as unreadable, not as missing', async () => {
  const data = temporaryFolder();
  await (await openStore(join(data, 'signalbox.db'), { mode: 'serve' })).close();
  chmodSync(data, isRoot ? 0o700 : 0);
  try {
    for (const words of DATA_COMMANDS) {
      const [status, stderr] = await asOther([...words, '--data', data]);
      const problem = `signalbox: Cannot use the data folder ${data}: permission denied.`;
      expect([status, stderr]).toEqual([1, expect.stringContaining(problem)]);
      expect(stderr).not.toContain('start the server');
    }
  } finally {
    chmodSync(data, 0o700);
  }
}, 60_000);

test('policy check needs no data folder if it names a policy, and otherwise says why the data folder cannot be used', async () => {
  const home = temporaryFolder();
  await (await openStore(join(home, '.signalbox/signalbox.db'), { mode: 'serve' })).close();
  const policies = writePolicy(testPolicy({ first: 'http://127.0.0.1:9' }, { best: { endpoints: ['first'] } }));
  chmodSync(policies, 0o755);
  chmodSync(join(home, '.signalbox'), isRoot ? 0o700 : 0);
  chmodSync(home, 0o755);
  const problem = `Cannot use the data folder ${join(home, '.signalbox')}: permission denied.`;
  try {
    for (const [words, code] of [
      [[policies], 0],
      [['--policies', policies], 0],
      [[], 1],
      [[policies, '--data', join(home, '.signalbox')], 1],
    ] as const)
      expect(await asOther(['policy', 'check', ...words], home)).toEqual([code, expect.stringContaining(problem)]);
  } finally {
    chmodSync(join(home, '.signalbox'), 0o700);
  }
}, 60_000);
