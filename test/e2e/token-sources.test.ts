import { afterAll, afterEach, expect, test } from 'bun:test';
import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Value } from '@sinclair/typebox/value';
import { CheckReport } from '../../src/admin/doctor-report.ts';
import type { Timers } from '../../src/core/time/timers.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { waitFor } from '../support/answers.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { frequentTimers } from '../support/frequent-timers.ts';
import { testPolicy } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import {
  type Signalbox,
  type StartOptions,
  startSignalbox,
  temporaryFolder,
  writePolicy,
} from '../support/signalbox.ts';

const SEEN_MS = 8_000;

/** Timers with which repeated work and long waits, such as the wait for a renewal, take a fraction of their time. */
const TIMERS: Timers = {
  ...frequentTimers(5),
  after: (ms, run) => processTimers.after(ms > 120_000 ? ms / 2_000 : ms, run),
};

/** A token for each test. Words of other tests' texts must not be pieces of them, because tokens are masked. */
const TOKENS = Array.from({ length: 10 }, () => crypto.randomUUID());

const upstream = startFakeUpstream();
const folder = temporaryFolder();
const [file, output] = [join(folder, 'credentials.yaml'), join(folder, 'output')];
afterAll(async () => {
  await upstream.stop();
  rmSync(folder, { recursive: true });
});

let box: Signalbox;
afterEach(async () => {
  await box.stop();
  upstream.behave({});
  upstream.requests.length = 0;
});

/** Replaces a file atomically. */
function replace(path: string, text: string): void {
  writeFileSync(`${path}.tmp`, text);
  renameSync(`${path}.tmp`, path);
}

/** The credentials file: a source that prints the content of a file. */
const credentials = (more = '', hosts = '["127.0.0.1"]') =>
  `credentials:\n  CLOUD_TOKEN: { source: command, run: [cat, "${output}"], hosts: ${hosts} }\n${more}`;
const policy = (url = upstream.url) =>
  testPolicy({ first: url }, { best: { endpoints: ['first'] } }).replaceAll('TEST_UPSTREAM_KEY', 'CLOUD_TOKEN');

/** Prints a token that ends after this time, s. */
const print = (token: string, lifeS: number): void =>
  replace(output, JSON.stringify({ token, expires_at: new Date(Date.now() + lifeS * 1_000).toISOString() }));

async function start(options: Partial<StartOptions> = {}): Promise<void> {
  box = await startSignalbox({
    policy: policy(),
    args: ['--credentials', file],
    timers: TIMERS,
    ...options,
  });
}

const chat = () => box.post('/v1/chat/completions', { model: 'best', messages: [{ role: 'user', content: 'Hello' }] });
const tokensSent = (): (string | null)[] => upstream.requests.map(({ headers }) => headers.get('authorization'));

interface Status {
  readonly revision: string;
  readonly secrets: readonly { readonly variable: string; readonly is_set: boolean; readonly problem: string | null }[];
  readonly last_reload: { readonly result: string; readonly diagnostics: readonly { code: string; message: string }[] };
}
const status = async () => (await (await box.get('/admin/policy')).json()) as Status;
const source = async () => (await status()).secrets.find(({ variable }) => variable === 'CLOUD_TOKEN');

test('requests carry the token of a source, also after its renewal, and none fails meanwhile', async () => {
  writeFileSync(file, credentials());
  print(TOKENS[1]!, 600);
  await start();
  expect((await chat()).status).toBe(200);
  expect(tokensSent()).toEqual([`Bearer ${TOKENS[1]}`]);
  expect(await source()).toMatchObject({ source: 'command', is_set: true, problem: null });
  print(TOKENS[2]!, 3_600);
  const statuses = new Set<number>();
  await waitFor(async () => {
    statuses.add((await chat()).status);
    return tokensSent().at(-1) === `Bearer ${TOKENS[2]}`;
  }, SEEN_MS);
  expect([...statuses]).toEqual([200]);
  // The policy is the same, so the renewal is no reload.
  expect(await (await box.get('/admin/policy')).json()).toMatchObject({ last_reload: { cause: 'start' } });
});

test('a token that its provider refuses is renewed before its end', async () => {
  writeFileSync(file, credentials());
  print(TOKENS[8]!, 7_200);
  let skippedMs = 0;
  await start({ now: () => Date.now() + skippedMs });
  expect((await chat()).status).toBe(200);
  upstream.behave(({ headers }) => (headers.get('authorization') === `Bearer ${TOKENS[9]}` ? {} : { fail: 'auth' }));
  print(TOKENS[9]!, 7_200);
  skippedMs = 600_000;
  await waitFor(async () => (await chat()).status === 200, SEEN_MS);
  expect(tokensSent().at(-1)).toBe(`Bearer ${TOKENS[9]}`);
});

