import type { IdempotentRun } from '../../../src/access/idempotency/run.ts';
import { type Keys, openKeys } from '../../../src/access/keys.ts';
import type { EntryLine } from '../../../src/core/accounting/entry.ts';
import type { Budget } from '../../../src/core/money/budget.ts';
import { plainUsage } from '../../../src/core/money/usage.ts';
import { isShortage } from '../../../src/ledger/available-funds.ts';
import type { Hold } from '../../../src/ledger/hold.ts';
import type { LedgerTable } from '../../../src/store/ledger-table.ts';
import { StoreError } from '../../../src/store/store.ts';
import { sleep, VirtualClock } from '../../store/hostile/clock.ts';
import { type Faults, FRIENDLY, HOSTILE } from '../../store/hostile/faults.ts';
import { World } from '../../store/hostile/world.ts';
import { Laws } from './laws.ts';
import { type Member, openMember, type SharedPolicy } from './member.ts';
import { captured, claimed } from './payment.ts';
import { VARIANTS } from './variants.ts';

/** The number of instances in a play. */
const MEMBERS = 3;
const START = Date.UTC(2026, 10, 20, 12);
/** Admission refuses to use older copies of the keys, ms. */
const KEYS_AGE_MAX_MS = 5_000;
/** The clocks differ by 10 minutes, ms. */
const SKEWS = [0, 600_000, -600_000];

const TARIFF = { model: 'best', provider: 'fake', upstream: 'best-upstream', price: '{}' };
const BODY = new Uint8Array(32).fill(1);
/** An answer with which a thread may continue. */
const THREAD = { model: 'best', provider: 'fake', origin: 'o', tokens: 1, addOns: null };
const lineOf = (cost: number): EntryLine => ({ tariff: TARIFF, usage: plainUsage(1, 1), estimated: false, cost });

interface Seat {
  readonly at: number;
  /** Null while the instance starts. */
  member: Member | null;
  /** Increased with each start. */
  run: number;
  /** The policy that the member got last. */
  variant: readonly Budget[];
}

interface PlayKey {
  readonly id: string;
  readonly secret: string;
  readonly header: string;
  isRevoked: boolean;
}

/** Three instances on one store. A seed determines the requests and faults of the play. */
export class Play {
  readonly clock = new VirtualClock(START);
  readonly world: World;
  readonly laws: Laws;
  operations = 0;
  readonly #policy: SharedPolicy;
  readonly #seats: Seat[] = [];
  readonly #keys: PlayKey[] = [];

  constructor(policy: SharedPolicy, seed: number, faults: Faults = HOSTILE) {
    this.#policy = policy;
    this.world = new World({ clock: this.clock, seed, faults });
    this.laws = new Laws(this.world);
  }

