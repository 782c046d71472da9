import { afterEach, expect, test } from 'bun:test';
import { shipped } from '../../../plugins/index.ts';
import { rehearse } from '../../../src/admin/use-cases/policy/rehearse.ts';
import { buildOf, revisionOf } from '../../../src/core/policy/build.ts';
import type { FoundModel, FoundModels } from '../../../src/core/policy/found-models.ts';
import type { Revision } from '../../../src/core/text/revision.ts';
import { createPluginLoader } from '../../../src/host/plugins/load.ts';
import { buildCandidate, isRejected, type PolicyTools } from '../../../src/policy/runtime/candidate.ts';
import { ModelServers } from '../../../src/policy/runtime/discovery/model-servers.ts';
import { parseFiles } from '../../../src/policy/runtime/parse-files.ts';
import { StoredRuntimes } from '../../../src/policy/runtime/stored-runtimes.ts';
import { UpstreamNetwork } from '../../../src/providers/connection/network.ts';
import { Health } from '../../../src/providers/health/health.ts';
import { waitFor } from '../../support/answers.ts';
import { HandTimers } from '../../support/hand-timers.ts';
import { type FakeModel, FakeModelServer } from '../../support/model-servers.ts';

const FILES = [{ path: 'p.yaml', text: 'version: 1\nproviders:\n  box: { preset: ollama }\n' }];
const model = (name: string): FoundModel => ({
  ...{ upstream: name, name, contextWindow: 4_096, isContextGuessed: false, parameters: null, capabilities: [] },
  ...{ operation: 'chat', dimensions: null, since: 1 },
});
const foundOf = (...models: readonly FoundModel[]): FoundModels => ({
  hash: 'abcd1234',
  servers: [{ provider: 'box', models, names: null, digests: [] }],
  used: ['box'],
});

const toolsFor = (url: string, found?: FoundModels | null, dropped: string[] = []): PolicyTools => ({
  folder: '.',
  shipped,
  loader: createPluginLoader(),
  env: { get: (name) => (name === 'OLLAMA_BASE_URL' ? url : undefined) },
  now: () => 0,
  parse: parseFiles,
  rehearse,
  found: () => found ?? null,
  onFoundDropped: (why) => dropped.push(why),
});

async function built(tools: PolicyTools) {
  const result = await buildCandidate({ files: FILES, hash: 'h' }, tools);
  if (isRejected(result)) throw new Error(JSON.stringify(result));
  return result;
}

test('found models that break the build are dropped with the reason, and the policy serves without them', async () => {
  const dropped: string[] = [];
  // No reader makes such a list.
  const broken = { ...foundOf(), servers: [{ provider: 'box', models: null, names: null }] } as unknown as FoundModels;
  const { runtime } = await built(toolsFor('http://127.0.0.1:9', broken, dropped));
  expect([runtime.snapshot.found, runtime.snapshot.models, dropped.length]).toEqual([null, [], 1]);
});

test('a build with found models is rebuilt from its stored text, under the operator’s revision', async () => {
  const found = foundOf(model('a'), model('b'));
  const { runtime, plain, surroundings } = await built(toolsFor('http://127.0.0.1:9', found));
  const { snapshot } = runtime;
  const id = buildOf(snapshot);
  expect([revisionOf(id), id]).toEqual([plain.snapshot.revision, `${plain.snapshot.revision}-abcd1234`]);
  const models = snapshot.models.map((one) => one.id);
  const stored: Revision = { ...{ revision: id, models, surroundings, saved: 1 }, source: JSON.stringify(FILES) };
  const runtimes = new StoredRuntimes({ tools: toolsFor('http://127.0.0.1:9'), find: async () => stored });
  const again = await runtimes.find(id);
  expect(again?.snapshot.models.map((one) => one.id)).toEqual(['box/a', 'box/b']);
  expect(again && buildOf(again.snapshot)).toBe(id);
});

const opened: { stop?(): unknown; close?(): unknown }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await (one.stop?.() ?? one.close?.());
});

/** Follows a fake server with a clock and timers that the test moves. */
async function following(...models: readonly FakeModel[]) {
  const fake = new FakeModelServer('ollama', models);
  const timers = new HandTimers();
  let time = 0;
  const clock = () => time;
  const health = new Health({ clock, now: clock, random: () => 0, onChange: () => {} });
  const servers = new ModelServers({
    ...{ health, network: new UpstreamNetwork(), env: () => undefined, timers, now: clock, clock },
    ...{ kept: null, keep: () => {}, warn: () => {}, info: () => {} },
  });
  opened.push(servers, fake);
  await servers.begin((await built(toolsFor(fake.url))).runtime);
  const builds: string[][] = [];
  servers.run(async () => {
    builds.push((servers.input()?.servers ?? []).flatMap((one) => one.models.map(({ name }) => name)));
  });
  const polls = () => fake.calls.filter((call) => call === 'GET /api/tags').length;
  const after = (ms: number) => {
    time += ms;
  };
  return { fake, timers, servers, builds, polls, after };
}

const SMOL = { name: 'smol', capabilities: ['completion'], inUse: 2_048 };

test('a server is asked every 30 seconds, and never twice within 5 seconds', async () => {
  const { timers, servers, polls, after } = await following(SMOL);
  expect([polls(), timers.intervals]).toEqual([1, [30_000]]);
  after(1_000);
  servers.pollAll();
  servers.pollAll();
  expect(polls()).toBe(1);
  after(4_000);
  timers.fire();
  await waitFor(() => polls() === 2);
});

test('more models are built at once; fewer models wait until a minute after the last build', async () => {
  const { fake, timers, servers, builds, polls, after } = await following(SMOL);
  const polled = async () => {
    const before = polls();
    after(5_000);
    servers.pollAll();
    await waitFor(() => polls() > before);
  };
  fake.models = [SMOL, { ...SMOL, name: 'more' }];
  await polled();
  await waitFor(() => builds.at(-1)?.length === 2);
  fake.models = [SMOL];
  await polled();
  await waitFor(() => servers.input()?.servers[0]?.models.length === 1);
  expect(builds.at(-1)).toEqual(['more', 'smol']);
  after(60_000);
  timers.fire();
  await waitFor(() => builds.at(-1)?.length === 1);
});
