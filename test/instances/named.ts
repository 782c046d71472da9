/** A test that the decision on owners of state names: what must not happen with two instances. */
export interface NamedTest {
  /** What is tried, in a few words. */
  readonly what: string;
  readonly file: string;
  /** The test's name, or the unchanging part of it. */
  readonly test: string;
}

const NAMES = 'test/instances/names.test.ts';
const BUDGETS = 'test/instances/budgets.test.ts';
const STOPPED = 'test/instances/hostile/stopped.test.ts';
const COPIES = 'test/instances/copies.test.ts';

/** Each is there once, and red where state belongs to one process. */
export const NAMED: readonly NamedTest[] = [
  { what: 'a budget with two instances', file: BUDGETS, test: 'two servers on the same books spend a budget once' },
  {
    what: 'two worths of a Credit',
    file: 'test/instances/policies.test.ts',
    test: 'the worth of a Credit is set once: a server with another does not open the ledger',
  },
  { what: 'equal IDs', file: STOPPED, test: 'equal IDs: instances that give IDs in one millisecond' },
  { what: 'a repeat before the first', file: NAMES, test: 'a repeat at the other instance, before the first is held' },
  { what: 'a repeat during the first', file: NAMES, test: 'a repeat at the other instance while the first runs' },
  { what: 'a repeat after the first', file: NAMES, test: 'a repeat at the other instance after the first gets' },
  {
    what: 'a repeat after a crash',
    file: NAMES,
    test: 'a repeat at the other instance after the first has crashed',
  },
  {
    what: 'a revoked key',
    file: COPIES,
    test: 'a key that one instance makes is admitted by the other, and a revoked',
  },
  {
    what: 'a blocked wallet',
    file: COPIES,
    test: 'a blocked wallet is refused by the instance that has not blocked it',
  },
  {
    what: 'a start beside a running request: its hold',
    file: 'test/instances/holds.test.ts',
    test: 'its hold stays, and is charged what its caller is told',
  },
  {
    what: 'a start beside a running request: its payment',
    file: 'test/instances/payments.test.ts',
    test: 'a start beside a running request leaves its payment',
  },
  {
    what: 'a start beside a running request: its name',
    file: NAMES,
    test: 'a start beside a running request leaves its name alone',
  },
  {
    what: 'a settlement after on_crash',
    file: 'test/instances/late.test.ts',
    test: 'is told and booked at its price, and the hold has ended once',
  },
  {
    what: 'a commit whose answer is lost',
    file: 'test/instances/hostile/lost.test.ts',
    test: 'a commit whose answer is lost',
  },
  {
    what: 'a budget removed and brought back',
    file: BUDGETS,
    test: 'a budget that was removed and is back has counted what was spent without it',
  },
  {
    what: 'two policies with different limits',
    file: 'test/instances/policies.test.ts',
    test: 'the limit of the newest policy holds at the servers that have not read it yet',
  },
  {
    what: 'two policies, a budget that one alone has',
    file: 'test/system/instances/two-policies.test.ts',
    test: 'a budget of one policy alone is enforced where that is in force, and counts what the other',
  },
  {
    what: 'two policies, until a push is answered',
    file: 'test/system/instances/two-policies.test.ts',
    test: 'a limit and a budget that are pushed hold at both when the push is answered',
  },
  {
    what: 'a revision whose code an instance lacks',
    file: 'test/e2e/policy-pushes.test.ts',
    test: 'whose plugin another server lacks, or has with other code, is refused there and in force nowhere',
  },
  { what: 'an instance stopped for 60 s', file: STOPPED, test: 'an instance that was stopped for 60 s and longer' },
  {
    what: 'two writers whose rows appear out of order',
    file: 'test/instances/hostile/out-of-order.test.ts',
    test: 'two writers whose rows appear out of order',
  },
];

/** Incidents of whole servers that broke elsewhere, with several at one PostgreSQL; those of the books are `test/store/incidents.test.ts`. */
export const INCIDENTS: readonly NamedTest[] = [
  {
    what: 'connections that are exhausted turn every key away',
    file: 'test/system/postgres/refusals.test.ts',
    test: 'has no connection left',
  },
  {
    what: 'a configuration that is read once by each server',
    file: 'test/system/postgres/pushes.test.ts',
    test: 'a revision that a command pushes is in force at both servers when the command returns',
  },
  {
    what: 'a price that reaches one of several servers',
    file: 'test/system/instances/two-policies.test.ts',
    test: 'decisions name the policy by which they were made, and the price by which they were charged',
  },
  {
    what: 'a limit that is changed at one server',
    file: 'test/system/instances/two-policies.test.ts',
    test: 'while two policies are in force, the newest limit of a budget holds at the server of the older one',
  },
  {
    what: 'charges that come as a storm of writes',
    file: 'test/store/incidents.test.ts',
    test: 'books in PostgreSQL, two instances > 16: ',
  },
];
