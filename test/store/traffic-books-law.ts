import { expect } from 'bun:test';
import fc from 'fast-check';
import { type Dimensions, labelsOf, type Tariff } from '../../src/core/accounting/entry.ts';
import type { DecisionRecord } from '../../src/core/decision/record.ts';
import { idAt } from '../../src/core/id.ts';
import { plainUsage } from '../../src/core/money/usage.ts';
import type { ExpireOp, HoldOp, LedgerBooks, PostOp, SettleOp } from '../../src/store/books.ts';
import type { JournalReader, MoneyEntry } from '../../src/store/journal-reader.ts';
import type { Repositories } from '../../src/store/repositories.ts';
import type { BatchSize } from '../../src/store/sql/traffic/batch.ts';
import type { Store, Write } from '../../src/store/store.ts';
import { STEP_MS, type TrafficTable } from '../../src/store/traffic.ts';
import { record } from '../gateway/records/support.ts';
import { memoryTraffic } from './memory/traffic.ts';
import { depositOf, fundOf, holdOf } from './suites/books.ts';
import { toldBuckets } from './traffic-support.ts';

const NOON = Date.UTC(2026, 10, 20, 12);

/** An event of a request or of the store. */
interface Step {
  readonly kind: (typeof KINDS)[number];
  /** Selects an earlier request; small numbers select the most recent requests. */
  readonly request: number;
  /** The amount of the step in microcredits. */
  readonly amount: number;
  /** Time that passes before the step, ms. */
  readonly pauseMs: number;
}
const KINDS = [
  ...(['hold', 'hold', 'hold', 'hold', 'extend', 'post', 'post', 'settle', 'settle', 'settle: free'] as const),
  ...([
    'settle: with its record',
    'expire: charge',
    'expire: release',
    'refund',
    'deposit',
    'record',
    'record',
  ] as const),
  ...(['count', 'count', 'recount', 'checkpoint', 'restart: charge', 'restart: release'] as const),
  ...(['crash: charge', 'crash: release'] as const),
] as const;
interface History {
  /** Small batches, so that one request is counted in several of them. */
  readonly size: BatchSize;
  readonly steps: readonly Step[];
}
const histories: fc.Arbitrary<History> = fc.record({
  size: fc.record({ records: fc.integer({ min: 1, max: 4 }), entries: fc.integer({ min: 1, max: 6 }) }),
  steps: fc.array(
    fc.record({
      kind: fc.constantFrom(...KINDS),
      request: fc.nat(6),
      amount: fc.integer({ min: 1, max: 99 }),
      pauseMs: fc.constantFrom(0, 1, STEP_MS.minute, STEP_MS.hour, 7 * STEP_MS.hour),
    }),
    { minLength: 20, maxLength: 70 },
  ),
});

/** The accounts of the requests. Some accounts have no team, no user or no labels. */
const CALLERS: readonly Dimensions[] = [
  { key: 'key0', selector: 'auto' },
  { key: 'key1', selector: 'auto', team: 'red', user: 'robin', 'label:use': 'chat' },
  { key: 'key2', selector: 'auto', user: 'kim', 'label:use': 'agents', 'label:env': 'a=b' },
  { key: 'key1', selector: 'fast', team: 'red', user: 'kim', 'label:env': '' },
  { key: 'key0', selector: 'auto', session: 'one', 'label:use': 'chat' },
];
const tariffOf = (model: string, provider: string): Tariff => ({ model, provider, upstream: 'u', price: '{}' });
const TARIFFS = [tariffOf('a', 'p'), tariffOf('b', 'q'), tariffOf('b', 'p')] as const;

/** A request that holds money. */
interface Held {
  readonly id: number;
  readonly at: number;
  readonly caller: Dimensions;
  /** The tariff of the model that finally answers. */
  readonly tariff: Tariff;
  readonly amount: number;
  state: 'open' | 'expired' | 'settled';
  /** Microcredits charged, as the books reported. */
  charged: number;
  steps: number;
  isRecorded: boolean;
}

function recordOf({ id, at, caller, tariff, amount }: Held): DecisionRecord {
  const { key, team = null, user = null } = caller;
  const { model, provider, upstream } = tariff;
  const attempt = { model, provider, upstream, endpoint: 0, requestId: null, finishReasons: [], startMs: 0 };
  const failure = amount % 3 === 0 ? 'overloaded' : null;
  return record(id, at, {
    ...{ keyId: key!, team, user, labels: labelsOf(caller), choice: 'a' },
    outcome: {
      ...{ status: failure ? 'failed' : 'completed', error: null, estimated: false, charged: 1, saved: amount - 40 },
      attempts: amount % 7 === 0 ? [] : [{ ...attempt, ms: 400 + amount, firstPartMs: amount, failure }],
      usage: plainUsage(amount, 2 * amount),
      ...{ firstPartMs: amount, totalMs: 900, cappedBy: null, usageReplaced: false },
    },
  });
}

