import { expect } from 'bun:test';
import { bodyOf } from '../../../../src/access/idempotency/answer.ts';
import { type Claim, Idempotency, type IdempotencyOptions } from '../../../../src/access/idempotency/idempotency.ts';
import type { IdempotentRun } from '../../../../src/access/idempotency/run.ts';
import { createIds } from '../../../../src/core/id.ts';
import { processTimers } from '../../../../src/host/telemetry/process-timers.ts';
import { auditLedger } from '../../../../src/ledger/audit/run.ts';
import { isShortage } from '../../../../src/ledger/available-funds.ts';
import type { Hold } from '../../../../src/ledger/hold.ts';
import { type Ledger, openLedger } from '../../../../src/ledger/ledger.ts';
import type { Repositories } from '../../../../src/store/repositories.ts';
import { sqlIdempotency } from '../../../../src/store/sql/idempotency.ts';
import { openSqliteBooks } from '../../../../src/store/sqlite/books/books.ts';
import { ledgerMigrations } from '../../../../src/store/sqlite/books/schema.ts';
import { openSqlite } from '../../../../src/store/sqlite/database.ts';
import { idempotencyMigrations } from '../../../../src/store/sqlite/idempotency.ts';
import { openReader } from '../../../../src/store/sqlite/reader.ts';
import type { SqlStore } from '../../../../src/store/sqlite/statement.ts';
import { budget, caller, line, NOON, order } from '../../../ledger/support.ts';
import { loneInstance } from '../../../store/memory/instance.ts';
import { type DiskRemains, MortalStore } from './mortal-store.ts';
import * as reference from './reference.ts';

export type Step =
  | {
      readonly do: 'ask';
      readonly user: number;
      readonly key: number;
      readonly body: number;
      readonly secret: number;
      readonly times: number;
    }
  | {
      readonly do: 'end';
      readonly which: number;
      readonly how: 'answer' | 'large' | 'cut' | 'free';
      readonly cost: number;
    }
  | { readonly do: 'crash' }
  | { readonly do: 'arm'; readonly commits: number; readonly left: DiskRemains }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'prune' };

export type IdempotencyStore = Pick<SqlStore, 'commit' | 'append'> & Pick<Repositories, 'idempotency'>;

export interface Mutant {
  readonly infect?: () => () => void;
  readonly wrap?: (store: IdempotencyStore) => IdempotencyStore;
  readonly options?: (options: IdempotencyOptions) => IdempotencyOptions;
  readonly claim?: (idempotency: Idempotency) => Idempotency['claim'];
}

/** The hold of every request, in microcredits. A key may spend less than two holds in a window. */
const RESERVED = 1_000;
const LIMIT = 1_800;
const TOO_LARGE = 'x'.repeat(1_048_577);
const USERS = ['ada', 'bob'];

interface Running {
  readonly name: string;
  readonly run: IdempotentRun;
  readonly hold: Hold;
}

const CHARGES = `SELECT coalesce(sum(amount), 0) AS total FROM (
  SELECT amount FROM journal WHERE kind IN ('post', 'settle', 'expire', 'correct') AND reservation IN (SELECT value FROM json_each(?1))
  UNION ALL SELECT amount FROM adjustments WHERE adopted = 0 AND reservation IN (SELECT value FROM json_each(?1)))`;

/** The real code on a real database with its own clock, compared with the reference. */
export class World {
  readonly #file: string;
  readonly #rule: 'charge' | 'release';
  readonly #mutant: Mutant;
  readonly #states = new Map<string, readonly reference.State[]>();
  readonly #decisions = new Map<string, number[]>();
  #now = NOON;
  #nextId = createIds(() => this.#now, 0);
  #running: Running[] = [];
  /** Counts the starts. Each start is a new instance. */
  #epoch = 0;
  #store!: MortalStore;
  #ledger!: Ledger;
  #idempotency!: Idempotency;
  readonly counts = new Map<string, number>();

  private constructor(file: string, rule: 'charge' | 'release', mutant: Mutant) {
    this.#file = file;
    this.#rule = rule;
    this.#mutant = mutant;
  }

  static async open(file: string, rule: 'charge' | 'release', mutant: Mutant): Promise<World> {
    const world = new World(file, rule, mutant);
    await world.#start();
    return world;
  }

