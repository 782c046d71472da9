import { Database } from 'bun:sqlite';
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import type { Budget } from '../../../src/core/money/budget.ts';
import type { Caller } from '../../../src/core/people/caller.ts';
import type { FundShortage } from '../../../src/ledger/available-funds.ts';
import type { Earmark, Hold } from '../../../src/ledger/hold.ts';
import type { HoldRequest } from '../../../src/ledger/hold-request.ts';
import { type Ledger, type LedgerTerms, openLedger } from '../../../src/ledger/ledger.ts';
import { openSqliteBooks } from '../../../src/store/sqlite/books/books.ts';
import { ledgerMigrations } from '../../../src/store/sqlite/books/schema.ts';
import { openSqlite } from '../../../src/store/sqlite/database.ts';
import type { SqlStore } from '../../../src/store/sqlite/statement.ts';
import { budget, caller, lastHoldIn } from '../support.ts';
import type { Adjustment, Ask, BudgetSpec, Terms, Who } from './entries.ts';
import { GatedStore } from './gate.ts';

/** A wait that no timer of the ledger uses, so the test recognizes the wait of a request by it, ms. */
const WAIT_MS = 654_321;
const TICK_MS = 10_000;

export interface Row {
  readonly kind: string;
  readonly reservation: number | null;
  readonly amount: number;
}

/** The ledger under test. The test controls the ledger's disk, clock and timers. */
export class Subject {
  readonly file: string;
  readonly gate: GatedStore;
  readonly ledger: Ledger;
  /** The highest ID of a hold at its start. */
  readonly lastId: number;
  /** Runs what the ledger does every ten seconds. */
  readonly tick: () => Promise<void>;
  /** Functions that end the wait of a request, by the ID of the request. */
  readonly #waits = new Map<number, { run: () => void; timer: ReturnType<typeof setTimeout> }>();

  private constructor(
    file: string,
    gate: GatedStore,
    [ledger, lastId]: readonly [Ledger, number],
    tick: () => Promise<void>,
  ) {
    this.file = file;
    this.gate = gate;
    this.ledger = ledger;
    this.lastId = lastId;
    this.tick = tick;
  }

  static async open(
    file: string,
    terms: Terms,
    now: () => number,
    wrap: (store: SqlStore) => SqlStore,
  ): Promise<Subject> {
    const gate = new GatedStore(await openSqlite(file, [ledgerMigrations]));
    let tick = async () => {};
    const { setInterval } = globalThis;
    const caught = (run: () => Promise<void>, ms: number) => {
      if (ms === TICK_MS) tick = run;
      return setInterval(run, ms);
    };
    globalThis.setInterval = caught as typeof setInterval;
    try {
      const books = await openSqliteBooks({ store: wrap(gate), now });
      const idsAbove = await lastHoldIn(gate);
      const ledger = await openLedger({ books, terms: termsOf(terms), now, idsAbove, onAlarm: () => {} });
      return new Subject(file, gate, [ledger, idsAbove], () => tick());
    } finally {
      globalThis.setInterval = setInterval;
    }
  }

  /** Reserves money, or earmarks it for a payment in progress. */
  take({
    id,
    who,
    payer,
    expected,
    amounts,
    least,
    ample,
    limit,
    waits,
    expiresAt,
  }: Ask): Promise<Hold | Earmark | FundShortage> {
    const { setTimeout } = globalThis;
    const caught = (run: () => void, ms: number) => {
      const timer = setTimeout(run, ms);
      if (ms === WAIT_MS) this.#waits.set(id, { run, timer });
      return timer;
    };
    const [first = 0, ...others] = amounts;
    globalThis.setTimeout = caught as typeof setTimeout;
    try {
      const order: HoldRequest = {
        id,
        caller: callerOf(who),
        selector: who.model,
        agentWallet: null,
        holder: payer,
        amounts: [first, ...others],
        least,
        ample: ample ?? undefined,
        limit,
        waitMs: waits ? WAIT_MS : 0,
        expiresAt,
      };
      return expected === null ? this.ledger.reserve(order) : this.ledger.earmark(order, expected);
    } finally {
      globalThis.setTimeout = setTimeout;
    }
  }

