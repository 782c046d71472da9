import { afterEach, beforeEach, expect, test } from 'bun:test';
import { toCredits } from '../../src/core/money/credits.ts';
import { auditLedger } from '../../src/ledger/audit/run.ts';
import { quietFor, waitFor } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { UPSTREAM_KEY } from '../support/policies.ts';
import { type Application, startApplication, type Told } from './application.ts';
import { SharedWorld } from './world.ts';

/** Two applications on one store that get requests with the same idempotency key. */
let upstream: FakeUpstream;
let world: SharedWorld;
let stores: ReturnType<SharedWorld['open']>[];
let a: Application;
let b: Application;
let key: string;

const start = async (slot: number): Promise<Application> => {
  const store = world.open(slot);
  stores.push(store);
  return startApplication(store, upstream.url);
};

beforeEach(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  world = new SharedWorld();
  stores = [];
  a = await start(0);
  key = await a.makeKey();
  b = await start(1);
});
afterEach(async () => {
  await b.stop();
  await upstream.stop();
});

const creditsOf = ({ headers }: Told): number => Number(headers.get('x-signalbox-credits'));

/** Resolves once this many requests have reached the provider. */
const reached = (requests: number) => waitFor(() => upstream.requests.length === requests);

/** Checks that the books have what callers were told, minus refunds, and that the audit finds nothing. */
async function expectBooked(...told: readonly Told[]): Promise<void> {
  const credits = told.reduce((sum, one) => sum + creditsOf(one), 0);
  await waitFor(async () => world.books.open().count === 0);
  expect(toCredits(await world.books.charged())).toBeCloseTo(credits, 9);
  expect((await auditLedger(stores.at(-1)!.journal, { idle: true })).findings).toEqual([]);
}

test('if a repeat reaches the other instance before the first request is held, only one of both requests runs, and the other gets a conflict or the answer', async () => {
  upstream.behave({ headersAfterMs: 400 });
  const commit = world.store.commit.bind(world.store);
  world.store.commit = async (writes) => {
    // Both instances have found no row for the key, and request their holds.
    await waitFor(() => world.books.open().count === 2);
    world.store.commit = commit;
    await commit(writes);
  };
  const both = await Promise.all([a.ask(key, 'once'), b.ask(key, 'once')]);
  const [refused, answered] = both.toSorted((one, other) => other.status - one.status) as [Told, Told];
  expect([answered.status, refused.status]).toEqual([200, 409]);
  expect(refused.body.error.code).toBe('in_flight');
  expect(upstream.requests).toHaveLength(1);
  await expectBooked(answered);
  upstream.behave({});
  const [one, other] = await Promise.all([a.ask(key, 'once'), b.ask(key, 'once')]);
  expect([one.body, other.body]).toEqual([answered.body, answered.body]);
  expect(upstream.requests).toHaveLength(1);
  await a.stop();
});

test('a repeat on the other instance while the first request runs gets an error that the request runs, or that the body differs', async () => {
  upstream.next({ headersAfterMs: 400 });
  const first = a.ask(key, 'once');
  await reached(1);
  const repeat = await b.ask(key, 'once');
  expect([repeat.status, repeat.body.error.code]).toEqual([409, 'in_flight']);
  expect((await b.ask(key, 'once', 'How far is the sun?')).body.error.code).toBe('idempotency_key_reused');
  const answered = await first;
  expect(answered.status).toBe(200);
  expect(upstream.requests).toHaveLength(1);
  await expectBooked(answered);
  await a.stop();
});

test('a repeat on the other instance after the settlement, but before the answer is stored, gets an error that the request runs', async () => {
  const kept = Promise.withResolvers<void>();
  const commit = world.store.commit.bind(world.store);
  let isSettled = false;
  world.store.commit = async (writes) => {
    // The only commit after the settlement is the one that stores the answer.
    if (world.books.open().count === 0 && upstream.requests.length === 1) {
      isSettled = true;
      await kept.promise;
    }
    await commit(writes);
  };
  const first = a.ask(key, 'once');
  await waitFor(() => isSettled);
  const repeat = await b.ask(key, 'once');
  expect([repeat.status, repeat.body.error.code]).toEqual([409, 'in_flight']);
  kept.resolve();
  const answered = await first;
  world.store.commit = commit;
  expect(upstream.requests).toHaveLength(1);
  await expectBooked(answered);
  await a.stop();
});