test('a server starts without a token, reports the reason, and serves once the source has one', async () => {
  writeFileSync(file, credentials());
  rmSync(output, { force: true });
  await start();
  expect((await chat()).status).toBe(502);
  expect(upstream.requests).toEqual([]);
  expect(await source()).toMatchObject({
    is_set: false,
    problem: expect.stringContaining('the command ended with code 1'),
  });
  const metrics = await (await fetch(`${box.url}/metrics`)).text();
  expect(metrics).toContain('signalbox_token_source_failing{variable="CLOUD_TOKEN"} 1');
  const report = Value.Parse(CheckReport, await (await box.post('/admin/doctor', {})).json());
  expect(report.data.find(({ check }) => check === 'token_sources')).toMatchObject({ state: 'problem' });
  print(TOKENS[3]!, 3_600);
  await waitFor(async () => (await chat()).status === 200, SEEN_MS);
  expect(tokensSent().at(-1)).toBe(`Bearer ${TOKENS[3]}`);
});

test('doctor reports a credentials file that every user can change', async () => {
  writeFileSync(file, credentials());
  print(TOKENS[0]!, 3_600);
  await start();
  const finding = async () => {
    const { data } = Value.Parse(CheckReport, await (await box.post('/admin/doctor', {})).json());
    return data.find(({ check, subject }) => check === 'permissions' && subject === file);
  };
  expect(await finding()).toMatchObject({ state: 'ok' });
  chmodSync(file, 0o666);
  expect(await finding()).toMatchObject({ state: 'problem', advice: expect.stringContaining('chmod o-w') });
  chmodSync(file, 0o644);
});

test('a token appears in no log line and in no answer', async () => {
  writeFileSync(file, credentials());
  print(TOKENS[4]!, 3_600);
  await start();
  upstream.behave({ fail: 'auth' });
  const answer = await (await chat()).text();
  const texts = [answer, JSON.stringify(await status()), ...box.lines];
  expect(texts.filter((text) => text.includes(TOKENS[4]!.slice(0, 8)))).toEqual([]);
});

test('a policy whose provider is at another host is refused: in a check, in an edit, and in a push', async () => {
  writeFileSync(file, credentials());
  print(TOKENS[5]!, 3_600);
  const elsewhere = [{ name: 'policy.yaml', text: policy('https://elsewhere.example/v1') }];
  const send = async (method: string, path: string, body: object) => {
    const { revision } = await status();
    const headers = {
      authorization: `Bearer ${box.key}`,
      'content-type': 'application/json',
      'if-match': `"${revision}"`,
    };
    const answer = await fetch(`${box.url}/admin/policy/${path}`, { method, headers, body: JSON.stringify(body) });
    return await answer.text();
  };
  const refusal = 'the token of CLOUD_TOKEN may not be sent to `https://elsewhere.example`';
  await start({ args: ['--credentials', file, '--allow-policy-writes'] });
  expect(await send('POST', 'check', { files: elsewhere })).toContain(refusal);
  expect(await send('PUT', 'files', { changes: elsewhere })).toContain(refusal);
  await box.stop();
  await start({ args: ['--credentials', file, '--allow-policy-writes', '--policies-from', 'store'] });
  expect(await send('POST', 'pushes', { files: elsewhere })).toContain(refusal);
  expect((await chat()).status).toBe(200);
});

test('`policy check` refuses the policy as well, and reports a credentials file that it cannot use', async () => {
  writeFileSync(file, credentials());
  const env = { SIGNALBOX_CREDENTIALS: file };
  await start();
  const folder = writePolicy(policy('https://elsewhere.example/v1'));
  const refused = await runHere(['policy', 'check', folder], env);
  expect([refused.code, refused.out + refused.err]).toEqual([2, expect.stringContaining('token-host')]);
  const fine = await runHere(['policy', 'check', writePolicy(policy())], env);
  expect([fine.code, fine.err]).toEqual([0, '']);
  writeFileSync(file, 'credentials: []\n');
  const { err } = await runHere(['policy', 'check', folder], env);
  expect(err).toContain(`The credentials file cannot be used: ${file}:1:14 wrong-type`);
});

test('an error in the credentials file keeps the sources, and a correction applies without a restart', async () => {
  writeFileSync(file, credentials());
  print(TOKENS[6]!, 3_600);
  await start();
  replace(file, credentials('  OTHER: { source: nothing }\n'));
  await waitFor(async () => (await source())?.problem?.includes(`${file}:3:20`) === true, SEEN_MS);
  expect((await chat()).status).toBe(200);
  replace(file, credentials('', '["localhost"]'));
  // The active policy sends the token to 127.0.0.1, so it cannot be built with the new file.
  await waitFor(async () => (await status()).last_reload.result === 'refused', SEEN_MS);
  expect((await status()).last_reload.diagnostics.map(({ code }) => code)).toEqual(['token-host']);
  replace(file, credentials());
  await waitFor(
    async () => (await source())?.problem === null && (await status()).last_reload.result !== 'refused',
    SEEN_MS,
  );
});

test('a server does not start with a wrong credentials file, or with a variable that is set and has a source', async () => {
  writeFileSync(file, credentials());
  print(TOKENS[7]!, 3_600);
  await start();
  const startWith = (text: string, env = {}) => {
    writeFileSync(file, text);
    return startSignalbox({ policy: policy(), env: { SIGNALBOX_CREDENTIALS: file, ...env } });
  };
  await expect(startWith('credentials: { CLOUD_TOKEN: { source: cloud } }')).rejects.toThrow(/:1:39 .*not-one-of/);
  await expect(startWith(credentials(), { CLOUD_TOKEN: 'set' })).rejects.toThrow('CLOUD_TOKEN is set, and');
});
