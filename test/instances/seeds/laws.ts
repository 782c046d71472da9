import type { FundRef } from '../../../src/core/accounting/fund.ts';
import { timeOfId } from '../../../src/core/id.ts';
import { auditLedger } from '../../../src/ledger/audit/run.ts';
import type { LedgerOp, OpResult } from '../../../src/store/books.ts';
import type { InstanceName } from '../../../src/store/instance.ts';
import type { ThreadRow } from '../../../src/store/threads.ts';
import type { Deed, World } from '../../store/hostile/world.ts';

/** A revoked or suspended key must be refused after this time, ms, if the store answers at once. */
const REVOKED_WITHIN_MS = 1_000;
/**
 * How many answers of a slow store may come before that, one after the other: four of the poll that read the news before the key ended, with
 * the copies that it renews, and two of the next poll.
 */
const ANSWERS_BEFORE = 6;
const CHARGES: ReadonlySet<string> = new Set(['settle', 'expire', 'post', 'correct']);
const GIVEN_BACK = 'its answer was lost, and the request repeated';

/** The laws, by name. */
const LAWS = {
  limit: 'no fund grants beyond its limit',
  ended: 'each hold ends once',
  told: 'told is booked',
  name: 'one run a name',
  id: 'no ID twice',
  revoked: 'a revoked or suspended key is refused after one second',
  thread: 'a thread is kept with its settlement, and erased with its key',
  payment: 'no payment waits for an instance that has ended',
  counted: 'each fund has the charges of its window, whichever server drew on it',
  audit: 'the audit finds nothing',
  defect: 'only errors of the store are thrown',
} as const;
type Law = keyof typeof LAWS;

/** Checks the laws during one play. */
export class Laws {
  readonly #world: World;
  readonly #broken = new Map<Law, string[]>();
  readonly #ids = new Set<number>();
  /** The funds of budgets that were drawn on, by their keys. */
  readonly #funds = new Map<string, FundRef>();
  readonly #told = new Map<number, number>();
  /** The threads whose settlements are written. */
  readonly threads = new Set<Pick<ThreadRow, 'keyId' | 'answer'>>();
  readonly #runs = new Map<string, InstanceName & { readonly id: number }>();
  readonly #revokedAt = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
    world.onDeed((deed) => this.#deed(deed));
  }

  broken(law: Law, what: string): void {
    const found = this.#broken.get(law) ?? [];
    this.#broken.set(law, found);
    found.push(`${this.#world.clock.now()}: ${what}`);
  }

  /** Each law that was broken, with how often and the first cases. */
  get findings(): readonly string[] {
    return [...this.#broken].map(
      ([law, found]) => `${LAWS[law]}: ${found.length} times, such as ${found.slice(0, 3).join('; ')}`,
    );
  }

