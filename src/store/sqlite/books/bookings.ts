import type { EntryLine } from '../../../core/accounting/entry.ts';
import { type FundBlock, fit, hold, isBlocked, release, spend } from '../../../core/accounting/fund.ts';
import { expire, type HeldSum, leftOf, post, raise, type Step, settle } from '../../../core/accounting/held-sum.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import type {
  AttachOp,
  CaptureOp,
  DepositOp,
  EarmarkOp,
  ExpireOp,
  ExtendOp,
  HoldOp,
  OpResult,
  PostOp,
  SettleOp,
  VoidOp,
  WaiveOp,
} from '../../books.ts';
import { StoreError, type Write } from '../../store.ts';
import type { Batch } from './batch.ts';
import type { BooksParts } from './checkpoint.ts';
import type { PendingDeposit } from './deposits.ts';
import type { BookedFund } from './fund-states.ts';
import { capped, leastFree, postLate } from './late.ts';
import { type BookedEarmark, BookedReservation } from './reservations.ts';

interface BookingParts extends BooksParts {
  /** The instance that has these books open, as a number. */
  readonly owner: number;
  /** A function that is called when money has become free in funds. */
  readonly freed: (funds: readonly BookedFund[]) => void;
  /** A function that is called when a holder gets a balance. */
  readonly opened: (holder: string) => void;
}

/** The number of deposits and waivers to remember. For older deposits and waivers, the table of payments prevents a second booking. */
const PAID_MAX = 1_024;

const CLOSED: OpResult = { kind: 'refused', why: 'exhausted', fund: null };
const granted = (amount: Microcredits): OpResult => ({ kind: 'granted', amount });
const refusedBy = ({ fund, why }: FundBlock<BookedFund>): OpResult => ({ kind: 'refused', why, fund: fund.standing });

/** Decides operations on reservations and deposits in memory, and adds their rows to a batch. State: reservations. */
export class Bookings {
  readonly #parts: BookingParts;
  /** The first results of the most recent deposits and waivers, by name. */
  readonly #paid = new Map<string, OpResult>();

  constructor(parts: BookingParts) {
    this.#parts = parts;
  }

  hold(op: HoldOp, batch: Batch): OpResult {
    const { funds, journal, reservations } = this.#parts;
    const { id, at } = op;
    const known = reservations.find(id);
    if (known) return repeated(known, batch);
    if (reservations.voided.has(id)) return CLOSED;
    const drawn = funds.drawnBy(op.funds);
    const amount = fit(drawn.funds, op.amounts, 0, op.least, op.ample);
    if (isBlocked(amount)) return refusedBy(amount);
    hold(drawn.funds, amount);
    const fundIds = journal.idsOfDrawn(drawn);
    const made = this.#make(op, drawn.funds, amount, fundIds);
    batch.writes.push(journal.reserve(made, at, fundIds, op.note));
    batch.await({
      written: () => {
        this.written(made, fundIds, at);
      },
      lost: () => this.drop(made, 0),
    });
    return granted(amount);
  }

  /** The books call this method when the row of a reservation is on the disk. `fundIds` are the funds in that row. */
  written(made: BookedReservation, fundIds: string | null, at: number): void {
    made.isWritten = true;
    const { store, journal } = this.#parts;
    if (made.fundIds !== fundIds) store.append([journal.attach(made.id, made.account.id, at, made.fundIds)]);
  }

  /** The books call this method when the row of a reservation could not be written. */
  drop(made: BookedReservation, expected: Microcredits): void {
    this.#parts.reservations.remove(made);
    release(made.funds, made.first, expected);
    this.#parts.freed(made.funds);
  }

  earmark(op: EarmarkOp, batch: Batch): OpResult {
    const { reservations } = this.#parts;
    const known = reservations.earmarks.get(op.id);
    if (known) return granted(known.amount);
    const captured = reservations.find(op.id);
    if (captured) return repeated(captured, batch);
    if (reservations.voided.has(op.id)) return CLOSED;
    const { funds } = this.#parts.funds.drawnBy(op.funds);
    const amount = fit(funds, op.amounts, op.expected, op.least, op.ample);
    if (isBlocked(amount)) return refusedBy(amount);
    hold(funds, amount, op.expected);
    reservations.earmarks.set(op.id, { op, amount, funds });
    return granted(amount);
  }

