import type { Dimensions } from '../../../core/accounting/entry.ts';
import type { FundRef, FundStanding } from '../../../core/accounting/fund.ts';
import type { Window } from '../../../core/accounting/window.ts';
import { type LedgerState, NO_LEDGER } from '../../../core/money/budget.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import type {
  AcceptedTerms,
  BooksWatcher,
  EndpointCharges,
  ExpireOp,
  ExtendOp,
  LedgerBooks,
  LedgerOp,
  OfferedTerms,
  OpResult,
  PostOp,
  SettleOp,
  UncountedCharges,
  UsageFilter,
} from '../../books.ts';
import { checkOps } from '../../checked-ops.ts';
import type { InstanceName } from '../../instance.ts';
import type { Orphan, StoredReservation } from '../../ledger-table.ts';
import { first, sql } from '../../sql/statement.ts';
import { StoreError, type Write } from '../../store.ts';
import type { SqlStore } from '../statement.ts';
import { acceptTerms } from './accepted.ts';
import { findReservation } from './adjust.ts';
import { Adoption } from './adoption.ts';
import { Batch, type PendingOp } from './batch.ts';
import { Bookings } from './bookings.ts';
import { BudgetCounts } from './budget-counts.ts';
import { Checkpoints } from './checkpoint.ts';
import { Deposits } from './deposits.ts';
import { type BookedFund, FundStates } from './fund-states.ts';
import { Journal } from './journal.ts';
import { spentIn } from './ledger-table.ts';
import { recall } from './recall.ts';
import { type JournalState, recover } from './recover.ts';
import { orphanOf, Reservations } from './reservations.ts';
import { spooledOps } from './spooled-ops.ts';
import { SELECT_STATE, type StateRow } from './tables.ts';
import { readUsage } from './usage.ts';

const SELECT_CHARGED = sql('SELECT charged FROM checkpoint');

interface SqliteBooksOptions {
  readonly store: SqlStore;
  /** Returns ms since 1970. */
  readonly now: () => number;
  /** The instance that opens the books. */
  readonly instance?: InstanceName;
}

/** The number of instance slots. Tables store slot and epoch as one number. */
const SLOTS = 128;

/** Opens the books for this process. Throws an Error with one clear sentence if the books are damaged. */
export async function openSqliteBooks(options: SqliteBooksOptions): Promise<LedgerBooks> {
  const { store } = options;
  const state = await first<StateRow>(store, SELECT_STATE);
  if (!state) throw new Error('The ledger has no checkpoint: the database is damaged.');
  const journal = new Journal(store, state);
  store.spoolAs?.((writes) => spooledOps(writes, journal));
  const found = await recover(store, state, journal.sums);
  return new SqliteBooks(options, { journal, state, found });
}

/** The state of the books that a starting server has read. */
interface BooksStart {
  readonly journal: Journal;
  readonly state: StateRow;
  readonly found: JournalState;
}

const NOBODY_YET: InstanceName = { slot: 0, epoch: 0 };
type SequelMaker = NonNullable<Parameters<LedgerBooks['append']>[1]>;

const NOTHING: readonly Write[] = [];
const NOBODY: BooksWatcher = { freed: () => {}, opened: () => {}, adjusted: () => {}, fundsOf: () => [] };

/**
 * Books that hold funds and open reservations in memory, and the journal in SQLite. These books decide operations at once, in the order of
 * the calls, and write the rows of operations in that order. For a repeated operation, the books return the first result: for operations on
 * a reservation, for an earmark while it exists, and for the most recent deposits. State: books.
 */
class SqliteBooks implements LedgerBooks {
  /** No grace period is needed: the lock and the fence of the folder prove that all earlier epochs are dead. */
  readonly graceMs = 0;
  readonly #store: SqlStore;
  readonly #journal: Journal;
  readonly #funds = new FundStates();
  readonly #reservations = new Reservations();
  readonly #deposits: Deposits;
  readonly #bookings: Bookings;
  readonly #checkpoints: Checkpoints;
  readonly #counts: BudgetCounts;
  readonly #adoption: Adoption;
  readonly #now: () => number;
  /** The number of the journal's last row at the start, if the journal had no entry; null if it had entries. */
  readonly #emptyAt: number | null;
  #state: LedgerState;
  #watcher = NOBODY;

