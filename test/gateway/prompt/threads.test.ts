import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { SignalboxError } from '../../../src/core/errors.ts';
import type { Usage } from '../../../src/core/money/usage.ts';
import type { Model, Provider } from '../../../src/core/policy/snapshot.ts';
import { RecentByKey, type RecentLimits } from '../../../src/gateway/prompt/recent-by-key.ts';
import { AnswerId, Threads } from '../../../src/gateway/prompt/threads.ts';
import { facts } from '../../routing/build.ts';
import { openInMemory } from '../../store/implementations.ts';

const HOUR_MS = 3_600_000;
const LIMITS = { most: 4, mostOfAll: 7, idleMs: 24 * HOUR_MS };
type Made = (clock: () => number, limits: RecentLimits) => Pick<RecentByKey<string>, 'get' | 'set' | 'size'>;

const steps = fc.array(
  fc.record({
    key: fc.constantFrom('k', 'l', 'm'),
    name: fc.nat(7).map((at) => `n${at}`),
    // Idle values are replaced, so the limits are reached only if few values are idle.
    hours: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 1, 25),
    sets: fc.boolean(),
  }),
  { minLength: 20, maxLength: 80 },
);

/** The law: only the key that set a value finds it, as it was last set, and the limits are never exceeded. */
const lawOf = (make: Made) =>
  fc.assert(
    fc.property(steps, (all) => {
      let now = 0;
      const recent = make(() => now, LIMITS);
      const last = new Map<string, string>();
      let count = 0;
      for (const { key, name, hours, sets } of all) {
        now += hours * HOUR_MS;
        const at = `${key}/${name}`;
        if (sets) {
          const value = `${at} ${count++}`;
          recent.set(key, name, value);
          last.set(at, value);
          // A value that was just set is found.
          expect(recent.get(key, name)).toBe(value);
        } else expect([undefined, last.get(at)]).toContain(recent.get(key, name));
        expect(recent.size).toBeLessThanOrEqual(LIMITS.mostOfAll);
        const own = Array.from({ length: 8 }, (_, i) => recent.get(key, `n${i}`)).filter((one) => one !== undefined);
        expect(own.length).toBeLessThanOrEqual(LIMITS.most);
      }
    }),
    { numRuns: 200 },
  );

test('the number of stored values of a key is limited, and other keys cannot read these values', () => {
  lawOf((clock, limits) => new RecentByKey(clock, limits));
});

test('the law of threads detects a mutant that has no limit for a key or for all keys, or that shares values between keys', () => {
  expect(() => lawOf((clock, limits) => new RecentByKey(clock, { ...limits, most: 100 }))).toThrow();
  expect(() => lawOf((clock, limits) => new RecentByKey(clock, { ...limits, mostOfAll: 100 }))).toThrow();
  const shared: Made = (clock, limits) => {
    const recent = new RecentByKey<string>(clock, limits);
    return {
      get: (_, name) => recent.get('', name),
      set: (_, name, value) => recent.set('', name, value),
      get size() {
        return recent.size;
      },
    };
  };
  expect(() => lawOf(shared)).toThrow();
});

test('an idle value is replaced before a value in use', () => {
  let now = 0;
  const recent = new RecentByKey<string>(() => now, LIMITS);
  for (const name of ['a', 'b', 'c', 'd']) recent.set('k', name, name);
  now = 23 * HOUR_MS;
  recent.get('k', 'a');
  now = 25 * HOUR_MS;
  expect(recent.isFull('k')).toBe(false);
  expect([recent.get('k', 'a'), recent.get('k', 'b'), recent.size]).toEqual(['a', undefined, 1]);
});

test.each<[string, object, string | null]>([
  ['a whole answer', { type: 'message', id: 'msg_1' }, 'msg_1'],
  ['the event that begins an answer', { type: 'message_start', message: { id: 'msg_1' } }, 'msg_1'],
  ['an event without an ID', { type: 'ping' }, null],
  ['an ID that is too long to come back', { id: 'm'.repeat(300) }, null],
])('the ID of an answer is read from %s', (_, event, id) => {
  const heard = new AnswerId();
  heard.hear([
    { type: 'text', choice: 0, text: 'x' },
    { type: 'passthrough', choice: 0, event: event as never },
  ]);
  expect(heard.value).toBe(id);
});

const DAY_MS = 24 * HOUR_MS;
/** The answer comes from a model whose provider keeps the history. */
const answerOf = (id: string) => ({
  id,
  upstream: { model: { id: 'm' } as Model, provider: { name: 'p' } as Provider, account: 'origin' },
  usage: { inputTokens: 3, outputTokens: 4 } as Usage,
  facts: facts(),
});

test('for a day, a key can continue its own latest 1,000 answers, and no other key can', async () => {
  await using store = await openInMemory();
  let now = DAY_MS;
  const threads = new Threads(store, () => now, new Uint8Array(32));
  const keep = (key: string, id: string) => store.commit(threads.keep(key, answerOf(id)));
  const isFound = (key: string, id: string) =>
    threads.find(key, id).then(
      ({ tokens }) => tokens === 7,
      ({ code }: SignalboxError) => (code === 'thread_not_found' ? false : null),
    );
  await keep('k', 'a');
  expect([await isFound('k', 'a'), await isFound('l', 'a'), await isFound('k', 'b')]).toEqual([true, false, false]);
  now += DAY_MS - 1;
  expect(await isFound('k', 'a')).toBe(true);
  now += 1;
  expect(await isFound('k', 'a')).toBe(false);
  await threads.prune();
  expect(await store.threads.find('k', 'a')).toBeNull();
  for (let at = 0; at <= 1_000; at++) await keep('k', `n${at}`);
  expect([await isFound('k', 'n0'), await isFound('k', 'n1'), await isFound('k', 'n1000')]).toEqual([
    false,
    true,
    true,
  ]);
});

test('a turn that arrives before the settlement of the previous turn waits for it', async () => {
  await using store = await openInMemory();
  let isWritten = false;
  const late = {
    ...store,
    threads: {
      ...store.threads,
      find: async (...names: [string, string]) => (isWritten ? store.threads.find(...names) : null),
    },
    written: async () => {
      isWritten = true;
      return true;
    },
  };
  const threads = new Threads(late, () => 1, new Uint8Array(32));
  await store.commit(threads.keep('k', answerOf('a')));
  expect(await threads.find('k', 'a')).toMatchObject({ model: 'm', origin: threads.originOf('origin') });
});

test('the stored origin of an answer depends on the secret of the database, and on the account', async () => {
  await using store = await openInMemory();
  const [zeros, ones] = [0, 1].map((byte) => new Threads(store, () => 1, new Uint8Array(32).fill(byte)));
  await store.commit(zeros!.keep('k', answerOf('a')));
  const { origin } = await zeros!.find('k', 'a');
  expect(origin).toBe(zeros!.originOf('origin'));
  expect([ones!.originOf('origin'), zeros!.originOf('other'), 'origin']).not.toContain(origin);
});
