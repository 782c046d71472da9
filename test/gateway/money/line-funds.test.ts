import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { tries } from '../../deep/effort.ts';
import type { MadeKey } from './keys.ts';
import { type Purse, startPurse } from './purse.ts';

/** The worst case of each request in thousandths of a Credit. Each request is charged in full. */
const COST = 442;

let purse: Purse;
beforeAll(async () => {
  purse = await startPurse(
    100,
    `name: each, each: key, match: 'key.labels.kind == "each" && key.labels["child.mark"] == ""', limit_credits: 1, window: total`,
  );
});
afterAll(() => purse.stop());

/** In thousandths of a Credit. */
const budget = fc.option(fc.constantFrom(400, 500, 1_000, 1_500), { nil: null });
const keys = fc.array(fc.record({ above: fc.integer({ min: 0, max: 3 }), budget }), { minLength: 2, maxLength: 4 });
type Play = typeof play extends fc.Arbitrary<infer Drawn> ? Drawn : never;
const play = fc.record({
  keys,
  isEach: fc.boolean(),
  /** Requests by the positions of their keys. The test sends the requests of a list at the same time. */
  asked: fc.array(fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 4 }),
});

/** Creates a key, by an operator or by its parent key. */
type Make = (body: object, above: MadeKey | undefined) => Promise<MadeKey>;

const post = async (path: string, body: object, init: RequestInit = {}) =>
  (await (await purse.live.box.post(path, body, init)).json()) as MadeKey;
const made: Make = (body, above) => {
  const headers = { authorization: `Bearer ${above?.key}` };
  return above
    ? post('/v1/keys', { ...body, scopes: ['chat', 'delegate'], labels: { 'child.mark': 'yes' } }, { headers })
    : first(body, '');
};
const first = (body: object, kind: string) =>
  post('/admin/keys', { ...body, scopes: ['chat', 'delegate'], labels: { kind } });

/**
 * Creates keys and sends their requests. Returns the positions of the keys that, together with their child keys, were charged more than
 * they may spend.
 */
async function overspentIn({ keys: draws, isEach, asked }: Play, make: Make): Promise<number[]> {
  const all: MadeKey[] = [];
  const above = draws.map((draw, at) => (at === 0 ? -1 : draw.above % at));
  for (const [at, draw] of draws.entries()) {
    const limit = { limit_credits: (draw.budget ?? 0) / 1_000, window: 'total', on_exhausted: 'reject' };
    const body = draw.budget === null ? {} : { budgets: [limit] };
    all.push(await (at === 0 ? first(body, isEach ? 'each' : '') : make(body, all[above[at]!])));
  }
  const charged = all.map(() => 0);
  for (const together of asked) {
    const ask = async (place: number) => {
      const at = place % all.length;
      const { status } = await purse.chat(all[at]!, { model: 'best' });
      // On a busy machine, a request may wait too long for the money that another request holds.
      if (status !== 200) return expect([402, 429]).toContain(status);
      for (let up = at; up >= 0; up = above[up]!) charged[up]! += COST;
    };
    await Promise.all(together.map(ask));
  }
  const limitOf = (at: number) => Math.min(draws[at]!.budget ?? Infinity, at === 0 && isEach ? 1_000 : Infinity);
  return [...charged.keys()].filter((at) => charged[at]! > limitOf(at));
}

const NAME = 'funds of a line: all child keys of a key charge together no more than it may spend, through HTTP';

test('all child keys of a key together never spend more than the key may, in any order and in parallel', async () => {
  const law = fc.asyncProperty(play, async (drawn) => {
    expect(await overspentIn(drawn, made)).toEqual([]);
  });
  await fc.assert(law, tries(NAME, 6, 400));
});

test('the law about child keys catches keys that draw only on their own funds', async () => {
  const law = fc.asyncProperty(play, async (drawn) => {
    expect(await overspentIn(drawn, (body) => first(body, ''))).toEqual([]);
  });
  expect((await fc.check(law, { numRuns: 30, seed: 1, endOnFailure: true })).failed).toBe(true);
});
