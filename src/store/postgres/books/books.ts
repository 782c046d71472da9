import { checkDeposit, type Dimensions } from '../../../core/accounting/entry.ts';
import type { FundRef, FundStanding, FundTitle } from '../../../core/accounting/fund.ts';
import type { Window } from '../../../core/accounting/window.ts';
import { timeOfId } from '../../../core/id.ts';
import type { LedgerState } from '../../../core/money/budget.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import { isAddress } from '../../../core/money/holder-address.ts';
import type { Timer, Timers } from '../../../core/time/timers.ts';
import type {
  AcceptedTerms,
  BooksWatcher,
  CorrectOp,
  EndpointCharges,
  LedgerBooks,
  LedgerOp,
  OfferedTerms,
  OpResult,
  UncountedCharges,
  UsageFilter,
} from '../../books.ts';
import { checkOps } from '../../checked-ops.ts';
import type { InstanceName } from '../../instance.ts';
import type { Orphan, StoredReservation } from '../../ledger-table.ts';
import type { Spool } from '../../spool/spool.ts';
import type { StoreError, Write } from '../../store.ts';
import { adoptRequested } from './adoption.ts';
import { OpGroups } from './group.ts';
import { type KeptCall, KeptOps } from './kept-ops.ts';
import { type FundAnswer, KnownFunds } from './known-funds.ts';
import { type BooksQuery, balanceText, Names } from './names.ts';
import { OwnHolds } from './own-holds.ts';
import { BooksReader } from './reader.ts';
import { type AskedOp, type CalledOps, decode, dimensionsOfHolder, fundsOf, Wire, type WireResult } from './wire.ts';

/** The number of slots for instances. The tables store slot and epoch of an instance as one number, `epoch * SLOTS + slot`. */
const SLOTS = 128;
/**
 * While requests wait for money, the funds of these requests are read again at this interval, ms: another instance may have released some
 * money.
 */
const WAKE_MS = 50;
/** How often the figures of all known funds are read again, ms: other instances draw on the same funds. */
const REFRESH_MS = 1_000;
/**
 * How often an instance adds new charges to the stored sums, ms. With several instances, the interval for all of them together is about the
 * same.
 */
const FOLD_MS = 5_000;

/** The database connection that the books use. */
export interface BooksDatabase {
  readonly query: BooksQuery;
  /**
   * Decides calls in the name of an instance, with the same contract as `decide` of `GroupParts`.
   * @param owner the instance, as `epoch * SLOTS + slot`
   * @param awaited the IDs of the funds that requests of this process wait for
   */
  readonly decide: (owner: number, calls: readonly CalledOps[], awaited: ReadonlySet<number>) => Promise<WireResult>;
}

export interface PostgresBooksOptions {
  readonly db: BooksDatabase;
  readonly timers: Timers;
  /** Returns a time in ms that never goes back. */
  readonly clock: () => number;
  /** The instance for which the books are opened. */
  readonly instance: InstanceName;
  /** A function that is called when a write to the spool fails. */
  readonly onError?: ((error: StoreError) => void) | undefined;
}

type SequelMaker = NonNullable<Parameters<LedgerBooks['append']>[1]>;
const NOBODY: BooksWatcher = { freed: () => {}, opened: () => {}, adjusted: () => {}, fundsOf: () => [] };
/** The operations that add money. After such an operation, the ledger may grant a hold that it refused before. */
const ADJUSTING: ReadonlySet<LedgerOp['kind']> = new Set(['grant', 'correct', 'deposit', 'capture']);

const balanceOf = (holder: string): FundRef => ({
  key: balanceText(holder),
  title: { kind: 'balance', name: holder, subject: '', definition: '', starts: 0, ends: Number.POSITIVE_INFINITY },
  budget: 0,
  limit: 0,
});

/**
 * Opens the books of this process.
 * @throws StoreError by rejecting
 */
export async function openPostgresBooks(options: PostgresBooksOptions): Promise<PostgresBooks> {
  const reader = new BooksReader(options.db.query, options.timers);
  const books = new PostgresBooks(options, reader, await reader.terms());
  await books.load();
  return books;
}

/**
 * The books in PostgreSQL. The function `ledger_decide_1` (`decide.sql`) decides each group of operations in the database, so budgets are
 * exact with any number of instances, and a process that crashes leaves no lock. The memory of the process contains only figures of a
 * bounded age. State: books.
 */