  get #byRule(): number {
    return this.#rule === 'charge' ? RESERVED : 0;
  }

  async #start(): Promise<void> {
    const { wrap = (store) => store, options = (given) => given } = this.#mutant;
    this.#store = new MortalStore(await openSqlite(this.#file, [idempotencyMigrations, ledgerMigrations]));
    const terms = {
      budgets: [budget(LIMIT, { each: ({ key }) => key.id, window: 'day' })],
      ledger: { contentionWaitMs: 0, wholeHoldShare: 0.05, onCrash: this.#rule },
      usdPerCredit: '0.001',
    };
    const now = () => this.#now;
    const ledger = await openLedger({
      books: await openSqliteBooks({ store: this.#store, now }),
      terms,
      now,
      onAlarm: () => {},
    });
    this.#ledger = ledger;
    this.#idempotency = new Idempotency(
      options({
        store: wrap(Object.assign(this.#store, { idempotency: sqlIdempotency(this.#store) })),
        now,
        timers: processTimers,
        instance: loneInstance(now, { slot: 0, epoch: ++this.#epoch }),
        isOpen: (id) => ledger.isOpen(id),
        giveBack: (id, note, instead) => ledger.giveBack(id, note, instead),
      }),
    );
  }

  async step(step: Step): Promise<void> {
    switch (step.do) {
      case 'wait':
        this.#now += step.ms;
        return;
      case 'arm':
        return this.#store.dieAt(step.commits, step.left);
      case 'crash':
        this.#store.die();
        return this.#restart(null, () => []);
      case 'prune':
        return this.#alive(
          null,
          () => [],
          async () => void (await this.#idempotency.prune()),
        );
      case 'ask': {
        const name = `${USERS[step.user]} ${step.key}`;
        const submission = { body: `body ${step.body}`, secret: `secret ${step.user} ${step.secret}` };
        const may = (state: reference.State) => reference.crashedAsking(state, submission, this.#byRule, this.#now);
        return this.#alive(name, may, () => this.#ask(name, submission, step));
      }
      case 'end': {
        const [running] = this.#running.splice(step.which % Math.max(1, this.#running.length), 1);
        if (!running) return;
        const { cost } = step;
        const answer = `answer ${running.hold.id}`;
        const ending: reference.Ending =
          step.how === 'free'
            ? { how: 'free' }
            : step.how === 'answer'
              ? { how: 'answer', cost, answer }
              : { how: 'loss', cost };
        const may = (state: reference.State) => reference.crashedEnding(state, ending, this.#byRule, this.#now);
        return this.#alive(running.name, may, () => this.#end(running, step.how, cost, answer, ending));
      }
    }
  }

  /** Ends all running requests and audits the ledger. */
  async finish(): Promise<void> {
    this.#store.liveOn();
    while (this.#running.length > 0) await this.step({ do: 'end', which: 0, how: 'answer', cost: 10 });
    await this.#idempotency.idle();
    await this.#store.flush();
    await this.#ledger.close();
    await this.#store.flush();
    const reader = openReader(this.#file, [ledgerMigrations]);
    expect((await auditLedger(reader.journal, { idle: true })).findings).toEqual([]);
    reader.close();
    await this.#store.close();
  }

  async close(): Promise<void> {
    this.#store.die();
    void this.#ledger.close();
    await this.#store.close().catch(() => {});
  }

  /** Runs an action. If the process dies during the action, `may` returns the possible states of the key. */
  async #alive(
    name: string | null,
    may: (state: reference.State) => reference.State[],
    run: () => Promise<void>,
  ): Promise<void> {
    const before = name === null ? [] : this.#statesOf(name);
    const isDone = await Promise.race([run().then(() => true), this.#store.died.promise.then(() => false)]);
    if (!isDone) return this.#restart(name, () => before.flatMap(may));
    if (name !== null) await this.#checkTotal(name);
  }

  async #restart(name: string | null, statesAfter: () => reference.State[]): Promise<void> {
    this.#count('crashes');
    // Closes the ledger to clear its timers; nothing waits for it.
    void this.#ledger.close();
    await this.#store.close();
    this.#running = [];
    await this.#start();
    for (const known of this.#states.keys()) {
      const after =
        known === name ? statesAfter() : this.#statesOf(known).map((one) => reference.crashed(one, this.#byRule));
      this.#states.set(known, after);
      await this.#checkTotal(known);
    }
  }

  async #ask(
    name: string,
    { body, secret }: reference.Submission,
    { user, key, times }: Step & { do: 'ask' },
  ): Promise<void> {
    const claim = this.#mutant.claim?.(this.#idempotency) ?? ((ask) => this.#idempotency.claim(ask));
    const before = this.#statesOf(name);
    const ask = { keyId: USERS[user]!, secret, idempotencyKey: `key ${key}`, body: Buffer.from(body) };
    const claims = await Promise.all(Array.from({ length: times }, () => claim(ask)));
    // The accepted claim was the first one.
    claims.sort((a, b) => Number(b.kind === 'run') - Number(a.kind === 'run'));
    for (const one of claims) {
      const told = await toldBy(one);
      this.#observe(name, (state) => reference.claimed(state, { body, secret }, this.#now), told);
    }
    const [first] = claims;
    if (first?.kind !== 'run') return;
    const { run } = first;
    const id = this.#nextId();
    this.#decisionsOf(name).push(id);
    const also = [run.claim(id)];
    const reserved = await this.#ledger.reserve({ ...order(RESERVED, { id, caller: caller(USERS[user]) }), also });
    const isPaid = !isShortage(reserved);
    if (isPaid) {
      this.#running.push({ name, run, hold: reserved });
    } else await run.drop();
    const answer: reference.CallerAnswer = { kind: isPaid ? 'paid' : 'refused', givenBack: run.givenBack };
    const next = before.flatMap((was) => {
      const { answer: due, state: run } = reference.claimed(was, { body, secret }, this.#now);
      return due.kind === 'run' ? [reference.reserved(run, was, isPaid, this.#now)] : [];
    });
    this.#settle(name, next, answer);
  }

  async #end(
    { name, run, hold }: Running,
    how: (Step & { do: 'end' })['how'],
    cost: number,
    answer: string,
    ending: reference.Ending,
  ): Promise<void> {
    hold.settle(how === 'free' ? null : line(cost), () => []);
    if (how === 'free') await run.drop();
    else if (how === 'cut') await run.lose();
    else await run.keep({ status: 200, headers: {}, body: how === 'large' ? TOO_LARGE : answer });
    this.#observe(name, (state) => reference.ended(state, ending, this.#now), { kind: 'ended' });
  }

  #observe(name: string, due: (state: reference.State) => reference.Next, answer: reference.CallerAnswer): void {
    this.#settle(name, this.#statesOf(name).map(due), answer);
  }

  /** Keeps only the possible states that allow this answer. */
  #settle(name: string, next: readonly reference.Next[], answer: reference.CallerAnswer): void {
    this.#count(answer.kind);
    const fitting = next.filter((one) => Bun.deepEquals(one.answer, answer)).map(({ state }) => state);
    if (fitting.length === 0) {
      throw new Error(
        `${name} was answer ${JSON.stringify(answer)}, not ${JSON.stringify(next.map((one) => one.answer))}`,
      );
    }
    this.#states.set(name, fitting);
  }

  /** Compares the ledger's total for the key's requests with the possible states. */
  async #checkTotal(name: string): Promise<void> {
    // Do not flush anything first, because a caller may rely on every answer.
    const [row] = await this.#store.query<{ total: number }>({ sql: CHARGES }, [
      JSON.stringify(this.#decisionsOf(name)),
    ]);
    const states = this.#statesOf(name);
    const fitting = states.filter(({ total }) => total === row?.total);
    if (fitting.length === 0) {
      throw new Error(`${name} was charged ${row?.total}, not ${JSON.stringify(states)}`);
    }
    this.#states.set(name, fitting);
  }

  #statesOf(name: string): readonly reference.State[] {
    let states = this.#states.get(name);
    if (!states) {
      states = [reference.NONE];
      this.#states.set(name, states);
    }
    return states;
  }

  #decisionsOf(name: string): number[] {
    let decisions = this.#decisions.get(name);
    if (!decisions) {
      decisions = [];
      this.#decisions.set(name, decisions);
    }
    return decisions;
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}

async function toldBy(claim: Claim): Promise<reference.CallerAnswer> {
  if (claim.kind !== 'replay') return { kind: claim.kind };
  const opened = await claim.open();
  return opened ? { kind: 'replay', answer: bodyOf(opened) } : { kind: 'unavailable' };
}