  release(id: number, batch: Batch): OpResult {
    const earmark = this.#parts.reservations.earmarks.get(id);
    if (earmark) this.#letGo(earmark, batch);
    return granted(0);
  }

  /** Turns an earmark into a reservation, in one commit with the deposit that pays for it. */
  capture({ id, at, deposit }: CaptureOp, batch: Batch): OpResult {
    const { journal, deposits, reservations } = this.#parts;
    const known = reservations.find(id);
    if (known) return repeated(known, batch);
    const earmark = reservations.earmarks.get(id);
    if (!earmark) throw new RangeError(`there is no earmark ${id}`);
    const { amount, funds, op } = earmark;
    const balance = funds.find((fund) => fund.isBalance);
    if (!balance) throw new RangeError(`earmark ${id} draws on no balance`);
    const adds = deposit.paid - deposit.fee;
    const promised = Math.min(amount, op.expected);
    if (balance.free + adds < promised) {
      this.#letGo(earmark, batch);
      this.#deposit({ holder: balance.title.name, deposit, at }, batch, null);
      return refusedBy({ fund: balance, why: 'exhausted' });
    }
    reservations.earmarks.delete(id);
    // The promised part of the deposit is already held. If the deposit is less than promised, the balance holds the difference from now on.
    const comes = Math.min(promised, adds);
    balance.held += promised - comes;
    const made = this.#make(op, funds, amount, journal.idsOf(funds));
    const { fundIds, account } = made;
    // A limit that was lowered after the earmark does not cancel the earmark. The reservation is attached to the funds in a second row,
    // which may overdraw them.
    const roomy = funds.filter((fund) => fund.isBalance || fund.free >= 0);
    const first = roomy.length === funds.length ? fundIds : journal.idsOf(roomy);
    const pending = deposits.begin(balance.title.name, deposit, at);
    batch.writes.push(...pending.writes, journal.reserve(made, at, first, op.note));
    if (first !== fundIds) batch.writes.push(journal.attach(id, account.id, at, fundIds));
    const written = (): undefined => {
      // From this line on, the balance has the deposit and holds the whole amount.
      balance.held += comes;
      this.#arrived(pending);
      this.written(made, fundIds, at);
    };
    const lost = () => {
      deposits.ended(pending);
      this.drop(made, comes);
    };
    batch.await({ written, lost });
    return granted(amount);
  }

