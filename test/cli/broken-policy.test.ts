import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { openStore } from '../../src/store/open.ts';
import { tempFolder } from '../store/support.ts';
import { runHere } from '../support/run-here.ts';
import { writePolicy } from '../support/signalbox.ts';

/** Tests that a policy with mistakes blocks only commands that need a policy. */

const folder = tempFolder();
/** The policy folder of this environment. The file is not even YAML. */
const broken = writePolicy({ 'policy.yaml': 'version: [1\n' });
const env = { SIGNALBOX_DATA: folder.path, SIGNALBOX_POLICIES: broken };

beforeAll(async () => {
  await (await openStore(join(folder.path, 'signalbox.db'), { mode: 'serve', program: 'test' })).close();
});
afterAll(() => folder[Symbol.dispose]());

test('a key can be created and revoked while the policy is broken', async () => {
  const made = JSON.parse((await runHere(['keys', 'create', '--model', 'toy', '--json'], env)).out);
  const { code, err } = await runHere(['keys', 'revoke', made.id], env);
  expect([code, err]).toEqual([0, '']);
  expect(JSON.parse((await runHere(['keys', 'show', made.id, '--json'], env)).out).state).toBe('revoked');
});

test.each([
  ...['teams list', 'users list', 'logins list', 'subjects list', 'trail list', 'trail verify', 'traffic show'],
  ...['decisions list', 'guards list', 'cache status', 'instances', 'endpoints list', 'learn status', 'db status'],
  ...['learn reset --yes', 'learn export', 'policy history'],
])('%s works while the policy is broken', async (command) => {
  const { code, err } = await runHere(command.split(' '), env);
  expect([code, err]).toEqual([0, '']);
});

test('commands that need the policy report it', async () => {
  expect((await runHere(['policy', 'check'], env)).code).toBe(2);
  const { code, err } = await runHere(['alerts', 'list'], env);
  expect([code, err]).toEqual([1, expect.stringContaining('rejects this policy')]);
});
