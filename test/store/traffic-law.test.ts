import { expect, test } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import type { DecisionRecord } from '../../src/core/decision-record.ts';
import { idAt } from '../../src/core/id.ts';
import { plainUsage } from '../../src/core/usage.ts';
import type { OpenStore } from '../../src/store/driver.ts';
import { openStore } from '../../src/store/open.ts';
import type { RecordLog } from '../../src/store/records.ts';
import { type SqlTables, type SqlWrite, sql, write } from '../../src/store/sql/statement.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { ALL_TABLES } from '../../src/store/sqlite/open.ts';
import { sqliteRecordLog } from '../../src/store/sqlite/records/log.ts';
import type { SqlStore } from '../../src/store/sqlite/statement.ts';
import { sqliteTraffic } from '../../src/store/sqlite/traffic/table.ts';
import { STEP_MS, type TrafficTable } from '../../src/store/traffic.ts';
import { tries } from '../deep/effort.ts';
import { record } from '../records/support.ts';
import { memoryRecords } from './memory/records.ts';
import { MemoryStore } from './memory/store.ts';
import { memoryTraffic } from './memory/traffic.ts';
import { tempFolder } from './support.ts';
import { type Mutation, mutated, toldBuckets } from './traffic-support.ts';

const NOON = Date.UTC(2026, 10, 20, 12);
/** The moments of requests: of three days, the first too old for minutes. */
const MOMENTS = [-60, -36, -25, -1, 0].map((hours) => NOON + hours * STEP_MS.hour);

/** Something that happens to a request, or to the store. */
interface Step {
  readonly kind: 'reserve' | 'post' | 'settle' | 'expire' | 'refund' | 'record' | 'count' | 'race' | 'recount';
  readonly request: number;
  readonly amount: number;
}
const REQUESTS = 8;
const steps = (kinds: readonly Step['kind'][], maxLength: number) =>
  fc.array(
    fc.record({
      kind: fc.constantFrom(...kinds),
      request: fc.nat(REQUESTS - 1),
      amount: fc.integer({ min: 1, max: 99 }),
    }),
    { minLength: 10, maxLength },
  );
const KINDS = [
  'reserve',
  'post',
  'settle',
  'expire',
  'refund',
  'record',
  'record',
  'count',
  'race',
  'recount',
] as const;
interface History {
  readonly first: readonly Step[];
  /** The place in `MOMENTS` before which records are deleted; null for none. */
  readonly pruned: number | null;
  readonly second: readonly Step[];
}
const histories: fc.Arbitrary<History> = fc.record({
  first: steps(KINDS, 50),
  pruned: fc.constantFrom(null, 2, 3),
  second: steps(KINDS, 20),
});

/** Accounts belong to a key each, and have of these what the record of a request has: some nothing. */
const USERS = [null, 'robin', 'kim', null, 'robin', 'kim'] as const;
const LABELS = [{}, { use: 'chat' }, { use: 'agents', env: 'a=b' }, { env: '' }, { use: 'chat' }, {}] as const;

const momentOf = (request: number): number => MOMENTS[request % MOMENTS.length]!;
const idOf = (request: number): number => idAt(momentOf(request)) + request * 128;

function recordOf(request: number): DecisionRecord {
  const id = idOf(request);
  const attempt = { upstream: 'u', endpoint: 0, requestId: null, finishReasons: [], startMs: null };
  const failed = { ...attempt, model: 'a', provider: 'p', ms: 300, firstPartMs: null, failure: 'overloaded' };
  const whole = { ...attempt, model: 'b', provider: 'q', ms: 900 + request, firstPartMs: 100 * request, failure: null };
  const [user, labels] = [USERS[request % 6]!, LABELS[request % 6]!];
  const base = { keyId: `key${request % 3}`, team: request % 2 ? 'red' : null, user, labels, choice: 'a' };
  if (request === 5) return record(id, momentOf(request), { ...base, kind: 'route' });
  return record(id, momentOf(request), {
    ...base,
    outcome: {
      ...{
        status: request % 4 ? 'completed' : 'failed',
        error: null,
        estimated: false,
        charged: 7,
        saved: request - 3,
      },
      attempts: request % 4 ? (request % 2 ? [failed, whole] : [whole]) : request ? [failed] : [],
      usage: request % 4 ? plainUsage(10 + request, 40 + request) : null,
      ...{ firstPartMs: request % 4 ? 500 : null, totalMs: 1_500, cappedBy: null, usageReplaced: false },
    },
  });
}

const ADD_ACCOUNT = sql(
  `INSERT INTO accounts (id, key_id, labels, selector, team_id, user_id) VALUES (?, ?, ?, 'auto', ?, ?) ON CONFLICT DO NOTHING`,
);
const ADD_TARIFF = sql(
  `INSERT INTO tariffs (id, model, provider, upstream, price) VALUES (?, ?, ?, 'u', '{}') ON CONFLICT DO NOTHING`,
);
const ADD_ENTRY = sql(
  'INSERT INTO journal (kind, reservation, account, amount, time, tariff) VALUES (?, ?, ?, ?, ?, ?)',
);

/** The entries of a step: failed attempts at one model, the last at another; what a crash or an operator books names none. */
function entryOf({ kind, request, amount }: Step): SqlWrite | null {
  const account = 1 + (request % 6);
  const book = (name: string, sum: number, tariff: number | null) =>
    write(ADD_ENTRY, name, idOf(request), account, sum, momentOf(request), tariff);
  if (kind === 'post') return book('post', amount, 1);
  if (kind === 'settle') return book('settle', amount, 2);
  if (kind === 'expire') return book('expire', amount, null);
  if (kind === 'refund') return book('correct', -amount, null);
  return kind === 'reserve' ? book('reserve', amount, null) : null;
}

