import { describe, expect, test } from 'bun:test';
import { Resolver } from '../../../src/providers/connection/resolver.ts';

/** Creates a resolver with manual answers, and a clock that starts with the test. */
function scripted() {
  const asked: { readonly host: string; answer(...addresses: string[]): void; fail(message: string): void }[] = [];
  const resolver = new Resolver((host) => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
    asked.push({ host, answer: (...addresses) => resolve(addresses), fail: (message) => reject(new Error(message)) });
    return promise;
  });
  /** Returns the result `ms` from now. */
  const after = (ms: number) => resolver.resolve('api.example', performance.now() + ms);
  return { asked, after };
}

const SOON = 25_000;
const LATER = 35_000;
const TOO_LATE = 700_000;

describe('a name', () => {
  test('a name is looked up once for concurrent requests, and then cached', async () => {
    const { asked, after } = scripted();
    const [first, second] = [after(0), after(0)];
    expect(asked.map(({ host }) => host)).toEqual(['api.example']);
    asked[0]!.answer('192.0.2.1', '192.0.2.2');
    expect(await first).toEqual(['192.0.2.1', '192.0.2.2']);
    expect(await second).toBe(await first);
    expect(after(SOON)).toBe(await first);
    expect(asked.length).toBe(1);
  });

  test('a name is looked up again once, in the background of later requests', async () => {
    const { asked, after } = scripted();
    const first = after(0);
    asked[0]!.answer('192.0.2.1');
    await first;
    expect(after(LATER)).toEqual(['192.0.2.1']);
    expect(after(LATER)).toEqual(['192.0.2.1']);
    expect(asked.length).toBe(2);
    asked[1]!.answer('192.0.2.9');
    await Bun.sleep(0);
    expect(after(SOON)).toEqual(['192.0.2.9']);
  });

  test('a name keeps its list while the answer is the same', async () => {
    const { asked, after } = scripted();
    const first = after(0);
    asked[0]!.answer('192.0.2.1');
    const list = await first;
    after(LATER);
    asked[1]!.answer('192.0.2.1');
    await Bun.sleep(0);
    expect(after(SOON)).toBe(list);
  });

  test('a name stays cached for a limited time while lookups fail', async () => {
    const { asked, after } = scripted();
    const first = after(0);
    asked[0]!.answer('192.0.2.1');
    await first;
    after(LATER);
    asked[1]!.fail('no resolver');
    await Bun.sleep(0);
    expect(after(LATER)).toEqual(['192.0.2.1']);
    const last = after(TOO_LATE);
    expect(last).toBeInstanceOf(Promise);
    asked.at(-1)!.fail('still none');
    await expect(last).rejects.toThrow('still none');
  });

  test('a name that cannot be looked up is not looked up again at once', async () => {
    const { asked, after } = scripted();
    const first = after(0);
    asked[0]!.fail('no such name');
    await expect(first).rejects.toThrow('no such name');
    expect(() => after(0)).toThrow('no such name');
    expect(asked.length).toBe(1);
    const again = after(2_000);
    asked[1]!.answer('192.0.2.1');
    expect(await again).toEqual(['192.0.2.1']);
  });

  test('a name without an address is a failed lookup', async () => {
    const { asked, after } = scripted();
    const first = after(0);
    asked[0]!.answer();
    await expect(first).rejects.toThrow('no address');
  });
});

test('the operating system resolves localhost', async () => {
  const found = await new Resolver().resolve('localhost', performance.now());
  expect(found.every((text) => ['127.0.0.1', '::1'].includes(text))).toBe(true);
  expect(found.length).toBeGreaterThan(0);
});
