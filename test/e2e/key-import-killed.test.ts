import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../support/answers.ts';
import { cleanEnvironment, PROGRAM, runCommand, startSignalbox, temporaryFolder } from '../support/signalbox.ts';

const KEYS = 5_000;

test('an import that kill -9 interrupts is completed by repeating it', async () => {
  const data = temporaryFolder();
  await (await startSignalbox({ data })).stop();
  const hashes = Array.from({ length: KEYS }, (_, at) => createHash('sha256').update(`key ${at}`).digest('hex'));
  const file = join(data, 'keys.csv');
  writeFileSync(file, `sha256,name\n${hashes.map((hash, at) => `${hash},app-${at}\n`).join('')}`);
  const command = ['keys', 'import', file, '--apply', '--data', data];
  using db = new Database(join(data, 'signalbox.db'), { readonly: true });
  const count = () =>
    db.query<{ n: number }, []>('SELECT count(*) AS n FROM keys WHERE imported_hash IS NOT NULL').get()!.n;
  const child = Bun.spawn([PROGRAM, ...command], { env: cleanEnvironment({}), stdout: 'ignore', stderr: 'ignore' });
  await waitFor(() => count() > 0);
  child.kill('SIGKILL');
  await child.exited;
  const left = count();
  expect(left).toBeLessThan(KEYS);
  const { code, out } = await runCommand([...command, '--json']);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ create: KEYS - left, same: left, change: 0, refuse: 0 });
  expect(count()).toBe(KEYS);
  expect((await runCommand(['trail', 'verify', '--data', data])).code).toBe(0);
}, 60_000);
