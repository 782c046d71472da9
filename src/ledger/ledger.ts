import { checkDeposit, type Deposit } from '../core/accounting/entry.ts';
import type { FundStanding } from '../core/accounting/fund.ts';
import { checkHeldSum } from '../core/accounting/held-sum.ts';
import type { LedgerState } from '../core/budget.ts';
import type { BudgetUse, Caller, KeyBudget } from '../core/caller.ts';
import type { Microcredits } from '../core/credits.ts';
import { type BudgetHolder, type KeyLines, NO_LINES } from '../core/holder.ts';
import { checkedHolder, isAddress } from '../core/holder-address.ts';
import { timeOfId } from '../core/id.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { Timer, Timers } from '../core/timers.ts';
import { processTimers } from '../host/telemetry/process-timers.ts';
import type { EndpointCharges, LedgerBooks, LedgerOp, UsageFilter } from '../store/books.ts';
import type { News } from '../store/news.ts';
import type { Write } from '../store/store.ts';
import { type Account, Accounts, accountOf, type BudgetedKey, scopeOf } from './accounts.ts';
import { AvailableFunds, type FundShortage } from './available-funds.ts';
import { Contention } from './contention.ts';
import { type CountedEntries, countIn, prepareWindows } from './count.ts';
import { Funds } from './funds.ts';
import { giveBack } from './give-back.ts';
import type { Earmark, Hold, OpenSettlement } from './hold.ts';
import { type GrantingInstance, HoldDesk } from './hold-desk.ts';
import type { HoldRequest } from './hold-request.ts';
import { chargedTo, holderBudgetUses } from './holder-budgets.ts';
import { LedgerNotifier, type LedgerNotifierOptions } from './notifier.ts';
import type { OpenHolds } from './open-holds.ts';
import { closeOrphans, NO_ORPHANS, type OrphansClosed } from './orphans.ts';
import { type CountedTerms, isOfPolicy, PolicyTerms } from './policy-terms.ts';
import { Refusals } from './refusals.ts';
import { type LedgerSample, sampleLedger } from './sample.ts';
import { drawnWindows, type LedgerStatus, statusOf } from './status.ts';

/** The interval of checkpoints, and of the search for holds that should have ended, ms. */
const CHECKPOINT_MS = 10_000;
/** The interval at which charges are counted that no hold drew on the budgets in force for, ms. */
const COUNT_MS = 1_000;
/** A process whose books nobody else has. */
const ALWAYS: GrantingInstance = { slot: 0, epoch: 0, isCurrent: true };
/** Windows of sessions that a caller is shown. */
const SESSIONS_SHOWN = 100;

/** The part of a policy that concerns money. */
export type LedgerTerms = CountedTerms & Pick<PolicySnapshot, 'ledger'>;

interface LedgerOptions extends LedgerNotifierOptions {
  readonly books: LedgerBooks;
  readonly terms: LedgerTerms;
  /** Milliseconds since 1970; never goes back, and the IDs of requests never lag behind its readings. */
  readonly now: () => number;
  /** No ID of an earlier run is greater: windows do not go back before its moment. Absent: there was no run. */
  readonly idsAbove?: number;
  /** The place of this process, without which nothing is granted. Absent: it has one for good. */
  readonly instance?: GrantingInstance;
  /** Tells of grants and corrections by an operator's command. Absent: only `refresh` applies them. */
  readonly news?: Pick<News, 'on'>;
  /** Sets its regular work; the process's own unless stated. */
  readonly timers?: Timers;
  /** The lines of keys; absent where none descends from another. */
  readonly lines?: Pick<KeyLines, 'lineOf' | 'linesOf'>;
}

/**
 * Opens the ledger of an instance. Where the store proves that all before it are dead, it closes their holds at once; elsewhere `sweep`
 * does. Throws an Error of one clear sentence if the policy's Credits have another worth than those of the entries.
 */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const ledger = new Ledger(options);
  await ledger.begin(options.terms);
  return ledger;
}

