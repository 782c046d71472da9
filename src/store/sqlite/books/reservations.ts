import { hold } from '../../../core/accounting/fund.ts';
import { type HeldSum, leftOf, openHeldSum } from '../../../core/accounting/held-sum.ts';
import { LinkedSet, type Links } from '../../../core/linked-set.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import type {
  CaptureOp,
  EarmarkOp,
  ExpireOp,
  ExtendOp,
  HoldOp,
  LedgerOp,
  OpResult,
  PostOp,
  SettleOp,
} from '../../books.ts';
import type { OpenReservation } from '../../journal-reader.ts';
import { FORGOTTEN_MS, type Orphan } from '../../ledger-table.ts';
import type { BookedFund } from './fund-states.ts';
import type { Spender } from './sums.ts';

/** The facts of a reservation that never change. */
interface MadeReservation
  extends Pick<BookedReservation, 'id' | 'account' | 'funds' | 'fundIds' | 'owner' | 'expires'> {
  /** The microcredits that the reservation was first granted, before any extension. */
  readonly amount: Microcredits;
}

/** A reservation whose row is written or being written. */
export class BookedReservation implements Links<BookedReservation> {
  readonly id: number;
  readonly account: Spender;
  /** The funds that the reservation draws on, and their IDs in the format of the journal. */
  funds: readonly BookedFund[];
  fundIds: string | null;
  state: HeldSum;
  /** The microcredits that the reservation was first granted, before any extension. */
  readonly first: Microcredits;
  /** The instance that made the reservation, as a number; null for a reservation from before instances had names. */
  readonly owner: number | null;
  /** When the reservation counts as abandoned, ms since 1970; null: never. */
  readonly expires: number | null;
  /** Whether an earlier run of the server left the reservation open. */
  isOrphan = false;
  /** Whether the reservation's row is in the store. Before that, the write of the row can still fail. */
  isWritten = false;
  /** Microcredits of an extension that is being written. */
  extending: Microcredits = 0;
  overrun: Microcredits = 0;
  /** The first result of each step; null before the first step. */
  steps: Map<number, OpResult> | null = null;
  /** For an expired reservation: the sums of the reservation without the expiry, until it is settled after all. */
  late: HeldSum | null = null;
  /** The result of the settlement after the expiry; null if there was no such settlement. */
  corrected: OpResult | null = null;
  /** The result of the operation that closed the reservation; null while it is open. */
  closing: OpResult | null = null;
  before: BookedReservation | null = null;
  after: BookedReservation | null = null;

  constructor(made: MadeReservation) {
    this.id = made.id;
    this.account = made.account;
    this.funds = made.funds;
    this.fundIds = made.fundIds;
    this.first = made.amount;
    this.owner = made.owner;
    this.expires = made.expires;
    this.state = openHeldSum(made.amount, null);
  }

  get charged(): Microcredits {
    return this.state.charged;
  }

  /** Microcredits that the funds hold for this reservation. */
  get held(): Microcredits {
    return leftOf(this.state) + this.extending;
  }

  remember(step: number, result: OpResult): void {
    this.steps ??= new Map();
    this.steps.set(step, result);
  }
}

/**
 * Makes a reservation that an earlier run left open. Of the funds of such a reservation, only its balance is known, if it draws on a
 * balance.
 */
export function orphanOf(
  { reservation: id, account, keyId, amount, charged, funds: fundIds, owner = null, expires = null }: OpenReservation,
  balance: BookedFund | null,
): BookedReservation {
  const funds = balance ? [balance] : [];
  const spender: Spender = { id: account, dimensions: { key: keyId }, sum: null };
  const orphan = new BookedReservation({ id, account: spender, funds, fundIds, amount, owner, expires });
  orphan.state = { ...orphan.state, charged };
  orphan.isOrphan = true;
  orphan.isWritten = true;
  hold(funds, orphan.held);
  return orphan;
}

/** Money set aside in memory only, for a payment in progress. */
export interface BookedEarmark {
  readonly op: EarmarkOp;
  readonly amount: Microcredits;
  funds: readonly BookedFund[];
}

/** The number of closed reservations to remember, so that a repeated operation gets its first result without a query. */
const CLOSED_MAX = 1_024;

