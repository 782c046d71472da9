import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shipped } from '../../../plugins/index.ts';
import { rehearse } from '../../../src/admin/use-cases/policy/rehearse.ts';
import type { DecisionOutcome } from '../../../src/core/decision/outcome.ts';
import { priorReadings, type Readings } from '../../../src/core/decision/readings.ts';
import type { DecisionRecord } from '../../../src/core/decision/record.ts';
import { json } from '../../../src/core/define/fields.ts';
import { createIds } from '../../../src/core/id.ts';
import { plainUsage } from '../../../src/core/money/usage.ts';
import { type Facts, FactsAnswer } from '../../../src/core/request/facts.ts';
import { openRecords, type Records } from '../../../src/gateway/records/records.ts';
import { certificateOf } from '../../../src/gateway/request/certificate.ts';
import { recordDecision } from '../../../src/gateway/request/decision-record.ts';
import { createPluginLoader } from '../../../src/host/plugins/load.ts';
import {
  buildCandidate,
  isRejected,
  type PolicyCandidate,
  type PolicyTools,
} from '../../../src/policy/runtime/candidate.ts';
import { parseFiles } from '../../../src/policy/runtime/parse-files.ts';
import { PastPolicies } from '../../../src/policy/runtime/replay.ts';
import { type DecisionRuntime, strategyOf } from '../../../src/policy/runtime/runtime.ts';
import { readBundle } from '../../../src/policy/runtime/source.ts';
import { isRefusal } from '../../../src/routing/decide.ts';
import { saveRevision } from '../../../src/server/policy-reload.ts';
import type { Repositories } from '../../../src/store/repositories.ts';
import { openSqlite } from '../../../src/store/sqlite/database.ts';
import { recordsMigrations } from '../../../src/store/sqlite/records/schema.ts';
import type { Deferral, Store } from '../../../src/store/store.ts';
import { facts } from '../../routing/build.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { temporaryFolder } from '../../support/signalbox.ts';

const recorded = {
  keyId: 'key',
  team: null,
  user: null,
  stream: false,
  labels: {},
  metadata: {},
  session: null,
  agent: null,
  parentAgent: null,
  sentBy: null,
  request: null,
};
const nextId = createIds(Date.now, 0);

