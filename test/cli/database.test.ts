import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { tempFolder } from '../store/support.ts';
import { runHere } from '../support/run-here.ts';

test('db migrate makes the tables of a database, and db status tells how far they are', async () => {
  using folder = tempFolder();
  const run = (...args: string[]) => runHere(['db', ...args, '--data', folder.path]);
  expect(await run('status')).toEqual({
    code: 2,
    out: expect.stringMatching(
      /^Database {2}.*signalbox\.db\nTables {4}none yet\nProgram {3}of version \d+\. `signalbox db migrate` brings them/,
    ),
    err: '',
  });
  expect(await run('migrate')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Brought the tables of .* to version \d+\.$/m),
  });
  expect(await run('migrate')).toMatchObject({ code: 0, out: expect.stringMatching(/are up to date/) });
  const { code, out } = await run('status', '--json');
  const state = JSON.parse(out) as Record<string, unknown>;
  expect({ code, state }).toMatchObject({
    code: 0,
    state: { database: join(folder.path, 'signalbox.db'), is_served: false, is_current: true },
  });
  expect(state.version).toBe(state.known);
});