/** Does something once others have had so many turns. */
async function afterTurns<Result>(turns: number, run: () => Promise<Result>): Promise<Result> {
  for (let turn = 0; turn < turns; turn++) await setImmediate();
  return run();
}

/** A folder with two counters: a server, and a process beside it. */
class Box {
  readonly store: OpenStore;
  readonly #db: SqlStore;
  readonly counters: readonly TrafficTable[];
  readonly #log: RecordLog;
  readonly #archived = new MemoryStore();
  /** All records that ever were. */
  readonly everything = memoryRecords(this.#archived);
  readonly #recorded = new Set<number>();
  prunedBelow = 0;

  constructor(store: OpenStore, db: SqlStore, mutation: Mutation) {
    this.store = store;
    this.#db = db;
    const own = mutated(store as unknown as SqlTables, mutation);
    this.counters = [own, mutated(db, mutation, true)].map((db) => sqliteTraffic(db));
    this.#log = sqliteRecordLog(own);
  }

  async prepare(): Promise<void> {
    const accounts = USERS.map((user, n) =>
      write(ADD_ACCOUNT, n + 1, `key${n % 3}`, JSON.stringify(LABELS[n]), n % 2 ? 'red' : null, user),
    );
    await this.#db.commit([...accounts, write(ADD_TARIFF, 1, 'a', 'p'), write(ADD_TARIFF, 2, 'b', 'q')]);
  }

  async take(step: Step): Promise<void> {
    const [one, other] = this.counters as [TrafficTable, TrafficTable];
    const { kind, request } = step;
    if (kind === 'count') await (request % 2 ? one : other).count(NOON);
    else if (kind === 'race')
      await Promise.all([other.count(NOON), afterTurns(step.amount % 24, () => one.count(NOON))]);
    else if (kind === 'recount') await one.recount();
    else if (idOf(request) < this.prunedBelow) return;
    else if (kind === 'record') await this.#record(request);
    else {
      const entry = entryOf(step);
      if (entry) await this.#db.commit([entry]);
    }
  }

  async #record(request: number): Promise<void> {
    if (this.#recorded.has(request)) return;
    this.#recorded.add(request);
    const made = recordOf(request);
    await this.store.commit([this.store.records.log.add(made)]);
    await this.#archived.commit([this.everything.log.add(made)]);
  }

  async settle(): Promise<void> {
    const [one, other] = this.counters as [TrafficTable, TrafficTable];
    for (let left = true; left; ) left = (await Promise.all([one.count(NOON), other.count(NOON)])).some(Boolean);
  }

  async prune(place: number): Promise<void> {
    await this.settle();
    this.prunedBelow = idAt(MOMENTS[place]!);
    await this.#log.prune(this.prunedBelow);
  }
}

/** Whether the buckets are those of one count over all records that ever were and the whole journal. */
async function holds({ first, pruned, second }: History, mutation: Mutation): Promise<boolean> {
  using folder = tempFolder();
  const store = await openStore(folder.file, { mode: 'serve' });
  const db = await openSqlite(folder.file, ALL_TABLES, { asItIs: true });
  try {
    const box = new Box(store, db, mutation);
    await box.prepare();
    for (const step of first) await box.take(step);
    if (pruned !== null) await box.prune(pruned);
    for (const step of second) await box.take(step);
    await box.settle();
    const counted = memoryTraffic({ records: box.everything, journal: store.journal });
    return Bun.deepEquals(await toldBuckets(box.counters[0]!, NOON), await toldBuckets(counted, NOON));
  } finally {
    await db.close();
    await store.close();
  }
}

const lawOf = (mutation: Mutation) => fc.asyncProperty(histories, (history) => holds(history, mutation));
const NAME = 'buckets of traffic are a count over records and journal, in whatever order these come and whoever counts';

test(NAME, async () => {
  await fc.assert(lawOf({}), tries(NAME, 25, 1_000));
}, 600_000);

const MUTANTS: Readonly<Record<string, Mutation>> = {
  'counts though another has counted': {
    ' WHERE version = $version': '',
    'INSERT INTO traffic_waiting': 'INSERT OR IGNORE INTO traffic_waiting',
  },
  'does not wait for the record of a charge': {
    'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)': 'SELECT ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE false',
  },
  'forgets the key of a charge that waits': { 'SELECT seq, id, key_id AS key': `SELECT seq, id, '' AS key` },
  'sums up another figure': { 'sum(t.output) AS output': 'sum(t.input) AS output' },
  'leaves refunds out': { ", 'correct') AND j.amount": ') AND j.amount' },
  'takes a last row twice': { 'WHERE r.seq BETWEEN ?1 AND ?2': 'WHERE r.seq BETWEEN ?1 - 1 AND ?2' },
  'keeps old buckets when it counts again': {
    'SELECT 1 AS one FROM traffic WHERE width = ?1 AND bucket >= ?2': 'SELECT 1 AS one FROM traffic WHERE 0 * ?1 * ?2',
  },
  'forgets how far records were numbered': {
    'records_through = min(records_through, ': 'records_through = max(records_through, ',
  },
};

for (const [name, mutation] of Object.entries(MUTANTS)) {
  test(`a count that ${name} is found`, async () => {
    const { errorInstance, counterexample } = await fc.check(lawOf(mutation), {
      ...{ numRuns: 150, seed: 7, endOnFailure: true },
    });
    // Not by an error of SQL, and not where the count itself is wrong.
    expect(String(errorInstance)).toContain('returning false');
    expect(await holds(counterexample![0], {})).toBe(true);
  }, 600_000);
}