  id(id: number): number {
    if (this.#ids.has(id)) this.broken('id', `ID ${id} was given twice`);
    this.#ids.add(id);
    return id;
  }

  told(id: number, charged: number): void {
    this.#told.set(id, charged);
  }

  /**
   * Called when a provider gets a request with a name.
   * @param id the decision; null when the request is over
   */
  ran(name: string, id: number | null, { slot, epoch }: InstanceName): void {
    const other = this.#runs.get(name);
    if (id === null) return void this.#runs.delete(name);
    if (other && this.#world.leases.lives(other)) this.broken('name', `${name} runs as ${other.id} and as ${id}`);
    this.#runs.set(name, { id, slot, epoch });
  }

  revoked(key: string): void {
    this.#revokedAt.set(key, this.#world.clock.now());
  }

  /**
   * Called when a key was admitted.
   * @param ageMs the age of the copy of keys that was used
   * @param clearForMs for how long the instance could have learned of the end of the key
   */
  admitted(key: string, ageMs: number, clearForMs: number): void {
    const since = this.#world.clock.now() - (this.#revokedAt.get(key) ?? Number.POSITIVE_INFINITY);
    const slowMs = REVOKED_WITHIN_MS + ANSWERS_BEFORE * this.#world.faults.delayMs;
    const isLate = since > REVOKED_WITHIN_MS && ageMs < since;
    if (isLate || Math.min(since, clearForMs) > slowMs)
      this.broken('revoked', `key ${key} was admitted ${since} ms after its end, by a copy of ${ageMs} ms`);
  }

  /**
   * Checks the laws after everything has ended.
   * @param inForce the names of budgets that an instance enforces; no instance counts the others
   */
  async atEnd(inForce: ReadonlySet<string>): Promise<readonly string[]> {
    const { books } = this.#world;
    const ended = new Map<number, number>();
    const charged = new Map<number, number>();
    for (const { kind, reservation, amount, note } of books.journal.entries) {
      if (reservation === null) continue;
      if (kind === 'reserve') ended.set(reservation, ended.get(reservation) ?? 0);
      if (kind === 'settle' || kind === 'expire') ended.set(reservation, (ended.get(reservation) ?? 0) + 1);
      // A charge whose answer was lost is refunded to its caller, who was told the price before.
      const isGift = kind === 'correct' && note === GIVEN_BACK;
      if (CHARGES.has(kind) && !isGift) charged.set(reservation, (charged.get(reservation) ?? 0) + amount);
    }
    for (const [id, times] of ended) if (times !== 1) this.broken('ended', `hold ${id} ended ${times} times`);
    for (const [id, told] of this.#told) {
      const booked = charged.get(id) ?? 0;
      if (booked !== told) this.broken('told', `told ${told} of ${id}, booked ${booked}`);
    }
    const { count } = books.open();
    if (count > 0) this.broken('ended', `${count} holds are open`);
    this.#counted(inForce);
    await this.#kept();
    const { findings } = await auditLedger(this.#world.store.journal, { idle: true });
    for (const finding of findings) {
      // A fund may be drawn on before the charges of instances with another policy are counted, a second later: see `counted`.
      if (finding.kind !== 'wrong_opening') this.broken('audit', JSON.stringify(finding));
    }
    return this.findings;
  }

  /** Checks what is stored next to the books. */
  async #kept(): Promise<void> {
    const { threads, payments, keys } = this.#world.store;
    for (const { keyId, answer } of this.threads) {
      const isKept = (await threads.find(keyId, answer)) !== null;
      // A revocation whose answer was lost has happened.
      const isRevoked = ((await keys.find(keyId))?.key.info.revokedAt ?? null) !== null;
      if (isKept === isRevoked) this.broken('thread', `${answer} of ${keyId}: kept ${isKept}`);
    }
    for (const { id, state, owner } of await payments.unresolved()) {
      if (owner && !this.#world.leases.lives(owner)) this.broken('payment', `${id} is ${state}, of ${owner.slot}`);
    }
  }

  #counted(inForce: ReadonlySet<string>): void {
    const { books } = this.#world;
    for (const ref of this.#funds.values()) {
      const { name, subject, starts, ends } = ref.title;
      if (!inForce.has(name)) continue;
      const isCounted = ({ kind, reservation, dimensions }: (typeof books.journal.entries)[number]) =>
        reservation !== null &&
        CHARGES.has(kind) &&
        timeOfId(reservation) >= starts &&
        timeOfId(reservation) < ends &&
        (subject === '' || dimensions.key === subject);
      const charged = books.journal.entries.reduce((sum, entry) => sum + (isCounted(entry) ? entry.amount : 0), 0);
      const { spent, held } = books.standing([ref])[0]!;
      if (spent !== charged || held !== 0)
        this.broken('counted', `${name}/${subject}: ${spent} spent and ${held} held, and charges of ${charged}`);
    }
  }

  /** Checks that no grant exceeds what is free. */
  #deed({ ops, results }: Deed): void {
    for (const [at, op] of ops.entries()) this.#granted(op, results[at]);
  }

  #granted(op: LedgerOp, result: OpResult | undefined): void {
    if (op.kind !== 'hold' || result?.kind !== 'granted') return;
    for (const fund of op.funds) if (fund.title.kind === 'budget') this.#funds.set(fund.key, fund);
    for (const { title, limit, spent, held, free } of this.#world.books.standing(op.funds)) {
      if (free < 0) this.broken('limit', `${title.name}/${title.subject}: ${spent} spent and ${held} held of ${limit}`);
    }
  }
}