  constructor(
    { store, now, instance: { slot, epoch } = NOBODY_YET }: SqliteBooksOptions,
    { journal, state, found }: BooksStart,
  ) {
    this.#store = store;
    this.#now = now;
    this.#journal = journal;
    this.#emptyAt = state.isEmpty === 1 ? state.seq : null;
    this.#state = { usdPerCredit: state.usdPerCredit, budgets: NO_LEDGER.budgets };
    this.#deposits = new Deposits(journal);
    const parts = { store, journal, funds: this.#funds, reservations: this.#reservations, deposits: this.#deposits };
    this.#bookings = new Bookings({
      ...parts,
      owner: epoch * SLOTS + slot,
      freed: (funds) => this.#freed(funds),
      opened: (holder) => this.#watcher.opened(holder),
    });
    this.#checkpoints = new Checkpoints(parts, state);
    this.#counts = new BudgetCounts(store, journal, this.#checkpoints);
    this.#adoption = new Adoption({ store, journal, funds: this.#funds, now, watcher: () => this.#watcher });
    for (const [holder, { granted, spent }] of found.balances) this.#funds.grant(holder, granted, spent);
    for (const open of found.open.values()) {
      const holder = found.holderOf(open.funds);
      this.#reservations.add(orphanOf(open, holder === null ? null : this.#funds.grant(holder, 0).fund));
    }
  }

  watch(watcher: BooksWatcher): void {
    this.#watcher = watcher;
  }

  apply(ops: readonly LedgerOp[], also: readonly Write[] = NOTHING): Promise<readonly OpResult[]> {
    try {
      const first = ops[0];
      if (first?.kind === 'grant' || first?.kind === 'correct') return this.#adoption.ask(ops, first, also);
      const forgotten = this.#reservations.forgottenOf(ops);
      return forgotten ? this.#recall(forgotten).then(() => this.#apply(ops, also)) : this.#apply(ops, also);
    } catch (cause) {
      return Promise.reject(cause);
    }
  }

  #apply(ops: readonly LedgerOp[], also: readonly Write[]): Promise<readonly OpResult[]> {
    const batch = this.#batch(ops, also);
    return batch.pending ? this.#commit(batch, batch.pending) : this.#kept(batch);
  }

  append(ops: readonly LedgerOp[], follow: SequelMaker | null = null): Promise<readonly OpResult[]> {
    const forgotten = this.#reservations.forgottenOf(ops);
    if (forgotten) return this.#recall(forgotten).then(() => this.#append(ops, follow));
    return Promise.resolve(this.#append(ops, follow));
  }

  /** Reads reservations from the store that memory has forgotten, with the first results of their operations. */
  async #recall(ids: readonly number[]): Promise<void> {
    // The last rows of these reservations may not be written yet.
    await this.#store.flush();
    const fundsOf = async (dimensions: Dimensions, at: number) => {
      await this.#watcher.prepare?.(dimensions);
      return this.#funds.drawnBy(this.#watcher.fundsOf(dimensions, at)).funds;
    };
    for (const id of ids) {
      const made = await recall(this.#store, id, fundsOf);
      if (made && !this.#reservations.find(id)) this.#reservations.recalled(made);
    }
  }

  #append(ops: readonly LedgerOp[], follow: SequelMaker | null): readonly OpResult[] {
    const batch = this.#batch(ops, NOTHING);
    // Operations that wait for the disk may not be appended, because an append must not fail, but such an operation could.
    if (batch.pending) throw new RangeError('append accepts only operations that cannot be refused');
    const results = batch.results;
    let more: Batch | null = null;
    try {
      if (follow) {
        const { ops, writes } = follow(results);
        if (ops.length > 0) more = this.#batch(ops, NOTHING);
        batch.writes.push(...(more?.writes ?? NOTHING), ...writes);
      }
    } finally {
      if (batch.writes.length > 0) this.#store.append(batch.writes);
      this.#tellFreed(batch);
      if (more) this.#tellFreed(more);
    }
    return results;
  }

  standing(funds: readonly FundRef[]): readonly FundStanding[] {
    return this.#funds.look(funds);
  }

  windowsOf(budget: number, starts: number): readonly FundStanding[] {
    return this.#funds.windowsOf(budget, starts);
  }

  balanceOf(holder: string): FundStanding | null {
    return this.#funds.balanceOf(holder);
  }

  balances(): readonly FundStanding[] {
    return this.#funds.balances;
  }

  open(): { count: number; held: Microcredits } {
    let held = 0;
    for (const made of this.#reservations.open()) held += made.held;
    return { count: this.#reservations.size, held };
  }

  async orphans(): Promise<readonly Orphan[]> {
    return this.#reservations.orphans(this.#now());
  }

  written(): Promise<boolean> {
    return this.#store.written();
  }

  state(): LedgerState {
    return {
      usdPerCredit: this.#journal.seq !== this.#emptyAt ? this.#state.usdPerCredit : null,
      budgets: this.#state.budgets,
    };
  }

  async accept(offered: OfferedTerms): Promise<AcceptedTerms> {
    const accepted = await acceptTerms(this.#store, offered);
    const { usdPerCredit, budgets } = offered;
    this.#state = { usdPerCredit, budgets: budgets.map(({ name }) => name) };
    return accepted;
  }

  uncounted(...asked: Parameters<LedgerBooks['uncounted']>): UncountedCharges | Promise<UncountedCharges> {
    return this.#counts.uncounted(...asked);
  }

  /** Returns no subject: the books of a single process count only subjects that the active policy limits. */
  countedOf(): ReadonlySet<string> {
    return new Set();
  }

  async charged(): Promise<Microcredits> {
    const written = await first<{ charged: number }>(this.#store, SELECT_CHARGED);
    let charged = written?.charged ?? 0;
    for (const { microcredits } of this.#journal.sums) charged += microcredits;
    return charged;
  }

  usage(filter: UsageFilter): Promise<readonly EndpointCharges[]> {
    return readUsage(this.#store, this.#journal, this.#checkpoints, filter);
  }

  spentIn(keyId: string, window: Window): Promise<Microcredits> {
    return spentIn(this.#store, keyId, window);
  }

  async reservation(id: number): Promise<StoredReservation | null> {
    // The settlement of the reservation may not be written yet, so the code waits for it.
    await this.#store.flush();
    return findReservation(this.#store, id);
  }

  refresh(): Promise<void> {
    return this.#adoption.run();
  }

  async checkpoint(): Promise<void> {
    const used = [...this.#reservations.earmarks.values()].flatMap(({ funds }) => funds);
    this.#funds.forget(this.#now(), new Set(used));
    await this.#checkpoints.write();
  }

  #decide(op: LedgerOp, batch: Batch): OpResult {
    switch (op.kind) {
      case 'hold':
        return this.#bookings.hold(op, batch);
      case 'settle':
      case 'post':
      case 'extend':
      case 'expire':
        return this.#onReservation(op, batch);
      case 'earmark':
        return this.#bookings.earmark(op, batch);
      case 'capture':
        return this.#bookings.capture(op, batch);
      case 'void':
        return this.#bookings.void(op, batch);
      case 'release':
        return this.#bookings.release(op.id, batch);
      case 'attach':
        return this.#bookings.attach(op, batch);
      case 'count':
        if (!this.#counts.count(op)) return { kind: 'refused', why: 'exhausted', fund: null };
        this.#funds.count(op);
        return { kind: 'granted', amount: 0 };
      case 'enforce':
        this.#counts.enforce(op);
        this.#funds.enforce(op.budgets);
        return { kind: 'granted', amount: 0 };
      case 'deposit':
        return this.#bookings.deposit(op, batch);
      case 'waive':
        return this.#bookings.waive(op, batch);
      default:
        throw new RangeError(`a ${op.kind} comes alone`);
    }
  }

  #onReservation(op: ExtendOp | PostOp | SettleOp | ExpireOp, batch: Batch): OpResult {
    const made = this.#reservations.find(op.id);
    if (!made) throw new RangeError(`there is no reservation ${op.id}`);
    if (op.kind === 'settle') return this.#bookings.settle(made, op, batch);
    if (op.kind === 'expire') return made.closing ?? this.#bookings.expire(made, op, batch);
    const known = made.steps?.get(op.step);
    if (known) return known;
    const result = op.kind === 'post' ? this.#bookings.post(made, op, batch) : this.#bookings.extend(made, op, batch);
    if (result.kind !== 'refused') made.remember(op.step, result);
    return result;
  }

  #commit(batch: Batch, pending: readonly (PendingOp | undefined)[]): Promise<readonly OpResult[]> {
    const committed = this.#store.commit(batch.writes);
    this.#tellFreed(batch);
    return committed.then(
      () => {
        for (let i = 0; i < pending.length; i++) {
          const result = pending[i]?.written();
          if (result) batch.results[i] = result;
        }
        return batch.results;
      },
      (cause) => {
        for (const step of pending) step?.lost();
        if (batch.kept) this.#store.append(batch.kept);
        throw cause;
      },
    );
  }

  async #kept(batch: Batch): Promise<readonly OpResult[]> {
    const isWritten = batch.writes.length > 0;
    if (isWritten) this.#store.append(batch.writes);
    this.#tellFreed(batch);
    if (isWritten && !(await this.#store.written())) {
      throw new StoreError('neither the database nor the spool can be written');
    }
    return batch.results;
  }

  /**
   * Decides operations. The method throws before any operation has changed the books: RangeError, or StoreError if the spool has no room.
   */
  #batch(ops: readonly LedgerOp[], also: readonly Write[]): Batch {
    const holds = checkOps(ops);
    // If the disk fails later, the spool must have room for every settlement.
    if (holds > 0) this.#store.makeRoom?.(this.#reservations.size + holds);
    const batch = new Batch();
    for (let i = 0; i < ops.length; i++) {
      const from = batch.writes.length;
      batch.results.push(this.#decide(ops[i]!, batch));
      if (ops.length > 1 && !batch.pending?.[i] && this.#isIndependent(ops[i]!)) batch.keep(from);
    }
    // If the only operation is a hold and the hold is refused, the writes of the hold's request are dropped, too.
    const isInVain = ops.length === 1 && ops[0]!.kind === 'hold' && batch.results[0]!.kind === 'refused';
    if (!isInVain) for (let i = 0; i < also.length; i++) batch.writes.push(also[i]!);
    return batch;
  }

  /** Whether an operation is independent of reservations whose rows are still to be written. */
  #isIndependent(op: LedgerOp): boolean {
    return !('id' in op && typeof op.id === 'number' && this.#reservations.find(op.id)?.isWritten === false);
  }

  #tellFreed({ freed }: Batch): void {
    if (freed) for (const funds of freed) this.#freed(funds);
  }

  #freed(funds: readonly BookedFund[]): void {
    if (funds.length > 0) this.#watcher.freed(funds);
  }
}
