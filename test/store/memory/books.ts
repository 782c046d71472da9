import type { LedgerState } from '../../../src/core/budget.ts';
import { timeOfId } from '../../../src/core/id.ts';
import { isWallet } from '../../../src/core/wallet.ts';
import { checkDeposit, type Deposit, type Dimensions, type EntryLine } from '../../../src/ledger/rules/entry.ts';
import {
  Fund,
  type FundRef,
  type FundStanding,
  fit,
  hold,
  isBlocked,
  release,
  spend,
} from '../../../src/ledger/rules/fund.ts';
import { quarterOf } from '../../../src/ledger/rules/quarter.ts';
import * as rules from '../../../src/ledger/rules/reservation.ts';
import type {
  BooksWatcher,
  Count,
  EarmarkOp,
  HoldOp,
  LedgerBooks,
  LedgerOp,
  OpResult,
  ReservationRecord,
  Usage,
  UsageFilter,
} from '../../../src/store/books.ts';
import type { Store, Write } from '../../../src/store/store.ts';

interface Booked {
  readonly id: number;
  readonly dimensions: Dimensions;
  funds: readonly Fund[];
  state: rules.Reservation;
  readonly first: OpResult;
  readonly steps: Map<number, OpResult>;
  closing: OpResult | null;
  overrun: number;
  extending: number;
  givenBack: number;
}

interface Earmarked {
  readonly op: EarmarkOp;
  readonly amount: number;
  funds: readonly Fund[];
}

interface ChargeEntry {
  readonly dimensions: Dimensions;
  readonly reservation: number;
  readonly amount: number;
  readonly entry: EntryLine | null;
}

type Commit = Pick<Store, 'commit' | 'append' | 'written'>;
const granted = (amount: number): OpResult => ({ kind: 'granted', amount });
const refused = (why: 'exhausted' | 'contended', fund: FundStanding | null): OpResult => ({
  kind: 'refused',
  why,
  fund,
});
const figures = ({ title, limit, spent, held, free, unspent }: Fund) => ({ title, limit, spent, held, free, unspent });

/** A step that the store must confirm; `undo` when it could not. */
interface Unsure {
  done(): OpResult | null;
  undo(): void;
}

/** Books of one process in memory alone: plain maps and lists, and the rules. */
export class MemoryBooks implements LedgerBooks {
  readonly orphans = [];
  readonly lastId = 0;
  readonly #store: Commit;
  readonly #funds = new Map<string, Fund>();
  readonly #balances = new Map<string, Fund>();
  /** Holders that something was granted to or paid in by. */
  readonly #holders = new Set<string>();
  readonly #reservations = new Map<number, Booked>();
  readonly #earmarks = new Map<number, Earmarked>();
  /** First results of grants, corrections, deposits and waivers. */
  readonly #once = new Map<string, OpResult>();
  readonly #charges: ChargeEntry[] = [];
  #watcher: BooksWatcher = { freed: () => {}, opened: () => {}, adjusted: () => {}, fundsOf: () => [] };
  #state: LedgerState = { usdPerCredit: null, budgets: [] };
  #freed: (readonly Fund[])[] = [];
  #unsure: (Unsure | undefined)[] = [];

  constructor(store: Commit) {
    this.#store = store;
  }

  async apply(ops: readonly LedgerOp[], also: readonly Write[] = []): Promise<readonly OpResult[]> {
    for (const op of ops) check(op);
    const { results, freed, unsure } = this.#decide(ops);
    const isSure = unsure.every((one) => one === undefined);
    const committed = isSure ? this.#store.append(also) : this.#store.commit(also);
    for (const funds of freed) this.#watcher.freed(funds);
    try {
      await committed;
    } catch (cause) {
      for (const one of unsure) one?.undo();
      throw cause;
    }
    return results.map((result, at) => unsure[at]?.done() ?? result);
  }

  append(ops: readonly LedgerOp[], also: readonly Write[] = []): void {
    const { freed } = this.#decide(ops);
    this.#store.append(also);
    for (const funds of freed) this.#watcher.freed(funds);
  }

