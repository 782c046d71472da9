import { afterEach, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerOf, waitFor } from '../support/answers.ts';
import { FakeModelServer } from '../support/model-servers.ts';
import { type Signalbox, startSignalbox, writePolicy } from '../support/signalbox.ts';

/** An owner, on servers that accept guarded edits, cannot turn on `discover` over HTTP. */
const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

function fake(): FakeModelServer {
  const server = new FakeModelServer('ollama', [{ name: 'smol', capabilities: ['completion'], inUse: 4_096 }]);
  opened.push(() => server.stop());
  return server;
}

const policyOf = (box: string | null, more = '') => `version: 1
providers:
  sim: { adapter: simulated }${box === null ? '' : `\n  box: ${box}`}
models:
  echo:
    provider: sim
    price: { input: 0, output: 0, basis: own }
    context_window: 8000
    max_output: 2000
    quality: { default: 0.5, basis: guessed }
${more}`;

const revisionOf = async (signalbox: Signalbox) =>
  ((await (await signalbox.get('/admin/policy')).json()) as { readonly revision: string }).revision;

async function put(signalbox: Signalbox, text: string): Promise<Response> {
  return await signalbox.get('/admin/policy/files', {
    method: 'PUT',
    body: JSON.stringify({ changes: [{ name: 'a.yaml', text }] }),
    headers: { 'if-match': `"${await revisionOf(signalbox)}"` },
  });
}

async function push(signalbox: Signalbox, body: object): Promise<Response> {
  return await signalbox.post('/admin/policy/pushes', body, {
    headers: { 'if-match': `"${await revisionOf(signalbox)}"`, 'content-type': 'application/json' },
  });
}

async function open(policy: string, server: FakeModelServer): Promise<Signalbox> {
  const signalbox = await startSignalbox({
    ...{ policy: { 'a.yaml': policy }, env: { OLLAMA_BASE_URL: server.url }, args: ['--allow-policy-writes'] },
  });
  opened.push(() => signalbox.stop());
  return signalbox;
}

const OFF = '{ preset: ollama, discover: "off" }';

describe('an owner cannot turn on discovery over HTTP', () => {
  test.each([
    ['with its key', policyOf(OFF), policyOf('{ preset: ollama, discover: choose }')],
    ['by removing the key', policyOf(OFF), policyOf('{ preset: ollama }')],
    ['with a new provider', policyOf(null), policyOf('{ preset: ollama }')],
    ['with another preset', policyOf('{ preset: groq }'), policyOf('{ preset: ollama }')],
  ])('%s', async (_, before, after) => {
    const server = fake();
    const signalbox = await open(before, server);
    const revision = await revisionOf(signalbox);
    const answer = await put(signalbox, after);
    const { error } = await answerOf(answer);
    expect([answer.status, error.code]).toEqual([403, 'insufficient_permissions']);
    expect(error.message).toContain('a.yaml:4');
    expect(error.details.guarded).toContainEqual(
      expect.objectContaining({ section: 'providers', name: 'box', key: 'discover', by: 'files' }),
    );
    expect(await revisionOf(signalbox)).toBe(revision);
    expect(server.calls).toEqual([]);
  });

  test('with another way of serving', async () => {
    const signalbox = await open(policyOf('{ preset: ollama }'), fake());
    expect((await put(signalbox, policyOf('{ preset: ollama, discover: choose }'))).status).toBe(403);
  });
});

test('an edit over HTTP can leave discovery as it is, state what already applies, and turn it off', async () => {
  const signalbox = await open(policyOf('{ preset: ollama }'), fake());
  for (const after of [
    policyOf('{ preset: ollama }', 'strong_from: 0.07\n'),
    policyOf('{ preset: ollama, discover: serve }'),
    policyOf(OFF),
    policyOf(null),
    policyOf(OFF),
  ])
    expect((await put(signalbox, after)).status).toBe(200);
});

test('the files on disk can turn on discovery', async () => {
  const folder = writePolicy({ 'a.yaml': policyOf(OFF) });
  const signalbox = await startSignalbox({ args: ['--policies', folder], env: { OLLAMA_BASE_URL: fake().url } });
  opened.push(() => signalbox.stop());
  writeFileSync(join(folder, 'a.yaml'), policyOf('{ preset: ollama }'));
  expect((await signalbox.post('/admin/policy/reload', {})).status).toBe(200);
  await waitFor(async () => (await (await signalbox.get('/v1/models')).text()).includes('box/smol'), 20_000);
});

test('a push over HTTP can neither turn on discovery nor bring it back; the command `policy push` can', async () => {
  const on = policyOf('{ preset: ollama }');
  const folder = writePolicy({ 'a.yaml': on });
  const signalbox = await startSignalbox({
    env: { OLLAMA_BASE_URL: fake().url },
    args: ['--policies', folder, '--policies-from', 'store', '--allow-policy-writes'],
  });
  opened.push(() => signalbox.stop());
  const filesOf = (text: string) => ({ files: [{ name: 'a.yaml', text }] });
  expect((await push(signalbox, filesOf(policyOf('{ preset: ollama }', 'strong_from: 0.07\n')))).status).toBe(200);
  expect((await push(signalbox, filesOf(policyOf(OFF)))).status).toBe(200);
  for (const body of [filesOf(on), { revision: '1' }]) {
    const answer = await push(signalbox, body);
    const { error } = await answerOf(answer);
    expect([answer.status, error.message.includes('signalbox policy push')]).toEqual([403, true]);
  }
  const { code, out } = await signalbox.run('policy', 'push', folder, '--from', await revisionOf(signalbox), '--json');
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ guarded: [{ name: 'box', key: 'discover', by: 'files' }] });
});
