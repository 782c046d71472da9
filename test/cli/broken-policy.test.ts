import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { openStore } from '../../src/store/open.ts';
import { message } from '../store/suites/alerts.ts';
import { tempFolder } from '../store/support.ts';
import { runHere } from '../support/run-here.ts';
import { writePolicy } from '../support/signalbox.ts';

/** Tests that a policy with mistakes blocks only commands that need a policy. */

const folder = tempFolder();
/** The policy folder of this environment. The file is not even YAML. */
const broken = writePolicy({ 'policy.yaml': 'version: [1\n' });
const env = { SIGNALBOX_DATA: folder.path, SIGNALBOX_POLICIES: broken };

beforeAll(async () => {
  const store = await openStore(join(folder.path, 'signalbox.db'), { mode: 'serve', program: 'test' });
  await store.commit([store.alerts.insert(message(store.instance.nextId()))]);
  await store.close();
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

test('alerts that were sent are listed while the policy is broken, with a warning that its rules are not', async () => {
  const { code, out, err } = await runHere(['alerts', 'list', '--json'], env);
  expect([code, err]).toEqual([0, expect.stringContaining('Its alert rules and webhooks are not listed.')]);
  const { data, rules } = JSON.parse(out);
  expect([data.map(({ type }: { type: string }) => type), rules]).toEqual([['alert'], []]);
});

test('commands that need the policy report it', async () => {
  expect((await runHere(['policy', 'check'], env)).code).toBe(2);
  const { code, err } = await runHere(['alerts', 'test'], env);
  expect([code, err]).toEqual([1, expect.stringContaining('rejects this policy')]);
});
