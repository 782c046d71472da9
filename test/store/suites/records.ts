import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { AttemptRecord, SpreadRecord } from '../../../src/core/decision/attempt.ts';
import type { DecisionOutcome } from '../../../src/core/decision/outcome.ts';
import {
  type DecisionRecord,
  modelOf,
  RECORD_STATUSES,
  type RecordStatus,
  refusalSummary,
  statusOf,
  summaryOf,
} from '../../../src/core/decision/record.ts';
import type { RefusalRecord } from '../../../src/core/decision/refusal.ts';
import { findingsOf, GUARD_FINDINGS, type GuardVerdict } from '../../../src/core/decision/verdict.ts';
import type { ErrorCode } from '../../../src/core/errors.ts';
import { idAt, timeOfId } from '../../../src/core/id.ts';
import { ESCALATION_NAMES } from '../../../src/core/request/escalation.ts';
import type { Facts } from '../../../src/core/request/facts.ts';
import { TIERS } from '../../../src/core/request/tiers.ts';
import type { RecordEntry, RecordLog, RecordPage, RecordQuery } from '../../../src/store/records.ts';
import { facts } from '../../routing/build.ts';
import type { TestedStore } from '../implementations.ts';

const NOW = Date.UTC(2026, 10, 20);

/** A decision or a refusal. */
type Row = DecisionRecord | RefusalRecord;

interface Made {
  readonly id: number;
  readonly time?: number;
  readonly keyId?: string;
  readonly model?: string;
  readonly task?: string;
  readonly status?: RecordStatus;
  readonly labels?: Readonly<Record<string, string>>;
  readonly session?: string | null;
  readonly team?: string | null;
  readonly user?: string | null;
  readonly code?: ErrorCode | null;
  readonly guards?: readonly GuardVerdict[];
  readonly cached?: Partial<DecisionOutcome>;
}

/** A call of a guard to a model. */
const CALLS = [{ guard: 'pii', side: 'input', model: 'm', entry: 12, charged: 34, ms: 5 }] as const;

/** Two guards inspect a request for which verdicts are stated, also if they found nothing. */
const guarded = ({ guards }: Pick<Made, 'guards'>) =>
  guards && { ...(guards.length > 0 && { guards }), guardedBy: ['pii', "s'crets"], guardCalls: CALLS };

export function recordOf({
  id,
  time = NOW,
  keyId = 'k',
  model = 'm',
  task = 'general',
  ...more
}: Made): DecisionRecord {
  const { status = 'completed', labels = {}, session = null, team = null, user = null, code = null } = more;
  if (status === 'refused') throw new Error('a refusal is not a decision');
  const attempt = {
    model,
    provider: 'p',
    upstream: 'u',
    startMs: 1,
    ms: 1,
    firstPartMs: 1,
    failure: null,
    endpoint: 0,
  };
  const ended = {
    error: code,
    usage: null,
    estimated: false,
    charged: 12,
    saved: -3,
    firstPartMs: 1,
    totalMs: 2,
    cappedBy: null,
    usageReplaced: false,
    ...guarded(more),
    ...more.cached,
  };
  return {
    ...{
      id,
      time,
      request: id % 5 === 0 ? null : id + 128,
      keyId,
      kind: status === 'recommended' ? 'route' : 'chat',
      revision: 'r',
      readingsNumber: 0,
      seed: '0f',
    },
    facts: facts({ task }),
    ...{ stream: true, labels, session, team, user, metadata: { team: 'red' } },
    ...{ agent: session && 'a1', parentAgent: null, sentBy: session === 's1' ? 'user_1' : null },
    reason: 'auto:usual',
    ...{ choice: model, fallbacks: ['other'], lastResorts: [] },
    expectedLength: { tokens: 400, source: 'declared' },
    outcome:
      status === 'recommended'
        ? null
        : { status, attempts: [{ ...attempt, requestId: null, finishReasons: ['stop'] }], ...ended },
  };
}

const SPREAD: SpreadRecord = {
  ...{ mode: 'least_busy', key: '00112233445566aa', draw: 0, eligible: [0, 1], loads: [0, 2], weights: [1, 1] },
  ...{ compared: [0, 1], stays: false },
};

const signal = fc.record({
  signal: fc.constantFrom(...ESCALATION_NAMES),
  turnsAgo: fc.nat(9),
});

