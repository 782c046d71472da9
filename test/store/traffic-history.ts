import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import type { DecisionRecord } from '../../src/core/decision/record.ts';
import type { RefusalRecord } from '../../src/core/decision/refusal.ts';
import { idAt } from '../../src/core/id.ts';
import { plainUsage } from '../../src/core/money/usage.ts';
import type { MoneyEntry } from '../../src/store/journal-reader.ts';
import type { RecordLog } from '../../src/store/records.ts';
import { type SqlWrite, sql, write } from '../../src/store/sql/statement.ts';
import { STEP_MS, type TrafficTable } from '../../src/store/traffic.ts';
import { record } from '../gateway/records/support.ts';
import { memoryTraffic } from './memory/traffic.ts';
import { refusalOf } from './suites/records.ts';
import { toldBuckets } from './traffic-support.ts';

/** Histories of requests whose traffic two processes count in parallel. */

export const NOON = Date.UTC(2026, 10, 20, 12);
/** The times of requests: on three days, the first of which is too old for minute buckets. */
const MOMENTS = [-60, -36, -25, -1, 0].map((hours) => NOON + hours * STEP_MS.hour);

/** An event of a request or of the store. */
export interface Step {
  readonly kind:
    | 'reserve'
    | 'post'
    | 'settle'
    | 'expire'
    | 'refund'
    | 'record'
    | 'refuse'
    | 'count'
    | 'race'
    | 'recount';
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
  'refuse',
  'count',
  'race',
  'recount',
] as const;
export interface History {
  readonly first: readonly Step[];
  /** The index in `MOMENTS` before which records are deleted; null for none. */
  readonly pruned: number | null;
  readonly second: readonly Step[];
}
export const histories: fc.Arbitrary<History> = fc.record({
  first: steps(KINDS, 50),
  pruned: fc.constantFrom(null, 2, 3),
  second: steps(KINDS, 20),
});

/** Each account belongs to one key, and has the user of the request's record; null for none. */
const USERS = [null, 'robin', 'kim', null, 'robin', 'kim'] as const;
const LABELS = [{}, { use: 'chat' }, { use: 'agents', env: 'a=b' }, { env: '' }, { use: 'chat' }, {}] as const;

const momentOf = (request: number): number => MOMENTS[request % MOMENTS.length]!;
const idOf = (request: number): number => idAt(momentOf(request)) + request * 128;

