import { afterAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { waitFor } from '../support/answers.ts';
import { addressIn } from '../support/serve-here.ts';
import { cleanEnvironment, runToEnd, temporaryFolder } from '../support/signalbox.ts';
import { effort } from './effort.ts';

/** `npm run test:deep -- clone`: a newcomer's commands in a clone of the latest commit, with packages from the registry. */
const { proved } = effort('clone', 1, 1);
const ROOT = join(import.meta.dir, '../..');
const PATIENCE = 600_000;
const folder = temporaryFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a command until it prints a pattern, then stops it as a supervisor does. */
async function until<T>(command: readonly string[], find: (text: string) => T | null, use: (found: T) => unknown) {
  const child = Bun.spawn([...command], {
    cwd: folder,
    env: cleanEnvironment({}),
    stdout: 'pipe',
    stderr: 'inherit',
  });
  let printed = '';
  void (async () => {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) printed += text;
  })();
  try {
    await use(await waitFor(() => find(printed), PATIENCE));
  } finally {
    child.kill('SIGTERM');
    await child.exited;
  }
}

const serves = () =>
  until(
    ['npm', 'start', '--', '--port', '0'],
    (text) => addressIn(text) ?? null,
    async (url) => expect((await fetch(`${url}/healthz`)).status).toBe(200),
  );

test(
  'a clone that `npm start` installed runs `npm run postgres` and then `npm start` again',
  async () => {
    expect((await runToEnd(['git', 'clone', '--quiet', ROOT, folder], {})).code).toBe(0);
    await serves();
    await until(
      ['npm', 'run', 'postgres'],
      (text) => /DATABASE_URL=(\S+)/.exec(text)?.[1] ?? null,
      async (connectionString) => {
        const client = new Client({ connectionString });
        await client.connect();
        expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
        await client.end();
      },
    );
    await serves();
    const { out } = await runToEnd(['git', 'status', '--short'], {}, folder);
    expect(out).toBe('');
    proved('a fresh clone: `npm start`, `npm run postgres` and `npm start` again, with packages from the registry');
  },
  PATIENCE,
);
