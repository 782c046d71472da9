import type { Microcredits } from '../core/credits.ts';
import type { Store, Write } from '../store/store.ts';
import { type Alarm, type Hold, ReservationHold } from './hold.ts';
import { expire, openReservation } from './rules/reservation.ts';
import {
  closeReservation,
  insertEntry,
  insertReservation,
  type OpenRow,
  SELECT_LAST,
  SELECT_OPEN,
  SELECT_TOTALS,
} from './tables.ts';

export interface LedgerOptions {
  readonly store: Store;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Something about money that an operator must see. */
  readonly onAlarm: Alarm;
}

/** What a request asks to be set aside. */
export interface Order {
  /** The decision's ID, made before anything is sent upstream; one number names both. */
  readonly id: number;
  readonly keyId: string;
  readonly selector: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The worst case over the choice and its fallbacks. */
  readonly amount: Microcredits;
  /** The request's `budget_limit`; null without one. An amount above it is a mistake of the program. */
  readonly limit: Microcredits | null;
}

export interface Totals {
  /** What callers paid, over all entries. */
  readonly charged: Microcredits;
  /** What upstreams billed beyond reservations. */
  readonly excess: Microcredits;
  /** What open reservations may still charge. */
  readonly reserved: Microcredits;
  /** Reservations that are open. */
  readonly open: number;
}

export interface Ledger {
  /**
   * Sets money aside: the pending reservation is durable before this resolves. Rejects with StoreError when
   * it could not be written, and then nothing is held.
   */
  reserve(order: Order): Promise<Hold>;
  /** Holds of this process that are not settled. */
  readonly open: number;
  /** The greatest ID that an earlier run used; 0 for none. */
  readonly lastId: number;
  /** What a crash had left behind and this start closed. */
  readonly recovered: { readonly count: number; readonly microcredits: Microcredits };
  /** Sums of what is durable, for one key or for all. Reads every entry: not for a request's path. */
  totals(keyId?: string): Promise<Totals>;
}

/**
 * Opens the ledger of this one server. Reservations that an earlier run left open are charged in full:
 * what their upstreams did is not known, and a budget must not be overspent across a crash.
 */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const recovered = await closeOrphans(options);
  const [last] = await options.store.query<{ id: number | null }>(SELECT_LAST);
  return new StoredLedger(options, recovered, last?.id ?? 0);
}

class StoredLedger implements Ledger {
  readonly recovered: Ledger['recovered'];
  readonly lastId: number;
  readonly #options: LedgerOptions;
  readonly #onClose = (): void => {
    this.#open--;
  };
  #open = 0;

  constructor(options: LedgerOptions, recovered: Ledger['recovered'], lastId: number) {
    this.#options = options;
    this.lastId = lastId;
    this.recovered = recovered;
  }

  get open(): number {
    return this.#open;
  }

  async reserve(order: Order): Promise<Hold> {
    const { store, now, onAlarm } = this.#options;
    const reservation = openReservation(order.amount, order.limit);
    const { id, keyId, selector, amount } = order;
    const row = { id, keyId, selector, labels: labelsJson(order.labels), amount };
    this.#open++;
    try {
      await store.commit([insertReservation(row, now())]);
    } catch (error) {
      this.#open--;
      throw error;
    }
    return new ReservationHold({ id, keyId }, reservation, {
      store,
      now,
      onAlarm,
      onClose: this.#onClose,
    });
  }

  async totals(keyId?: string): Promise<Totals> {
    const [row] = await this.#options.store.query<Totals>(SELECT_TOTALS, [keyId ?? null]);
    return row ?? { charged: 0, excess: 0, reserved: 0, open: 0 };
  }
}

async function closeOrphans({ store, now }: LedgerOptions): Promise<Ledger['recovered']> {
  const rows = await store.query<OpenRow>(SELECT_OPEN);
  let microcredits = 0;
  const writes: Write[] = [];
  for (const row of rows) {
    const step = expire({ state: 'pending', amount: row.amount, charged: row.charged, limit: null });
    microcredits += step.charged;
    writes.push(...orphanWrites(row, step.charged, now()));
  }
  if (rows.length > 0) await store.commit(writes);
  return { count: rows.length, microcredits };
}

function orphanWrites(row: OpenRow, charged: Microcredits, time: number): Write[] {
  const entry = {
    reservationId: row.id,
    kind: 'orphan',
    microcredits: charged,
    excess: 0,
    model: null,
    provider: null,
    upstream: null,
    tokens: [0, 0, 0, 0, 0],
    price: null,
    estimated: true,
    keyId: row.keyId,
  } as const;
  return [insertEntry(entry, time), closeReservation(row.id, 'expired', row.amount, time)];
}

/** Labels belong to a key and come as the same object with each of its requests: they are encoded once. */
const encodedLabels = new WeakMap<Readonly<Record<string, string>>, string>();

function labelsJson(labels: Readonly<Record<string, string>>): string {
  let json = encodedLabels.get(labels);
  if (json === undefined) {
    json = JSON.stringify(labels);
    encodedLabels.set(labels, json);
  }
  return json;
}