/** The ledger of one process. It may share its books with other processes. State: ledger. */
export class Ledger {
  /** The holds of a crash that this start closed. */
  recovered: OrphansClosed = NO_ORPHANS;
  readonly #books: LedgerBooks;
  readonly #entries: CountedEntries;
  readonly #options: LedgerOptions;
  readonly #accounts: Accounts;
  readonly #funds: Funds;
  readonly #contention: Contention;
  readonly #desk: HoldDesk;
  readonly #notifier: LedgerNotifier;
  readonly #refusals = new Refusals();
  readonly #timers: Timers;
  readonly #regular: Timer[] = [];
  #deafen = (): void => {};
  /** The latest moment of the clock or an ID, ms since 1970. */
  #latest: number;
  /** Resolves when the policy in preparation is in force, or has failed: one at a time. */
  #preparing: Promise<void> = Promise.resolve();
  /** The rule of the policy in force for holds whose owner is gone. */
  #onCrash: LedgerTerms['ledger']['onCrash'];
  readonly #openSettlement: OpenSettlement = { ops: null };
  readonly #terms: PolicyTerms;
  /** The rank of the budgets in force here. */
  readonly rank = (): number => this.#terms.rank;

  constructor(options: LedgerOptions) {
    const {
      books,
      now,
      idsAbove = 0,
      instance = ALWAYS,
      news,
      terms,
      timers = processTimers,
      lines = NO_LINES,
    } = options;
    this.#timers = timers;
    this.#contention = new Contention(timers);
    this.#books = books;
    this.#entries = { books, lines };
    this.#terms = new PolicyTerms(books);
    this.#onCrash = terms.ledger.onCrash;
    this.#options = options;
    this.#latest = timeOfId(idsAbove);
    const hasBalance = (holder: string) => books.balanceOf(holder) !== null;
    this.#accounts = new Accounts(hasBalance, lines.lineOf);
    this.#funds = new Funds(hasBalance);
    this.#notifier = new LedgerNotifier(options);
    const own = { funds: this.#funds, contention: this.#contention, notifier: this.#notifier };
    this.#desk = new HoldDesk({ books, timers, now, instance, ...own }, this.#openSettlement);
    books.watch({
      freed: (funds) => this.#contention.wake(funds),
      opened: () => this.#funds.opened(),
      adjusted: () => this.#contention.wakeAll(),
      fundsOf: (dimensions, atMs) => this.#funds.of(accountOf(dimensions, lines.lineOf), atMs),
      prepare: async ({ key = '' }) => void (await lines.linesOf([key])),
    });
    this.#every(CHECKPOINT_MS, () => this.#sweep());
    // A failed count is repeated at the next tick.
    this.#every(COUNT_MS, () => this.#countIn().catch(() => {}));
    this.#every(COUNT_MS, () => this.#notifier.lookAtAll(this.#funds.budgetWindows, this.#time));
    if (news) this.#deafen = news.on('funds', () => this.refresh());
  }

  /** Windows never go back, even if the clock does. */
  get #time(): number {
    this.#latest = Math.max(this.#latest, this.#options.now());
    return this.#latest;
  }

  /** Holds that are open. */
  get open(): number {
    return this.#books.open().count;
  }

  /** How long instances are given to come back before a sweep, ms. */
  get graceMs(): number {
    return this.#books.graceMs;
  }