  standing(funds: readonly FundRef[]): readonly FundStanding[] {
    return funds.map((ref) => this.#find(ref) ?? new Fund(ref.title, ref.limit, ref.opening));
  }

  balanceOf(holder: string): FundStanding | null {
    return this.#holders.has(holder) ? (this.#balances.get(holder) ?? null) : null;
  }

  balances(): readonly FundStanding[] {
    return [...this.#holders].map((holder) => this.#balances.get(holder)!);
  }

  watch(watcher: BooksWatcher): void {
    this.#watcher = watcher;
  }

  written(): Promise<boolean> {
    return this.#store.written();
  }

  state(): LedgerState {
    const hasEntries = this.#reservations.size > 0 || this.#once.size > 0;
    return { ...this.#state, usdPerCredit: hasEntries ? this.#state.usdPerCredit : null };
  }

  async putState(state: { readonly usdPerCredit: string; readonly budgets: readonly string[] }): Promise<void> {
    await this.#store.commit([]);
    this.#state = state;
  }

  async count(): Promise<Count> {
    const before = this.#charges.length;
    const of = ({ dimensions, amount }: ChargeEntry) => ({ dimensions, microcredits: amount });
    return {
      charges: async (fromMs) =>
        this.#charges
          .slice(0, before)
          .filter(({ reservation }) => quarterOf(timeOfId(reservation)) >= quarterOf(fromMs))
          .map(of),
      late: () =>
        this.#charges.slice(before).map((one) => ({ ...of(one), quarter: quarterOf(timeOfId(one.reservation)) })),
      end: () => {},
    };
  }

  async charged(): Promise<number> {
    return this.#charges.reduce((sum, { amount }) => sum + amount, 0);
  }

  async usage({ keyId, from, to }: UsageFilter): Promise<readonly Usage[]> {
    return this.#charges
      .filter(({ dimensions }) => keyId === null || dimensions.key === keyId)
      .filter(({ reservation }) => timeOfId(reservation) >= from && timeOfId(reservation) < to)
      .map(({ dimensions, amount, entry }) => ({
        dimensions,
        model: entry?.tariff.model ?? null,
        provider: entry?.tariff.provider ?? null,
        charges: 1,
        microcredits: amount,
        input: entry?.usage.inputTokens ?? 0,
        output: entry?.usage.outputTokens ?? 0,
      }));
  }

  async spentIn(keyId: string, { starts, ends }: { starts: number; ends: number }): Promise<number> {
    const used = await this.usage({ keyId, from: starts, to: ends });
    return used.reduce((sum, { microcredits }) => sum + microcredits, 0);
  }

  async reservation(id: number): Promise<ReservationRecord | null> {
    const made = this.#reservations.get(id);
    return made ? { id, isOpen: made.closing === null, charged: made.state.charged, givenBack: made.givenBack } : null;
  }

  async refresh(): Promise<void> {}
  async checkpoint(): Promise<void> {}

  open(): { count: number; held: number } {
    const open = [...this.#reservations.values()].filter(({ closing }) => closing === null);
    return { count: open.length, held: open.reduce((sum, one) => sum + rules.leftOf(one.state) + one.extending, 0) };
  }

  #decide(ops: readonly LedgerOp[]) {
    this.#freed = [];
    this.#unsure = [];
    const results: OpResult[] = [];
    for (const op of ops) {
      this.#unsure[results.length] = undefined;
      results.push(this.#one(op, results.length));
    }
    return { results, freed: this.#freed, unsure: this.#unsure };
  }

  #one(op: LedgerOp, at: number): OpResult {
    const sure = (step: Unsure) => {
      this.#unsure[at] = step;
    };
    switch (op.kind) {
      case 'hold':
        return this.#reservations.get(op.id)?.first ?? this.#hold(op, sure);
      case 'earmark':
        return this.#earmark(op);
      case 'release':
        this.#letGo(op.id);
        return granted(0);
      case 'capture':
        return this.#reservations.get(op.id)?.first ?? this.#capture(op.id, op.deposit, sure);
      case 'attach':
        return this.#attach(op.id, op.funds);
      case 'limit': {
        const fund = this.#find(op.fund);
        if (fund) fund.limit = op.fund.limit;
        return granted(op.fund.limit);
      }
      case 'grant':
      case 'correct':
      case 'deposit':
      case 'waive':
        return this.#adjust(op, sure);
      default:
        return this.#step(op, sure);
    }
  }

  #hold({ id, dimensions, funds: refs, amounts }: HoldOp, sure: (step: Unsure) => void): OpResult {
    const funds = refs.map((ref) => this.#named(ref));
    const amount = fit(funds, amounts);
    if (isBlocked(amount)) return refused(amount.why, figures(amount.fund));
    hold(funds, amount);
    const made = this.#make(id, dimensions, funds, amount);
    sure({
      done: () => null,
      undo: () => {
        this.#reservations.delete(id);
        release(made.funds, amount);
        this.#watcher.freed(made.funds);
      },
    });
    return made.first;
  }

  #make(id: number, dimensions: Dimensions, funds: readonly Fund[], amount: number): Booked {
    const rest = { steps: new Map<number, OpResult>(), closing: null, overrun: 0, extending: 0, givenBack: 0 };
    const made = { id, dimensions, funds, state: rules.openReservation(amount, null), first: granted(amount), ...rest };
    this.#reservations.set(id, made);
    return made;
  }

  #earmark(op: EarmarkOp): OpResult {
    const known = this.#earmarks.get(op.id);
    if (known) return granted(known.amount);
    const funds = op.funds.map((ref) => this.#named(ref));
    const amount = fit(funds, op.amounts, op.expected);
    if (isBlocked(amount)) return refused(amount.why, figures(amount.fund));
    hold(funds, amount, op.expected);
    this.#earmarks.set(op.id, { op, amount, funds });
    return granted(amount);
  }

  #letGo(id: number): void {
    const earmark = this.#earmarks.get(id);
    if (!earmark) return;
    this.#earmarks.delete(id);
    release(earmark.funds, earmark.amount, earmark.op.expected);
    this.#freed.push(earmark.funds);
  }

  #capture(id: number, deposit: Deposit, sure: (step: Unsure) => void): OpResult {
    const earmark = this.#earmarks.get(id);
    if (!earmark) throw new RangeError(`there is no earmark ${id}`);
    const { op, amount, funds } = earmark;
    const balance = funds.find(({ title }) => title.kind === 'balance')!;
    const wallet = balance.title.name;
    const adds = deposit.paid - deposit.fee;
    const promised = Math.min(amount, op.expected);
    if (balance.free + adds < promised) {
      this.#letGo(id);
      this.#deposit(wallet, adds, sure);
      return refused('exhausted', figures(balance));
    }
    this.#earmarks.delete(id);
    const comes = Math.min(promised, adds);
    balance.held += promised - comes;
    const made = this.#make(id, op.dimensions, funds, amount);
    sure({
      done: () => {
        balance.held += comes;
        this.#arrive(wallet, adds);
        return null;
      },
      undo: () => {
        this.#reservations.delete(id);
        release(made.funds, amount, comes);
        this.#watcher.freed(made.funds);
      },
    });
    return made.first;
  }

  #attach(id: number, refs: readonly FundRef[]): OpResult {
    const earmark = this.#earmarks.get(id);
    const made = this.#reservations.get(id);
    const from = earmark ?? (made?.closing ? undefined : made);
    if (!from) return refused('exhausted', null);
    const funds = refs.map((ref) => this.#named(ref));
    const amount = earmark ? earmark.amount : rules.leftOf(made!.state) + made!.extending;
    hold(
      funds.filter((fund) => !from.funds.includes(fund)),
      amount,
    );
    release(
      from.funds.filter((fund) => !funds.includes(fund)),
      amount,
    );
    from.funds = funds;
    return granted(0);
  }

  #step(
    op: Extract<LedgerOp, { kind: 'extend' | 'post' | 'settle' | 'expire' }>,
    sure: (step: Unsure) => void,
  ): OpResult {
    const made = this.#reservations.get(op.id);
    if (!made) throw new RangeError(`there is no reservation ${op.id}`);
    if (op.kind === 'extend' || op.kind === 'post') {
      const known = made.steps.get(op.step);
      if (known) return known;
      const result = op.kind === 'extend' ? this.#extend(made, op.amounts, sure) : this.#post(made, op.entry, op.most);
      if (result.kind !== 'refused') made.steps.set(op.step, result);
      return result;
    }
    if (made.closing) return made.closing;
    const left = rules.leftOf(made.state);
    const entry = op.kind === 'settle' ? op.entry : null;
    const step =
      op.kind === 'settle'
        ? this.#capped(made, op.most, (state) => rules.settle(state, entry?.cost ?? null))
        : rules.expire(made.state, op.rule);
    this.#book(made, step, entry);
    release(made.funds, left - step.charged);
    made.closing = { kind: 'charged', charged: made.state.charged, overrun: made.overrun };
    this.#freed.push(made.funds);
    return made.closing;
  }

