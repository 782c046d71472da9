import type { Budget, LedgerState } from '../core/budget.ts';
import type { BudgetUse, Caller, KeyBudget } from '../core/caller.ts';
import { type Microcredits, toCredits } from '../core/credits.ts';
import { createIds, idText, timeOfId } from '../core/id.ts';
import { LinkedSet } from '../core/linked-set.ts';
import { isWallet } from '../core/wallet.ts';
import type {
  AttachOp,
  EndpointCharges,
  LedgerBooks,
  LedgerOp,
  LimitOp,
  OpResult,
  UsageFilter,
} from '../store/books.ts';
import type { Write } from '../store/store.ts';
import { Accounts, accountOf, scopeOf } from './accounts.ts';
import { Contention } from './contention.ts';
import { countAnew } from './count.ts';
import { type Earmark, FundEarmark } from './earmark.ts';
import { Funds } from './funds.ts';
import { type Hold, type HoldTools, ReservationHold, type Riding } from './hold.ts';
import { keyBudgetUses } from './key-budgets.ts';
import type { Ledger, LedgerOptions, LedgerStatus, LedgerTerms } from './ledger.ts';
import { News } from './news.ts';
import { closeOrphans, type OrphansClosed } from './orphans.ts';
import { Refusals } from './refusals.ts';
import type { ReservationRequest } from './reservation-request.ts';
import { checkDeposit, type Deposit } from './rules/entry.ts';
import type { FundBlock, FundStanding } from './rules/fund.ts';
import { openReservation } from './rules/reservation.ts';
import type { Window } from './rules/window.ts';
import { type LedgerSample, sampleBudgets } from './sample.ts';
import { type Send, type Setting, setAside } from './set-aside.ts';
import { type AvailableFunds, type FundShortage, shortage, standingOf } from './standing.ts';

/** How often the books are summed up, and holds are looked at that should have ended, ms. */
const CHECKPOINT_MS = 10_000;

/** The ledger of one process, on books that it may share. */
export class StoredLedger implements Ledger {
  readonly lastId: number;
  recovered: OrphansClosed = { ids: [], charged: 0, held: 0 };
  readonly #books: LedgerBooks;
  readonly #options: LedgerOptions;
  readonly #owner = crypto.randomUUID();
  readonly #accounts = new Accounts();
  readonly #funds: Funds;
  readonly #contention = new Contention();
  readonly #setting: Setting;
  readonly #refusals = new Refusals();
  readonly #holds = new LinkedSet<ReservationHold>();
  readonly #earmarks = new Set<FundEarmark>();
  readonly #timers: ReturnType<typeof setInterval>[] = [];
  readonly #nextAdjustment: () => number;
  readonly #tools: HoldTools;
  readonly #news: News;
  /** The latest moment of the clock or an ID, ms since 1970. */
  #latest: number;
  /** Ends when what is being prepared is in force, or has failed: one at a time. */
  #preparing: Promise<void> = Promise.resolve();
  readonly #riding: Riding = { ops: null };