/** What a process has open. */
interface Opened {
  readonly store: Pick<Store, 'commit' | 'flush'> & Pick<Repositories, 'records' | 'journal'>;
  readonly books: LedgerBooks;
  readonly traffic: TrafficTable;
  close(): Promise<void>;
  /** Leaves the store to the next process in its current state, in the middle of running work. */
  crash(): Promise<void>;
}
/** Starts a process on a store that the previous process left. */
type Start = (now: () => number) => Promise<Opened>;

/** The store of a gateway with its books, over restarts, and a list of the results that the books reported. */
class Box {
  now = NOON;
  /** A copy of all records, and the reported results in place of a journal. */
  readonly records: DecisionRecord[] = [];
  readonly journal: Pick<JournalReader, 'money'>;
  readonly #told: MoneyEntry[] = [];
  readonly #requests: Held[] = [];
  readonly #fund = fundOf(3_000);
  readonly #start: Start;
  #opened!: Opened;

  constructor(start: Start) {
    this.#start = start;
    const told = this.#told;
    this.journal = {
      async *money() {
        yield told;
      },
    };
  }

  async start(): Promise<void> {
    this.#opened = await this.#start(() => this.now);
  }

  get store(): Opened['store'] {
    return this.#opened.store;
  }

  get traffic(): TrafficTable {
    return this.#opened.traffic;
  }

  get #books(): LedgerBooks {
    return this.#opened.books;
  }

  close(): Promise<void> {
    return this.#opened.close();
  }

  async take({ kind, request, amount, pauseMs }: Step): Promise<void> {
    this.now += pauseMs;
    if (kind === 'hold') return this.#hold(amount);
    if (kind === 'deposit') await this.#books.apply([depositOf(`pay_${this.now}`, amount, 1)]);
    else if (kind === 'checkpoint') await this.#books.checkpoint();
    else if (kind === 'count') await this.#count();
    else if (kind === 'recount') await this.traffic.recount();
    else if (kind === 'restart: charge' || kind === 'restart: release') await this.#restart(kind.slice(9));
    else if (kind === 'crash: charge' || kind === 'crash: release') await this.#crash(kind.slice(7));
    else {
      const held = this.#requests.at(-1 - request);
      if (held) await this.#onRequest(held, kind, amount);
    }
  }

  /** At every stage of counting, the audit finds nothing wrong in what is counted. */
  async #count(): Promise<void> {
    await this.traffic.count(this.now);
    expect(await this.store.journal.wrongCells(this.now)).toEqual([]);
  }

  async #hold(amount: number): Promise<void> {
    const [at, n] = [this.now, this.#requests.length];
    const caller = CALLERS[n % CALLERS.length]!;
    const id = idAt(at) + n;
    const hold = { ...holdOf(id, [this.#fund], 3 * amount), at, dimensions: caller, expiresAt: Infinity } as HoldOp;
    const [result] = await this.#books.apply([hold]);
    if (result!.kind === 'refused') return;
    const rest = { state: 'open', charged: 0, steps: 0, isRecorded: false } as const;
    this.#requests.push({ id, at, caller, tariff: TARIFFS[amount % TARIFFS.length]!, amount, ...rest });
  }

  async #onRequest(held: Held, kind: Step['kind'], amount: number): Promise<void> {
    const { id } = held;
    const at = this.now;
    const tariff = kind === 'post' ? TARIFFS[amount % TARIFFS.length]! : held.tariff;
    const entry = { tariff, usage: plainUsage(amount, amount), estimated: false, cost: 2 * amount };
    const most = Number.MAX_SAFE_INTEGER;
    if (kind === 'record') await this.#record(held, (write) => this.store.commit([write]));
    else if (kind === 'refund') await this.#refund(held, amount);
    else if (kind === 'extend') {
      await this.#books.apply([{ kind, id, step: ++held.steps, at, amounts: [amount] }]);
    } else if (kind === 'post') {
      const charged = await this.#charged({ kind, id, step: ++held.steps, at, entry, most });
      if (held.state === 'open') this.#tell(held, charged, tariff);
    } else if (kind === 'settle: free') await this.#close(held, { kind: 'settle', id, at, entry: null, most }, null);
    else if (kind === 'settle') await this.#close(held, { kind, id, at, entry, most }, tariff);
    else if (kind === 'settle: with its record') {
      const settle = (write: Write | null) => this.#close(held, { kind: 'settle', id, at, entry, most }, tariff, write);
      if (held.isRecorded) await settle(null);
      else await this.#record(held, settle);
    } else if (kind === 'expire: charge' || kind === 'expire: release') {
      await this.#close(held, { kind: 'expire', id, at, rule: kind === 'expire: charge' ? 'charge' : 'release' }, null);
    }
  }

  /** Returns the charge that the books report. */
  async #charged(op: PostOp | SettleOp | ExpireOp, also: Write | null = null): Promise<number> {
    const writes = also ? [also] : [];
    // Ending a hold that a dead process left open waits for the disk.
    const [result] =
      op.kind === 'expire'
        ? await this.#books.apply([op], writes)
        : await this.#books.append([op], () => ({ ops: [], writes }));
    return result!.kind === 'charged' ? result!.charged : 0;
  }

  /** Settles or expires a hold. The books report the charge of the whole request. An expired hold can still be settled, once. */
  async #close(held: Held, op: SettleOp | ExpireOp, tariff: Tariff | null, also: Write | null = null): Promise<void> {
    const charged = await this.#charged(op, also);
    const isLate = held.state === 'expired' && op.kind === 'settle';
    if (held.state !== 'open' && !isLate) return;
    const by = charged - held.charged;
    this.#tell(held, by, isLate ? null : tariff);
    // A late settlement that changes nothing adds no entry, so the next process can settle the hold again.
    if (!isLate || by !== 0) held.state = op.kind === 'settle' ? 'settled' : 'expired';
  }

  async #refund(held: Held, amount: number): Promise<void> {
    if (held.state === 'open') return;
    const [id, at, reservation] = [`refund ${held.id} ${++held.steps}`, this.now, held.id];
    const [result] = await this.#books.apply([{ kind: 'correct', id, at, reservation, amount, note: '' }]);
    const given = result!.kind === 'granted' ? result!.amount : 0;
    this.#tell(held, -given, null);
    // The reported charge does not include earlier refunds.
    held.charged += given;
  }

  /** Returns microcredits in all forms that both the books and the list report. */
  async usage(): Promise<{ readonly charged: Sums; readonly used: Sums }> {
    const used: Sums = new Map();
    const all = { keyId: null, from: 0, to: this.now + STEP_MS.day };
    for (const { dimensions, model, provider, microcredits } of await this.#books.usage(all)) {
      const { key, team = '', user = '', selector } = dimensions;
      add(used, [key, team, user, selector, labelsOf(dimensions), model ?? '', provider ?? ''], microcredits);
    }
    const charged: Sums = new Map();
    for (const { keyId, team, user, selector, labels, model, provider, amount } of this.#told) {
      add(charged, [keyId, team, user, selector, labels, model, provider], amount);
    }
    return { charged: withoutNothing(charged), used: withoutNothing(used) };
  }

  #tell(held: Held, amount: number, tariff: Tariff | null): void {
    const { key: keyId = '', team = '', user = '', selector = '' } = held.caller;
    held.charged += amount;
    this.#told.push({
      ...{ kind: 'post', reservation: held.id, amount, overrun: 0, time: this.now, keyId, team, user, selector },
      ...{ labels: labelsOf(held.caller), session: '', agent: '' },
      ...{ model: tariff?.model ?? '', provider: tariff?.provider ?? '', upstream: '' },
      ...{ estimated: false, price: null, bill: null, note: '' },
    });
  }

  async #record(held: Held, writing: (write: Write) => Promise<void>): Promise<void> {
    if (held.isRecorded) return;
    held.isRecorded = true;
    const made = recordOf(held);
    await writing(this.store.records.log.add(made));
    this.records.push(made);
  }

  async #restart(rule: string): Promise<void> {
    await this.close();
    await this.#startAgain(rule);
  }

  /** Crashes while counting is in progress. */
  async #crash(rule: string): Promise<void> {
    await this.#books.written();
    const counting = this.traffic.count(this.now).catch(() => false);
    await this.#opened.crash();
    await this.#startAgain(rule);
    await counting;
  }

  /** Resolves the holds that the previous process left open, as a ledger does at its start. */
  async #startAgain(rule: string): Promise<void> {
    await this.start();
    for (const { id } of await this.#books.orphans()) {
      const held = this.#requests.find((one) => one.id === id)!;
      const expire = { kind: 'expire', id, at: this.now, rule: rule === 'charge' ? 'charge' : 'release' } as const;
      await this.#close(held, expire, null);
    }
    await this.#books.checkpoint();
  }
}

