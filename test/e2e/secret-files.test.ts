import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventsOf, waitFor } from '../support/answers.ts';
import { type RecordedRequest, startFakeUpstream } from '../support/fake-upstream.ts';
import { frequentTimers } from '../support/frequent-timers.ts';
import { MountedFolder } from '../support/mounted-folder.ts';
import { testPolicy } from '../support/policies.ts';
import { freePort } from '../support/ports.ts';
import { runHere } from '../support/run-here.ts';
import { makeTestKey, type Signalbox, startSignalbox, temporaryFolder, writePolicy } from '../support/signalbox.ts';

/** Secrets in files: `NAME_FILE` instead of `NAME`. */
const OLD = 'provider-secret-of-yesterday';
const NEW = 'provider-secret-of-today';
/** A changed file takes effect within two seconds, and in these tests within half a second; they allow much more, ms. */
const SEEN_MS = 8_000;

const upstream = startFakeUpstream();
const folder = temporaryFolder();
const file = join(folder, 'provider');
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

/** Replaces a file atomically, as a careful program does. */
function replace(path: string, text: string): void {
  writeFileSync(`${path}.tmp`, text);
  renameSync(`${path}.tmp`, path);
}

const policy = (): string => testPolicy({ first: upstream.url }, { best: { endpoints: ['first'] } });

async function start(env: Readonly<Record<string, string>>, args: readonly string[] = []): Promise<void> {
  box = await startSignalbox({
    env,
    timers: frequentTimers(5),
    ...(args.length > 0 ? { args } : { policy: policy() }),
  });
}

const startWithFile = (text: string): Promise<void> => {
  writeFileSync(file, text);
  return start({ TEST_UPSTREAM_KEY_FILE: file });
};

const chat = (more: object = {}) =>
  box.post('/v1/chat/completions', { model: 'best', messages: [{ role: 'user', content: 'Hello' }], ...more });

const keyOf = ({ headers }: RecordedRequest) => headers.get('authorization')?.replace('Bearer ', '');

/** Returns the key that the provider receives. */
async function keySent(): Promise<string | undefined> {
  expect((await chat()).status).toBe(200);
  return keyOf(upstream.requests.at(-1)!);
}

interface StatusAnswer {
  readonly revision: string;
  readonly secrets: readonly {
    readonly variable: string;
    readonly read: string | null;
    readonly problem: string | null;
  }[];
  readonly last_reload: { readonly message: string; readonly result: string };
}
const status = async () => (await (await box.get('/admin/policy')).json()) as StatusAnswer;
const secret = async (name: string) => (await status()).secrets.find(({ variable }) => variable === name)!;
const reload = (key = box.key) =>
  fetch(`${box.url}/admin/policy/reload`, { method: 'POST', headers: { authorization: `Bearer ${key}` } });
const unusable = async (): Promise<string | undefined> =>
  (await (await fetch(`${box.url}/metrics`)).text())
    .split('\n')
    .find((line) => line.startsWith('signalbox_secret_file_unusable{variable="TEST_UPSTREAM_KEY"}'))
    ?.at(-1);