  extend(made: BookedReservation, { at, step, amounts, least }: ExtendOp, batch: Batch): OpResult {
    if (made.closing) return CLOSED;
    if (made.extending > 0) throw new RangeError(`reservation ${made.id} is extended by one step at a time`);
    const by = fit(made.funds, amounts, 0, least);
    if (isBlocked(by)) return refusedBy(by);
    if (by === 0) return granted(0);
    // The money of a reservation is held at once, so that no other request takes it while the row is being written.
    hold(made.funds, by);
    made.extending = by;
    batch.writes.push(this.#parts.journal.raise(made.id, made.account.id, by, step, at));
    const giveBack = () => {
      made.extending = 0;
      release(made.funds, by);
      this.#parts.freed(made.funds);
    };
    batch.await({
      written: () => {
        const raised = raise(made.state, by);
        // If the reservation was closed while the extension was being written, the reservation stays closed.
        if (!raised) {
          giveBack();
          return CLOSED;
        }
        made.extending = 0;
        made.state = raised;
        return undefined;
      },
      lost: giveBack,
    });
    return granted(by);
  }

  post(made: BookedReservation, { at, step: number, entry, most }: PostOp, batch: Batch): OpResult {
    if (made.closing) return postLate(made, entry.cost, most);
    const step = capped(made.state, most, post, entry.cost);
    this.#take(made, step, { step: number, entry, at }, batch);
    return { kind: 'charged', charged: step.charged, overrun: step.excess };
  }

  settle(made: BookedReservation, op: SettleOp, batch: Batch): OpResult {
    if (made.closing)
      return made.late === null ? (made.corrected ?? made.closing) : this.#settleLate(made, made.late, op, batch);
    const { at, entry, most } = op;
    const left = leftOf(made.state);
    const step = capped(made.state, most, settle, entry ? entry.cost : null);
    if (entry) this.#take(made, step, { step: null, entry, at }, batch);
    else batch.writes.push(this.#close(made, 'settle', step, at));
    return this.#end(made, left - step.charged, batch);
  }

  expire(made: BookedReservation, { at, rule }: ExpireOp, batch: Batch): OpResult {
    // For an orphaned hold, the starting server waits for the write, because a server that cannot write must not start.
    if (made.isOrphan) batch.await({ written: () => undefined, lost: () => {} });
    const left = leftOf(made.state);
    const step = expire(made.state, rule);
    made.late = made.state;
    batch.writes.push(this.#close(made, 'expire', step, at));
    return this.#end(made, left - step.charged, batch);
  }

  void({ id, at }: VoidOp, batch: Batch): OpResult {
    const { reservations } = this.#parts;
    const earmark = reservations.earmarks.get(id);
    if (earmark) this.#letGo(earmark, batch);
    const made = reservations.find(id);
    if (!made) {
      reservations.voided.add(id);
      return { kind: 'charged', charged: 0, overrun: 0 };
    }
    if (made.closing) return made.closing;
    const left = leftOf(made.state);
    batch.writes.push(this.#close(made, 'expire', expire(made.state, 'release'), at));
    return this.#end(made, left, batch);
  }

  /** Moves an open reservation or earmark to other funds: the new funds hold its money from now on, and the old funds no longer do. */
  attach({ id, at, funds: refs }: AttachOp, batch: Batch): OpResult {
    const { reservations, journal, funds } = this.#parts;
    const earmark = reservations.earmarks.get(id);
    const made = reservations.find(id);
    const from = earmark ?? (made?.closing ? undefined : made);
    if (!from) return CLOSED;
    const drawn = funds.drawnBy(refs);
    const amount = earmark ? earmark.amount : made!.held;
    hold(without(drawn.funds, from.funds), amount);
    release(without(from.funds, drawn.funds), amount);
    from.funds = drawn.funds;
    if (earmark || !made) return granted(0);
    const fundIds = journal.idsOf(drawn.funds);
    // A fund whose limit has changed gets a new row with a new ID. If all IDs of the funds are equal, later raises need no change.
    if (fundIds === made.fundIds) return granted(0);
    made.fundIds = fundIds;
    // A reservation that is not written yet may still be refused, so the row that attaches the reservation comes later.
    if (made.isWritten) batch.writes.push(journal.attach(id, made.account.id, at, fundIds));
    return granted(0);
  }

  deposit(op: DepositOp, batch: Batch): OpResult {
    // The name of a waiver makes sure that a fee is refunded once, either by a deposit or by a waiver.
    const name = `${op.deposit.paid > 0 ? 'deposit' : 'waive'} ${op.id}`;
    const known = this.#paid.get(name);
    batch.isRepeated ||= known !== undefined;
    return known ?? this.#deposit(op, batch, name);
  }

  waive({ id, holder, fee, note, at }: WaiveOp, batch: Batch): OpResult {
    const known = this.#paid.get(`waive ${id}`);
    if (known) return known;
    const write = this.#parts.deposits.waive(holder, fee, note, at);
    if (write) {
      batch.writes.push(write);
      batch.free([this.#grant(holder, fee)]);
    }
    return this.#remember(`waive ${id}`, granted(fee));
  }

  #deposit(
    { holder, deposit, at }: Pick<DepositOp, 'holder' | 'deposit' | 'at'>,
    batch: Batch,
    name: string | null,
  ): OpResult {
    const pending = this.#parts.deposits.begin(holder, deposit, at);
    batch.writes.push(...pending.writes);
    batch.await({
      written: () => {
        this.#arrived(pending);
      },
      lost: () => {
        this.#parts.deposits.ended(pending);
        if (name !== null) this.#paid.delete(name);
      },
    });
    const result = granted(pending.adds);
    return name === null ? result : this.#remember(name, result);
  }

  #remember(name: string, result: OpResult): OpResult {
    this.#paid.set(name, result);
    if (this.#paid.size > PAID_MAX) this.#paid.delete(this.#paid.keys().next().value!);
    return result;
  }

  #make(
    { id, dimensions, expiresAt }: Pick<HoldOp, 'id' | 'dimensions' | 'expiresAt'>,
    funds: readonly BookedFund[],
    amount: Microcredits,
    fundIds: string | null,
  ): BookedReservation {
    const { journal, owner, reservations } = this.#parts;
    const account = journal.accounts.of(dimensions);
    const expires = Number.isFinite(expiresAt) ? Math.ceil(expiresAt) : null;
    const made = new BookedReservation({ id, account, funds, fundIds, amount, owner, expires });
    reservations.add(made);
    return made;
  }

  #letGo(earmark: BookedEarmark, batch: Batch): void {
    this.#parts.reservations.earmarks.delete(earmark.op.id);
    release(earmark.funds, earmark.amount, earmark.op.expected);
    batch.free(earmark.funds);
  }

  #arrived(pending: PendingDeposit): void {
    this.#parts.deposits.ended(pending);
    if (pending.rows.length > 0) this.#parts.freed([this.#grant(pending.holder, pending.adds)]);
  }

  #grant(holder: string, amount: Microcredits): BookedFund {
    const { fund, isNew } = this.#parts.funds.grant(holder, amount);
    if (isNew) this.#parts.opened(holder);
    return fund;
  }

  /** Settles a reservation that has expired: corrects its charge to the cost of its attempts. */
  #settleLate(made: BookedReservation, late: HeldSum, { at, entry, most }: SettleOp, batch: Batch): OpResult {
    const step = capped(late, most, settle, entry ? entry.cost : null);
    made.late = null;
    const missing = step.next.charged - made.charged;
    // Another request may have taken the released money after the expiry.
    const by = Math.min(missing, Math.max(0, leastFree(made.funds)));
    made.overrun += step.excess + Math.max(0, missing - by);
    if (by !== 0) {
      for (const fund of made.funds) fund.spent += by;
      made.state = { ...made.state, charged: made.charged + by };
      this.#parts.journal.correct(made, by, at, batch.writes);
      if (by < 0) batch.free(made.funds);
    }
    made.corrected = { kind: 'charged', charged: made.charged, overrun: made.overrun };
    return made.corrected;
  }