/** Facts that only some requests have, in every combination. */
const rareFacts: fc.Arbitrary<Partial<Facts>> = fc.record(
  {
    deniedModels: fc.constant(['m']),
    tier: fc.record({ name: fc.constantFrom(...TIERS), hard: fc.double({ min: 0, max: 1, noNaN: true }) }),
    escalation: signal,
    conversation: fc.record({ id: fc.string({ minLength: 1 }), answers: fc.nat(9) }),
    unescalated: fc
      .tuple(signal, fc.option(fc.record({ escalated: fc.nat(9), conversations: fc.nat(9) })))
      .map(([one, share]) => ({ ...one, share })),
  },
  { requiredKeys: [] },
);

/** The differences between attempts: only failures have a status and a message. */
const anyAttempt: fc.Arbitrary<Partial<AttemptRecord>> = fc
  .tuple(
    fc.record({ key: fc.constantFrom('first', 'second'), spread: fc.constant(SPREAD) }, { requiredKeys: [] }),
    fc.option(
      fc.record({
        status: fc.option(fc.constant(503), { nil: undefined }),
        message: fc.constantFrom('', 'It is busy.'),
      }),
    ),
  )
  .map(([rare, failed]) => ({ ...rare, ...(failed && { failure: 'overloaded' as const, ...failed }) }));

/** Makes a refusal with the same terms. */
export function refusalOf({ id, time = NOW, keyId = 'k', model = 'm', ...more }: Made, answers = 1): RefusalRecord {
  const { labels = {}, session = null, team = null, user = null, code = 'model_not_found' } = more;
  return {
    ...{ id, time, keyId, team, user, labels, session, model, code, answers },
    ...{ operation: id % 3 === 0 ? null : 'chat', reason: 'There is no model `m`.', status: 404 },
    ...{ dialect: 'openai-chat', method: 'POST', route: '/v1/chat/completions', decision: id % 2 === 0 ? 7 : null },
    ...guarded(more),
  };
}

const rowOf = ({ status, ...made }: Made): Row =>
  status === 'refused' ? refusalOf({ ...made, status }) : recordOf({ ...made, status });

const writeOf = (log: RecordLog, row: Row) => ('facts' in row ? log.add(row) : log.refuse(row));

const idsOf = ({ entries }: RecordPage) => entries.map(({ id }) => id);

/** Reads every page of a query, with at most `limit` records each. */
async function pages(log: Pick<RecordLog, 'list'>, query: RecordQuery): Promise<RecordEntry[]> {
  const all: RecordEntry[] = [];
  for (let after: number | undefined; ; ) {
    const { entries, next } = await log.list({ ...query, after });
    expect(entries.length).toBeLessThanOrEqual(query.limit);
    all.push(...entries);
    if (next === null) return all;
    after = next;
  }
}

function entryOf(record: Row): RecordEntry {
  if (!('facts' in record)) {
    const { id, keyId, model, operation, team, user, session } = record;
    const names = { model, task: '', status: 'refused', operation: operation ?? '' } as const;
    return { id, request: id, keyId, ...names, team, user, session, summary: refusalSummary(record) };
  }
  const { id, request, keyId, facts, team, user, session } = record;
  const { task, operation } = facts;
  const names = { model: modelOf(record), task, status: statusOf(record), operation };
  return { id, request, keyId, ...names, team, user, session, summary: summaryOf(record) };
}

function isMatch(record: Row, query: RecordQuery): boolean {
  const entry = entryOf(record);
  const { from, to, newerThan = 0, keyIds, labels = {} } = query;
  if (entry.id <= newerThan || (keyIds && !keyIds.includes(entry.keyId))) return false;
  if ((from !== undefined && entry.id < idAt(from)) || (to !== undefined && entry.id >= idAt(to))) return false;
  const error = entry.summary?.error ?? null;
  if (query.code !== undefined && query.code !== error) return false;
  if (query.codes && (error === null || !query.codes.includes(error))) return false;
  const { guard, finding } = query;
  const verdicts = (entry.summary?.guards ?? []).filter((one) => guard === undefined || one.guard === guard);
  if (guard !== undefined && verdicts.length === 0) return false;
  if (finding !== undefined && !verdicts.some((one) => findingsOf(one).includes(finding))) return false;
  const { insteadOf, leftOut } = query;
  const instead = entry.summary?.insteadOf;
  if (insteadOf !== undefined && instead?.model !== insteadOf) return false;
  if (leftOut !== undefined && (!instead || (leftOut !== 'any' && leftOut !== instead.reason))) return false;
  const filters = ['keyId', 'model', 'task', 'status', 'operation', 'session', 'team', 'user', 'request'] as const;
  if (filters.some((name) => query[name] !== undefined && query[name] !== entry[name])) return false;
  return Object.entries(labels).every(([name, value]) => record.labels[name] === value);
}

