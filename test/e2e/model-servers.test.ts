import { afterEach, describe, expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { type FakeModel, FakeModelServer, type ServerKind } from '../support/model-servers.ts';
import { type Signalbox, type StartOptions, startSignalbox } from '../support/signalbox.ts';

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

function fake(kind: ServerKind, ...models: readonly FakeModel[]): FakeModelServer {
  const server = new FakeModelServer(kind, models);
  opened.push(() => server.stop());
  return server;
}

async function start(options: StartOptions): Promise<Signalbox> {
  const signalbox = await startSignalbox(options);
  opened.push(() => signalbox.stop());
  return signalbox;
}

const SMOL: FakeModel = { name: 'smol:latest', capabilities: ['completion'], inUse: 4_096 };
const QWEN: FakeModel = {
  name: 'qwen:4b',
  capabilities: ['completion', 'tools'],
  size: '4.0B',
  parameters: 4e9,
  inUse: 8_192,
};

const policyFor = (more = '') => `
version: 2
providers:
  box: { preset: ollama }
${more}
`;
const envOf = (server: FakeModelServer) => ({ OLLAMA_BASE_URL: server.url });

const ask = (model: string, text = 'Say hello.') => ({ model, messages: [{ role: 'user', content: text }] });

async function chat(signalbox: Signalbox, model: string) {
  const answer = await signalbox.post('/v1/chat/completions', ask(model));
  const body = await answer.json();
  return { status: answer.status, model: body.platform?.model ?? body.model, code: body.error?.code, body };
}

const idsIn = async (signalbox: Signalbox): Promise<string[]> =>
  (await (await signalbox.get('/v1/models')).json()).data.map(({ id }: { readonly id: string }) => id);

describe('a policy that declares no model', () => {
  test('the first request is answered by a model that the server has', async () => {
    const server = fake('ollama', SMOL);
    const signalbox = await start({ policy: policyFor(), env: envOf(server) });
    expect(await chat(signalbox, 'auto')).toMatchObject({ status: 200, model: 'box/smol' });
    expect(await chat(signalbox, 'box/smol')).toMatchObject({ status: 200, model: 'box/smol' });
    expect(await chat(signalbox, 'smol')).toMatchObject({ status: 404, code: 'model_not_found' });
    expect(await idsIn(signalbox)).toContain('box/smol');
  });

  test('a model that is added is served, and one that is removed is neither chosen nor listed', async () => {
    const server = fake('ollama', SMOL);
    const signalbox = await start({ policy: policyFor(), env: envOf(server) });
    server.models = [SMOL, QWEN];
    await signalbox.post('/admin/policy/reload', {});
    await waitFor(async () => (await idsIn(signalbox)).includes('box/qwen:4b'));
    expect(await chat(signalbox, 'auto')).toMatchObject({ status: 200, model: 'box/qwen:4b' });
    server.models = [SMOL];
    expect((await chat(signalbox, 'box/qwen:4b')).status).toBeGreaterThanOrEqual(400);
    await waitFor(async () => (await chat(signalbox, 'auto')).model === 'box/smol', 20_000);
  }, 60_000);

  test('the last list stays while the server is away, also after a restart', async () => {
    const server = fake('ollama', SMOL);
    const first = await startSignalbox({ policy: policyFor(), env: envOf(server) });
    expect(await chat(first, 'auto')).toMatchObject({ status: 200, model: 'box/smol' });
    server.override = () => new Response('busy', { status: 500 });
    const { data } = first;
    const copy = await start({ data: await keptCopy(data), policy: policyFor(), env: envOf(server) });
    await first.stop();
    expect(await idsIn(copy)).toContain('box/smol');
  });
});

async function keptCopy(data: string): Promise<string> {
  const { temporaryFolder } = await import('../support/signalbox.ts');
  const { copyFileSync } = await import('node:fs');
  const folder = temporaryFolder();
  copyFileSync(`${data}/found-models.json`, `${folder}/found-models.json`);
  return folder;
}
