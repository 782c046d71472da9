import type { EntryLine } from '../../../../src/core/accounting/entry.ts';
import { type Fund, fit, hold, isBlocked, release, spend } from '../../../../src/core/accounting/fund.ts';
import * as rules from '../../../../src/core/accounting/held-sum.ts';
import type { LedgerState } from '../../../../src/core/money/budget.ts';
import type {
  AcceptedTerms,
  AttachOp,
  BooksWatcher,
  CaptureOp,
  EarmarkOp,
  ExpireOp,
  ExtendOp,
  HoldOp,
  LedgerBooks,
  LedgerOp,
  OfferedTerms,
  OpResult,
  PostOp,
  Sequel,
  SettleOp,
  VoidOp,
} from '../../../../src/store/books.ts';
import { type InstanceName, isSameInstance } from '../../../../src/store/instance.ts';
import type { Write } from '../../../../src/store/store.ts';
import { unmet } from '../store.ts';
import { MemoryAdjusting } from './adjusting.ts';
import {
  capped,
  check,
  granted,
  type MemoryEarmark,
  type MemoryReservation,
  openReservation,
  type PendingStep,
  refused,
} from './booked.ts';
import { MemoryTerms } from './terms.ts';

type SequelMaker = (results: readonly OpResult[]) => Sequel;
const NOTHING: Sequel = { ops: [], writes: [] };

/** Books in memory: plain maps, lists and the rules of money. Several instances can share the books, each with its own handle. */
export class MemoryBooks extends MemoryAdjusting implements LedgerBooks {
  /** The instance that is calling now. */
  asking: InstanceName = { slot: 0, epoch: 0 };
  readonly #earmarks = new Map<number, MemoryEarmark>();
  readonly #voided = new Set<number>();
  readonly terms = new MemoryTerms();
  #unsure: (PendingStep | undefined)[] = [];