const few = <T>(values: readonly T[]) => fc.constantFrom(...values);
/** Mostly undefined, because few records match several filters. */
const maybe = <T>(values: readonly T[]) =>
  fc.oneof({ weight: 7, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: few(values) });
const LABELS = [{}, { team: 'red' }, { team: 'blue', 'a.b"c': 'x=y' }, { 'a.b"c': 'x=y' }] as const;

const VERDICTS: readonly (readonly GuardVerdict[])[] = [
  [],
  [{ guard: 'pii', side: 'input', action: 'mask', matches: { email: 2 } }],
  [{ guard: "s'crets", side: 'input', action: 'block', matches: {}, unreadable: 'images' }],
  [
    { guard: 'pii', side: 'input', action: 'flag', matches: {}, failed: true },
    { guard: "s'crets", side: 'output', action: 'block', matches: { key: 1 } },
  ],
  [
    { guard: 'pii', side: 'input', action: 'flag', matches: { email: 1 } },
    { guard: 'pii', side: 'output', action: 'block', matches: { email: 1 }, failed: true },
  ],
];

const made = fc.record({
  keyId: few(['k1', 'k2', "k'3"]),
  model: few(['m1', 'm2']),
  task: few(['coding', 'math', 'general']),
  status: few(RECORD_STATUSES),
  labels: few(LABELS),
  session: few([null, null, 's1', "s'2"]),
  team: few([null, 't1', 't2']),
  user: few([null, 'u1', 'u2']),
  code: few([null, 'rate_limit_exceeded', 'upstream_failed'] as const),
  guards: few([undefined, ...VERDICTS]),
  cached: few<Partial<DecisionOutcome>>([
    {},
    { cache: 'hit', spared: 7, repeats: 5 },
    { cache: 'hit', repeats: 5 },
    { cache: 'sampled' },
    { insteadOf: { model: "m'1", reason: 'funds', text: 'its price is "high"' } },
    { insteadOf: { model: 'm2', reason: 'cooling', text: 'it is paused' }, cache: 'miss' },
  ]),
  /**
   * How much later than the previous record the decision was made. The step can be negative, because records of long answers arrive late.
   */
  step: fc.integer({ min: -3, max: 5 }),
});

const queries: fc.Arbitrary<RecordQuery> = fc.record({
  from: maybe([timeOfId(idAt(NOW) + 8_192 * 5), NOW + 40]),
  to: maybe([NOW + 60, NOW + 2_000]),
  keyId: maybe(['k1', 'k2', "k'3", 'unknown']),
  keyIds: maybe([[], ['k1'], ['k1', 'unknown', "k'3"]]),
  model: maybe(['m1', 'm2', 'unknown']),
  task: maybe(['coding', 'math']),
  session: maybe(['s1', "s'2", 'unknown']),
  team: maybe(['t1', 't2', 'unknown']),
  user: maybe(['u1', 'unknown']),
  status: maybe(RECORD_STATUSES),
  operation: maybe(['chat']),
  code: maybe(['rate_limit_exceeded', 'upstream_failed', 'model_not_found'] as const),
  codes: maybe([[], ['model_not_found'], ['rate_limit_exceeded', 'upstream_failed']] as const),
  request: maybe([idAt(NOW) + 128, idAt(NOW) + 3 * 8_192 + 128, idAt(NOW) + 8_192]),
  labels: maybe(LABELS),
  guard: maybe(['pii', "s'crets", 'email', 'unknown']),
  finding: maybe(GUARD_FINDINGS),
  insteadOf: maybe(["m'1", 'm2', 'm1']),
  leftOut: maybe(['any', 'funds', 'cooling', 'context'] as const),
  newerThan: maybe([idAt(NOW) + 8_192 * 9, idAt(NOW + 100) + 3]),
  limit: few([1, 3, 50]),
  looksMax: maybe([7, 200]),
});