test('a repeat on the other instance after the first request gets the same answer and is not charged', async () => {
  const answered = await a.ask(key, 'once');
  const repeat = await b.ask(key, 'once');
  expect([repeat.status, repeat.headers.get('x-signalbox-replayed')]).toEqual([200, 'true']);
  expect(repeat.body).toEqual(answered.body);
  expect((await b.ask(key, 'once', 'How far is the sun?')).body.error.code).toBe('idempotency_key_reused');
  expect(upstream.requests).toHaveLength(1);
  await expectBooked(answered);
  await a.stop();
});

test('a repeat on another instance after the first instance crashed runs once the hold is closed, and the charge of the crash is refunded', async () => {
  upstream.next({ hang: 'headers' });
  void a.ask(key, 'once').catch(() => {});
  await reached(1);
  stores[0]!.die();
  // The charge of the crashed request is not known yet.
  expect((await b.ask(key, 'once')).body.error.code).toBe('in_flight');
  const [open] = world.books.journal.entries.filter(({ kind }) => kind === 'reserve');
  const [closed] = await world.books.apply([
    { kind: 'expire', id: open!.reservation!, at: Date.now(), rule: 'charge' },
  ]);
  const charged = closed?.kind === 'charged' ? closed.charged : 0;
  const repeats = await Promise.all([b.ask(key, 'once'), b.ask(key, 'once')]);
  const isReplayed = ({ headers }: (typeof repeats)[number]) => headers.get('x-signalbox-replayed') !== null;
  const answered = repeats.find((one) => one.status === 200 && !isReplayed(one))!;
  const other = repeats.find((one) => one !== answered)!;
  // The second request finds the first request in progress, or finds its answer.
  expect(other.status).toBe(isReplayed(other) ? 200 : 409);
  expect(Number(answered.headers.get('x-signalbox-given-back'))).toBe(toCredits(charged));
  expect(upstream.requests).toHaveLength(2);
  await expectBooked(answered);
});

test('a repeat that waits on another server runs once the first server has crashed and its hold is closed', async () => {
  const waiting = world.open(2);
  stores.push(waiting);
  const c = await startApplication(waiting, upstream.url, undefined, 'gateway: { repeats_in_flight: wait }\n');
  upstream.next({ hang: 'headers' });
  void a.ask(key, 'once').catch(() => {});
  await reached(1);
  const repeats = [c.ask(key, 'once'), c.ask(key, 'once')];
  stores[0]!.die();
  await quietFor(
    1_500,
    'a repeat ran before the charge of the crashed request was known',
    () => upstream.requests.length > 1,
  );
  const [open] = world.books.journal.entries.filter(({ kind }) => kind === 'reserve');
  const [closed] = await world.books.apply([
    { kind: 'expire', id: open!.reservation!, at: Date.now(), rule: 'charge' },
  ]);
  const charged = closed?.kind === 'charged' ? closed.charged : 0;
  const answers = await Promise.all(repeats);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  const [answered] = answers.filter(({ headers }) => headers.get('x-signalbox-replayed') === null);
  expect(Number(answered!.headers.get('x-signalbox-given-back'))).toBe(toCredits(charged));
  expect(upstream.requests).toHaveLength(2);
  await expectBooked(answered!);
  await c.stop();
});

test('a starting instance keeps the idempotency keys of running requests, and a sweep removes ended instances as owners of idempotency keys', async () => {
  upstream.next({ headersAfterMs: 400 }, { hang: 'headers' });
  const first = a.ask(key, 'once');
  await reached(1);
  const c = await start(2);
  await c.idempotency.sweep();
  expect((await c.ask(key, 'once')).body.error.code).toBe('in_flight');
  const answered = await first;
  expect((await c.ask(key, 'once')).body).toEqual(answered.body);
  void a.ask(key, 'again').catch(() => {});
  await reached(2);
  stores[0]!.die();
  expect(await stores[2]!.idempotency.owners()).toEqual([{ slot: 0, epoch: 1 }]);
  await Promise.all([b.idempotency.sweep(), c.idempotency.sweep()]);
  expect(await stores[2]!.idempotency.owners()).toEqual([]);
  await c.stop();
});

test('a request with an idempotency key needs no extra commit before it is sent to the provider', async () => {
  upstream.behave({ hang: 'headers' });
  const before = world.store.commits;
  void a.ask(key, 'once').catch(() => {});
  await reached(1);
  expect(world.store.commits - before).toBe(1);
  stores[0]!.die();
});