  /** Earmarks have no row, so they end with their instance. */
  override died(name: InstanceName): void {
    super.died(name);
    this.freed = [];
    for (const [id, { owner }] of this.#earmarks) if (isSameInstance(owner, name)) this.#letGo(id);
    for (const funds of this.freed) this.watcher.freed(funds);
  }

  async apply(ops: readonly LedgerOp[], also: readonly Write[] = []): Promise<readonly OpResult[]> {
    for (const op of ops) check(op);
    // A repeated operation has already written these, because a commit is all or nothing.
    if (ops.some((op) => this.#isKnown(op))) also = [];
    const { results, freed, unsure } = this.#decide(ops);
    const isSure = unsure.every((one) => one === undefined);
    const isInVain = ops.length === 1 && ops[0]!.kind === 'hold' && results[0]!.kind === 'refused';
    const committed = isSure ? isInVain || this.store.append(also) : this.store.commit(also);
    for (const funds of freed) this.watcher.freed(funds);
    try {
      await committed;
    } catch (cause) {
      for (const one of unsure) one?.undo();
      throw cause;
    }
    return results.map((result, at) => unsure[at]?.done() ?? result);
  }

  async append(ops: readonly LedgerOp[], follow: SequelMaker = () => NOTHING): Promise<readonly OpResult[]> {
    const { results, freed } = this.#decide(ops);
    // The answer of a remote store never arrives before the call returns.
    await null;
    try {
      const next = follow(results);
      freed.push(...this.#decide(next.ops).freed);
      this.store.append(next.writes);
    } finally {
      for (const funds of freed) this.watcher.freed(funds);
    }
    return results;
  }

  watch(watcher: BooksWatcher): void {
    this.watcher.add(watcher);
  }

  state(): LedgerState {
    return this.reservations.size + this.once.size > 0 ? this.terms.state : { ...this.terms.state, usdPerCredit: null };
  }

  async accept(offered: OfferedTerms): Promise<AcceptedTerms> {
    await this.store.commit([]);
    const accepted = this.terms.accept(offered);
    const { news } = this.store;
    if (news) await this.store.commit([news.raise('policy'), news.raise('budgets')]);
    return accepted;
  }

  async refresh(): Promise<void> {
    for (const request of this.requests) {
      if (request.isAdopted) continue;
      request.isAdopted = true;
      const { reservation, holder, amount, note, time } = request;
      const made = reservation === null ? undefined : this.reservations.get(reservation);
      if (made) this.giveBack(made, -amount, { at: time, note });
      else {
        this.journal.adjust('grant', holder, amount, { at: time, note });
        this.arrive(holder, amount);
      }
    }
  }

  #isKnown(op: LedgerOp): boolean {
    if (op.kind === 'hold' || op.kind === 'capture') return this.reservations.has(op.id);
    return 'id' in op && this.once.has(`${op.kind} ${op.id}`);
  }

  #void({ id, at }: VoidOp): OpResult {
    this.#voided.add(id);
    this.#letGo(id);
    const made = this.reservations.get(id);
    if (!made) return { kind: 'charged', charged: 0, overrun: 0 };
    if (made.closing) return made.closing;
    const result = this.#step({ kind: 'expire', id, at, rule: 'release' }, () => {});
    made.late = null;
    return result;
  }

  #decide(ops: readonly LedgerOp[]) {
    this.freed = [];
    this.#unsure = [];
    const results: OpResult[] = [];
    for (const op of ops) {
      this.#unsure[results.length] = undefined;
      results.push(this.#one(op, results.length));
    }
    return { results, freed: this.freed, unsure: this.#unsure };
  }

  #one(op: LedgerOp, at: number): OpResult {
    const sure = (step: PendingStep) => {
      this.#unsure[at] = step;
    };
    switch (op.kind) {
      case 'hold':
      case 'earmark':
        return this.reservations.get(op.id)?.first ?? (op.kind === 'hold' ? this.#hold(op, sure) : this.#earmark(op));
      case 'release':
        this.#letGo(op.id);
        return granted(0);
      case 'void':
        return this.#void(op);
      case 'capture':
        return this.reservations.get(op.id)?.first ?? this.#capture(op, sure);
      case 'attach':
        return this.#attach(op);
      case 'count':
        return this.funds.count(op, (fund, at) => this.charges.drawnAfter(fund, at))
          ? granted(0)
          : refused('exhausted', null);
      case 'enforce':
        this.funds.enforce(op);
        return granted(0);
      case 'grant':
      case 'correct':
      case 'deposit':
      case 'waive':
        return this.adjust(op, sure);
      default:
        return this.#step(op, sure);
    }
  }

  #hold(op: HoldOp, sure: (step: PendingStep) => void): OpResult {
    const { id, at, note } = op;
    if (this.#voided.has(id)) return refused('exhausted', null);
    const funds = op.funds.map((ref) => this.funds.named(ref));
    const amount = fit(funds, op.amounts, 0, op.least, op.ample);
    if (isBlocked(amount)) return refused(amount.why, amount.fund.standing);
    hold(funds, amount);
    const made = this.#make(op, funds, amount);
    const entry = this.journal.reserve(made, amount, at, note);
    sure({
      done: () => null,
      undo: () => {
        this.journal.drop(entry);
        this.reservations.delete(id);
        release(made.funds, amount);
        this.watcher.freed(made.funds);
      },
    });
    return made.first;
  }

  #make(
    { id, dimensions, expiresAt }: Pick<HoldOp, 'id' | 'dimensions' | 'expiresAt'>,
    funds: readonly Fund[],
    amount: number,
    owner = this.asking,
  ): MemoryReservation {
    const made: MemoryReservation = { ...openReservation(amount), id, dimensions, funds, owner, expiresAt };
    this.reservations.set(id, made);
    return made;
  }

  #earmark(op: EarmarkOp): OpResult {
    const known = this.#earmarks.get(op.id);
    if (known) return granted(known.amount);
    if (this.#voided.has(op.id)) return refused('exhausted', null);
    const funds = op.funds.map((ref) => this.funds.named(ref));
    const amount = fit(funds, op.amounts, op.expected, op.least, op.ample);
    if (isBlocked(amount)) return refused(amount.why, amount.fund.standing);
    hold(funds, amount, op.expected);
    this.#earmarks.set(op.id, { owner: this.asking, op, amount, funds });
    return granted(amount);
  }

  #letGo(id: number): void {
    const earmark = this.#earmarks.get(id);
    if (!earmark) return;
    this.#earmarks.delete(id);
    release(earmark.funds, earmark.amount, earmark.op.expected);
    this.freed.push(earmark.funds);
  }

  #capture({ id, at, deposit }: CaptureOp, sure: (step: PendingStep) => void): OpResult {
    const earmark = this.#earmarks.get(id);
    // Other instances considered this instance dead. The blockchain then shows what became of the payment.
    if (!earmark) return unmet();
    const { op, amount, funds, owner } = earmark;
    const balance = funds.find(({ title }) => title.kind === 'balance')!;
    const wallet = balance.title.name;
    const [adds, promised] = [deposit.paid - deposit.fee, Math.min(amount, op.expected)];
    if (balance.free + adds < promised) {
      this.#letGo(id);
      const entries = this.journal.deposit(wallet, deposit, at);
      this.deposit(wallet, adds, sure, () => this.journal.drop(...entries));
      return refused('exhausted', balance.standing);
    }
    this.#earmarks.delete(id);
    const comes = Math.min(promised, adds);
    balance.held += promised - comes;
    const made = this.#make(op, funds, amount, owner);
    const entries = [...this.journal.deposit(wallet, deposit, at), this.journal.reserve(made, amount, at, op.note)];
    sure({
      done: () => {
        balance.held += comes;
        this.arrive(wallet, adds);
        return null;
      },
      undo: () => {
        this.journal.drop(...entries);
        this.reservations.delete(id);
        release(made.funds, amount, comes);
        this.watcher.freed(made.funds);
      },
    });
    return made.first;
  }

