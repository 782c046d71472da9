import type { Tariff } from '../../../core/accounting/entry.ts';
import { idText } from '../../../core/id.ts';
import type { UnbookedSettlements } from '../../driver.ts';
import type { SpooledUnit } from '../../spool/spool.ts';
import { first, type SqlReader, type SqlWrite, sql, write } from '../../sql/statement.ts';
import { findSteps, isCharge, isEnd, type ReservationStep } from './adjust.ts';
import { LATE } from './journal.ts';
import { SELECT_LATE } from './recall.ts';
import { opsOf, type SpooledOp } from './spooled-ops.ts';
import { insertAdjustment, type StateRow } from './tables.ts';

const INSERT_ENTRY =
  sql(`INSERT INTO journal (seq, kind, reservation, account, amount, time, note, step, tariff, bill, estimated)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
const INSERT_TARIFF = sql('INSERT INTO tariffs (id, model, provider, upstream, price) VALUES (?, ?, ?, ?, ?)');
const INSERT_HOLDER = sql(`INSERT INTO accounts (id, key_id, labels, selector) VALUES (?, ?, '{}', '')`);
const SELECT_TARIFF = sql('SELECT id FROM tariffs WHERE model = ? AND provider = ? AND upstream = ? AND price = ?');
const SELECT_HOLDER = sql(`SELECT id FROM accounts WHERE key_id = ? AND labels = '{}' AND selector = ''
    AND payer IS NULL AND session IS NULL AND agent IS NULL AND team_id IS NULL AND user_id IS NULL`);
const SELECT_FEE = sql(`SELECT seq FROM journal WHERE note = ? AND kind = 'fee' AND amount > 0`);

/** A hold that operations of the spool refer to. */
interface ReplayedHold {
  readonly account: number;
  readonly keyId: string;
  readonly steps: readonly ReservationStep[];
  /** How the hold ended, in the journal or by an earlier operation; null while it is open. */
  end: string | null;
  /** Whether a settlement after the hold's expiry was booked. */
  isCorrected: boolean;
  /** The microcredits of the hold's posts, including posts among the operations of the spool. */
  posted: number;
}

/**
 * Books the operations of a spool. Each operation is booked once, identified by the ID of its hold and its step. If the rule `on_crash` has
 * already closed a hold, a settlement corrects the hold: an adjustment requests the difference, and the starting server applies it like
 * other adjustments.
 */
export class Replay implements UnbookedSettlements {
  readonly writes: SqlWrite[] = [];
  readonly closed: number[] = [];
  charged = 0;
  readonly #reader: SqlReader;
  readonly #holds = new Map<number, ReplayedHold>();
  /** Numbers of accounts and tariffs that were found or given. */
  readonly #numbers = new Map<string, number>();
  readonly #fees = new Set<string>();
  #seq: number;
  #tariff: number;
  #account: number;

  /** @param last the greatest numbers in use */
  constructor(reader: SqlReader, last: Pick<StateRow, 'seq' | 'account' | 'tariff'>) {
    this.#reader = reader;
    this.#seq = last.seq;
    this.#tariff = last.tariff;
    this.#account = last.account;
  }

  /**
   * Books a unit.
   * @param others the unit's writes to other tables, which are committed with its operations
   * @returns what the database lacks of a hold that the unit names; null if the database lacks nothing
   */
  async add(unit: SpooledUnit, others: readonly SqlWrite[]): Promise<string | null> {
    let isNew = false;
    let isLastNew = false;
    for (const op of opsOf(unit)) {
      const { reservation, kind } = op;
      const hold = reservation === null ? null : await this.#holdOf(reservation);
      if (reservation !== null && !hold)
        return `a settlement of ${idText('dec_', reservation)}, which is not open there`;
      if (kind === 'overrun') {
        // The row of an overrun directly follows the row of its charge.
        if (hold && isLastNew && hold.end !== 'expire') await this.#entry(op, hold.account);
        continue;
      }
      isLastNew = await (hold && reservation !== null ? this.#book(op, reservation, hold) : this.#giveFee(op));
      isNew ||= isLastNew;
    }
    if (isNew) this.writes.push(...others);
    return null;
  }

  /** @returns whether this call booked the operation; false if it was booked before */
  async #book(op: SpooledOp, id: number, hold: ReplayedHold): Promise<boolean> {
    const { kind, amount, at } = op;
    if (kind === 'post') return this.#post(op, hold);
    if (kind === 'correct') return this.#correct(id, amount, at, hold);
    if (kind === 'settle' && hold.end === 'expire') {
      const booked = hold.steps.reduce((sum, one) => (isCharge(one) ? sum + one.amount : sum), 0);
      return this.#correct(id, hold.posted + amount - booked, at, hold);
    }
    if (hold.end !== null) return false;
    hold.end = kind;
    await this.#entry(op, hold.account);
    this.closed.push(id);
    this.charged += amount;
    return true;
  }

  /** Notes a post on a hold that has expired. It counts once the hold is settled. */
  async #post(op: SpooledOp, hold: ReplayedHold): Promise<boolean> {
    if (hold.steps.some(({ kind, step }) => kind === 'post' && step === op.step)) return false;
    hold.posted += op.amount;
    if (hold.end !== null) return false;
    await this.#entry(op, hold.account);
    this.charged += op.amount;
    return true;
  }

  #correct(reservation: number, amount: number, time: number, hold: ReplayedHold): boolean {
    if (hold.isCorrected) return false;
    hold.isCorrected = true;
    this.closed.push(reservation);
    this.charged += amount;
    const { account, keyId } = hold;
    const asked = { kind: 'correct', keyId, reservation, account, amount, note: LATE, time } as const;
    if (amount !== 0) this.writes.push(insertAdjustment(asked));
    return true;
  }

  async #giveFee(op: SpooledOp): Promise<boolean> {
    const { note, holder } = op;
    if (note === null || holder === null || this.#fees.has(note)) return false;
    this.#fees.add(note);
    if (await first(this.#reader, SELECT_FEE, note)) return false;
    await this.#entry(op, await this.#holderOf(holder));
    return true;
  }

  async #entry(op: SpooledOp, account: number): Promise<void> {
    const { kind, reservation, amount, at, tariff, bill, estimated, note, step } = op;
    const number = tariff && (await this.#tariffOf(tariff));
    const row = [++this.#seq, kind, reservation, account, amount, at, note, step, number, bill, estimated] as const;
    this.writes.push(write(INSERT_ENTRY, ...row));
  }

  async #holdOf(id: number): Promise<ReplayedHold | null> {
    const known = this.#holds.get(id);
    if (known) return known;
    const steps = await findSteps(this.#reader, id);
    if (!steps) return null;
    const [{ account, keyId }] = steps;
    const late = await first<{ amount: number | null }>(this.#reader, SELECT_LATE, id, LATE);
    const posted = steps.reduce((sum, { kind, amount }) => (kind === 'post' ? sum + amount : sum), 0);
    const end = steps.find(isEnd)?.kind ?? null;
    const isCorrected = (late?.amount ?? null) !== null;
    const hold = { account, keyId, steps, end, isCorrected, posted };
    this.#holds.set(id, hold);
    return hold;
  }

  #tariffOf({ model, provider, upstream, price }: Tariff): Promise<number> {
    const named = [model, provider, upstream, price];
    return this.#numberOf(JSON.stringify(named), async () => {
      const found = await first<{ id: number }>(this.#reader, SELECT_TARIFF, ...named);
      if (found) return found.id;
      this.writes.push(write(INSERT_TARIFF, ++this.#tariff, ...named));
      return this.#tariff;
    });
  }

  #holderOf(holder: string): Promise<number> {
    return this.#numberOf(holder, async () => {
      const found = await first<{ id: number }>(this.#reader, SELECT_HOLDER, holder);
      if (found) return found.id;
      this.writes.push(write(INSERT_HOLDER, ++this.#account, holder));
      return this.#account;
    });
  }

  async #numberOf(name: string, find: () => Promise<number>): Promise<number> {
    const number = this.#numbers.get(name) ?? (await find());
    this.#numbers.set(name, number);
    return number;
  }
}