describe('the key of a provider in a file', () => {
  test('a provider’s key is rotated under load by replacing its file, as Kubernetes does, and no request fails', async () => {
    const mounted = new MountedFolder({ key: `${OLD}\n` });
    await start({ TEST_UPSTREAM_KEY_FILE: join(mounted.path, 'key') });
    const { revision } = await status();
    // The provider accepts the new key from the beginning, like a service that issues a second key. The old key is withdrawn later.
    const known = new Set([OLD, NEW]);
    const patient = { betweenChunksMs: 20, text: Array.from({ length: 100 }, () => 'a ') };
    upstream.behave((request) => {
      if (!known.has(keyOf(request) ?? '')) return { fail: 'auth' };
      return request.body.max_tokens === 500 ? patient : {};
    });
    const long = chat({ stream: true, max_tokens: 500 });
    let isOver = false;
    const statuses: number[] = [];
    const callers = Array.from({ length: 4 }, async (_, at) => {
      while (!isOver) {
        const answer = await chat({ stream: at % 2 === 0 });
        await answer.text();
        statuses.push(answer.status);
        await Bun.sleep(25);
      }
    });
    await waitFor(() => upstream.requests.length > 20);
    mounted.update({ key: `${NEW}\n` });
    await waitFor(() => upstream.requests.some((request) => keyOf(request) === NEW), SEEN_MS);
    const from = upstream.requests.length;
    // Earlier requests may still use the old key; after them, the old key is no longer accepted.
    await waitFor(() => upstream.requests.length > from + 20);
    known.delete(OLD);
    const late = upstream.requests.length;
    await waitFor(() => upstream.requests.length > late + 40);
    isOver = true;
    await Promise.all(callers);

    expect([...new Set(statuses)]).toEqual([200]);
    expect(new Set(upstream.requests.slice(late).map(keyOf))).toEqual(new Set([NEW]));
    // A running request has kept the key that it began with.
    const { chunks } = await eventsOf(await long);
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('a '.repeat(100));
    const after = await status();
    expect(after.revision).toBe(revision);
    expect(after.last_reload.message).toBe('The policy is active with the new TEST_UPSTREAM_KEY.');
    mounted.remove();
  });

  test('a key that the provider has refused is not tried again, and the key that replaces it in the file is used without a reload', async () => {
    await startWithFile(OLD);
    upstream.behave((request) => (keyOf(request) === NEW ? {} : { fail: 'auth' }));
    const refused = async () => [(await chat()).status, upstream.requests.length];
    expect([await refused(), await refused(), await refused()]).toEqual([
      [502, 1],
      [502, 1],
      [502, 1],
    ]);
    replace(file, NEW);
    await waitFor(async () => (await chat()).status === 200, SEEN_MS);
    // No request tried the old key once more.
    expect(upstream.requests.map(keyOf)).toEqual([OLD, NEW]);
    // The provider refuses its new key, too; a reload tries the key at once.
    upstream.behave({ fail: 'auth' });
    expect([await refused(), await refused()]).toEqual([
      [502, 3],
      [502, 3],
    ]);
    upstream.behave({});
    expect((await reload()).status).toBe(200);
    expect(await keySent()).toBe(NEW);
  });

  test('a provider’s key is read without a single line end, and with everything else', async () => {
    for (const [text, key] of [
      ['a-key-of-the-test', 'a-key-of-the-test'],
      ['b-key-of-the-test\n', 'b-key-of-the-test'],
      ['c-key-of-the-test\r\n', 'c-key-of-the-test'],
    ] as const) {
      if (text.startsWith('a')) await startWithFile(text);
      else replace(file, text);
      await reload();
      expect(await keySent()).toBe(key);
    }
    // A key of two lines cannot be sent in a header.
    replace(file, 'd-key\nof-the-test\n');
    await reload();
    expect((await chat()).status).toBe(502);
  });

  test('a provider’s key stays unchanged while its file is empty, too large, unreadable or not a file, with a warning and a metric', async () => {
    await startWithFile(OLD);
    expect(await unusable()).toBe('0');
    const { read } = await secret('TEST_UPSTREAM_KEY');
    const ruin: Readonly<Record<string, () => void>> = {
      'it is empty': () => truncateSync(file),
      'it is larger than 64 KiB': () => writeFileSync(file, 'k'.repeat(65_537)),
      'it is not UTF-8': () => writeFileSync(file, new Uint8Array([0xff, 0xfe, 0x41])),
      'there is no such file': () => rmSync(file),
      'its symbolic links lead in a circle': () => symlinkSync(file, file),
      'it is not a file': () => {
        rmSync(file);
        mkdirSync(file);
      },
    };
    for (const [problem, act] of Object.entries(ruin)) {
      act();
      await reload();
      expect(await secret('TEST_UPSTREAM_KEY')).toMatchObject({ variable: 'TEST_UPSTREAM_KEY', read, problem });
      expect(await unusable()).toBe('1');
      const line = await waitFor(() => box.lines.find((one) => one.includes(problem)));
      expect(line).toContain('"message":"a file with a secret cannot be used","variable":"TEST_UPSTREAM_KEY_FILE"');
      expect(await keySent()).toBe(OLD);
    }
    rmSync(file, { recursive: true });
    writeFileSync(file, 'k'.repeat(65_536));
    await reload();
    expect(await unusable()).toBe('0');
    expect(await secret('TEST_UPSTREAM_KEY')).toMatchObject({ problem: null });
  });

  test('neither the old nor the new key of a provider is ever shown', async () => {
    await startWithFile(OLD);
    await keySent();
    replace(file, NEW);
    await reload();
    expect(await keySent()).toBe(NEW);
    upstream.behave({ status: 400, error: { message: `neither ${OLD} nor ${NEW} is right` } });
    const shown = [
      await (await chat()).text(),
      await (await box.get('/admin/policy')).text(),
      await (await box.get('/admin/decisions')).text(),
      await (await fetch(`${box.url}/metrics`)).text(),
      box.lines.join('\n'),
    ].join('\n');
    expect(shown).toContain('neither [secret] nor [secret] is right');
    for (const key of [OLD, NEW]) expect(shown).not.toContain(key);
  });

  test('a provider whose key file was missing at the start serves once the file exists', async () => {
    rmSync(file, { force: true });
    const waiting = testPolicy(
      { first: upstream.url, second: upstream.url },
      { best: { endpoints: ['first'] }, plain: { endpoints: ['second'] } },
    ).replace('TEST_UPSTREAM_KEY', 'TEST_WAITING_KEY');
    const args = ['--policies', writePolicy(waiting)];
    await start({ TEST_UPSTREAM_KEY: OLD, TEST_WAITING_KEY_FILE: file }, args);
    expect((await chat()).status).toBe(404);
    expect(await secret('TEST_WAITING_KEY')).toMatchObject({
      variable: 'TEST_WAITING_KEY',
      read: null,
      problem: 'there is no such file',
    });
    writeFileSync(file, NEW);
    await waitFor(async () => (await chat()).status === 200, SEEN_MS);
    expect(keyOf(upstream.requests.at(-1)!)).toBe(NEW);
    rmSync(args[1]!, { recursive: true });
  });

  test('a provider’s key is rotated while an edit of the policy is refused', async () => {
    writeFileSync(file, OLD);
    const policies = writePolicy(policy());
    await start({ TEST_UPSTREAM_KEY_FILE: file }, ['--policies', policies]);
    writeFileSync(join(policies, 'policy.yaml'), 'version: 1\nmodels: what?\n');
    expect((await reload()).status).toBe(422);
    replace(file, NEW);
    expect((await reload()).status).toBe(422);
    expect(await keySent()).toBe(NEW);
    rmSync(policies, { recursive: true });
  });
});