  /**
   * Closes the holds of dead instances by the policy's rule: charged in full, because the upstreams' work is unknown, or released. To
   * be called `graceMs` after this instance began, at the earliest. Rejects with StoreError.
   */
  sweep(): Promise<OrphansClosed> {
    return closeOrphans(this.#books, this.#onCrash, this.#options.now());
  }

  /** Closes orphans where none can come back, applies grants and corrections of operators, and counts the budgets. */
  async begin(terms: LedgerTerms): Promise<void> {
    // Before the budgets are counted, so that they count what it charges.
    if (this.graceMs === 0) this.recovered = await this.sweep();
    await this.refresh();
    // Charges since the last checkpoint are told by account only once they are summed up.
    await this.#books.checkpoint();
    (await this.prepare(terms))();
  }

  /**
   * Returns the money that a caller can still spend in the windows of `timeMs` (ms since 1970, by default now); null if no fund
   * applies. `windowsOnly` leaves out the balance, which a payment will cover: of the worst case, so that no output is capped.
   */
  availableFunds(
    caller: Caller,
    selector: string,
    timeMs: number = this.#time,
    windowsOnly = false,
    session = '',
  ): AvailableFunds | null {
    const account = this.#accounts.of(caller, selector, null, session);
    const funds = windowsOnly ? this.#funds.windowsOf(account, timeMs) : this.#funds.of(account, timeMs);
    return funds.length === 0 ? null : new AvailableFunds(funds, this.#books.standing(funds), !windowsOnly);
  }

  /**
   * Sets money aside in every fund that applies, in one step: the greatest of the amounts that they have free,
   * at least the first. The hold is durable before this resolves. Rejects with StoreError when it could
   * not be written, and then nothing is held.
   */
  reserve(request: HoldRequest): Promise<Hold | FundShortage> {
    try {
      return this.#desk.hold(request, this.#accountFor(request));
    } catch (cause) {
      return Promise.reject(cause);
    }
  }

  /**
   * Sets money aside for a holder's request that a payment in progress will pay in part. `expected` is the amount that the
   * payment will add to the holder's balance. Nothing is written before `capture`.
   */
  async earmark(request: HoldRequest, expected: Microcredits): Promise<Earmark | FundShortage> {
    if (!(expected >= 0)) throw new RangeError(`cannot expect ${expected} microcredits`);
    if (!isAddress(request.holder ?? request.caller.keyId)) throw new Error('money is earmarked for wallets alone');
    return this.#desk.earmark(request, this.#accountFor(request), expected);
  }

  /** Counts a request that was refused for this shortage. */
  refused(shortage: FundShortage): void {
    this.#refusals.count(shortage);
  }

  /** Adds to a holder's balance, and writes `also` with it. Durable when it resolves; rejects with StoreError. */
  async deposit(holder: string, deposit: Deposit, also: readonly Write[]): Promise<void> {
    checkDeposit(deposit);
    // Each payment is booked once, and its fee given back once.
    const id = deposit.paid > 0 ? deposit.note : `${deposit.note}/fee`;
    await this.#desk.apply([{ kind: 'deposit', id, at: this.#options.now(), holder, deposit }], also);
  }

  /**
   * Gives a fee back to a holder's balance at once. Within a settlement it rides in the settlement's commit. A commit that may
   * be refused must use `deposit` with a negative fee instead. Throws RangeError for a negative fee or a name that is no address.
   */
  waiveFee(holder: string, fee: Microcredits, note: string): void {
    if (!(fee >= 0)) throw new RangeError(`cannot give back a fee of ${fee}`);
    const op: LedgerOp = {
      kind: 'waive',
      id: `${note}/fee`,
      at: this.#options.now(),
      holder: checkedHolder(holder),
      fee,
      note,
    };
    if (this.#openSettlement.ops) this.#openSettlement.ops.push(op);
    else this.#books.append([op]);
  }

  /** Returns a holder's balance; null if it was never granted anything and never paid anything in. */
  balanceOf(holder: string): FundStanding | null {
    return this.#books.balanceOf(holder);
  }

  /**
   * Prepares another policy. Resolves with a function that puts it in force at once, and returns a promise of its limits at all servers.
   * Call that function in any case: the next preparation waits for it.
   */
  async prepare(terms: LedgerTerms): Promise<() => unknown> {
    const { promise, resolve: end } = Promise.withResolvers<void>();
    const before = this.#preparing;
    this.#preparing = promise;
    await before;
    using preparation = new DisposableStack();
    preparation.defer(end);
    const counted = await this.#terms.accept(terms);
    // In any case, so that the books give up what is counted for budgets that are not in force.
    let enforced: unknown;
    preparation.defer(() => (enforced = this.#enforce()));
    const windowsAt = await prepareWindows(counted, this.#funds.budgetWindows, this.#entries, this.#time);
    const prepared = preparation.move();
    return () => {
      this.#funds.use(windowsAt(this.#time));
      this.#onCrash = terms.ledger.onCrash;
      prepared.dispose();
      this.#contention.wakeAll();
      return enforced;
    };
  }

  /**
   * Resolves with true once all settlements so far outlive this process, in the database or in the spool; with false when
   * both have refused one for now. Never rejects.
   */
  written(): Promise<boolean> {
    return this.#books.written();
  }

  /** Returns the worth of a Credit and the budgets that a new policy must fit. */
  state(): LedgerState {
    const { usdPerCredit } = this.#books.state();
    const budgets = this.#funds.budgetWindows.map(({ budget }) => budget);
    return { usdPerCredit, budgets: budgets.filter(isOfPolicy).map(({ name }) => name) };
  }

  status(): Promise<LedgerStatus> {
    return statusOf(this.#books, this.#funds.budgetWindows, this.#time);
  }

  /** The windows in force that requests have drawn on, from memory. */
  drawnWindows(): readonly FundStanding[] {
    return drawnWindows(this.#books, this.#funds.budgetWindows, this.#time);
  }

  /** The open requests of this process, by the funds that they hold. */
  openHolds(): OpenHolds {
    return this.#desk.openHolds();
  }

  /** Samples the ledger from memory, without the store, in one pass over the funds. */
  sample(): LedgerSample {
    const parts = { books: this.#books, contention: this.#contention, refusals: this.#refusals };
    return sampleLedger(parts, this.#funds.budgetWindows, this.#time, this.openHolds());
  }

  /** Reads the charges of a period; groups may repeat. */
  usage(filter: UsageFilter): Promise<readonly EndpointCharges[]> {
    return this.#books.usage(filter);
  }

  /**
   * Returns every fund that requests of a caller draw on now, for any of these model names, but for those of keys above its own; of
   * the windows of its sessions, those that have spent most.
   */
  fundsOf(caller: BudgetedKey, names: readonly string[]): readonly FundStanding[] {
    const { keyId } = caller;
    const scopes = names.map((name) => scopeOf(caller, name));
    const ofSessions = this.#books.standing(this.#funds.ofSessions(keyId, this.#time));
    const drawnOn = ofSessions.filter(({ spent, held }) => spent + held !== 0).sort((a, b) => b.spent - a.spent);
    return [
      ...this.#books.standing(this.#funds.ofNames(scopes, keyId, this.#time)),
      ...drawnOn.slice(0, SESSIONS_SHOWN),
    ];
  }

  /** Returns how much of each of a holder's own budgets is spent now, by all below it. */
  budgetUses(holder: BudgetHolder, budgets: readonly KeyBudget[]): Promise<readonly BudgetUse[]> {
    return holderBudgetUses(
      async (window, budget) => {
        const fund = this.#funds.ofHolder(holder, budget, window.starts);
        return fund ? this.#books.standing([fund])[0]!.spent : await chargedTo(this.#books, holder, window);
      },
      budgets,
      this.#options.now(),
    );
  }

  /** Applies grants and corrections that any process has stored, and counts charges of holds that did not draw on the budgets in force. */
  async refresh(): Promise<void> {
    await this.#books.refresh();
    await this.#countIn();
  }

  /** Whether a hold is open: its charge is not known yet. Rejects with StoreError. */
  async isOpen(hold: number): Promise<boolean> {
    return (await this.#books.reservation(hold))?.isOpen ?? false;
  }

  giveBack(hold: number, note: string, instead?: number): Promise<Microcredits> {
    const apply = this.#desk.apply.bind(this.#desk);
    const reservation = this.#books.reservation.bind(this.#books);
    return giveBack({ apply, reservation }, { hold, note, instead }, this.#options.now());
  }

  /** Writes a checkpoint, so that the next start is quick. Neither ends holds nor closes the store. */
  async close(): Promise<void> {
    this.#deafen();
    for (const timer of this.#regular) timer.close();
    await this.#books.checkpoint();
  }

  #every(ms: number, run: () => void): void {
    const timer = this.#timers.every(ms, run);
    timer.unref();
    this.#regular.push(timer);
  }

  /** A mistake in the program must throw before money is held. */
  #accountFor({ id, caller, selector, session, agent, holder, amounts, limit }: HoldRequest): Account {
    for (const amount of amounts) checkHeldSum(amount, limit);
    this.#latest = Math.max(this.#latest, timeOfId(id));
    return this.#accounts.of(caller, selector, holder, session, agent);
  }

  /** Tells the books the budgets in force, and moves open holds and earmarks to the funds that apply to them now. */
  #enforce(): Promise<unknown> {
    const budgets = this.#funds.budgetWindows.map(({ enforced }) => enforced);
    return this.#books.append([{ kind: 'enforce', budgets }, ...this.#desk.attachAll()]);
  }

  /** Counts charges of holds that did not draw on the budgets in force: of servers with another policy, or that are gone. */
  async #countIn(): Promise<void> {
    for (const windows of this.#funds.budgetWindows) {
      const funds = await countIn(windows, this.#entries);
      if (!funds) continue;
      this.#notifier.look(funds);
      this.#contention.wakeAll();
    }
  }

  async #sweep(): Promise<void> {
    this.#desk.expire();
    await this.#books.checkpoint().catch(() => {});
  }
}
