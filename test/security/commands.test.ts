import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as roles from '../../src/admin/use-cases/roles.ts';
import { everyHelp } from '../../src/cli/all-help.ts';
import { operator } from '../../src/cli/user.ts';
import { roleOf } from '../../src/core/people/caller.ts';
import { openDoor } from '../../src/server/processes/control.ts';
import type { OpenStore } from '../../src/store/driver.ts';
import { openStore } from '../../src/store/open.ts';
import { aUser } from '../store/suites/people.ts';
import { subject } from '../store/suites/subjects.ts';
import { answerOf } from '../support/answers.ts';
import { runHere } from '../support/run-here.ts';
import { serveHere } from '../support/serve-here.ts';
import { makeTestKey, startSignalbox, temporaryFolder, withKey, writePolicy } from '../support/signalbox.ts';
import { COMMANDS, NO_COMMAND, type Seat, SUBJECT, WITHOUT_DATA } from './command-rows.ts';

const HELP = await everyHelp();

/**
 * Tests the matrix of commands: a person who runs a command on the server's data is its operator, and uses the actions of the command's
 * row.
 */

const KEY = makeTestKey();
const data = temporaryFolder();
const out = mkdtempSync(join(tmpdir(), 'signalbox-test-'));
/** Closes the socket for `restart`, which sends a request to the parent of the processes. */
let closeDoor = () => {};
/** A fake server with a provider's list of models, the receiver of a webhook, and the health check of a server. */
const far = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => Response.json({ data: [{ id: 'far-1' }] }) });
const HOOK = `http://127.0.0.1:${far.port}/hook`;
/** The address of the webhook is in a file. */
const env = { FAR_KEY: 'far-0123456789', HOOK_FILE: join(out, 'hook') };
writeFileSync(env.HOOK_FILE, HOOK);
const POLICY = `version: 1
providers:
  sim: { adapter: simulated }
  far: { adapter: openai-compatible, base_url: "http://127.0.0.1:${far.port}/v1", api_key_env: FAR_KEY }
models:
  toy:
    provider: sim
    price: { input: 1000, output: 4000, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 256
    latency: { ttft_ms: 1, output_tokens_per_second: 100000, basis: guessed }
    quality: { default: 0.5, basis: guessed }
alerts:
  webhooks: { ops: { url_env: HOOK, format: slack, allow_private_network: true } }
`;
const CASES = `version: 1
cases: [{ name: any, given: { messages: [{ role: user, content: Hi }] }, expect: { model: toy } }]
`;

let seat: Seat;
let store: OpenStore;
/** Keys that commands have printed. */
const secrets: string[] = [];

beforeAll(async () => {
  const policies = writePolicy({ 'policy.yaml': POLICY, 'cases.yaml': CASES });
  const box = await startSignalbox({ data, env: { ...env, SIGNALBOX_API_KEY: KEY }, args: ['--policies', policies] });
  const key = await box.makeKey('--name', 'app');
  secrets.push(key);
  const body = { model: 'toy', messages: [{ role: 'user', content: 'Hi' }] };
  const { decision_id: decision } = (await answerOf(await box.post('/v1/chat/completions', body, withKey(key))))
    .platform;
  await box.post('/v1/feedback', { decision_id: decision, score: 1 }, withKey(key));
  await box.stop();
  mkdirSync(join(data, 'processes'));
  closeDoor = await openDoor(data, async function* () {});
  store = await openStore(join(data, 'signalbox.db'), {
    mode: 'beside',
    rooms: ['access', 'logins', 'people', 'subjects'],
  });
  const { people, logins, subjects } = store;
  const login = {
    ...{ id: 'login_1', user: 'user_ada', key: null, keyHash: null, browser: '', from: null, endedAt: null },
    ...times(Date.now()),
  };
  await store.commit([
    people.putUser(aUser('ada'), null),
    logins.insert({ login, hash: new Uint8Array(32) }, null),
    subjects.see(subject(SUBJECT), Date.now()),
  ]);
  writeFileSync(
    join(out, 'litellm.yaml'),
    'model_list: [{ model_name: gpt, litellm_params: { model: openai/gpt-5.1 } }]\n',
  );
  writeFileSync(join(out, 'keys.csv'), `sha256,name\n${'0a'.repeat(32)},brought\n`);
  const usage = {
    object: 'organization.usage.completions.result',
    model: 'toy',
    input_tokens: 999,
    output_tokens: 999,
  };
  const bucket = { start_time: Math.floor(Date.now() / 1_000), results: [usage] };
  writeFileSync(join(out, 'bill.json'), JSON.stringify({ object: 'page', data: [bucket] }));
  seat = {
    policies,
    revised: writePolicy({ 'policy.yaml': `${POLICY}# revised\n`, 'cases.yaml': CASES }),
    out,
    server: `http://127.0.0.1:${far.port}`,
    key: key.split('_')[2] ?? '',
    decision,
    login: login.id,
  };
});
afterAll(async () => {
  closeDoor();
  await store?.close();
  await far.stop(true);
  for (const folder of [data, out, ...(seat ? [seat.policies] : [])]) rmSync(folder, { recursive: true, force: true });
});