  /** Ends the wait of a request. */
  giveUp(id: number): void {
    this.#waits.get(id)!.run();
  }

  prepare(terms: Terms): Promise<() => void> {
    return this.ledger.prepare(termsOf(terms));
  }

  /** Resolves once nothing is in progress except what the disk blocks. */
  async quiet(): Promise<void> {
    do {
      await Promise.allSettled([...this.gate.busy]);
      await new Promise((resolve) => setImmediate(resolve));
    } while (this.gate.busy.size > 0);
  }

  /**
   * Copies the files to a new place, as `kill -9` would leave them now.
   * @returns the journal in the copy
   */
  copyTo(file: string): Row[] {
    for (const part of ['', '-wal']) if (existsSync(this.file + part)) copyFileSync(this.file + part, file + part);
    return rowsOf(file);
  }

  /** Ends everything that a killed process would end. */
  async end(): Promise<void> {
    for (const { timer } of this.#waits.values()) clearTimeout(timer);
    // While the gate is shut, it would never end.
    this.ledger.close().catch(() => {});
    await this.gate.close().catch(() => {});
    for (const part of ['', '-wal', '-shm']) rmSync(this.file + part, { force: true });
  }

  /**
   * Requests an adjustment from another handle, as an operator's command does.
   * @returns null if the hold is not on disk as closed
   */
  adjust({ kind, keyId, reservation, amount }: Omit<Adjustment, 'id'>): Adjustment | null {
    const db = new Database(this.file, { readwrite: true });
    try {
      const closed = db.query<{ account: number }, [number | null]>(
        `SELECT account FROM journal WHERE reservation = ? AND kind IN ('settle', 'expire')`,
      );
      const account = closed.get(reservation)?.account ?? null;
      if (kind === 'correct' && account === null) return null;
      const insert = db.query<{ id: number }, (string | number | null)[]>(
        `INSERT INTO adjustments (kind, key_id, reservation, account, amount, note, time)
          VALUES (?, ?, ?, ?, ?, 'why', 0) RETURNING id`,
      );
      const { id } = insert.get(kind, keyId, reservation, account, amount)!;
      return { id, kind, keyId, reservation, amount };
    } finally {
      db.close();
    }
  }
}

/** The journal, without rows that only repeat the policy. */
function rowsOf(file: string): Row[] {
  const db = new Database(file, { readwrite: true });
  try {
    return db.query<Row, []>(`SELECT kind, reservation, amount FROM journal WHERE kind <> 'attach' ORDER BY seq`).all();
  } finally {
    db.close();
  }
}

const callers = new Map<string, Caller>();
export function callerOf({ keyId, labels }: Who): Caller {
  let known = callers.get(keyId);
  if (!known) {
    known = caller(keyId, labels);
    callers.set(keyId, known);
  }
  return known;
}

const fail = (): never => {
  throw new Error('a condition that cannot be judged');
};
const MATCH: Record<BudgetSpec['match'], Budget['match']> = {
  all: null,
  team: ({ key }) => (key.labels.get('team') ?? '') !== '',
  auto: ({ request }) => request.model === 'auto',
  throws: fail,
};
const EACH: Record<BudgetSpec['each'], Budget['each']> = {
  everyone: null,
  key: ({ key }) => key.id,
  team: ({ key }) => key.labels.get('team') ?? '',
  throws: fail,
};

function termsOf({ budgets, onCrash }: Terms): LedgerTerms {
  return {
    usdPerCredit: '0.001',
    ledger: { contentionWaitMs: 0, wholeHoldShare: 0.05, onCrash },
    budgets: budgets.map(({ name, match, each, window, zone, limit, action }) =>
      budget(limit, {
        name,
        match: MATCH[match],
        each: EACH[each],
        window,
        timeZone: zone,
        definition: JSON.stringify([match, each, window, zone]),
        onExhausted: action,
      }),
    ),
  };
}