/** The guarantees of every store of records. */
export function recordSuite(open: () => Promise<TestedStore>): void {
  test('a record is restored as it was, and can be found once it is committed', async () => {
    await using store = await open();
    const tables = store.records;
    const record = recordOf({ id: 7, labels: { team: 'red' } });
    expect(await tables.log.find(7)).toBeNull();
    await store.commit([tables.log.add(record)]);
    expect(await tables.log.find(7)).toEqual(record);
  });

  test('a record is restored with the tier, the signals and the conversation of its request, and with the keys of its attempts', async () => {
    await using store = await open();
    let id = idAt(NOW);
    await fc.assert(
      fc.asyncProperty(rareFacts, fc.array(anyAttempt, { minLength: 1, maxLength: 3 }), async (rare, attempts) => {
        const made = recordOf({ id: id++ });
        const record = {
          ...made,
          facts: { ...made.facts, ...rare },
          outcome: { ...made.outcome!, attempts: attempts.map((one) => ({ ...made.outcome!.attempts[0]!, ...one })) },
        };
        await store.commit([store.records.log.add(record)]);
        expect(await store.records.log.find(record.id)).toEqual(record);
      }),
      { numRuns: 40 },
    );
  });

  test('a refusal is listed with all its facts before and after it is indexed, is no decision, and is deleted with decisions', async () => {
    await using store = await open();
    const { log } = store.records;
    const refusals = [refusalOf({ id: 5, keyId: '' }, 12), refusalOf({ id: 6, labels: { team: 'red' }, session: 's' })];
    await store.commit([...refusals.map((one) => log.refuse(one)), log.add(recordOf({ id: 7 }))]);
    const listed = [...refusals].reverse().map(entryOf);
    expect((await log.list({ status: 'refused', limit: 9 })).entries).toEqual(listed);
    while (await log.index());
    expect((await log.list({ status: 'refused', limit: 9 })).entries).toEqual(listed);
    expect(await log.find(5)).toBeNull();
    expect(await log.prune(6)).toBe(1);
    expect(idsOf(await log.list({ limit: 9 }))).toEqual([7, 6]);
  });

  test('the store adds either all records of a commit or none', async () => {
    await using store = await open();
    const tables = store.records;
    const content = { until: NOW, prompt: [], answer: null, isCut: false };
    await store.commit([tables.contents.add(1, content)]);
    await expect(
      store.commit([tables.log.add(recordOf({ id: 8 })), tables.contents.add(1, content)]),
    ).rejects.toThrow();
    expect(await tables.log.find(8)).toBeNull();
  });

  test('any filters find the matching records, newest first, in pages, no matter how much is indexed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(made, { maxLength: 40 }),
        fc.array(queries, { minLength: 3, maxLength: 6 }),
        fc.integer({ min: 0, max: 1_200 }),
        async (some, asked, filler) => {
          await using store = await open();
          const added: Row[] = [];
          const add = async (records: readonly Row[]) => {
            await store.commit(records.map((one) => writeOf(store.records.log, one)));
            added.push(...records);
          };
          const taken = new Set<number>();
          let next = idAt(NOW);
          const all = some.map(({ step, ...rest }, at) => {
            next += step * 8_192;
            while (taken.has(next)) next++;
            taken.add(next);
            return rowOf({ id: next, time: NOW + at, ...rest });
          });
          const half = all.length >> 1;
          await add(all.slice(0, half));
          // More records than one batch of indexing takes.
          await add(Array.from({ length: filler }, (_, at) => recordOf({ id: idAt(NOW + 100) + at })));
          while (await store.records.log.index());
          await add(all.slice(half));
          for (const query of asked) {
            const matching = added.filter((one) => isMatch(one, query)).toSorted((one, other) => other.id - one.id);
            expect(await pages(store.records.log, query)).toEqual(matching.map(entryOf));
          }
        },
      ),
      { numRuns: 3 },
    );
  });

  test('pruning deletes exactly the records below an ID, indexed or not; later records are found', async () => {
    await using store = await open();
    const { log } = store.records;
    const at = (from: number, n: number) => Array.from({ length: n }, (_, i) => log.add(recordOf({ id: from + i })));
    await store.commit(at(1, 2_500));
    while (await log.index());
    await store.commit(at(2_501, 10));
    expect(await log.prune(2_506)).toBe(2_505);
    expect(idsOf(await log.list({ limit: 50 }))).toEqual([2_510, 2_509, 2_508, 2_507, 2_506]);
    expect(await log.find(2_505)).toBeNull();
    expect(await log.prune(10_000)).toBe(5);
    expect(await log.list({ keyId: 'k', limit: 50 })).toEqual({ entries: [], next: null });
    // After everything was deleted, the order of writing starts again.
    await store.commit(at(20_000, 2_100));
    while (await log.index());
    expect(idsOf(await log.list({ keyId: 'k', limit: 2 }))).toEqual([22_099, 22_098]);
    expect(await log.find(20_000)).not.toBeNull();
  });

  test('a page begins after its cursor, even if the record of the cursor is deleted', async () => {
    await using store = await open();
    const tables = store.records;
    await store.commit([1, 2, 3].map((id) => tables.log.add(recordOf({ id }))));
    expect(idsOf(await tables.log.list({ after: 3, limit: 1 }))).toEqual([2]);
    await tables.log.prune(2);
    expect(idsOf(await tables.log.list({ after: 3, limit: 5 }))).toEqual([2]);
    expect(await tables.log.list({ after: 1, limit: 5 })).toEqual({ entries: [], next: null });
  });

  test('a revision keeps its first text, and is deleted according to the last time at which it was active', async () => {
    await using store = await open();
    const { revisions } = store.records;
    const first = {
      revision: 'abc1',
      source: 'one',
      models: ['m'],
      surroundings: { unset: [], plugins: [] },
      saved: 10,
    };
    await store.commit([revisions.save(first), revisions.save({ ...first, source: 'two', saved: 20 })]);
    await store.commit([revisions.save({ ...first, revision: 'abd2', saved: 30 })]);
    expect(await revisions.find('abc1')).toEqual({ ...first, saved: 20 });
    expect(await revisions.findByPrefix('ab')).toEqual(['abd2', 'abc1']);
    await store.commit([revisions.pruneBefore(30)]);
    expect(await revisions.findByPrefix('ab')).toEqual(['abd2', 'abc1']);
    await store.commit([revisions.pruneBefore(31)]);
    expect(await revisions.findByPrefix('')).toEqual(['abd2']);
  });

  test('readings are stored once under their number, and content until it expires', async () => {
    await using store = await open();
    const tables = store.records;
    const none = {
      ttftMs: [],
      warmTtftMs: [],
      tokensPerSecond: [],
      health: [],
      retryAt: [],
      outputTokens: [],
    };
    const differences = {
      ...none,
      ttftMs: [
        [1, 0.1],
        [3, -0],
      ] as const,
      health: [[2, 1]] as const,
    };
    await store.commit([tables.readings.add(idAt(NOW), differences)]);
    await store.commit([tables.readings.add(idAt(NOW), none)]);
    expect(await tables.readings.find(idAt(NOW))).toEqual(differences);
    expect(await tables.readings.prune(idAt(NOW) + 1)).toBe(1);
    expect(await tables.readings.find(idAt(NOW))).toBeNull();
    const content = { until: 20, prompt: [{ role: 'user' }], answer: null, isCut: true };
    await store.commit([tables.contents.add(5, content)]);
    expect(await tables.contents.find(5, 19)).toEqual(content);
    expect(await tables.contents.find(5, 20)).toBeNull();
    expect([await tables.contents.prune(19), await tables.contents.prune(20)]).toEqual([0, 1]);
  });

  // Each difference belongs to one endpoint, and installations can have hundreds.
  test.each([12, 300])('readings with %i differences in each of two fields are read completely', async (count) => {
    await using store = await open();
    const { readings } = store.records;
    const pairs = (first: number) => Array.from({ length: count }, (_, at) => [at, first + at / 8] as const);
    const differences = {
      ...{
        ttftMs: [],
        warmTtftMs: pairs(1_000),
        tokensPerSecond: [],
        health: [],
        outputTokens: [],
      },
      retryAt: pairs(-2),
    };
    await store.commit([readings.add(idAt(NOW), differences)]);
    expect(await readings.find(idAt(NOW))).toEqual(differences);
  });
}
