import type { Patch } from '../../bench/step-patches.ts';

/** The source with one owner of state taken away. */
export interface Mutant {
  /** The tie to one process that it brings back. */
  readonly tie: string;
  readonly name: string;
  readonly patches: readonly Patch[];
  /** The files of tests of which at least one finds it. */
  readonly files: readonly string[];
}

const SEEDS = 'test/instances/seeds/seeds.test.ts';
const NAMES = 'test/instances/names.test.ts';
const STOPPED = 'test/instances/hostile/stopped.test.ts';
const SWEEP = 'test/server/sweep.test.ts';
const COPIES = 'test/instances/copies.test.ts';
const BUDGETS = 'test/instances/budgets.test.ts';
const POLICIES = 'test/instances/policies.test.ts';
const LATE = 'test/instances/late.test.ts';
const LEARNERS = 'test/instances/hostile/learners.test.ts';
const ENDS = 'test/instances/hostile/ends.test.ts';
const LOST = 'test/instances/hostile/lost.test.ts';

const mutant = (tie: string, name: string, files: readonly string[], ...patches: Patch[]): Mutant => ({
  ...{ tie, name, files, patches },
});
const inFile = (file: string, find: string, replace: string): Patch => ({ file, find, replace });

const IDS = 'src/core/id.ts';

/** A mutant for each tie; `npm run test:deep -- state` has each killed. */
export const MUTANTS: readonly Mutant[] = [
  mutant(
    'IDs of a process',
    'all instances give the IDs of one slot',
    [STOPPED],
    inFile(IDS, 'idAt(Math.floor(now())) + slot', 'idAt(Math.floor(now()))'),
    inFile(IDS, 'last - (last % ID_SLOTS) + slot', 'last - (last % ID_SLOTS)'),
  ),
  mutant(
    'funds by a counter of the process',
    'a fund is known by the number of its making',
    [BUDGETS, SEEDS],
    inFile('src/ledger/drawn-fund.ts', 'this.key = budgetKey(', 'this.key = Math.random() + budgetKey('),
  ),
  mutant(
    'running names in a heap',
    'a run of another instance is taken for one that was lost',
    [NAMES],
    inFile(
      'src/access/idempotency/idempotency.ts',
      'if (owner && !this.#isOwn(row) && (await instance.lives(owner))) return { row, isRunning: true };',
      '',
    ),
  ),
  mutant(
    'running names in a heap',
    'a claim does not ride with its hold',
    [NAMES],
    inFile('src/money/key-funding.ts', 'claim ? { ...request, also: [claim.claim(request.id)] } : request', 'request'),
  ),
  mutant(
    'one number for all news',
    'keys do not follow their news',
    [COPIES, SEEDS],
    inFile(
      'src/access/key-copy.ts',
      "store.news.on('keys', async () => {",
      "store.news.on('keys', async () => {\n      if (this.#isOpen) return;",
    ),
  ),
  mutant(
    'one number for all news',
    'the blocklist does not follow its news',
    [COPIES],
    inFile('src/payments/blocklist.ts', "news.on('wallets', () => this.read())", "news.on('wallets', () => {})"),
  ),
  mutant(
    'readings without an age',
    'a key is admitted by a copy of any age',
    ['test/http/keyless.test.ts', 'test/e2e/error-details.test.ts'],
    inFile('src/store/unwritten.ts', 'ageMs <= COPY_AGE_MAX_MS', 'ageMs >= 0'),
  ),
  mutant(
    'a start repairs',
    'a sweep does not wait for owners that may come back',
    [SWEEP],
    inFile('src/server/sweep.ts', 'Math.min(clock() - this.#since, instance.reachedForMs)', 'graceMs'),
  ),
  mutant(
    'the hold tells its own sum',
    'a settlement tells what the hold has reckoned',
    [LATE, SEEDS],
    inFile(
      'src/ledger/hold.ts',
      'const settlement = settlementOf(result);\n      answer.resolve(settlement);',
      'const { overrun } = settlementOf(result);\n      const settlement = { charged: this.#sum.charged, overrun };\n      answer.resolve(settlement);',
    ),
  ),
  mutant(
    'a greater number is later',
    'a reader takes the last place for one behind which nothing appears',
    ['test/instances/hostile/out-of-order.test.ts'],
    inFile(
      'test/store/memory/books/journal.ts',
      'this.#pending === null ? this.#place : this.#pending - 1',
      'this.#place',
    ),
  ),
  mutant(
    'one policy at a time',
    'the policy that is read last has the limit, and not the newest',
    [POLICIES],
    inFile('src/ledger/policy-terms.ts', 'rank: known };', 'rank: 1 };'),
  ),
  mutant(
    'one policy at a time',
    'a later policy may give Credits another worth',
    [POLICIES],
    inFile('test/store/memory/books/terms.ts', 'if (before !== null && before !== usdPerCredit) unmet();', ''),
  ),
  mutant(
    'nonces of a gas key in a heap',
    'a nonce is taken, whoever has it',
    ['test/system/payments/facilitator-local.test.ts'],
    inFile('src/payments/gas-nonces.ts', '!isSameInstance(owner, instance) && now() - time < LEASE_MS', 'false'),
  ),
  mutant(
    'a rejected call has not happened',
    'an earmark outlives a capture that has failed',
    [LOST, SEEDS],
    inFile('src/ledger/hold-desk.ts', 'throw this.#letGo(id, cause);', 'throw cause;'),
  ),
  mutant(
    'one learner',
    'a checkpoint goes behind that of another instance',
    [LEARNERS],
    inFile('src/learning/memories.ts', 'memories.advance(name, last)', 'memories.putPosition(name, last)'),
  ),
  mutant(
    'a start repairs',
    'a sweep does not know that the store was away',
    [SWEEP],
    inFile('src/server/sweep.ts', 'Math.min(clock() - this.#since, instance.reachedForMs)', 'clock() - this.#since'),
  ),
  mutant(
    'a process that slept',
    'a hold that was granted while it slept is used',
    [STOPPED],
    inFile(
      'src/ledger/hold-desk.ts',
      'if (instance.isCurrent && instance.slot === slot && instance.epoch === epoch) return hold;',
      'if (instance.slot >= 0 || slot === epoch) return hold;',
    ),
  ),
  mutant(
    'a process that slept',
    'an answer waits for its price for ever',
    [ENDS],
    inFile('src/exchange/outcome.ts', 'BOOKED_WITHIN_MS = 10_000', 'BOOKED_WITHIN_MS = 1_000_000'),
  ),
  mutant(
    'a process that slept',
    'a lease that has ended is renewed',
    [STOPPED, 'test/store/leases.test.ts'],
    inFile('src/store/lease.ts', ' || !isHeld(row, now)', ''),
  ),
  mutant(
    'a process that slept',
    'an instance is current for ever',
    [STOPPED],
    inFile('src/store/lease-keeper.ts', 'this.#options.clock() < this.#validUntil', 'this.#validUntil !== 0'),
  ),
  mutant(
    'owners on the paper only',
    'all that is open belongs to the living',
    [STOPPED, LATE, SEEDS],
    inFile('test/store/memory/books/readings.ts', 'this.#dead.has(nameOf(owner))', 'false'),
  ),
];
