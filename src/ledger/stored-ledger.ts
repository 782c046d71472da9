import type { Budget, LedgerState } from '../core/budget.ts';
import type { BudgetUse, Caller, KeyBudget } from '../core/caller.ts';
import { type Microcredits, toCredits } from '../core/credits.ts';
import { idText, timeOfId } from '../core/id.ts';
import { isWallet } from '../core/wallet.ts';
import { findReservation, refundable, refundWrite } from '../store/sqlite/books/adjust.ts';
import { type OpenReservation, type Recovered, recover } from '../store/sqlite/books/recover.ts';
import { insertAccount, putTerms, SELECT_CHARGED, type StateRow } from '../store/sqlite/books/tables.ts';
import type { Store, Write } from '../store/store.ts';
import { type Account, Accounts } from './accounts.ts';
import { Adoption } from './adoption.ts';
import { Bookings } from './bookings.ts';
import { Checkpoints } from './checkpoint.ts';
import { Contention } from './contention.ts';
import { countAnew } from './count.ts';
import { Deposits } from './deposits.ts';
import { Desk } from './desk.ts';
import type { Deposit, Earmark } from './earmark.ts';
import { Funds } from './funds.ts';
import type { Hold } from './hold.ts';
import { keyBudgetUses } from './key-funds.ts';
import type { Ledger, LedgerOptions, LedgerStatus, LedgerTerms, Order } from './ledger.ts';
import { OpenHolds } from './open-holds.ts';
import { Refusals } from './refusals.ts';
import { type Blocked, type Fund, fit, hold, isBlocked } from './rules/fund.ts';
import { expire, openReservation } from './rules/reservation.ts';
import { type LedgerSample, sampleBudgets } from './sample.ts';
import { type Shortage, type Standing, shortage, standingOf } from './standing.ts';
import { fundsOf, readUsage, type Usage, type UsageFilter } from './usage.ts';

/** How often the sums are written, and holds are looked at that should have ended, ms. */
const CHECKPOINT_MS = 10_000;

export class StoredLedger implements Ledger {
  readonly lastId: number;
  recovered: Ledger['recovered'] = { ids: [], charged: 0, held: 0 };
  readonly #store: Store;
  readonly #now: () => number;
  readonly #accounts: Accounts;
  readonly #funds = new Funds();
  readonly #contention = new Contention();
  readonly #refusals = new Refusals();
  readonly #holds = new OpenHolds();
  readonly #desk: Desk;
  readonly #deposits: Deposits;
  readonly #bookings: Bookings;
  readonly #adoption: Adoption;
  readonly #timers: ReturnType<typeof setInterval>[] = [];
  readonly #checkpoints: Checkpoints;
  #unit: string | null;
  /** The latest moment that the clock or an ID has told, ms since 1970. */
  #latest: number;
  /** Whether there was no entry at the start, and the number of the last row then. */
  readonly #isEmpty: boolean;
  readonly #firstSeq: number;
  /** Ends when what is being prepared is in force, or has failed: one at a time. */
  #preparing: Promise<void> = Promise.resolve();
  /** A count is under way, which no checkpoint may disturb. */
  #counting = false;
  #version: number | null = null;
  /** Made once, so that no request makes them anew. */
  readonly #reserved: Make<Hold> = (order, account, funds, amount) =>
    this.#bookings.reserve(order, account, funds, amount);
  readonly #earmarked: Make<Earmark> = (order, account, funds, amount, expected) =>
    this.#bookings.earmark({ order, account, funds, amount }, expected);