type Sums = Map<string, number>;

function add(sums: Sums, of: readonly unknown[], amount: number): void {
  sums.set(JSON.stringify(of), (sums.get(JSON.stringify(of)) ?? 0) + amount);
}

const withoutNothing = (sums: Sums): Sums => new Map([...sums].filter(([, amount]) => amount !== 0));

/** A store that is deleted at the end of the scope. */
export type Laid = (size: BatchSize) => Promise<{ readonly start: Start } & AsyncDisposable>;

/** Checks that buckets and usage equal what the books reported, and that buckets equal a count over records and journal. */
async function holds(laid: Laid, { size, steps }: History): Promise<void> {
  await using database = await laid(size);
  const box = new Box(database.start);
  await box.start();
  try {
    for (const step of steps) await box.take(step);
    await box.store.flush();
    while (await box.traffic.count(box.now));
    const told = await toldBuckets(box.traffic, box.now);
    const { journal, store } = box;
    const records = async () => box.records;
    const counted = [memoryTraffic({ records, journal }), memoryTraffic({ records, journal: store.journal })];
    for (const count of counted) expect(told).toEqual(await toldBuckets(count, box.now));
    const { charged, used } = await box.usage();
    expect(used).toEqual(charged);
    expect(await store.journal.wrongCells(box.now)).toEqual([]);
  } finally {
    await box.close();
  }
}

export const lawOf = (laid: Laid) => fc.asyncProperty(histories, (history) => holds(laid, history));
export const LAW =
  'usage and traffic buckets equal what the books reported, and an audit finds them equal, by every dimension, over restarts and crashes';