  /**
   * Plays a number of operations and lets everything end.
   * @returns the laws that were broken
   */
  async run(operations: number): Promise<readonly string[]> {
    for (let at = 0; at < MEMBERS; at++) this.#seats.push({ at, member: null, run: 0, variant: VARIANTS[0]! });
    const { faults } = this.world;
    this.world.faults = FRIENDLY;
    for (const seat of this.#seats) this.#start(seat);
    await this.clock.pass(10_000);
    this.#createKey();
    await this.clock.pass(10_000);
    this.world.faults = faults;
    // An instance that does not come back gets no requests.
    for (let steps = 0; this.operations < operations && steps < 4 * operations; steps++) {
      this.#step();
      await this.clock.pass(this.#chance(0.02) ? this.#upTo(20_000) : this.#upTo(60));
    }
    await this.#end();
    return this.laws.atEnd(new Set(this.#seats.flatMap(({ variant }) => variant.map(({ name }) => name))));
  }

  /** Ends all faults, and lets everything that has started end. */
  async #end(): Promise<void> {
    this.world.faults = FRIENDLY;
    this.world.books.journal.giveUp();
    await this.clock.pass(240_000);
    for (const { member } of this.#seats) if (!member) throw new Error('an instance never started');
    await this.clock.pass(60_000);
    for (const { member } of this.#seats) await this.#closed(member!);
  }

  async #closed(member: Member): Promise<void> {
    member.stop();
    member.keys.close();
    await member.gateway.ledger.close();
  }

  #step(): void {
    const seat = this.#seats[this.#upTo(MEMBERS) - 1]!;
    const { member } = seat;
    if (!member || member.connection.isPaused) return;
    const roll = this.world.random() * 1_000;
    if (roll < 860) this.#track(this.#ask(member));
    else if (roll < 895) this.#track(this.#pay(member));
    else if (roll < 900) this.#track(this.#rival(seat));
    else if (roll < 925) this.#track(this.#grant(member.keys, member.store.ledger));
    else if (roll < 940) this.#createKey();
    else if (roll < 955) this.#track(this.#revoke(member.keys));
    else if (roll < 975) this.#track(this.#reload(seat, member));
    else if (roll < 982) member.connection.loseStore(this.#upTo(40_000));
    else if (roll < 990) member.connection.pause(this.#upTo(90_000));
    else if (roll < 994) this.world.leases.revoke(member.store.instance.slot);
    else if (roll < 997) this.#crash(seat, member);
  }

  /** An error of the store is an answer. Any other error is a defect. */
  #track(work: Promise<unknown>): void {
    this.operations++;
    work.catch((error: unknown) => {
      const isAnswer = error instanceof StoreError || isUnavailable(error);
      if (!isAnswer) this.laws.broken('defect', `threw ${error instanceof Error ? error.stack : String(error)}`);
    });
  }

  #start(seat: Seat): void {
    const run = ++seat.run;
    seat.member = null;
    seat.variant = VARIANTS[0]!;
    this.#open(seat, run).catch((error: unknown) => {
      if (!(error instanceof StoreError)) this.laws.broken('defect', `did not start: ${String(error)}`);
      this.clock.after(5_000, () => this.#start(seat));
    });
  }

  async #open(seat: Seat, run: number): Promise<void> {
    const store = await this.world.open(`instance ${seat.at}`);
    try {
      const member = await openMember(this.world, store, this.#policy, seat.variant, SKEWS[seat.at]!);
      if (seat.run === run) seat.member = member;
    } catch (cause) {
      store.connection.crash();
      throw cause;
    }
  }

  #crash(seat: Seat, member: Member): void {
    member.connection.crash();
    member.stop();
    seat.member = null;
    this.clock.after(this.#upTo(90_000), () => this.#start(seat));
  }

  /** Plays a request: chooses its key and name, takes its hold, makes its attempts and charges its price. */
  async #ask(member: Member): Promise<void> {
    const key = this.#oneOf(this.#keys);
    if (!key) return;
    const { caller } = member.keys.authenticate(key.header);
    const ageMs = member.store.news.ageOf('keys');
    if (!caller || ageMs > KEYS_AGE_MAX_MS) return;
    this.laws.admitted(key.id, ageMs, member.connection.clearFor);
    const { ledger, nextId } = member.gateway;
    const idempotencyKey = this.#chance(0.2) ? `name ${this.#upTo(3) + (this.operations >> 6)}` : null;
    const run = idempotencyKey === null ? null : await this.#claim(member, key, idempotencyKey);
    if (idempotencyKey !== null && !run) return;
    const id = this.laws.id(nextId());
    const cost = this.#upTo(300);
    const request = {
      ...{ id, caller, selector: 'best', agentWallet: null, holder: null, limit: null },
      amounts: [cost + this.#upTo(100)] as const,
      least: this.#chance(0.5) ? 50 : null,
      waitMs: this.#chance(0.5) ? 300 : 0,
      expiresAt: this.clock.now() + 900_000,
      also: run ? [run.claim(id)] : [],
    };
    this.operations++;
    const hold = await ledger.reserve(request).catch(async (cause: unknown) => {
      await run?.drop();
      throw cause;
    });
    if (isShortage(hold)) return run?.drop();
    const name = run && `${key.id} ${idempotencyKey}`;
    if (name) this.laws.ran(name, id, member.store.instance);
    await this.#attempts(member, hold);
    this.operations++;
    const thread = this.#chance(0.1) ? { ...THREAD, keyId: key.id, answer: String(id), time: this.clock.now() } : null;
    const also = () => (thread ? member.store.threads.put(thread, 1_000) : []);
    const { charged } = await hold.settle(lineOf(cost), also);
    if (await ledger.written()) {
      this.laws.told(id, charged);
      if (thread) this.laws.threads.add(thread);
    }
    if (run && name) {
      this.operations++;
      const answer = { headers: {}, parts: String(id) };
      const ended = () => this.laws.ran(name, null, member.store.instance);
      if (this.#chance(0.9)) {
        await run.keep(answer);
        ended();
      } else {
        // The name is free once the store has released it, before its instance knows.
        ended();
        await run.lose();
      }
    }
  }

  /** @returns the run of a name; null if it runs elsewhere or was answered */
  async #claim(member: Member, { id: keyId, secret }: PlayKey, idempotencyKey: string): Promise<IdempotentRun | null> {
    const claim = await member.idempotency.claim({ keyId, secret, idempotencyKey, body: BODY });
    this.operations++;
    return claim.kind === 'run' ? claim.run : null;
  }

  /** The provider answers, perhaps after failed attempts. */
  async #attempts(member: Member, hold: Hold): Promise<void> {
    await sleep(this.clock, this.#upTo(this.#chance(0.05) ? 100_000 : 3_000));
    await member.connection.awake();
    if (this.#chance(0.1)) {
      this.operations++;
      await hold.post(lineOf(this.#upTo(40)));
    }
    if (this.#chance(0.1)) {
      this.operations++;
      // A request that gets no more money ends with what it has.
      await hold.raise([this.#upTo(60)]).catch(() => false);
    }
    await member.connection.awake();
  }

  /** Plays a request that a payment pays for. */
  async #pay(member: Member): Promise<void> {
    const { gateway, connection } = member;
    const [payment, decision] = [this.laws.id(gateway.nextId()), this.laws.id(gateway.nextId())];
    const cost = this.#upTo(300);
    const stored = await claimed(member, { payment, decision }, cost + this.#upTo(100));
    if (!stored) return;
    this.operations++;
    await sleep(this.clock, this.#upTo(3_000));
    await connection.awake();
    const funded = await captured(member, stored);
    if (!funded) return;
    await this.#attempts(member, funded.hold);
    this.operations++;
    const { charged } = await funded.hold.settle(lineOf(cost), (settled) => funded.settlementWrites(settled.charged));
    if (await gateway.ledger.written()) this.laws.told(decision, charged);
  }

  /** Plays interference: a command or a faulty server settles, grants, revokes, suspends or takes a lease. */
  async #rival({ member }: Seat): Promise<void> {
    const { store, books, leases, clock } = this.world;
    const roll = this.#upTo(4);
    const id = this.#oneOf(books.openIds());
    if (roll === 1 && id !== undefined)
      await books.append([{ kind: 'expire', id, at: clock.now(), rule: this.#chance(0.5) ? 'charge' : 'release' }]);
    if (roll === 2 && member) leases.seize(member.store.instance.slot);
    if (roll < 3) return;
    const command = await openKeys({ store, now: () => clock.now() });
    await (roll === 3 ? this.#grant(command, store.ledger) : this.#revoke(command));
    command.close();
  }

  async #grant(keys: Keys, table: Pick<LedgerTable, 'grant'>): Promise<void> {
    const key = this.#oneOf(this.#keys);
    if (!key) return;
    const amount = this.#upTo(5_000);
    await keys.grant(
      key.id,
      (holder) => table.grant(holder, amount, '', this.clock.now()),
      { credits: amount / 1e6, note: '' },
      { kind: 'server' },
    );
  }

  #createKey(): void {
    const member = this.#oneOf(this.#seats)?.member;
    if (!member || member.connection.isPaused) return;
    this.#track(
      member.keys.create({ name: 'app', scopes: ['chat'] }).then(({ key, info }) => {
        this.#keys.push({ id: info.id, secret: key, header: `Bearer ${key}`, isRevoked: false });
      }),
    );
  }

  async #revoke(keys: Keys): Promise<void> {
    const living = this.#keys.filter((key) => !key.isRevoked);
    if (living.length < 3) return;
    const key = this.#oneOf(living)!;
    // A suspension that is never lifted must apply as quickly as a revocation.
    const isSuspended = this.#keys.indexOf(key) % 2 === 1;
    if (isSuspended ? await keys.suspend(key.id) : await keys.revoke(key.id)) {
      key.isRevoked = true;
      this.laws.revoked(key.id);
    }
  }

  async #reload(seat: Seat, member: Member): Promise<void> {
    const { snapshot } = this.#policy.candidate.runtime;
    const budgets = this.#oneOf(VARIANTS)!;
    const use = await member.gateway.ledger.prepare({ ...snapshot, budgets });
    seat.variant = budgets;
    use();
  }

  #oneOf<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.world.random() * list.length)];
  }

  /** A random number from 1 to `most`. */
  #upTo(most: number): number {
    return 1 + Math.floor(this.world.random() * most);
  }

  #chance(chance: number): boolean {
    return this.world.random() < chance;
  }
}

const isUnavailable = (error: unknown): boolean => error instanceof Error && 'code' in error;
