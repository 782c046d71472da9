import { checkDeposit, type Deposit, type EntryLine } from '../core/accounting/entry.ts';
import type { FundStanding, FundTitle } from '../core/accounting/fund.ts';
import { checkHeldSum } from '../core/accounting/held-sum.ts';
import { timeOfId } from '../core/id.ts';
import type { LedgerState } from '../core/money/budget.ts';
import type { Microcredits } from '../core/money/credits.ts';
import { checkedHolder, isAddress } from '../core/money/holder-address.ts';
import type { BudgetUse, Caller, KeyBudget } from '../core/people/caller.ts';
import { type BudgetHolder, type KeyLines, NO_LINES } from '../core/people/holder.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import type { Timer, Timers } from '../core/time/timers.ts';
import { processTimers } from '../host/telemetry/process-timers.ts';
import type { EndpointCharges, LedgerBooks, LedgerOp, UsageFilter } from '../store/books.ts';
import type { News } from '../store/news.ts';
import type { Write } from '../store/store.ts';
import { type Account, Accounts, accountOf, type BudgetedKey, scopeOf } from './accounts.ts';
import { AvailableFunds, type FundShortage } from './available-funds.ts';
import { Contention } from './contention.ts';
import { type CountedEntries, countIn, prepareWindows } from './count.ts';
import { recentWindow } from './forecast.ts';
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
import { RecentSpend } from './recent-spend.ts';
import { type FundRefusal, Refusals } from './refusals.ts';
import { type LedgerSample, sampleLedger } from './sample.ts';
import { drawnWindows, type LedgerStatus, statusOf } from './status.ts';

/** The interval of checkpoints, and of the search for holds that should have ended, ms. */
const CHECKPOINT_MS = 10_000;
/** The interval at which the ledger counts the charges of holds that did not draw on the active budgets, ms. */
const COUNT_MS = 1_000;
/** The instance of a process that shares its books with no other process. */
const ALWAYS: GrantingInstance = { slot: 0, epoch: 0, isCurrent: true };
/** The number of session windows that the ledger shows to a caller. */
const SESSIONS_SHOWN = 100;

/** The parts of a policy that concern money. */
export interface LedgerTerms extends CountedTerms, Pick<PolicySnapshot, 'ledger'> {
  /** When the budgets change by themselves, because a budget ends, ms since 1970. Absent for never. */
  readonly until?: number;
  /** The moment for which the budgets hold, ms since 1970. Absent for the moment at which the ledger prepares them. */
  readonly at?: number;
}

interface LedgerOptions extends LedgerNotifierOptions {
  readonly books: LedgerBooks;
  readonly terms: LedgerTerms;
  /** Returns ms since 1970. The time never goes back, and no request ID is older than an earlier result. */
  readonly now: () => number;
  /** The highest ID of earlier runs: windows of budgets never start before the time in this ID. Absent if there was no earlier run. */
  readonly idsAbove?: number;
  /**
   * The instance of this process. The ledger grants nothing while the instance is not current. If no instance is given, the process is
   * always current.
   */
  readonly instance?: GrantingInstance;
  /** Reports grants and refunds by an operator's command. If absent, only `refresh` applies such grants and refunds. */
  readonly news?: Pick<News, 'on'>;
  /** Timers for regular work; by default the timers of the process. */
  readonly timers?: Timers;
  /** Returns the parent keys of keys. Absent if no key has a parent key. */
  readonly lines?: Pick<KeyLines, 'lineOf' | 'linesOf'>;
}

/**
 * Opens the ledger of an instance. If the store proves that all earlier instances have ended, this function closes the holds of these
 * instances at once. Without a proof that an instance has ended, `sweep` closes its holds.
 * @throws Error of one sentence, by rejecting, if the policy gives a Credit a different value than the entries of the ledger
 */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const ledger = new Ledger(options);
  await ledger.begin(options.terms);
  return ledger;
}