let folder: string;
let store: Store & Deferral & Repositories;
let records: Records;
let parses: number;
beforeEach(async () => {
  folder = temporaryFolder();
  store = await openSqlite(join(folder, 'signalbox.db'), [recordsMigrations]);
  records = openRecords({ store, tables: store.records, now: Date.now });
  parses = 0;
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
const models = (...ids: readonly string[]) =>
  testPolicy(
    { first: 'http://127.0.0.1:9/v1', second: 'http://127.0.0.1:9/v1' },
    Object.fromEntries(
      ids.map((id, at) => [
        id,
        { endpoints: ['first', 'second'], quality: 0.9 - at / 10, price: { input: 1, output: 4 - at } },
      ]),
    ),
  );

function tools(env: Readonly<Record<string, string | undefined>> = UPSTREAM_ENV): PolicyTools {
  const get = (name: string) => env[name];
  return { folder, shipped, loader: createPluginLoader(), env: { get }, now: Date.now, parse: parseFiles, rehearse };
}

/** Past policies as in a process that starts now, with an empty environment. */
function past(active: DecisionRuntime | null = null): PastPolicies {
  const parse = (files: Parameters<PolicyTools['parse']>[0]) => {
    parses++;
    return parseFiles(files, null);
  };
  return new PastPolicies({ ...tools({}), parse, active: () => active });
}

/** Activates a policy and stores its revision. */
async function load(text: string, env?: Readonly<Record<string, string | undefined>>): Promise<PolicyCandidate> {
  write('policy.yaml', text);
  const judged = await buildCandidate(await readBundle(folder), tools(env));
  if (isRejected(judged)) throw new Error(JSON.stringify(judged));
  await saveRevision(records, judged);
  return judged;
}

interface Made {
  /** Facts in addition to the usual ones. */
  readonly asked?: Partial<Facts>;
  readonly readings?: Readings;
  readonly outcome?: DecisionOutcome;
  readonly model?: string;
}

/** Makes a decision and stores it. */
async function decide(
  { runtime }: PolicyCandidate,
  { readings, outcome, model = 'auto', asked: more }: Made = {},
): Promise<DecisionRecord> {
  const asked = facts({ model, ...more });
  const seen = readings ?? priorReadings(runtime.snapshot);
  const given = { id: nextId(), seed: '0', readings: seen, ...strategyOf(asked, runtime) };
  const decision = runtime.decider.decide(asked, given);
  if (isRefusal(decision)) throw new Error('refused');
  const gateway = { records, nextId, now: Date.now };
  await store.commit(recordDecision(gateway, 'chat', decision, recorded, runtime.snapshot, outcome ?? null));
  return (await records.find(decision.id))!;
}

const USED: DecisionOutcome = {
  status: 'completed',
  error: null,
  attempts: [],
  usage: plainUsage(1_000, 500),
  estimated: false,
  charged: 3_000_000,
  saved: 0,
  firstPartMs: 1,
  totalMs: 2,
  cappedBy: null,
  usageReplaced: false,
};

describe('repeating a decision of the past', () => {
  test('a past decision is repeated from its stored data, in another environment, under another policy', async () => {
    const record = await decide(await load(models('a', 'b')), { outcome: USED });
    await load(models('c'));
    const { certificate, matches, reason, hindsight } = await certificateOf(record, records, past());
    expect([matches, reason]).toEqual([true, null]);
    expect(certificate).toMatchObject({ choice: 'a', runnerUp: { model: 'b' }, baseline: { model: 'a' } });
    // 1,000 and 500 tokens at 1 and 3, and at 1 and 4 millicredits.
    expect(hindsight).toEqual({ runnerUp: 2_500_000, baseline: 3_000_000 });
  });

  test('a fallback of a named model that was left out is repeated', async () => {
    const lists = { by: 'policy', error: ['b'], rate_limit: [], context: [], refused: [] } as const;
    const asked = { named: ['a', 'b'], fallbacks: lists, deniedModels: ['a'] };
    const insteadOf = { model: 'a', reason: 'key_models', text: 'the API key, its user or its team may not use it' };
    const outcome: DecisionOutcome = { ...USED, insteadOf: { ...insteadOf, reason: 'key_models' } };
    const record = await decide(await load(models('a', 'b')), { model: 'a', asked, outcome });
    expect(record).toMatchObject({ choice: 'b', reason: 'pinned:fallback', outcome: { insteadOf } });
    const { matches, certificate } = await certificateOf(record, records, past());
    expect(matches).toBe(true);
    expect(certificate).toMatchObject({ reason: 'pinned:fallback', insteadOf });
    const other = { ...record, outcome: { ...outcome, insteadOf: { ...insteadOf, reason: 'funds' as const } } };
    expect((await certificateOf(other, records, past())).matches).toBe(false);
  });

  test('a record that is older than a reason for fallbacks is repeated and shown', async () => {
    const asked = { named: ['a', 'b'], fallbacks: { by: 'policy', error: ['b'] } as const };
    const record = await decide(await load(models('a', 'b')), { model: 'a', asked });
    expect(record).toMatchObject({ choice: 'a', fallbacks: ['b'] });
    expect((await certificateOf(record, records, past())).matches).toBe(true);
    expect(json(FactsAnswer, record.facts)).toMatchObject({
      fallbacks: { by: 'policy', error: ['b'], rate_limit: [], context: [], refused: [] },
    });
  });

  test('a repeated decision uses the readings of its own time', async () => {
    const policy = await load(models('a', 'b'));
    const readings = { ...priorReadings(policy.runtime.snapshot), number: 1, allHealthy: false };
    readings.health.fill(1, 0, 2);
    readings.retryAt.fill(5, 0, 2);
    const record = await decide(policy, { readings });
    expect(record).toMatchObject({ choice: 'b', lastResorts: [{ model: 'a', endpoints: [0, 1] }] });
    const found = await certificateOf(record, records, past(policy.runtime));
    expect(found.matches).toBe(true);
    expect(found.certificate).toMatchObject({ choice: 'b', readingsNumber: record.readingsNumber });
    expect(found.certificate!.candidates[1]!.endpoints[0]).toMatchObject({ health: 'ejected', open: false });
    // Without these readings, the decision is different.
    expect((await certificateOf({ ...record, readingsNumber: 0 }, records, past())).matches).toBe(false);
  });

  test('a repeated decision knows which providers were not set up, but neither keys nor addresses', async () => {
    const text = models('a', 'b').replace(
      /second: \{[^}]*\}/,
      'second: { adapter: openai-compatible, base_url_env: SECOND_URL }',
    );
    const served = { ...UPSTREAM_ENV, SECOND_URL: 'http://10.1.2.3/private' };
    const ids = [await decide(await load(text)), await decide(await load(text, served))];
    for (const [at, endpoints] of [1, 2].entries()) {
      const { matches, certificate } = await certificateOf(ids[at]!, records, past());
      expect([matches, certificate!.candidates[0]!.endpoints.length]).toEqual([true, endpoints]);
    }
    const kept = JSON.stringify(await records.findRevision(ids[1]!.revision));
    for (const value of ['10.1.2.3', ...Object.values(UPSTREAM_ENV)]) expect(kept).not.toContain(value);
  });

  test('a repetition uses the qualities of the policy of the decision', async () => {
    const record = await decide(await load(models('a', 'b')));
    await load(models('b', 'a'));
    const { matches, certificate } = await certificateOf(record, records, past());
    expect(matches).toBe(true);
    expect(certificate!.candidates).toMatchObject([
      { model: 'a', countedQuality: 0.9 },
      { model: 'b', countedQuality: 0.8 },
    ]);
  });

  test('a repeated decision does not match an altered record', async () => {
    const record = await decide(await load(models('a', 'b')));
    const wrong: Partial<DecisionRecord>[] = [
      { choice: 'b' },
      { fallbacks: [] },
      { lastResorts: [{ model: 'a', endpoints: [0] }] },
      { reason: 'auto:other' },
    ];
    for (const change of wrong) {
      expect((await certificateOf({ ...record, ...change }, records, past())).matches, JSON.stringify(change)).toBe(
        false,
      );
    }
  });
});

describe('a decision that cannot be repeated has a reason:', () => {
  const reasonFor = async (record: DecisionRecord, from = past()) => {
    const { certificate, matches, reason } = await certificateOf(record, records, from);
    expect([certificate, matches]).toEqual([null, null]);
    return reason;
  };

  test('the reason names data that is no longer stored', async () => {
    const policy = await load(models('a', 'b'));
    const record = await decide(policy);
    expect(await reasonFor({ ...record, revision: 'gone' })).toBe(
      'The policy revision of this decision is no longer stored.',
    );
    expect(await reasonFor({ ...record, readingsNumber: 12345 })).toContain(
      'readings that this decision used are no longer stored',
    );
  });

  test('the reason says that a policy cannot be built again as it was', async () => {
    const record = await decide(await load(models('a', 'b')));
    const revision = (await records.findRevision(record.revision))!;
    const find = (change: object) => past().find({ ...revision, ...change });
    expect(await find({ models: ['a'] })).toContain('it serves other models');
    expect(await find({ source: revision.source.replace('context_window', '*******') })).toContain('cannot be rebuilt');
    expect(await find({ source: '{' })).toContain('cannot be rebuilt');
    expect(await find({ surroundings: { unset: ['TEST_UPSTREAM_KEY'], plugins: [] } })).toContain('no provider');
    const pinned = { ...record, facts: { ...record.facts, model: 'gone', named: ['gone'] } };
    expect(await reasonFor(pinned)).toBe('The record of this decision does not match its policy revision.');
  });

  test('the reason names a plugin whose code has changed or is missing', async () => {
    const plugin = (sign: string) => `import { defineStrategy, Type } from 'signalbox/plugin';
export const own = defineStrategy({
  name: 'own', status: 'alpha', options: Type.Object({}),
  prepare: () => ({ reason: 'own', score: ({ n, quality }, out) => { for (let i = 0; i < n; i++) out[i] = ${sign}quality[i]; } }),
});
`;
    write('own.ts', plugin('-'));
    const record = await decide(
      await load(`${models('a', 'b')}plugins: [./own.ts]\nselectors:\n  mine: { strategy: own }\n`),
      {
        model: 'mine',
      },
    );
    expect(record).toMatchObject({ choice: 'b', reason: 'mine:own' });
    expect((await certificateOf(record, records, past())).matches).toBe(true);
    expect(parses).toBe(1);
    write('own.ts', plugin(''));
    const reason =
      'The policy of this decision cannot be rebuilt: the code of plugin `./own.ts` is missing or has changed.';
    expect(await reasonFor(record)).toBe(reason);
    rmSync(join(folder, 'own.ts'));
    expect(await reasonFor(record)).toBe(reason);
    // Nothing is parsed in this case. Parsing a large policy would take a second, for each request.
    expect(parses).toBe(1);
  });
});

test('each past policy is built once for all callers, few are kept, and the active policy is not built again', async () => {
  const revisions = [];
  for (const id of ['a', 'b', 'c', 'd', 'e']) {
    const { runtime } = await load(models(id));
    revisions.push((await records.findRevision(runtime.snapshot.revision))!);
  }
  const from = past();
  const [first, ...others] = revisions;
  const found = await Promise.all([from.find(first!), from.find(first!), from.find(first!)]);
  expect([new Set(found).size, parses]).toEqual([1, 1]);
  for (const revision of others) await from.find(revision);
  expect(parses).toBe(5);
  await from.find(others.at(-1)!);
  expect(parses).toBe(5);
  await from.find(first!);
  expect(parses).toBe(6);
  const { runtime } = await load(models('a'));
  expect(await past(runtime).find(first!)).toBe(runtime);
  expect(parses).toBe(6);
});