export function recordOf(request: number): DecisionRecord {
  const id = idOf(request);
  const attempt = { upstream: 'u', endpoint: 0, requestId: null, finishReasons: [], startMs: 0 };
  const failed = { ...attempt, model: 'a', provider: 'p', ms: 300, firstPartMs: null, failure: 'overloaded' as const };
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

/** The refusal of another request at the same time, which has the same key. A refusal may count several answers. */
function refusedAt(request: number): RefusalRecord {
  const id = idOf(request) + 4_096;
  return refusalOf(
    {
      ...{ id, time: momentOf(request), keyId: `key${request % 3}`, team: request % 2 ? 'red' : null },
      ...{ user: USERS[request % 6]!, labels: LABELS[request % 6]!, model: `unknown${request}` },
    },
    request + 1,
  );
}

const ADD_ACCOUNT = sql(
  `INSERT INTO accounts (id, key_id, labels, selector, team_id, user_id) VALUES (?, ?, ?, 'auto', ?, ?) ON CONFLICT DO NOTHING`,
  {
    inPostgres: `INSERT INTO accounts (id, digest, key_id, labels, selector, team_id, user_id)
      OVERRIDING SYSTEM VALUE VALUES (?1, int4send(?1), ?2, ?3, 'auto', ?4, ?5)`,
  },
);
const ADD_TARIFF = sql(
  `INSERT INTO tariffs (id, model, provider, upstream, price) VALUES (?, ?, ?, 'u', '{}') ON CONFLICT DO NOTHING`,
  {
    inPostgres: `INSERT INTO tariffs (id, digest, model, provider, upstream, price)
      OVERRIDING SYSTEM VALUE VALUES (?1, int4send(?1), ?2, ?3, 'u', '{}')`,
  },
);
const ADD_ENTRY = sql(
  'INSERT INTO journal (kind, reservation, account, amount, time, tariff) VALUES (?, ?, ?, ?, ?, ?)',
  {
    inPostgres: `INSERT INTO journal (seq, kind, reservation, account, amount, time, tariff)
      VALUES (nextval('journal_seq'), ?, ?, ?, ?, ?, ?)`,
  },
);

/** An entry. Failed attempts use one model, and the last attempt another. Entries by a crash or an operator name no model. */
interface Booked {
  readonly kind: string;
  readonly amount: number;
  readonly tariff: 1 | 2 | null;
}
const TARIFFS = { 1: { model: 'a', provider: 'p' }, 2: { model: 'b', provider: 'q' } } as const;

function bookedBy({ kind, amount }: Step): Booked | null {
  if (kind === 'post') return { kind, amount, tariff: 1 };
  if (kind === 'settle') return { kind, amount, tariff: 2 };
  if (kind === 'refund') return { kind: 'correct', amount: -amount, tariff: null };
  return kind === 'reserve' || kind === 'expire' ? { kind, amount, tariff: null } : null;
}

function moneyOf(request: number, { kind, amount, tariff }: Booked): MoneyEntry {
  const { model, provider } = tariff === null ? { model: '', provider: '' } : TARIFFS[tariff];
  const labels: Readonly<Record<string, string>> = LABELS[request % 6]!;
  return {
    ...{ kind: kind as MoneyEntry['kind'], reservation: idOf(request), amount, overrun: 0, time: momentOf(request) },
    ...{ keyId: `key${request % 3}`, team: request % 2 ? 'red' : '', user: USERS[request % 6] ?? '', selector: 'auto' },
    ...{ labels, session: '', agent: '', model, provider, upstream: '' },
    ...{ estimated: false, price: null, bill: null, note: '' },
  };
}

/** Runs something after other tasks have had this many turns. */
async function afterTurns<Result>(turns: number, run: () => Promise<Result>): Promise<Result> {
  for (let turn = 0; turn < turns; turn++) await setImmediate();
  return run();
}

/** Tables that two processes count. */
export interface TrafficStage {
  readonly counters: readonly [TrafficTable, TrafficTable];
  readonly log: RecordLog;
  /** Writes accounts and tariffs. */
  prepare(writes: readonly SqlWrite[]): Promise<void>;
  /** Writes an entry or a record. */
  write(write: SqlWrite, amount: number): Promise<void>;
  /** Resolves once everything is written. */
  written(): Promise<void>;
}

/** A stage, with everything that was ever written there. */
class Box {
  readonly #stage: TrafficStage;
  readonly everything: DecisionRecord[] = [];
  readonly refused: RefusalRecord[] = [];
  readonly told: MoneyEntry[] = [];
  readonly #recorded = new Set<number>();
  #prunedBelow = 0;

  constructor(stage: TrafficStage) {
    this.#stage = stage;
  }

  prepare(): Promise<void> {
    const accounts = USERS.map((user, n) =>
      write(ADD_ACCOUNT, n + 1, `key${n % 3}`, JSON.stringify(LABELS[n]), n % 2 ? 'red' : null, user),
    );
    const tariffs = ([1, 2] as const).map((id) => write(ADD_TARIFF, id, TARIFFS[id].model, TARIFFS[id].provider));
    return this.#stage.prepare([...accounts, ...tariffs]);
  }

  async take(step: Step): Promise<void> {
    const [one, other] = this.#stage.counters;
    const { kind, request, amount } = step;
    if (kind === 'count') await (request % 2 ? one : other).count(NOON);
    else if (kind === 'race') await Promise.all([other.count(NOON), afterTurns(amount % 24, () => one.count(NOON))]);
    else if (kind === 'recount') await one.recount();
    else if (idOf(request) < this.#prunedBelow) return;
    else if (kind === 'record') await this.#record(request, amount);
    else if (kind === 'refuse') await this.#refuse(request, amount);
    else {
      const booked = bookedBy(step);
      if (!booked) return;
      const values = [booked.kind, idOf(request), 1 + (request % 6), booked.amount, momentOf(request), booked.tariff];
      await this.#stage.write(write(ADD_ENTRY, ...values), amount);
      this.told.push(moneyOf(request, booked));
    }
  }

  async #record(request: number, amount: number): Promise<void> {
    if (this.#recorded.has(request)) return;
    this.#recorded.add(request);
    const made = recordOf(request);
    await this.#stage.write(this.#stage.log.add(made) as SqlWrite, amount);
    this.everything.push(made);
  }

  async #refuse(request: number, amount: number): Promise<void> {
    const made = refusedAt(request);
    if (this.refused.some(({ id }) => id === made.id)) return;
    await this.#stage.write(this.#stage.log.refuse(made) as SqlWrite, amount);
    this.refused.push(made);
  }

  async settle(): Promise<void> {
    await this.#stage.written();
    const [one, other] = this.#stage.counters;
    for (let left = true; left; ) left = (await Promise.all([one.count(NOON), other.count(NOON)])).some(Boolean);
  }

  async prune(place: number): Promise<void> {
    await this.settle();
    this.#prunedBelow = idAt(MOMENTS[place]!);
    await this.#stage.log.prune(this.#prunedBelow);
  }
}

/** Whether the buckets equal one count over all records that ever existed and the whole journal. */
export async function countsRightly({ first, pruned, second }: History, stage: TrafficStage): Promise<boolean> {
  const box = new Box(stage);
  await box.prepare();
  for (const step of first) await box.take(step);
  if (pruned !== null) await box.prune(pruned);
  for (const step of second) await box.take(step);
  await box.settle();
  const { everything, refused, told } = box;
  const journal = {
    async *money() {
      yield told;
    },
  };
  return Bun.deepEquals(
    await toldBuckets(stage.counters[0], NOON),
    await toldBuckets(memoryTraffic({ records: async () => everything, refusals: async () => refused, journal }), NOON),
  );
}