  constructor(options: LedgerOptions, state: StateRow, lastId: number) {
    const { store, now, onAlarm, onAlert = () => {}, makeRoom, refreshMs } = options;
    this.#store = store;
    this.#now = now;
    this.#unit = state.usdPerCredit;
    this.lastId = lastId;
    this.#latest = timeOfId(lastId);
    this.#isEmpty = state.isEmpty === 1;
    this.#firstSeq = state.seq;
    this.#accounts = new Accounts(state.account, (row) => store.append([insertAccount(row)]));
    this.#desk = new Desk({
      store,
      now,
      onAlarm,
      onAlert,
      makeRoom,
      last: state,
      onFreed: (funds) => this.#contention.wake(funds),
      onClosed: (closed) => this.#holds.remove(closed),
    });
    this.#deposits = new Deposits(store, this.#desk, this.#accounts, this.#funds);
    const parts = { desk: this.#desk, accounts: this.#accounts, funds: this.#funds, holds: this.#holds };
    this.#bookings = new Bookings({ ...parts, deposits: this.#deposits });
    this.#adoption = new Adoption(store, this.#desk, this.#accounts, this.#funds);
    this.#checkpoints = new Checkpoints({ store, ...parts, deposits: this.#deposits }, state);
    // What fails is tried again at the next tick.
    this.#every(CHECKPOINT_MS, () => this.#sweep());
    if (refreshMs) this.#every(refreshMs, () => this.refresh().catch(() => {}));
  }

  /** Windows never go back, though the clock may. */
  get #time(): number {
    this.#latest = Math.max(this.#latest, this.#now());
    return this.#latest;
  }

  get open(): number {
    return this.#holds.size;
  }

  /** Closes orphans, brings the sums up to date and counts the budgets. */
  async begin(terms: LedgerTerms, state: StateRow): Promise<void> {
    const from: { through: number; open: readonly OpenReservation[] } = {
      through: state.through,
      // Written by this class alone.
      open: JSON.parse(state.open) as readonly OpenReservation[],
    };
    const found = await recover(this.#store, from, this.#desk.sums);
    if (found.open.size > 0) await this.#closeOrphans(found, terms.ledger.onCrash);
    for (const [holder, { granted, spent }] of found.balances) this.#funds.grant(holder, granted, spent);
    await this.refresh();
    (await this.prepare(terms))();
  }

  standing(caller: Caller, selector: string, timeMs: number = this.#time, windowsOnly = false): Standing | null {
    const account = this.#accounts.of(caller, selector, null);
    const funds = windowsOnly ? this.#funds.windowsOf(account, timeMs) : this.#funds.of(account, timeMs);
    return funds.length === 0 ? null : standingOf(funds);
  }

  reserve(order: Order): Promise<Hold | Shortage> {
    return this.#setAside(order, 0, this.#reserved);
  }

  async earmark(order: Order, expected: Microcredits): Promise<Earmark | Shortage> {
    if (!(expected >= 0)) throw new RangeError(`cannot expect ${expected} microcredits`);
    if (!isWallet(order.payer ?? order.caller.keyId)) throw new Error('money is earmarked for wallets alone');
    return this.#setAside(order, expected, this.#earmarked);
  }

  /** Takes what all funds have free, waiting for it where that helps, and makes of it what is asked for. */
  async #setAside<Made>(order: Order, expected: Microcredits, make: Make<Made>): Promise<Made | Shortage> {
    const { id, amounts } = order;
    // A mistake of the program must show before anything is held.
    openReservation(Math.max(...amounts), order.limit);
    const account = this.#accounts.of(order.caller, order.selector, order.payer);
    const time = timeOfId(id);
    this.#latest = Math.max(this.#latest, time);
    let funds = this.#funds.of(account, time);
    let amount = this.#fit(funds, amounts, expected);
    if (isBlocked(amount) && amount.why === 'contended') {
      const again = () => {
        funds = this.#funds.of(account, time);
        return take(funds, amounts, expected);
      };
      amount = await this.#contention.wait(amount, order.waitMs, again, order.signal);
      // The budgets may have changed since it was woken, when it was not among the open holds yet.
      if (!isBlocked(amount)) funds = this.#bookings.moved(funds, account, time, amount);
    } else if (!isBlocked(amount)) hold(funds, amount, expected);
    return isBlocked(amount) ? shortage(amount, amounts[0]) : make(order, account, funds, amount, expected);
  }

  refused(shortage: Shortage): void {
    this.#refusals.count(shortage);
  }

  deposit(wallet: string, deposit: Deposit, also: readonly Write[]): Promise<void> {
    return this.#deposits.add(wallet, deposit, also);
  }

  waiveFee(wallet: string, fee: Microcredits, note: string): readonly Write[] {
    return this.#deposits.waive(wallet, fee, note);
  }

  balanceOf(holder: string): Fund | null {
    return this.#funds.balanceOf(holder) ?? null;
  }

  async prepare(terms: LedgerTerms): Promise<() => void> {
    const { promise, resolve: end } = Promise.withResolvers<void>();
    const before = this.#preparing;
    this.#preparing = promise;
    await before;
    this.#counting = true;
    try {
      const unit = this.#unitFor(terms);
      // From here on the table holds all up to now, and the sums in memory what comes after.
      await this.#checkpoints.write();
      const counted = await countAnew(terms.budgets, this.#funds.counters, this.#store, this.#time);
      await this.#store.commit([putTerms(unit, JSON.stringify(policyNames(terms.budgets)))]);
      return () => {
        this.#unit = unit;
        this.#funds.use(counted(this.#desk.sums, this.#time));
        this.#counting = false;
        this.#bookings.moveAll();
        this.#contention.wakeAll();
        end();
      };
    } catch (cause) {
      this.#counting = false;
      end();
      throw cause;
    }
  }

  written(): Promise<boolean> {
    return this.#store.written();
  }

  state(): LedgerState {
    return {
      usdPerCredit: this.#hasEntries ? this.#unit : null,
      budgets: policyNames(this.#funds.counters.map(({ budget }) => budget)),
    };
  }

  async status(): Promise<LedgerStatus> {
    const [written] = await this.#store.query<{ charged: number }>(SELECT_CHARGED);
    let charged = written?.charged ?? 0;
    for (const { microcredits } of this.#desk.sums) charged += microcredits;
    const budgets = this.#funds.counters.flatMap((counter) => {
      counter.windowAt(this.#time);
      return [...counter.funds];
    });
    const drawnOn = budgets.filter(({ spent, held: holding }) => spent !== 0 || holding !== 0);
    return { charged, held: this.#held, open: this.open, funds: [...drawnOn, ...this.#funds.balances] };
  }

  sample(): LedgerSample {
    const { waits, waited, waiting } = this.#contention;
    const { all: balances, exhausted: balancesExhausted } = this.#funds.countBalances();
    const budgets = sampleBudgets(this.#funds.counters, this.#time);
    const refusals = this.#refusals.of(budgets);
    return {
      open: this.open,
      held: this.#held,
      budgets,
      refusals,
      balances,
      balancesExhausted,
      waits,
      waited,
      waiting,
    };
  }

  usage(filter: UsageFilter): Promise<readonly Usage[]> {
    return readUsage({ store: this.#store, desk: this.#desk, checkpoints: this.#checkpoints }, filter);
  }

  fundsOf(caller: Pick<Caller, 'keyId' | 'labels'>, names: readonly string[]): readonly Fund[] {
    return fundsOf(this.#funds, caller, names, this.#time);
  }

  budgetUses(keyId: string, budgets: readonly KeyBudget[]): Promise<readonly BudgetUse[]> {
    return keyBudgetUses(this.#store, keyId, budgets, this.#now());
  }

  async refresh(isOwn = false): Promise<void> {
    // Where this look fails, the next one finds what other processes did not write.
    if (isOwn) this.#version = null;
    const version = await this.#store.version();
    if (version === this.#version) return;
    await this.#takeOver();
    this.#version = version;
  }

  async giveBack(reservation: number, note: string, instead?: number): Promise<Microcredits> {
    // Its settlement may be among what is not written yet.
    await this.#store.flush();
    const booked = await findReservation(this.#store, reservation);
    if (booked?.isOpen) throw new Error(`reservation ${reservation} is open: what it costs is not known`);
    const amount = booked ? await refundable(this.#store, booked, instead) : 0;
    if (!booked || amount <= 0) return 0;
    await this.#store.commit([refundWrite(booked, amount, note, this.#now())]);
    await this.#takeOver();
    return amount;
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#checkpoints.write();
  }

  #every(ms: number, run: () => unknown): void {
    const timer = setInterval(run, ms);
    timer.unref();
    this.#timers.push(timer);
  }

  /** What can be taken now: nobody overtakes those who wait for one of the funds. */
  #fit(funds: readonly Fund[], amounts: readonly Microcredits[], expected: Microcredits): Microcredits | Blocked {
    if (funds.length === 0) return Math.max(...amounts);
    const amount = fit(funds, amounts, expected);
    if (isBlocked(amount)) return amount;
    const fund = this.#contention.lineBefore(funds);
    return fund ? { fund, why: 'contended' } : amount;
  }

  /** What open reservations may still charge. */
  get #held(): Microcredits {
    let held = 0;
    for (const { held: one } of this.#holds.all()) held += one;
    return held;
  }

  get #hasEntries(): boolean {
    return !this.#isEmpty || this.#desk.seq !== this.#firstSeq;
  }

  #unitFor({ usdPerCredit }: LedgerTerms): string {
    if (!this.#hasEntries || this.#unit === null || this.#unit === usdPerCredit) return usdPerCredit;
    throw new Error(
      `The ledger has entries in Credits of ${this.#unit} USD; usd_per_credit may not become ${usdPerCredit}.`,
    );
  }

  async #closeOrphans(found: Recovered, rule: 'charge' | 'release'): Promise<void> {
    const orphans = [...found.open.values()];
    // Who has paid before knowing what it would get must not pay for a crash.
    const ruleFor = ({ funds }: OpenReservation) => (isWallet(found.holderOf(funds) ?? '') ? 'release' : rule);
    const writes: Write[] = [];
    let charged = 0;
    let held = 0;
    for (const orphan of orphans) {
      const { amount, charged: before } = orphan;
      const step = expire({ state: 'pending', amount, charged: before, limit: null }, ruleFor(orphan));
      const { row, write } = this.#desk.orphan(orphan, step.charged);
      found.add(row);
      writes.push(write);
      charged += step.charged;
      held += amount - before;
    }
    await this.#store.commit(writes);
    this.recovered = { ids: orphans.map(({ reservation }) => reservation), charged, held };
  }

  #takeOver(): Promise<void> {
    return this.#adoption.run(() => this.#contention.wakeAll());
  }

  async #sweep(): Promise<void> {
    const now = this.#now();
    this.#funds.forgetBlanks(this.#bookings.earmarked);
    for (const made of this.#holds.all()) {
      if (made.expiresAt > now || !made.isWritten) continue;
      // Its upstream may still be working, and be paid.
      const charged = made.expire();
      this.#desk.alarm('a reservation was never settled', {
        decision: idText('dec_', made.id),
        key: made.account.keyId,
        charged_credits: toCredits(charged),
      });
    }
    if (!this.#counting) await this.#checkpoints.write().catch(() => {});
  }
}

/** What is made of money that was taken: a reservation, or an earmark. */
type Make<Made> = (
  order: Order,
  account: Account,
  funds: readonly Fund[],
  amount: Microcredits,
  expected: Microcredits,
) => Made | Promise<Made>;

/** Takes what all funds have free. */
function take(
  funds: readonly Fund[],
  amounts: readonly Microcredits[],
  expected: Microcredits,
): Microcredits | Blocked {
  const amount = fit(funds, amounts, expected);
  if (!isBlocked(amount)) hold(funds, amount, expected);
  return amount;
}

/** The budgets that a policy states: those of keys are not its to rename. */
const policyNames = (budgets: readonly Budget[]): string[] =>
  budgets.filter(({ limits }) => limits === undefined).map(({ name }) => name);