  #post(made: Booked, entry: EntryLine, most: number): OpResult {
    if (made.closing) return { kind: 'charged', charged: 0, overrun: 0 };
    const step = this.#capped(made, most, (state) => rules.post(state, entry.cost));
    this.#book(made, step, entry);
    return { kind: 'charged', charged: step.charged, overrun: step.excess };
  }

  #extend(made: Booked, amounts: readonly number[], sure: (step: Unsure) => void): OpResult {
    if (made.closing) return refused('exhausted', null);
    if (made.extending > 0) throw new RangeError(`reservation ${made.id} is extended by one step at a time`);
    const by = fit(made.funds, amounts);
    if (isBlocked(by)) return refused(by.why, figures(by.fund));
    hold(made.funds, by);
    made.extending = by;
    const giveBack = () => {
      made.extending = 0;
      release(made.funds, by);
      this.#watcher.freed(made.funds);
    };
    sure({
      done: () => {
        const raised = rules.raise(made.state, by);
        if (!raised) {
          giveBack();
          return refused('exhausted', null);
        }
        made.extending = 0;
        made.state = raised;
        return null;
      },
      undo: giveBack,
    });
    return granted(by);
  }

  #capped(made: Booked, most: number, charge: (state: rules.Reservation) => rules.Step): rules.Step {
    const { state } = made;
    const step = charge({ ...state, amount: Math.min(state.amount, state.charged + most) });
    return { ...step, next: { ...step.next, amount: state.amount } };
  }

  #book(made: Booked, step: rules.Step, entry: EntryLine | null): void {
    made.state = step.next;
    made.overrun += step.excess;
    spend(made.funds, step.charged);
    const { dimensions, id: reservation } = made;
    if (step.charged > 0 || entry) this.#charges.push({ dimensions, reservation, amount: step.charged, entry });
  }

  #adjust(
    op: Extract<LedgerOp, { kind: 'grant' | 'correct' | 'deposit' | 'waive' }>,
    sure: (step: Unsure) => void,
  ): OpResult {
    const name = `${op.kind} ${op.id}`;
    const known = this.#once.get(name);
    if (known) return known;
    let result = granted(0);
    if (op.kind === 'correct') result = this.#correct(op.reservation, op.amount, sure);
    else if (op.kind === 'waive') {
      this.#freed.push([this.#credit(op.wallet, op.fee)]);
      result = granted(op.fee);
    } else {
      const [holder, amount] =
        op.kind === 'grant' ? [op.holder, op.amount] : [op.wallet, op.deposit.paid - op.deposit.fee];
      this.#deposit(holder, amount, sure, () => this.#once.delete(name));
      result = granted(amount);
    }
    this.#once.set(name, result);
    return result;
  }

  #correct(id: number, most: number, sure: (step: Unsure) => void): OpResult {
    const made = this.#reservations.get(id);
    if (made && !made.closing) throw new RangeError(`reservation ${id} is open: what it costs is not known`);
    const amount = made ? Math.max(0, Math.min(made.state.charged - made.givenBack, most)) : 0;
    if (!made || amount === 0) return granted(0);
    sure({
      done: () => {
        made.givenBack += amount;
        for (const ref of this.#watcher.fundsOf(made.dimensions, timeOfId(id))) this.#named(ref).spent -= amount;
        this.#charges.push({ dimensions: made.dimensions, reservation: id, amount: -amount, entry: null });
        this.#watcher.adjusted();
        return null;
      },
      undo: () => {},
    });
    return granted(amount);
  }

  /** Money that counts once it is durable. */
  #deposit(holder: string, amount: number, sure: (step: Unsure) => void, undo: () => void = () => {}): void {
    sure({
      done: () => {
        this.#arrive(holder, amount);
        return null;
      },
      undo,
    });
  }

  #arrive(holder: string, amount: number): void {
    this.#watcher.freed([this.#credit(holder, amount)]);
    this.#watcher.adjusted();
  }

  #credit(holder: string, amount: number): Fund {
    const fund = this.#balanceOf(holder);
    fund.limit += amount;
    if (!this.#holders.has(holder)) {
      this.#holders.add(holder);
      this.#watcher.opened(holder);
    }
    return fund;
  }

  #find({ key, title }: FundRef): Fund | undefined {
    return title.kind === 'balance' ? this.#balances.get(title.name) : this.#funds.get(key);
  }

  #named(ref: FundRef): Fund {
    if (ref.title.kind === 'balance') return this.#balanceOf(ref.title.name);
    let fund = this.#funds.get(ref.key);
    if (!fund) {
      fund = new Fund(ref.title, ref.limit, ref.opening);
      this.#funds.set(ref.key, fund);
    }
    return fund;
  }

  #balanceOf(holder: string): Fund {
    let fund = this.#balances.get(holder);
    if (!fund) {
      const title = { kind: 'balance', name: holder, subject: '', definition: '', starts: 0, ends: Infinity } as const;
      fund = new Fund(title, 0, 0);
      this.#balances.set(holder, fund);
    }
    return fund;
  }
}

function check(op: LedgerOp): void {
  if (op.kind === 'hold' || op.kind === 'earmark' || op.kind === 'extend') {
    for (const amount of op.amounts) rules.openReservation(amount, null);
  }
  if (op.kind === 'deposit' || op.kind === 'capture') checkDeposit(op.deposit);
  if ((op.kind === 'deposit' || op.kind === 'waive') && !isWallet(op.wallet)) throw new RangeError('not a wallet');
}
