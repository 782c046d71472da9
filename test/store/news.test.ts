import { expect, test } from 'bun:test';
import { NewsDesk } from '../../src/store/news.ts';
import { waitFor } from '../support/answers.ts';

/** A listener whose calls end when the test ends them. */
function slowListener() {
  const calls: PromiseWithResolvers<void>[] = [];
  const listener = () => {
    const call = Promise.withResolvers<void>();
    calls.push(call);
    return call.promise;
  };
  return { calls, listener };
}

test('a listener is called at the first poll, then only for greater version numbers; it is not called for late or repeated numbers', async () => {
  const desk = new NewsDesk();
  let calls = 0;
  desk.on('keys', () => void calls++);
  for (const [number, known] of [
    [0, 1],
    [0, 1],
    [5, 2],
    [3, 2],
    [5, 2],
    [6, 3],
  ] as const) {
    await desk.tell({ keys: number });
    expect(calls).toBe(known);
  }
});

test('calls of a listener do not overlap: changes during a call share the next call, and their reporters wait for it', async () => {
  const desk = new NewsDesk();
  const { calls, listener } = slowListener();
  desk.on('keys', listener);
  const first = desk.tell({ keys: 1 });
  let isHeard = false;
  const later = [desk.tell({ keys: 2 }), desk.tell({ keys: 3 })].map((told) => told.then(() => (isHeard = true)));
  expect(calls).toHaveLength(1);
  calls[0]?.resolve();
  await waitFor(() => calls.length === 2);
  expect(isHeard).toBe(false);
  calls[1]?.resolve();
  await Promise.all([first, ...later]);
  expect(calls).toHaveLength(2);
});

test('a listener that fails is called again at the next poll, and does not delay other listeners', async () => {
  const desk = new NewsDesk();
  const tries: string[] = [];
  let isBroken = true;
  const failing = (name: string, fail: () => void | Promise<void>) => () => {
    tries.push(name);
    return isBroken ? fail() : undefined;
  };
  desk.on(
    'keys',
    failing('thrown', () => {
      throw new Error('no disk');
    }),
  );
  desk.on(
    'wallets',
    failing('rejected', () => Promise.reject(new Error('no disk'))),
  );
  desk.on('funds', () => void tries.push('sound'));
  const numbers = { keys: 1, wallets: 1, funds: 1 };
  expect(await desk.tell(numbers, 10).catch((error: Error) => error.message)).toBe('no disk');
  expect(tries.splice(0).sort()).toEqual(['rejected', 'sound', 'thrown']);
  expect([desk.ageOf('keys', 15), desk.ageOf('funds', 15)]).toEqual([Number.POSITIVE_INFINITY, 5]);
  isBroken = false;
  await desk.tell(numbers, 20);
  expect(tries.sort()).toEqual(['rejected', 'thrown']);
  expect(desk.ageOf('keys', 25)).toBe(5);
});

test('a notification does not make a copy count as newer, because the notification does not cover earlier changes', async () => {
  const desk = new NewsDesk();
  desk.on('keys', () => {});
  await desk.tell({ keys: 1 }, 10);
  await desk.tell({ keys: 2 });
  expect(desk.ageOf('keys', 60)).toBe(50);
});

test('a removed listener is not called any more', async () => {
  const desk = new NewsDesk();
  let calls = 0;
  const end = desk.on('keys', () => void calls++);
  await desk.tell({ keys: 1 });
  end();
  await desk.tell({ keys: 2 });
  expect(calls).toBe(1);
});
