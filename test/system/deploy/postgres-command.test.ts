import { afterAll, expect, test } from 'bun:test';
import { chmodSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { waitFor } from '../../support/answers.ts';
import { ownFolder } from '../../support/postgres.ts';
import { cleanEnvironment } from '../../support/signalbox.ts';

/** The program of `npm run postgres`. `launcher.test.ts` tests that the command installs its package first. */
const PROGRAM = join(import.meta.dir, '../../support/postgres-serve.ts');
// When started as root, PostgreSQL runs as another user, who must be able to reach its files and deletes them at the end.
const folder = ownFolder();
chmodSync(folder, 0o777);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** If only root can read the clone, the test copies PostgreSQL's programs, ms. */
const PATIENCE = 60_000;

/** Starts the program with its own folder for temporary files. */
function start() {
  let printed = '';
  const child = Bun.spawn([process.execPath, PROGRAM], {
    env: cleanEnvironment({ TMPDIR: folder }),
    stdout: 'pipe',
    stderr: 'inherit',
  });
  void (async () => {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) printed += text;
  })();
  return { child, address: () => /DATABASE_URL=(\S+)/.exec(printed)?.[1] };
}

test(
  '`npm run postgres` prints the address of an empty database, and Ctrl-C removes all its data',
  async () => {
    const { child, address } = start();
    const connectionString = await waitFor(address);
    const client = new Client({ connectionString });
    await client.connect();
    const { rows } = await client.query("SELECT count(*) AS tables FROM pg_tables WHERE schemaname = 'public'");
    expect(rows).toEqual([{ tables: '0' }]);
    await client.end();
    child.kill('SIGINT');
    expect(await child.exited).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
    const again = new Client({ connectionString });
    await expect(again.connect()).rejects.toThrow('ECONNREFUSED');
  },
  PATIENCE,
);

test(
  'Ctrl-C during the start of `npm run postgres` also removes all its data',
  async () => {
    const { child } = start();
    await waitFor(() => readdirSync(folder).length > 0);
    child.kill('SIGINT');
    expect(await child.exited).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  },
  PATIENCE,
);