export class PostgresBooks implements LedgerBooks {
  /** How long an instance waits before it ends orphaned holds, ms: other instances that lost the database may come back. */
  readonly graceMs = 60_000;
  readonly #instance: InstanceName;
  readonly #query: BooksQuery;
  readonly #reader: BooksReader;
  readonly #figures: KnownFunds;
  readonly #names: Names;
  readonly #groups: OpGroups;
  readonly #kept: KeptOps;
  readonly #timers: Timers;
  readonly #refreshing: Timer;
  readonly #folding: Timer;
  readonly #own = new OwnHolds();
  /** The open holds of all other instances, as of the last poll: their count and the Credits that they hold, in microcredits. */
  #elsewhere = { count: 0, held: 0 };
  /** The news number of the last balance that this process knows to be opened. */
  #openedThrough = 0;
  /** For each earmark of this process, by its ID: the balance that its payment will be added to. */
  readonly #earmarks = new Map<number, FundRef>();
  /** The funds that requests of this process wait for. */
  readonly #contended = new Map<FundTitle, FundStanding>();
  /** While `#wake` wakes waiting requests: the funds whose figures these requests read. Null at other times. */
  #wanted: Set<FundTitle> | null = null;
  #waking: Timer | null = null;
  #state: LedgerState;
  #watcher = NOBODY;

  constructor(
    { db, timers, clock, instance, onError = () => {} }: PostgresBooksOptions,
    reader: BooksReader,
    state: LedgerState,
  ) {
    this.#instance = instance;
    this.#kept = new KeptOps(onError);
    this.#query = db.query;
    this.#reader = reader;
    this.#state = state;
    this.#timers = timers;
    this.#figures = new KnownFunds(clock);
    this.#names = new Names(db.query, (ref, figures) => this.#meet(ref, figures));
    const wire = new Wire(this.#names);
    this.#groups = new OpGroups({
      timers,
      name: (ops) => this.#name(ops),
      encode: (asked) => wire.encode(asked),
      decode: (answer) => decode(answer, (id, figures) => this.#figures.standingOfId(id, figures)),
      decide: (calls) => db.decide(this.#owner, calls, new Set(this.#figures.idsOf([...this.#contended.values()]))),
      keep: (ops, also) => this.#kept.keep(ops, also, (op) => this.#own.reckon(op)),
      forget: () => this.#kept.forget(),
      take: (result, ops) => this.#take(result, ops),
      told: (ops, results) => this.#told(ops, results),
    });
    this.#refreshing = timers.every(REFRESH_MS, () => void this.#refresh().catch(() => {}));
    this.#refreshing.unref();
    this.#folding = timers.every(FOLD_MS, () => void reader.fold().catch(() => {}));
    this.#folding.unref();
  }

  /** The slot and the epoch of this instance as a single number, which changes when the process takes a new epoch. */
  get #owner(): number {
    return this.#instance.epoch * SLOTS + this.#instance.slot;
  }