const times = (now: number) => ({ createdAt: now, usedAt: now, confirmedAt: now, expiresAt: now + 9e8 });

/** The entries of the audit trail after a given ID, oldest first. */
async function entriesAfter(id: number) {
  const entries = await store.trail.list({ keyId: null, limit: 100 });
  return entries.filter((one) => one.id > id).toReversed();
}

/** Runs a command, and records each action that is checked during the run, and for which principal. */
async function judged(words: readonly string[], args: readonly string[]) {
  using spy = spyOn(roles, 'checkAction');
  const flags = WITHOUT_DATA.has(words.join(' ')) ? [] : ['--data', data];
  const line = [...words, ...args, ...flags];
  const ended = words[0] === 'serve' ? await served(line) : await runHere(line, env);
  const reaches = spy.mock.results.map(({ value }) => value);
  return { ...ended, calls: spy.mock.calls.map(([caller, action], at) => [roleOf(caller), action, reaches[at]]) };
}

/** Starts a server, and stops it. */
async function served(line: readonly string[]) {
  const { stop } = await serveHere(line, env, []);
  await stop();
  return { code: 0, err: '', out: '' };
}

test('every command in the help has a row, and every row has a command', () => {
  const missing = Object.keys(HELP).filter((name) => !(name in COMMANDS));
  expect(missing.map((name) => `Add a row for ${name} to STATED_ROWS of test/security/command-rows.ts.`)).toEqual([]);
  expect(Object.keys(COMMANDS).filter((name) => !(name in HELP))).toEqual([]);
});

describe('a command, run as operator, uses exactly the actions of its row, and its changes are in the audit trail:', () => {
  const { name } = operator().actor as { name: string };
  for (const [command, { runs, takes, leaves = [] }] of Object.entries(COMMANDS)) {
    test(command, async () => {
      const before = (await entriesAfter(0)).at(-1)?.id ?? 0;
      const taken = new Set<string>();
      for (const args of runs(seat)) {
        const ended = await judged(command.split(' '), args);
        expect([ended.err, ended.code]).toEqual(['', 0]);
        secrets.push(...(ended.out.match(/sb_live_\w{12}_[\w-]{43}/g) ?? []));
        for (const call of ended.calls) taken.add(call.join(' '));
      }
      expect([...taken].toSorted()).toEqual(takes.map((action) => `owner ${action} all`).toSorted());
      const left = await entriesAfter(before);
      expect(left.map(({ action, subject: { kind } }) => `${action} ${kind}`)).toEqual([...leaves]);
      expect(left.map(({ actor }) => actor)).toEqual(left.map(() => ({ kind: 'cli', name })));
    });
  }
});

test('the audit trail of all commands contains no secret', async () => {
  const exported = (await runHere(['trail', 'export', '--data', data])).out;
  expect(exported.split('\n').length).toBeGreaterThan(20);
  expect(secrets.length).toBeGreaterThan(2);
  for (const secret of [...secrets, KEY, env.FAR_KEY, HOOK]) expect(exported).not.toContain(secret.slice(-20));
});

test('every action is used by a command, or is listed as an action of requests only', () => {
  const taken = new Set(Object.values(COMMANDS).flatMap(({ takes }) => takes));
  expect(roles.ACTION_NAMES.filter((action) => !taken.has(action))).toEqual(
    roles.ACTION_NAMES.filter((action) => NO_COMMAND.includes(action)),
  );
});
