import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shipped } from '../../plugins/index.ts';
import type { Platform } from '../../src/core/decision/answer.ts';
import { priorReadings } from '../../src/core/decision/readings.ts';
import { parseId } from '../../src/core/id.ts';
import { openRecordReader, type RecordReader } from '../../src/gateway/records/records.ts';
import { certificateOf } from '../../src/gateway/request/certificate.ts';
import { createPluginLoader } from '../../src/host/plugins/load.ts';
import { parseFiles } from '../../src/policy/runtime/parse-files.ts';
import { PastPolicies } from '../../src/policy/runtime/replay.ts';
import { openReader } from '../../src/store/sqlite/reader.ts';
import { recordsMigrations } from '../../src/store/sqlite/records/schema.ts';
import { effort } from '../deep/effort.ts';
import { answerOf } from '../support/answers.ts';
import { type Behaviour, type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { makeTestKey, type Signalbox, startSignalbox, temporaryFolder } from '../support/signalbox.ts';
import { anyChat, anyPolicy, anyQuery, pick, SECOND_KEY, SECOND_URL } from './replay-worlds.ts';

/**
 * The test sends random requests to a real server while upstreams fail, the policy is edited and the process restarts in other
 * environments. Every decision must be reproduced bit for bit, whichever policy is active later.
 */
const { runs, seed, random, proved } = effort('replay', 6, 1_500);

const data = temporaryFolder();
const policies = temporaryFolder();
const key = makeTestKey();
/** Decisions with the `platform` object that their callers received; null if the answer was not JSON. */
const made = new Map<string, Platform | null>();
let box: Signalbox;
let first: FakeUpstream;
let second: FakeUpstream;
let restarts = 0;
let reloads = 0;

beforeAll(async () => {
  first = startFakeUpstream({ key: UPSTREAM_KEY });
  second = startFakeUpstream({ key: UPSTREAM_KEY });
  writeFileSync(join(policies, 'policy.yaml'), steady());
  box = await start(true);
});

afterAll(async () => {
  await box.stop();
  await Promise.all([first.stop(), second.stop()]);
  for (const folder of [data, policies]) rmSync(folder, { recursive: true, force: true });
});

/** The policy at the start: two models at two providers. */
const steady = () =>
  testPolicy(
    { first: first.url, second: second.url },
    { m0: { endpoints: ['first', 'second'], quality: 0.9 }, m1: { endpoints: ['second'], quality: 0.5 } },
  );

function start(hasSecond: boolean): Promise<Signalbox> {
  const env = { ...UPSTREAM_ENV, ...(hasSecond && { [SECOND_KEY]: UPSTREAM_KEY, [SECOND_URL]: second.url }) };
  return startSignalbox({
    isProcess: true,
    data,
    env: { ...env, SIGNALBOX_API_KEY: key },
    args: ['--policies', policies],
  });
}

async function chat(body: object): Promise<void> {
  const response = await box.post('/v1/chat/completions', body);
  const isJson = response.headers.get('content-type')?.startsWith('application/json') && response.ok;
  const platform = isJson ? (await answerOf(response)).platform : null;
  if (!isJson) await response.text();
  const id = response.headers.get('x-signalbox-decision-id');
  if (id) made.set(id, platform);
}

async function route(query: object): Promise<void> {
  const { decision_id: id } = (await (await box.post('/v1/route', query)).json()) as { decision_id?: string };
  if (id) made.set(id, null);
}

async function edit(text: string): Promise<void> {
  writeFileSync(join(policies, 'policy.yaml'), text);
  const response = await box.post('/admin/policy/reload', {});
  if (!response.ok) throw new Error(await response.text());
  reloads++;
}

async function restart(): Promise<void> {
  // Before a server lists decisions, it writes all decisions in memory.
  expect((await box.get('/admin/decisions?limit=1')).status).toBe(200);
  box.signal(pick(random, ['SIGTERM', 'SIGKILL']));
  await box.exited;
  box = await start(random() < 0.6);
  restarts++;
}

/** Gives the upstreams one random behaviour, until the next call. */
function falter(): void {
  for (const upstream of [first, second]) {
    const faults = pick(random, [0, 0, 0.3, 0.9]);
    const slowness = pick(random, [0, 5, 60]);
    upstream.behave((): Behaviour => {
      const headersAfterMs = random() * slowness;
      if (random() < faults) return { status: pick(random, [500, 503, 429]), headersAfterMs };
      return { text: 'word '.repeat(20 + random() * 60), headersAfterMs, betweenChunksMs: 1 };
    });
  }
}

const chats = () => Promise.all(Array.from({ length: 1 + random() * 4 }, () => chat(anyChat(random))));
const queries = () => Promise.all([route(anyQuery(random)), route(anyQuery(random))]);
const edits = () => edit(anyPolicy(random, first.url, `a comment with the key: ${UPSTREAM_KEY}`));
/** Waits until measurements are published. */
const pause = () => Bun.sleep(1_050);

const ACTIONS: readonly (() => unknown)[] = [
  ...Array.from({ length: 11 }, () => chats),
  ...Array.from({ length: 5 }, () => queries),
  ...Array.from({ length: 3 }, () => edits),
  ...Array.from({ length: 3 }, () => falter),
  pause,
  restart,
];

interface DecisionAnswer {
  readonly choice: string;
  readonly route_reason: string;
  readonly replay: object;
  readonly explanation: readonly string[];
  readonly candidates: readonly { readonly model: string; readonly rank: number | null; readonly quality: number }[];
  readonly quality: Readonly<Record<string, number>>;
  readonly readings: { readonly frame: number };
  readonly receipt: object | null;
}

async function expectReplayed(id: string, platform: Platform | null): Promise<void> {
  const response = await box.get(`/v1/decisions/${id}`);
  expect(response.status, id).toBe(200);
  const decision = (await response.json()) as DecisionAnswer;
  expect(decision.replay, id).toEqual({ matches: true, reason: null, endpoints: null });
  expect(decision.candidates[0], id).toMatchObject({ model: decision.choice, rank: 1 });
  for (const { model, quality } of decision.candidates) expect(quality, id).toBe(decision.quality[model]!);
  expect(decision.explanation.join(' '), id).toContain(decision.choice);
  if (!platform) return;
  const { dropped, ...receipt } = platform;
  expect(decision.receipt, id).toEqual(receipt);
}

async function expectAllReplayed(): Promise<void> {
  const all = [...made];
  while (all.length > 0) await Promise.all(all.splice(0, 8).map(([id, platform]) => expectReplayed(id, platform)));
}

/** Replays from the database file alone, as a command does, and counts the differences. `records` and `past` may be altered. */
async function mismatches(spoil: (records: RecordReader) => RecordReader, inForce = false): Promise<number> {
  const reader = openReader(join(data, 'signalbox.db'), [recordsMigrations]);
  expect(await reader.records.isCurrent()).toBe(true);
  const records = openRecordReader(reader.records);
  const tools = { folder: policies, shipped, loader: createPluginLoader(), parse: parseFiles, active: () => null };
  const past = new PastPolicies(tools);
  const latest = (await records.find(parseId('dec_', [...made.keys()].at(-1)!)!))!.revision;
  let wrong = 0;
  for (const id of made.keys()) {
    const record = (await records.find(parseId('dec_', id)!))!;
    const asked = inForce ? { ...record, revision: latest } : record;
    const { matches } = await certificateOf(asked, spoil(records), past);
    if (matches !== true) wrong++;
  }
  reader.close();
  return wrong;
}

test(`every decision can be reproduced bit for bit (seed ${seed})`, async () => {
  // A circuit breaker opens, so that there are last resorts.
  first.behave({ status: 500 });
  for (let i = 0; i < 6; i++) await chat({ model: 'm0', messages: [{ role: 'user', content: 'Hello' }] });
  await chat({ model: 'auto', messages: [{ role: 'user', content: 'Hello' }] });
  await route({ model: 'auto-fast' });
  // From this point, readings differ from the catalog's figures.
  await pause();
  await chats();
  for (let i = 0; i < runs; i++) {
    await pick(random, ACTIONS)();
    if (i % 500 === 499) await expectAllReplayed();
  }
  await edit(anyPolicy(random, first.url, 'the last one'));
  await route({});
  await restart();
  await expectAllReplayed();
  const counted = `${made.size} decisions, ${reloads} reloads and ${restarts} restarts`;
  proved(`every decision can be reproduced: ${counted}`);
  console.log(counted);
}, 1_800_000);

test('a replay with other readings or another policy is detected, and a replay needs only the database file', async () => {
  expect(await mismatches((records) => records)).toBe(0);
  const byPresentReadings = (records: RecordReader): RecordReader => ({
    ...records,
    findReadings: async (_, watched) => priorReadings(watched),
  });
  expect(await mismatches(byPresentReadings)).toBeGreaterThan(0);
  expect(await mismatches((records) => records, true)).toBeGreaterThan(0);
}, 1_800_000);