type ReservationOp = HoldOp | EarmarkOp | CaptureOp | ExtendOp | PostOp | SettleOp | ExpireOp;

/** `MAKERS` are the operations that make a reservation. All other operations act on an existing reservation. */
const MAKERS: ReadonlySet<LedgerOp['kind']> = new Set(['hold', 'earmark', 'capture']);
const STEPS: ReadonlySet<LedgerOp['kind']> = new Set(['extend', 'post', 'settle', 'expire']);
const isOnReservation = (op: LedgerOp): op is ReservationOp => MAKERS.has(op.kind) || STEPS.has(op.kind);

/** Whether an operation before an index makes a reservation. */
function isMadeBefore(ops: readonly LedgerOp[], index: number, id: number): boolean {
  for (let at = index - 1; at >= 0; at--) {
    const op = ops[at]!;
    if (MAKERS.has(op.kind) && isOnReservation(op) && op.id === id) return true;
  }
  return false;
}

/** The reservations of this process by ID, and the open reservations from oldest to newest. State: reservations. */
export class Reservations {
  readonly earmarks = new Map<number, BookedEarmark>();
  /** The IDs of reservations that were voided before the reservations arrived. */
  readonly voided = new Set<number>();
  readonly #byId = new Map<number, BookedReservation>();
  readonly #open = new LinkedSet<BookedReservation>();
  readonly #closed: number[] = [];
  #next = 0;
  /** The greatest ID of a reservation that was removed from memory; 0 for none. */
  #forgotten = 0;

  /** Number of open reservations. */
  get size(): number {
    return this.#open.size;
  }

  find(id: number): BookedReservation | undefined {
    return this.#byId.get(id);
  }

  add(made: BookedReservation): void {
    this.#open.add(made);
    this.#byId.set(made.id, made);
  }

  /** Removes a reservation whose row could not be written. */
  remove(made: BookedReservation): void {
    this.#open.remove(made);
    this.#byId.delete(made.id);
  }

  /**
   * Removes a reservation from the open reservations. A late settlement of an orphan reads it again, with its account and its funds, which an
   * orphan lacks.
   */
  close(made: BookedReservation): void {
    this.#open.remove(made);
    if (made.isOrphan) this.#forget(made.id);
    else this.#keep(made);
  }

  /** Adds a closed reservation that was removed from memory and read again. */
  recalled(made: BookedReservation): void {
    this.#byId.set(made.id, made);
    this.#keep(made);
  }

  /** Returns the IDs in operations whose reservations are not in memory but may be in the store; null for none. */
  forgottenOf(ops: readonly LedgerOp[]): number[] | null {
    let ids: number[] | null = null;
    for (let i = 0; i < ops.length; i++) {
      const op = ops[i]!;
      if (!isOnReservation(op) || this.#byId.has(op.id)) continue;
      // IDs grow, so a new ID is usually greater than all IDs that were removed from memory, and needs no lookup.
      if (MAKERS.has(op.kind) && (op.id > this.#forgotten || this.earmarks.has(op.id))) continue;
      // An answer without a price is held and settled together.
      if (isMadeBefore(ops, i, op.id)) continue;
      ids ??= [];
      ids.push(op.id);
    }
    return ids;
  }

  #keep(made: BookedReservation): void {
    const forgotten = this.#closed[this.#next];
    if (forgotten !== undefined) this.#forget(forgotten);
    this.#closed[this.#next] = made.id;
    this.#next = (this.#next + 1) % CLOSED_MAX;
  }

  #forget(id: number): void {
    this.#byId.delete(id);
    this.#forgotten = Math.max(this.#forgotten, id);
  }

  /** Returns reservations that an earlier run left open, and reservations that are still open long after they expired. */
  orphans(now: number): Orphan[] {
    const isOrphan = ({ isOrphan, expires, isWritten }: BookedReservation) =>
      isOrphan || (isWritten && expires !== null && expires + FORGOTTEN_MS < now);
    return this.open()
      .filter(isOrphan)
      .map(({ id, state, funds }) => ({
        id,
        reserved: state.amount,
        charged: state.charged,
        holder: funds.find(({ isBalance }) => isBalance)?.title.name ?? null,
      }));
  }

  open(): BookedReservation[] {
    return this.#open.all();
  }
}