  constructor(options: LedgerOptions) {
    const { books, now, refreshMs } = options;
    this.#books = books;
    this.#options = options;
    this.lastId = books.lastIds.hold;
    this.#latest = timeOfId(this.lastId);
    this.#nextAdjustment = createIds(now, books.lastIds.adjustment);
    this.#funds = new Funds((holder) => books.balanceOf(holder) !== null);
    this.#setting = { books, funds: this.#funds, contention: this.#contention };
    this.#news = new News(options);
    this.#tools = {
      books,
      now,
      alarm: (message, details) => this.#news.alarm(message, details),
      look: (funds) => this.#news.look(funds),
      riding: this.#riding,
      closed: (hold) => this.#holds.remove(hold),
    };
    books.watch({
      freed: (funds) => this.#contention.wake(funds),
      opened: () => this.#funds.opened(),
      adjusted: () => this.#contention.wakeAll(),
      fundsOf: (dimensions, atMs) => this.#funds.of(accountOf(dimensions), atMs),
    });
    // A failure is tried again at the next tick.
    this.#every(CHECKPOINT_MS, () => this.#sweep());
    if (refreshMs) this.#every(refreshMs, () => this.refresh().catch(() => {}));
  }

  /** Windows never go back, though the clock may. */
  get #time(): number {
    this.#latest = Math.max(this.#latest, this.#options.now());
    return this.#latest;
  }

  get open(): number {
    return this.#books.open().count;
  }

  /** Closes orphans, takes over what operators asked for and counts the budgets. */
  async begin(terms: LedgerTerms): Promise<void> {
    this.recovered = await closeOrphans(this.#books, terms.ledger.onCrash, this.#options.now());
    await this.refresh();
    (await this.prepare(terms))();
  }

  standing(caller: Caller, selector: string, timeMs: number = this.#time, windowsOnly = false): AvailableFunds | null {
    const account = this.#accounts.of(caller, selector, null);
    const funds = windowsOnly ? this.#funds.windowsOf(account, timeMs) : this.#funds.of(account, timeMs);
    return funds.length === 0 ? null : standingOf(funds, this.#books.standing(funds));
  }

  reserve(order: ReservationRequest): Promise<Hold | FundShortage> {
    return this.#setAside(order, 0, this.#sendHold);
  }

  async earmark(order: ReservationRequest, expected: Microcredits): Promise<Earmark | FundShortage> {
    if (!(expected >= 0)) throw new RangeError(`cannot expect ${expected} microcredits`);
    if (!isWallet(order.payer ?? order.caller.keyId)) throw new Error('money is earmarked for wallets alone');
    return this.#setAside(order, expected, this.#sendEarmark);
  }

  /** Nothing has arrived for an earmark. */
  release(earmark: FundEarmark): void {
    this.#earmarks.delete(earmark);
    this.#books.append([{ kind: 'release', id: earmark.order.id }]);
  }

  async capture(earmark: FundEarmark, deposit: Deposit, also: readonly Write[]): Promise<Hold | null> {
    const { order, account, funds } = earmark;
    const { id, expiresAt, limit } = order;
    this.#earmarks.delete(earmark);
    const hold = new ReservationHold(this.#tools, { id, account, expiresAt, limit, funds });
    // Among the open ones from the first moment on, so that a reload moves it.
    this.#holds.add(hold);
    try {
      const result = await this.#applyOne({ kind: 'capture', id, at: this.#options.now(), deposit }, also);
      if (result.kind === 'granted') return hold.granted(result.amount);
      this.#holds.remove(hold);
      return null;
    } catch (cause) {
      this.#holds.remove(hold);
      throw cause;
    }
  }

  refused(shortage: FundShortage): void {
    this.#refusals.count(shortage);
  }

  async deposit(wallet: string, deposit: Deposit, also: readonly Write[]): Promise<void> {
    checkDeposit(deposit);
    // One payment is paid in once, and its fee given back once.
    const id = deposit.paid > 0 ? deposit.note : `${deposit.note}/fee`;
    await this.#books.apply([{ kind: 'deposit', id, at: this.#options.now(), wallet, deposit }], also);
  }

  waiveFee(wallet: string, fee: Microcredits, note: string): void {
    if (!(fee >= 0)) throw new RangeError(`cannot give back a fee of ${fee}`);
    if (!isWallet(wallet)) throw new RangeError(`not the address of a wallet in lower case: ${wallet}`);
    const op: LedgerOp = { kind: 'waive', id: `${note}/fee`, at: this.#options.now(), wallet, fee, note };
    if (this.#riding.ops) this.#riding.ops.push(op);
    else this.#books.append([op]);
  }

  balanceOf(holder: string): FundStanding | null {
    return this.#books.balanceOf(holder);
  }

  async prepare(terms: LedgerTerms): Promise<() => void> {
    const { promise, resolve: end } = Promise.withResolvers<void>();
    const before = this.#preparing;
    this.#preparing = promise;
    await before;
    try {
      this.#checkUnit(terms);
      const count = await this.#books.count();
      try {
        const counted = await countAnew(terms.budgets, this.#funds.counters, count, this.#time);
        await this.#books.putState({ usdPerCredit: terms.usdPerCredit, budgets: policyNames(terms.budgets) });
        return () => {
          this.#funds.use(counted(this.#time));
          count.end();
          this.#moveAll();
          this.#contention.wakeAll();
          end();
        };
      } catch (cause) {
        count.end();
        throw cause;
      }
    } catch (cause) {
      end();
      throw cause;
    }
  }

  written(): Promise<boolean> {
    return this.#books.written();
  }

  state(): LedgerState {
    const { usdPerCredit } = this.#books.state();
    return { usdPerCredit, budgets: policyNames(this.#funds.counters.map(({ budget }) => budget)) };
  }

  async status(): Promise<LedgerStatus> {
    const charged = await this.#books.charged();
    const budgets = this.#funds.counters.flatMap((counter) => {
      counter.windowAt(this.#time);
      return this.#books.standing([...counter.funds]);
    });
    const drawnOn = budgets.filter((fund) => fund.spent !== 0 || fund.held !== 0);
    const { count, held } = this.#books.open();
    return { charged, held, open: count, funds: [...drawnOn, ...this.#books.balances()] };
  }

  sample(): LedgerSample {
    const { waits, waited, waiting } = this.#contention;
    const { count, held } = this.#books.open();
    const balances = this.#books.balances();
    const budgets = sampleBudgets(this.#funds.counters, this.#time, (funds) => this.#books.standing(funds));
    return {
      open: count,
      held,
      budgets,
      refusals: this.#refusals.of(budgets),
      balances: balances.length,
      balancesExhausted: balances.filter(({ unspent }) => unspent <= 0).length,
      waits,
      waited,
      waiting,
    };
  }

  usage(filter: UsageFilter): Promise<readonly EndpointCharges[]> {
    return this.#books.usage(filter);
  }

  fundsOf({ keyId, labels }: Pick<Caller, 'keyId' | 'labels'>, names: readonly string[]): readonly FundStanding[] {
    const scopes = names.map((name) => scopeOf(keyId, labels, name));
    return this.#books.standing(this.#funds.ofNames(scopes, keyId, this.#time));
  }

  budgetUses(keyId: string, budgets: readonly KeyBudget[]): Promise<readonly BudgetUse[]> {
    const spentIn = (window: Window) => this.#books.spentIn(keyId, window);
    return keyBudgetUses(spentIn, budgets, this.#options.now());
  }

  refresh(isOwn = false): Promise<void> {
    return this.#books.refresh(isOwn);
  }

  async giveBack(reservation: number, note: string, instead?: number): Promise<Microcredits> {
    const most = instead === undefined ? Number.MAX_SAFE_INTEGER : (await this.#books.reservation(instead))?.charged;
    const { now } = this.#options;
    const result = await this.#applyOne({
      kind: 'correct',
      id: this.#nextAdjustment(),
      at: now(),
      reservation,
      amount: most ?? 0,
      note,
    });
    return result.kind === 'granted' ? result.amount : 0;
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#books.checkpoint();
  }

  #every(ms: number, run: () => unknown): void {
    const timer = setInterval(run, ms);
    timer.unref();
    this.#timers.push(timer);
  }

  #applyOne(op: LedgerOp, also?: readonly Write[]): Promise<OpResult> {
    return this.#books.apply([op], also).then(firstOf);
  }

  #setAside<Made>(order: ReservationRequest, expected: Microcredits, send: Send<Made>): Promise<Made | FundShortage> {
    try {
      // A mistake of the program must show before anything is held.
      openReservation(Math.max(...order.amounts), order.limit);
      const account = this.#accounts.of(order.caller, order.selector, order.payer);
      this.#latest = Math.max(this.#latest, timeOfId(order.id));
      return setAside(this.#setting, { order, account, expected }, send);
    } catch (cause) {
      return Promise.reject(cause);
    }
  }

  readonly #sendHold: Send<Hold> = ({ order, account }, funds) => {
    const { id, amounts, limit, expiresAt, agentWallet: note } = order;
    const { dimensions } = account;
    const hold = new ReservationHold(this.#tools, { id, account, expiresAt, limit, funds });
    const at = this.#options.now();
    const owner = this.#owner;
    const op = { kind: 'hold', id, at, dimensions, funds, amounts, owner, expiresAt, note } as const;
    this.#holds.add(hold);
    return this.#books.apply([op]).then(
      ([result]) => {
        if (result?.kind === 'granted') return hold.granted(result.amount);
        this.#holds.remove(hold);
        return shortage(refusal(result), amounts[0]);
      },
      (cause) => {
        this.#holds.remove(hold);
        throw cause;
      },
    );
  };

  readonly #sendEarmark: Send<Earmark> = async ({ order, account, expected }, funds) => {
    const { id, amounts, expiresAt, agentWallet: note } = order;
    const { dimensions } = account;
    const made = new FundEarmark({ order, account, funds }, this);
    this.#earmarks.add(made);
    const [at, owner] = [this.#options.now(), this.#owner];
    const op = { kind: 'earmark', id, at, dimensions, funds, amounts, owner, expiresAt, note, expected } as const;
    const result = await this.#applyOne(op);
    if (result.kind === 'granted') {
      made.amount = result.amount;
      return made;
    }
    this.#earmarks.delete(made);
    return shortage(refusal(result), amounts[0]);
  };

  #checkUnit({ usdPerCredit }: LedgerTerms): void {
    const { usdPerCredit: unit } = this.#books.state();
    if (unit === null || unit === usdPerCredit) return;
    throw new Error(`The ledger has entries in Credits of ${unit} USD; usd_per_credit may not become ${usdPerCredit}.`);
  }

  /** Open reservations and earmarks draw on what applies to them now. */
  #moveAll(): void {
    const ops: (LimitOp | AttachOp)[] = this.#funds.counters.flatMap(({ changed }) =>
      changed.map((fund) => ({ kind: 'limit', fund }) as const),
    );
    for (const made of [...this.#earmarks, ...this.#holds.all()]) {
      const present = this.#funds.of(made.account, timeOfId(made.id));
      if (present === made.funds) continue;
      // A balance is drawn on from the start of a reservation or not at all.
      const hasBalance = made.funds.some(({ title }) => title.kind === 'balance');
      made.funds = hasBalance ? present : present.filter(({ title }) => title.kind !== 'balance');
      ops.push({ kind: 'attach', id: made.id, at: this.#options.now(), funds: made.funds });
    }
    if (ops.length > 0) this.#books.append(ops);
  }

  async #sweep(): Promise<void> {
    const now = this.#options.now();
    for (const hold of this.#holds.all()) {
      if (hold.expiresAt > now || !hold.isBooked) continue;
      // Its upstream may still be working, and be paid.
      const charged = hold.expire();
      this.#news.alarm('a reservation was never settled', {
        decision: idText('dec_', hold.id),
        key: hold.account.keyId,
        charged_credits: toCredits(charged),
      });
    }
    await this.#books.checkpoint().catch(() => {});
  }
}

const firstOf = ([result]: readonly OpResult[]): OpResult => result!;

function refusal(result: OpResult | undefined): FundBlock {
  if (result?.kind === 'refused' && result.fund) return { fund: result.fund, why: result.why };
  throw new Error('the books have neither granted nor refused a hold');
}

/** The budgets that a policy states: those of keys are not its to rename. */
const policyNames = (budgets: readonly Budget[]): string[] =>
  budgets.filter(({ limits }) => limits === undefined).map(({ name }) => name);