  /**
   * Books the calls that an earlier run left in its spool.
   * @throws RangeError by rejecting, if the spool belongs to another database
   */
  async replay(calls: readonly KeptCall[]): Promise<void> {
    const asked = calls.map(({ ops, also }) => ({ ops: ops.map((op) => this.#asked(op)), also }));
    await Promise.all(asked.map(({ ops, also }) => this.#groups.add(ops, also, true)));
  }

  /** From the call on, the books store operations in `spool` while the database does not accept operations. */
  useSpool(spool: Spool): void {
    this.#kept.spool = spool;
  }

  /** Reads the balances and the open holds of other instances. A starting server must know both. */
  async load(): Promise<void> {
    await this.#readOpened();
    this.#elsewhere = await this.#reader.openElsewhere(this.#owner, this.#own.ids);
  }

  /** The number of calls with charges that are neither in the database nor in the spool. */
  get unkept(): number {
    return this.#groups.unkept;
  }

  close(): void {
    this.#groups.close();
    this.#refreshing.close();
    this.#folding.close();
    this.#waking?.close();
  }

  watch(watcher: BooksWatcher): void {
    this.#watcher = watcher;
  }

  async apply(ops: readonly LedgerOp[], also: readonly Write[] = []): Promise<readonly OpResult[]> {
    checkOps(ops);
    for (const op of ops) checkMoney(op);
    const [first] = ops;
    const asked = first?.kind === 'correct' ? [await this.#correction(first)] : ops.map((op) => this.#asked(op));
    return await this.#groups.add(asked, also);
  }

  async append(ops: readonly LedgerOp[], follow: SequelMaker | null = null): Promise<readonly OpResult[]> {
    checkOps(ops);
    const results = await this.#groups.add(
      ops.map((op) => this.#asked(op)),
      [],
      true,
    );
    if (!follow) return results;
    const next = follow(results);
    const more = next.ops.map((op) => this.#asked(op));
    if (more.length > 0) await this.#groups.add(more, next.writes, true);
    else if (next.writes.length > 0) void this.#groups.add(more, next.writes, true).catch(() => {});
    return results;
  }

  standing(funds: readonly FundRef[]): readonly FundStanding[] {
    const standings = this.#figures.standing(funds);
    if (this.#wanted) for (const { title } of standings) this.#wanted.add(title);
    return standings;
  }

  windowsOf(budget: number, starts: number): readonly FundStanding[] {
    return this.#figures.windowsOf(budget, starts);
  }

  balanceOf(holder: string): FundStanding | null {
    return this.#figures.balanceOf(holder);
  }

  balances(): readonly FundStanding[] {
    return this.#figures.balances();
  }

  open(): { readonly count: number; readonly held: Microcredits } {
    const own = this.#own.sum();
    return { count: own.count + this.#elsewhere.count, held: own.held + this.#elsewhere.held };
  }

  async orphans(): Promise<readonly Orphan[]> {
    const found = await this.#reader.orphans();
    // An earmark has charged nothing. The instance of this earmark is gone, so no process is left to capture the payment, and the earmark is
    // released.
    const earmarks = found.filter(({ state }) => state === 'earmark');
    if (earmarks.length > 0) await this.append(earmarks.map(({ id }) => ({ kind: 'release', id })));
    return found.flatMap(({ state, ...orphan }) => (state === 'open' ? [orphan] : []));
  }

  written(): Promise<boolean> {
    return this.#groups.written();
  }

  state(): LedgerState {
    return this.#state;
  }

  async accept(offered: OfferedTerms): Promise<AcceptedTerms> {
    const accepted = await this.#reader.accept(offered);
    const { usdPerCredit, budgets } = offered;
    this.#state = { usdPerCredit, budgets: budgets.map(({ name }) => name) };
    return accepted;
  }

  uncounted(...asked: Parameters<LedgerBooks['uncounted']>): Promise<UncountedCharges> {
    return this.#reader.uncounted(...asked);
  }

  countedOf(budget: number, subjects: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#reader.countedOf(budget, subjects);
  }

  charged(): Promise<Microcredits> {
    return this.#reader.charged();
  }

  usage(filter: UsageFilter): Promise<readonly EndpointCharges[]> {
    return this.#reader.usage(filter);
  }

  spentIn(keyId: string, window: Window): Promise<Microcredits> {
    return this.#reader.spentIn(keyId, window);
  }

  async reservation(id: number): Promise<Pick<StoredReservation, 'isOpen' | 'charged' | 'givenBack'> | null> {
    return (await this.#reader.hold(id)) ?? null;
  }

  async refresh(): Promise<void> {
    await adoptRequested(this.#query, (ops, also) => this.apply(ops, also));
    await this.#refresh();
    this.#watcher.adjusted();
  }

  /** Adds all charges in the journal to the stored sums. */
  checkpoint(): Promise<void> {
    return this.#reader.fold();
  }

  #asked(op: LedgerOp): AskedOp {
    switch (op.kind) {
      case 'grant':
      case 'deposit':
      case 'waive':
        return { op, balance: balanceOf(op.holder) };
      case 'earmark': {
        const balance = op.funds.find(({ title }) => title.kind === 'balance');
        if (balance) this.#earmarks.set(op.id, balance);
        return { op };
      }
      case 'capture': {
        const balance = this.#earmarks.get(op.id);
        return { op, ...(balance && { balance }) };
      }
      default:
        return { op };
    }
  }

  /** A refund is credited to the funds that apply to the account now, which may differ from the funds of the hold. */
  async #correction(op: CorrectOp): Promise<AskedOp> {
    const hold = await this.#reader.hold(op.reservation);
    if (hold) await this.#watcher.prepare?.(hold.dimensions);
    const funds = hold ? this.#watcher.fundsOf(hold.dimensions, timeOfId(op.reservation)) : [];
    return { op, funds };
  }

  async #name(ops: readonly AskedOp[]): Promise<void> {
    const { accounts, tariffs, funds } = this.#names;
    const spenders = ops.flatMap(({ op, balance }): Dimensions[] => [
      ...('dimensions' in op ? [op.dimensions] : []),
      ...(balance ? [dimensionsOfHolder(balance.title.name)] : []),
    ]);
    const newAccounts = spenders.filter((one) => accounts.find(one) === undefined);
    const lines = ops.flatMap(({ op }) => ('entry' in op && op.entry ? [op.entry.tariff] : []));
    const newTariffs = lines.filter((one) => tariffs.find(one) === undefined);
    const newFunds = ops.flatMap(fundsOf).filter((one) => funds.find(one) === undefined);
    if (newAccounts.length > 0) await this.#names.learnAccounts(newAccounts);
    if (newTariffs.length > 0) await this.#names.learnTariffs(newTariffs);
    if (newFunds.length > 0) await this.#names.learnFunds(newFunds);
  }

  #meet(ref: FundRef, figures: FundAnswer, at?: number): void {
    this.#figures.name(ref, figures[0]);
    this.#figures.take([figures], at);
  }

  #take({ figures, openHolds }: WireResult, ops: readonly LedgerOp[]): void {
    const { freed, opened } = this.#figures.take(figures);
    for (const op of ops) if (op.kind === 'enforce') this.#figures.enforce(op.budgets);
    this.#own.take(ops, openHolds);
    for (const holder of opened) this.#watcher.opened(holder);
    if (freed.length > 0) queueMicrotask(() => this.#watcher.freed(freed));
  }

  #told(ops: readonly LedgerOp[], results: readonly OpResult[]): void {
    this.#own.told(ops, results);
    for (const result of results)
      if (result.kind === 'refused' && result.why === 'contended' && result.fund) this.#wakeLater(result.fund);
    if (ops.some(({ kind }) => ADJUSTING.has(kind))) queueMicrotask(() => this.#watcher.adjusted());
  }

  #wakeLater(fund: FundStanding): void {
    this.#contended.set(fund.title, fund);
    this.#waking ??= this.#timers.after(WAKE_MS, () => void this.#wake());
  }

  /**
   * Polls the funds that requests wait for, and wakes these requests. The poll then continues with the funds whose figures a woken request
   * has read.
   */
  async #wake(): Promise<void> {
    const waiting = [...this.#contended.values()];
    const at = this.#figures.now;
    const figures = await this.#reader.figures(this.#figures.idsOf(waiting)).catch(() => []);
    this.#figures.take(figures, at);
    this.#waking = null;
    const wanted = new Set<FundTitle>();
    this.#wanted = wanted;
    this.#watcher.freed(waiting);
    this.#wanted = null;
    for (const { title } of waiting) if (!wanted.has(title)) this.#contended.delete(title);
    if (this.#contended.size > 0) this.#waking ??= this.#timers.after(WAKE_MS, () => void this.#wake());
  }

  /** Reads the balances that this or another instance has opened since the last call. */
  async #readOpened(): Promise<void> {
    const at = this.#figures.now;
    for (const { id, holder, granted, spent, held, changed } of await this.#reader.balances(this.#openedThrough)) {
      const ref = balanceOf(holder);
      this.#names.funds.know(ref, id);
      this.#meet(ref, [id, granted, spent, held, true], at);
      this.#openedThrough = Math.max(this.#openedThrough, changed);
      this.#watcher.opened(holder);
    }
  }

  async #refresh(): Promise<void> {
    await this.#readOpened();
    const { ids, now } = this.#figures;
    const [figures, found, elsewhere] = await Promise.all([
      this.#reader.figures(ids),
      this.#reader.found(this.#figures.wanted),
      this.#reader.openElsewhere(this.#owner, this.#own.ids),
    ]);
    this.#elsewhere = elsewhere;
    this.#figures.find(found);
    const { freed, opened } = this.#figures.take(figures, now);
    const last = new Set(figures.map(([id]) => id));
    for (const id of ids) if (!last.has(id)) this.#figures.forget(id);
    for (const holder of opened) this.#watcher.opened(holder);
    if (freed.length > 0) this.#watcher.freed(freed);
  }
}

/** @throws RangeError for a deposit that breaks the rules, or for money to a holder that is not a wallet */
function checkMoney(op: LedgerOp): void {
  if (op.kind === 'deposit' || op.kind === 'capture') checkDeposit(op.deposit);
  if ((op.kind === 'deposit' || op.kind === 'waive') && !isAddress(op.holder)) throw new RangeError('not a wallet');
}
