import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { someOf } from '../../deep/effort.ts';
import { goesOn } from '../../fixtures/v0.1/goes-on.ts';
import { type OpenedFixture, openFixture, readExpected, readHistory } from '../../fixtures/v0.1/history.ts';

/**
 * The present program opens the folders of commit 3e28ca1f, the last before any model was served by its name: the policy that
 * it shipped with an operator's file beside it, and the data that it left when it was killed. \`make.ts\` of 0.1 made them there.
 */
const PATIENCE = 60_000;
const LATER_MS = 120_000;
const FOLDER = join(import.meta.dir, '../../fixtures/3e28ca1f');
const expected = readExpected(join(FOLDER, 'expected.json'));

let opened: OpenedFixture;
beforeAll(async () => {
  opened = await openFixture(LATER_MS, FOLDER);
}, PATIENCE);
afterAll(() => opened.close());
const policies = () => join(opened.box.data, 'policies');

test('its folders are served, its policy is in force and passes its own cases', async () => {
  const ready = await opened.box.get('/readyz');
  expect([ready.status, await ready.json()]).toMatchObject([200, { status: 'ready', policy: { state: 'in_force' } }]);
  expect(opened.box.lines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  await opened.run(['policy', 'check', policies()]);
  await opened.run(['policy', 'test', policies()]);
});

test(
  'its money, keys, wallets, payments, decisions and outcomes add up to the microcredit',
  async () => {
    const history = await readHistory(opened);
    expect(history).toMatchObject({ ...expected });
    for (const list of ['keys', 'usage', 'decisions'] as const) {
      expect(Object.keys(history[list])).toEqual(Object.keys(expected[list]));
    }
  },
  PATIENCE,
);

test(
  'each of its decisions is taken again, to the bit',
  async () => {
    for (const id of someOf(Object.keys(expected.decisions)))
      await opened.run(['policy', 'explain', '--decision', id, policies()]);
  },
  PATIENCE,
);

test(
  'it takes a new chat, which is charged what its answer says, and the audit finds nothing wrong',
  () => goesOn(opened),
  PATIENCE,
);