  #attach({ id, at: time, funds: refs }: AttachOp): OpResult {
    const earmark = this.#earmarks.get(id);
    const made = this.reservations.get(id);
    const from = earmark ?? (made?.closing ? undefined : made);
    if (!from) return refused('exhausted', null);
    const funds: readonly Fund[] = refs.map((ref) => this.funds.named(ref));
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
    if (made)
      this.journal.add({ kind: 'attach', reservation: id, dimensions: made.dimensions, amount: 0, time, funds });
    return granted(0);
  }

  #step(
    op: Extract<LedgerOp, { kind: 'extend' | 'post' | 'settle' | 'expire' }>,
    sure: (step: PendingStep) => void,
  ): OpResult {
    const made = this.reservations.get(op.id);
    if (!made) throw new RangeError(`there is no reservation ${op.id}`);
    if (op.kind === 'extend' || op.kind === 'post') {
      const known = made.steps.get(op.step);
      if (known) return known;
      const result = op.kind === 'extend' ? this.#extend(made, op, sure) : this.#post(made, op);
      if (result.kind !== 'refused') made.steps.set(op.step, result);
      return result;
    }
    if (made.closing) {
      if (op.kind === 'expire') return made.closing;
      return made.late ? this.#settleLate(made, made.late, op) : (made.corrected ?? made.closing);
    }
    const left = rules.leftOf(made.state);
    if (op.kind === 'expire') made.late = made.state;
    const entry = op.kind === 'settle' ? op.entry : null;
    const step =
      op.kind === 'settle'
        ? capped(made, op.most, (state) => rules.settle(state, entry?.cost ?? null))
        : rules.expire(made.state, op.rule);
    this.#book(made, step, entry, op);
    release(made.funds, left - step.charged);
    made.closing = { kind: 'charged', charged: made.state.charged, overrun: made.overrun };
    this.freed.push(made.funds);
    return made.closing;
  }

  #post(made: MemoryReservation, op: PostOp): OpResult {
    const { entry, most } = op;
    if (made.closing) return this.#postLate(made, op);
    const step = capped(made, most, (state) => rules.post(state, entry.cost));
    this.#book(made, step, entry, op);
    return { kind: 'charged', charged: step.charged, overrun: step.excess };
  }

  #postLate(made: MemoryReservation, { entry, most }: PostOp): OpResult {
    if (!made.late) return { kind: 'charged', charged: 0, overrun: 0 };
    const step = capped({ state: made.late }, most, (state) => rules.post(state, entry.cost));
    made.late = step.next;
    made.overrun += step.excess;
    return { kind: 'charged', charged: step.charged, overrun: step.excess };
  }

  /** Settles an expired hold: corrects its charge to what its attempts cost, as far as its funds have the money. */
  #settleLate(made: MemoryReservation, late: rules.HeldSum, { entry, most, at }: SettleOp): OpResult {
    const step = capped({ state: late }, most, (state) => rules.settle(state, entry?.cost ?? null));
    made.late = null;
    const missing = step.next.charged - made.state.charged;
    const free = Math.max(
      0,
      ...made.funds
        .map((fund) => fund.free)
        .toSorted((a, b) => a - b)
        .slice(0, 1),
    );
    // A part of the charge may already have been refunded, for example because the request was repeated.
    const least = made.givenBack - made.state.charged;
    const by = Math.max(least, made.funds.length === 0 ? missing : Math.min(missing, free));
    made.overrun += step.excess + Math.max(0, missing - by);
    if (by !== 0) this.correct(made, by, at);
    made.corrected = { kind: 'charged', charged: made.state.charged + by, overrun: made.overrun };
    return made.corrected;
  }

  #extend(made: MemoryReservation, op: ExtendOp, sure: (step: PendingStep) => void): OpResult {
    if (made.closing) return refused('exhausted', null);
    if (made.extending > 0) throw new RangeError(`reservation ${made.id} is extended by one step at a time`);
    const by = fit(made.funds, op.amounts, 0, op.least);
    if (isBlocked(by)) return refused(by.why, by.fund.standing);
    if (by === 0) return granted(0);
    hold(made.funds, by);
    made.extending = by;
    const { id: reservation, dimensions } = made;
    const entry = this.journal.add({ kind: 'raise', reservation, dimensions, amount: by, time: op.at });
    const giveBack = () => {
      made.extending = 0;
      release(made.funds, by);
      this.watcher.freed(made.funds);
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
      undo: () => {
        this.journal.drop(entry);
        giveBack();
      },
    });
    return granted(by);
  }

  #book(made: MemoryReservation, step: rules.Step, entry: EntryLine | null, op: PostOp | SettleOp | ExpireOp): void {
    made.state = step.next;
    made.overrun += step.excess;
    spend(made.funds, step.charged);
    this.journal.charge(made, op, step, entry);
  }
}