  #take(
    made: BookedReservation,
    taken: Step,
    { step, entry, at }: { readonly step: number | null; readonly entry: EntryLine; readonly at: number },
    batch: Batch,
  ): void {
    made.state = taken.next;
    made.overrun += taken.excess;
    spend(made.funds, taken.charged);
    this.#parts.journal.charge(made, step, taken, entry, at, batch.writes);
  }

  #close(made: BookedReservation, kind: 'settle' | 'expire', step: Step, at: number): Write {
    made.state = step.next;
    spend(made.funds, step.charged);
    return this.#parts.journal.closing(made, kind, step.charged, at);
  }

  #end(made: BookedReservation, rest: Microcredits, batch: Batch): OpResult {
    release(made.funds, rest);
    made.closing = { kind: 'charged', charged: made.charged, overrun: made.overrun };
    this.#parts.reservations.close(made);
    batch.free(made.funds);
    return made.closing;
  }
}

/**
 * Returns the first result of the operation that made a reservation. The method waits if the row of the reservation is still being written.
 */
function repeated(made: BookedReservation, batch: Batch): OpResult {
  batch.isRepeated = true;
  if (!made.isWritten) {
    batch.await({
      written: () => {
        if (!made.isWritten) throw new StoreError('the reservation could not be written');
      },
      lost: () => {},
    });
  }
  return granted(made.first);
}

const without = (funds: readonly BookedFund[], others: readonly BookedFund[]): BookedFund[] =>
  funds.filter((fund) => !others.includes(fund));