/** The ledger of a single process. Several processes may share the books of a ledger. State: ledger. */
export class Ledger {
  /** The holds of a crashed run that this start has closed. */
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
  readonly #recent: RecentSpend;
  readonly #timers: Timers;
  readonly #regular: Timer[] = [];
  #deafen = (): void => {};
  /** The latest time of the clock or of a request ID, ms since 1970. */
  #latest: number;
  /** Resolves when the policy that is being prepared is active or has failed. The ledger prepares only one policy at a time. */
  #preparing: Promise<void> = Promise.resolve();
  /** The active policy's rule for holds whose process has crashed. */
  #onCrash: LedgerTerms['ledger']['onCrash'];
  #usdPerCredit: string;
  /** When the active terms end, ms since 1970. No hold is granted after this time before new terms are active. */
  #until = Number.POSITIVE_INFINITY;
  #renew: (at: number) => Promise<void> = async () => {};
  /** The renewal of the terms that is in progress; null for none. */
  #renewal: Promise<void> | null = null;
  readonly #openSettlement: OpenSettlement = { ops: null };
  readonly #terms: PolicyTerms;
  /** The rank of the budgets that are active in this process. */
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
    this.#recent = new RecentSpend({ books, lines }, () => this.#funds.budgetWindows.map(({ budget }) => budget));
    this.#terms = new PolicyTerms(books);
    this.#onCrash = terms.ledger.onCrash;
    this.#usdPerCredit = terms.usdPerCredit;
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
    // A count that failed is repeated the next time.
    this.#every(COUNT_MS, () => this.#countIn().catch(() => {}));
    this.#every(COUNT_MS, () => {
      // A renewal that failed is repeated the next time.
      this.renewed()?.catch(() => {});
      this.#notifier.lookAtAll(this.#funds.budgetWindows, this.#time);
    });
    if (news) this.#deafen = news.on('funds', () => this.refresh());
  }

  /** The current time for windows. It never goes back, even if the clock does. */
  get #time(): number {
    this.#latest = Math.max(this.#latest, this.#options.now());
    return this.#latest;
  }

  /** The number of open holds. */
  get open(): number {
    return this.#books.open().count;
  }

  /** The time that a sweep must wait for other instances to come back, ms. */
  get graceMs(): number {
    return this.#books.graceMs;
  }

  /**
   * Closes the holds of crashed instances by the rule of the policy: the sweep charges these holds in full, because the work of the
   * upstream is unknown, or releases the holds. A sweep must not start earlier than `graceMs` after this instance started.
   * @throws StoreError by rejecting
   */
  sweep(): Promise<OrphansClosed> {
    return closeOrphans(this.#books, this.#onCrash, this.#options.now());
  }

  /** Closes orphans if no other instance can come back, applies requested grants and refunds, and counts the budgets. */
  async begin(terms: LedgerTerms): Promise<void> {
    // The sweep runs before the budgets are counted, so that the counts include the amounts that the sweep charges.
    if (this.graceMs === 0) this.recovered = await this.sweep();
    await this.refresh();
    // Charges can be read by account only after a checkpoint has added them to the sums.
    await this.#books.checkpoint();
    (await this.prepare(terms))();
  }

  /**
   * Computes the money that a caller can still spend in the windows of `timeMs`.
   * @param timeMs ms since 1970; now by default
   * @param windowsOnly true to leave out the balance, for a request that a payment will cover. It covers the worst case, so no output is
   * capped.
   * @returns null if no fund applies
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
   * Sets money aside in all funds that apply, in one step: the highest of the requested amounts that all funds have free, at least the
   * first requested amount. The hold is durable when this method resolves.
   * @throws StoreError, by rejecting, if the hold could not be written; after this error no money is held
   */
  reserve(request: HoldRequest): Promise<Hold | FundShortage> {
    try {
      const account = this.#accountFor(request);
      const renewal = this.renewed();
      return renewal ? this.#holdAfter(renewal, request, account) : this.#desk.hold(request, account);
    } catch (cause) {
      return Promise.reject(cause);
    }
  }

  #holdAfter(renewal: Promise<void>, request: HoldRequest, account: Account): Promise<Hold | FundShortage> {
    return renewal.then(() => this.#desk.hold(request, account));
  }

  /** Sets the function that activates the terms of a moment, ms since 1970, with `prepare`. */
  renewWith(renew: (at: number) => Promise<void>): void {
    this.#renew = renew;
  }

  /**
   * Activates new terms if a budget has ended.
   * @returns a promise of the new terms; null if the active terms still apply, as they nearly always do
   * @throws StoreError by rejecting
   */
  renewed(): Promise<void> | null {
    if (this.#until === Number.POSITIVE_INFINITY) return null;
    const time = Math.max(this.#latest, this.#options.now());
    if (time < this.#until) return null;
    this.#renewal ??= this.#renewAt(time);
    return this.#renewal;
  }

  #renewAt(time: number): Promise<void> {
    return this.#renew(time).finally(() => {
      this.#renewal = null;
    });
  }

  /**
   * Enters an answer that costs nothing, and writes `also` in the same commit. The entry draws on no fund, so no budget refuses it. The entry
   * is durable when this method resolves.
   * @throws StoreError by rejecting; after this error nothing is entered
   */
  async enterFree(request: HoldRequest, line: EntryLine, also: readonly Write[]): Promise<void> {
    if (line.cost !== 0) throw new RangeError(`an answer that costs ${line.cost} needs a hold`);
    const { id, agentWallet: note, expiresAt } = request;
    const { dimensions } = this.#accountFor(request);
    const at = this.#options.now();
    await this.#desk.apply(
      [
        { kind: 'hold', id, at, dimensions, funds: [], amounts: [0], note, expiresAt },
        { kind: 'settle', id, at, entry: line, most: 0 },
      ],
      also,
    );
  }

  /**
   * Sets money aside for a request of a wallet that a payment in progress will pay in part. Nothing is written to the store before
   * `capture`.
   * @param expected the amount that the payment will add to the balance of the wallet, microcredits
   */
  async earmark(request: HoldRequest, expected: Microcredits): Promise<Earmark | FundShortage> {
    if (!(expected >= 0)) throw new RangeError(`the expected amount must be 0 or more, not ${expected}`);
    if (!isAddress(request.holder ?? request.caller.keyId)) throw new Error('only a wallet can earmark money');
    const renewal = this.renewed();
    if (renewal) await renewal;
    return this.#desk.earmark(request, this.#accountFor(request), expected);
  }

  /** Counts a request that was refused because a fund lacked money. The first one reports that the budget has reached its limit. */
  refused(shortage: FundShortage): void {
    this.#refusals.count(shortage);
    const time = this.#time;
    if (!this.#refusals.keep(shortage, time)) return;
    const { definition, name, subject } = shortage.title;
    const windows = this.#funds.budgetWindows.find(
      ({ budget }) => budget.name === name && budget.definition === definition,
    );
    const fund = windows?.fundAt(subject, time);
    if (fund) this.#notifier.lookAtRefusing(fund);
  }

  /** Why a fund refuses requests although it is not used up, as far as this process knows; null if it pays for requests. */
  refusalOf(fund: Pick<FundStanding, 'title' | 'spent' | 'limit'>): FundRefusal | null {
    return this.#refusals.current({ ...fund, unspent: fund.limit - fund.spent });
  }

  /** The value of a Credit in USD. */
  get usdPerCredit(): string {
    return this.#usdPerCredit;
  }

  /**
   * Adds a deposit to the balance of a holder, and writes `also` in the same commit. It is durable when this method resolves.
   * @throws StoreError by rejecting
   */
  async deposit(holder: string, deposit: Deposit, also: readonly Write[]): Promise<void> {
    checkDeposit(deposit);
    // The ID of the deposit makes sure that each payment is booked once, and that the fee of a payment is refunded once.
    const id = deposit.paid > 0 ? deposit.note : `${deposit.note}/fee`;
    await this.#desk.apply([{ kind: 'deposit', id, at: this.#options.now(), holder, deposit }], also);
  }

  /**
   * Refunds a fee to the balance of a holder at once. During a settlement, the refund becomes part of the settlement's commit. A commit
   * that may be refused must use `deposit` with a negative fee instead.
   * @throws RangeError for a negative fee or a holder that is not a wallet address
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

  /** @returns the balance of a holder, or null if the holder was never granted anything and never paid in */
  balanceOf(holder: string): FundStanding | null {
    return this.#books.balanceOf(holder);
  }

  /**
   * Prepares another policy. The caller must always call the function that `prepare` resolves with, because the next preparation waits for
   * that call.
   * @returns a function that activates the policy in this process at once. The promise of that function resolves when the limits apply on
   * all servers.
   */
  async prepare(terms: LedgerTerms): Promise<() => unknown> {
    const { promise, resolve: end } = Promise.withResolvers<void>();
    const before = this.#preparing;
    this.#preparing = promise;
    await before;
    using preparation = new DisposableStack();
    preparation.defer(end);
    const counted = await this.#terms.accept(terms, terms.at ?? this.#time);
    // This code runs even if the preparation fails, so that the books forget counts of budgets that are not active.
    let enforced: unknown;
    preparation.defer(() => (enforced = this.#enforce()));
    const windowsAt = await prepareWindows(counted, this.#funds.budgetWindows, this.#entries, this.#time);
    const prepared = preparation.move();
    return () => {
      this.#funds.use(windowsAt(this.#time));
      this.#onCrash = terms.ledger.onCrash;
      this.#usdPerCredit = terms.usdPerCredit;
      this.#until = terms.until ?? Number.POSITIVE_INFINITY;
      prepared.dispose();
      this.#contention.wakeAll();
      return enforced;
    };
  }

  /**
   * Resolves with true once all settlements so far are safe in the database or in the spool. Resolves with false if both the database and
   * the spool refuse a settlement at the moment. Never rejects.
   */
  written(): Promise<boolean> {
    return this.#books.written();
  }

  /** @returns the value of a Credit, and the budgets, that a new policy must fit */
  state(): LedgerState {
    const { usdPerCredit } = this.#books.state();
    const budgets = this.#funds.budgetWindows.map(({ budget }) => budget);
    return { usdPerCredit, budgets: budgets.filter(isOfPolicy).map(({ name }) => name) };
  }

  status(): Promise<LedgerStatus> {
    return statusOf(this.#books, this.#funds.budgetWindows, this.#time);
  }

  /**
   * Returns the microcredits that a fund was charged in the last 24 hours; null until they are read for the first time. The answer comes
   * from memory and is at most about a minute old if callers ask often; `readRecent` waits for a current one.
   */
  recentSpend(title: Pick<FundTitle, 'name' | 'definition' | 'subject'>): Microcredits | null {
    void this.readRecent();
    return this.#recent.of(title);
  }

  /** Reads the charges of the last 24 hours if the known ones are older than a minute. If the store fails, the known ones stay. Never rejects. */
  readRecent(): Promise<void> {
    return this.#recent.refresh(this.#time).catch(() => {});
  }

  /** The active windows of budgets that requests have drawn on, read from memory. */
  drawnWindows(): readonly FundStanding[] {
    return drawnWindows(this.#books, this.#funds.budgetWindows, this.#time);
  }

  /** The open requests of this process, by the funds whose money the requests hold. */
  openHolds(): OpenHolds {
    return this.#desk.openHolds();
  }

  /** Reads figures of the ledger from memory, without the store, in a single pass over the funds. */
  sample(): LedgerSample {
    const parts = { books: this.#books, contention: this.#contention, refusals: this.#refusals };
    return sampleLedger(parts, this.#funds.budgetWindows, this.#time, this.openHolds());
  }

  /** Reads the charges of a period. Two elements of the result may belong to the same group, so the caller must add them up. */
  usage(filter: UsageFilter): Promise<readonly EndpointCharges[]> {
    return this.#books.usage(filter);
  }

  /**
   * Returns every fund that requests of a caller draw on now, for any of these model names. The result leaves out the budgets of parent
   * keys. Of the windows of sessions, the result contains only the windows that have spent most.
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

  /** @returns how much of each of a holder's own budgets is spent now, by all keys that belong to the holder */
  budgetUses(holder: BudgetHolder, budgets: readonly KeyBudget[]): Promise<readonly BudgetUse[]> {
    const now = this.#options.now();
    return holderBudgetUses(
      async (window, budget) => {
        const fund = this.#funds.ofHolder(holder, budget, window.starts);
        return fund ? this.#books.standing([fund])[0]!.spent : await chargedTo(this.#books, holder, window);
      },
      budgets,
      now,
      async (budget, { starts }) => {
        const fund = this.#funds.ofHolder(holder, budget, starts);
        if (!fund) return await chargedTo(this.#books, holder, recentWindow(now));
        await this.readRecent();
        return this.#recent.of(fund.title);
      },
    );
  }

  /** Applies grants and refunds that any process has stored, and counts charges of holds that did not draw on the active budgets. */
  async refresh(): Promise<void> {
    await this.#books.refresh();
    await this.#countIn();
  }

  /**
   * Whether a hold is still open, so that the charge of the hold is not known yet.
   * @throws StoreError by rejecting
   */
  async isOpen(hold: number): Promise<boolean> {
    return (await this.#books.reservation(hold))?.isOpen ?? false;
  }

  giveBack(hold: number, note: string, instead?: number): Promise<Microcredits> {
    const apply = this.#desk.apply.bind(this.#desk);
    const reservation = this.#books.reservation.bind(this.#books);
    return giveBack({ apply, reservation }, { hold, note, instead }, this.#options.now());
  }

  /** Writes a checkpoint, so that the next start is fast. Closing the ledger neither ends holds nor closes the store. */
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

  /** The ledger checks the amounts first, so that a mistake in the program throws before money is held. */
  #accountFor({ id, caller, selector, session, agent, holder, amounts, limit }: HoldRequest): Account {
    for (const amount of amounts) checkHeldSum(amount, limit);
    this.#latest = Math.max(this.#latest, timeOfId(id));
    return this.#accounts.of(caller, selector, holder, session, agent);
  }

  /** Sends the active budgets to the books, and moves open holds and earmarks to the funds that now apply to these holds and earmarks. */
  #enforce(): Promise<unknown> {
    const budgets = this.#funds.budgetWindows.map(({ enforced }) => enforced);
    return this.#books.append([{ kind: 'enforce', budgets }, ...this.#desk.attachAll()]);
  }

  /**
   * Counts charges of holds that did not draw on the active budgets: holds of servers with another policy, or of servers that have ended.
   */
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