test('setting both forms of a variable is an error at the start, an empty variable counts as unset, and commands read files, too', async () => {
  writeFileSync(file, OLD);
  const policies = writePolicy(policy());
  const serve = (env: Readonly<Record<string, string>>) =>
    runHere(['serve', '--port', '0', '--data', join(folder, 'data'), '--policies', policies], env);
  const provider = await serve({ TEST_UPSTREAM_KEY: NEW, TEST_UPSTREAM_KEY_FILE: file });
  expect(provider.code).toBe(1);
  expect(provider.err).toContain('TEST_UPSTREAM_KEY and TEST_UPSTREAM_KEY_FILE are both set; unset one of them');
  expect(provider.err).not.toContain(NEW);
  const own = await serve({ TEST_UPSTREAM_KEY: NEW, SIGNALBOX_API_KEY: makeTestKey(), SIGNALBOX_API_KEY_FILE: file });
  expect(own.err).toContain('SIGNALBOX_API_KEY and SIGNALBOX_API_KEY_FILE are both set');
  const gone = await serve({ TEST_UPSTREAM_KEY: NEW, SIGNALBOX_API_KEY_FILE: join(folder, 'nothing') });
  expect(gone.err).toContain('The file of SIGNALBOX_API_KEY_FILE cannot be used: there is no such file.');
  const check = (path: string) => runHere(['policy', 'check', policies, '--all'], { TEST_UPSTREAM_KEY_FILE: path });
  expect((await check(file)).out).not.toContain('cannot serve here');
  const unread = await check(folder);
  expect(unread.out).toContain('TEST_UPSTREAM_KEY is not set');
  expect(unread.err).toContain('The file named by TEST_UPSTREAM_KEY_FILE cannot be used: it is not a file.');
  rmSync(policies, { recursive: true });
  await start({ TEST_UPSTREAM_KEY: '', TEST_UPSTREAM_KEY_FILE: file });
  expect(await keySent()).toBe(OLD);
});

test('the key to install and a private key for gas are read only at the start', async () => {
  const [own, gas] = [join(folder, 'own'), join(folder, 'gas')];
  const [first, second] = [makeTestKey('first0000001'), makeTestKey('second000001')];
  writeFileSync(own, `${first}\n`);
  writeFileSync(gas, `0x${'1'.repeat(63)}2\n`);
  writeFileSync(file, OLD);
  const paid = `payments:
  x402:
    enabled: true
    networks:
      - id: eip155:84532
        asset: { address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", name: USDC }
        pay_to: "0x52908400098527886E0F7030069857D2E4169EE7"
        rpc_urls: ["http://127.0.0.1:${freePort()}"]
        facilitator: { mode: local, private_key_env: TEST_GAS_KEY }
`;
  const policies = writePolicy(policy() + paid);
  const files = { SIGNALBOX_API_KEY_FILE: own, TEST_GAS_KEY_FILE: gas, TEST_UPSTREAM_KEY_FILE: file };
  await start({ SIGNALBOX_API_KEY: '', ...files }, ['--policies', policies]);
  const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
  const before = (await (await box.get('/admin/policy', as(first))).json()) as StatusAnswer;
  expect(before.secrets.map(({ variable }) => variable).sort()).toEqual([
    'SIGNALBOX_API_KEY',
    'TEST_GAS_KEY',
    'TEST_UPSTREAM_KEY',
  ]);
  replace(own, second);
  replace(gas, `0x${'3'.repeat(64)}`);
  replace(file, NEW);
  expect((await reload(first)).status).toBe(200);
  const after = (await (await box.get('/admin/policy', as(first))).json()) as StatusAnswer;
  expect(after.last_reload.message).toBe('The policy is active with the new TEST_UPSTREAM_KEY.');
  for (const name of ['SIGNALBOX_API_KEY', 'TEST_GAS_KEY']) {
    const of = ({ secrets }: StatusAnswer) => secrets.find(({ variable }) => variable === name);
    expect(of(after)).toEqual(of(before)!);
  }
  expect((await box.get('/admin/policy', as(second))).status).toBe(401);
  rmSync(policies, { recursive: true });
});
