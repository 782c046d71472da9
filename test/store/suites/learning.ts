import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ExampleRow, OutcomeRow } from '../../../src/store/learning.ts';
import { refusalOf, type TestedStore } from '../implementations.ts';

const example = (decision: number, more: Partial<ExampleRow> = {}): ExampleRow => ({
  ...{ decision, until: 100, keyId: 'k', estimator: 'learned', model: 'm', task: 'general', declared: 0.5 },
  ...{ probability: 1, among: 1, features: Uint8Array.of(1, 2) },
  ...more,
});

const outcome = (id: number, more: Partial<OutcomeRow> = {}): OutcomeRow => ({
  ...{ id, decision: id, source: 'caller', estimator: 'learned', keyId: 'k', model: 'm', task: 'general', score: 1 },
  ...{ offered: 1, weight: 1, declared: 0.5, estimated: 0.6, probability: 1, among: 1, looked: 0, label: null },
  ...more,
});

const idsOf = (rows: readonly { readonly id: number }[]) => rows.map(({ id }) => id);
const ALL = { after: 0, before: 100, keyId: null, model: null, source: null };

/** The cases that every store of learning passes. */
export function learningSuite(open: () => Promise<TestedStore>): void {
  test('the secret is the first that was given', async () => {
    await using store = await open();
    const { secret } = store.learning;
    expect(await secret.find()).toBeNull();
    await store.commit([secret.add(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8))]);
    await store.commit([secret.add(new Uint8Array(8))]);
    expect([...(await secret.find())!]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test('an example is the first of its decision, until its window has ended', async () => {
    await using store = await open();
    const { examples } = store.learning;
    await store.commit([examples.add(example(1)), examples.add(example(1, { model: 'other' }))]);
    await store.commit([examples.add(example(2, { until: 50, features: null }))]);
    expect(await examples.find(1)).toEqual(example(1));
    expect([await examples.countOpen(50), await examples.countOpen(51)]).toEqual([2, 1]);
    expect([await examples.prune(50), await examples.prune(51), await examples.find(2)]).toEqual([0, 1, null]);
  });

  test('examples of one commit keep any texts and bytes, whatever stands between them', async () => {
    await using store = await open();
    const { examples, secret } = store.learning;
    let last = 0;
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }).map((any) => any.replaceAll('\0', '')),
      fc.constantFrom('NULL', '{}', '{a,b}', '"', '\\', '\\x00', "'", ' a ', ''),
    );
    const row = fc.record({
      ...{ keyId: text, estimator: text, model: text, task: text },
      ...{ declared: fc.double({ noNaN: true, noDefaultInfinity: true }), among: fc.integer({ min: 1 }) },
      features: fc.option(fc.uint8Array({ maxLength: 20 })),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 8 }), async (made) => {
        const rows = made.map((more) => example(++last, more));
        await store.commit(rows.flatMap((one) => [examples.add(one), secret.add(new Uint8Array(8))]));
        for (const one of rows) expect(await examples.find(one.decision)).toEqual(one);
      }),
      { numRuns: 30, seed: 4_711 },
    );
  });

  test('a decision has one outcome of each source, and a second one changes nothing', async () => {
    await using store = await open();
    const { outcomes } = store.learning;
    await store.commit([
      outcomes.add(outcome(5, { decision: 1 })),
      outcomes.add(outcome(6, { decision: 1, score: 0 })),
    ]);
    await store.commit([outcomes.add(outcome(7, { decision: 1, source: 'checks', label: 'empty' }))]);
    expect(await outcomes.findScore(1)).toEqual(outcome(5, { decision: 1 }));
    expect(await outcomes.findScore(2)).toBeNull();
    expect([idsOf(await outcomes.after(0, 10)), await outcomes.horizon()]).toEqual([[5, 7], 7]);
  });

  test('an outcome that comes late stands behind those that are there: whoever has read these finds it', async () => {
    await using store = await open();
    const { outcomes } = store.learning;
    await store.commit([outcomes.add(outcome(7))]);
    const through = await outcomes.horizon();
    await store.commit([outcomes.add(outcome(5)), outcomes.add(outcome(6)), outcomes.add(outcome(20))]);
    const rows = await outcomes.after(through, 9);
    expect(rows.map(({ id, decision }) => [id, decision])).toEqual([
      [8, 5],
      [9, 6],
      [20, 20],
    ]);
  });

  test('outcomes are found in their order, by what they are of, with the features of their own estimator', async () => {
    await using store = await open();
    const { outcomes, examples } = store.learning;
    await store.commit([
      examples.add(example(1)),
      outcomes.add(outcome(1)),
      outcomes.add(outcome(2, { weight: 0 })),
      outcomes.add(outcome(3, { model: 'n', keyId: 'other' })),
      outcomes.add(outcome(4, { decision: 1, source: 'retry', estimator: 'toy' })),
    ]);
    expect((await outcomes.after(0, 9)).map(({ id, features }) => [id, features !== null])).toEqual([
      [1, true],
      [2, false],
      [3, false],
      [4, false],
    ]);
    expect(idsOf(await outcomes.tail('learned', 0, 9))).toEqual([1, 3]);
    expect(idsOf(await outcomes.tail('learned', 0, 1))).toEqual([3]);
    expect(idsOf(await outcomes.list(ALL, 2))).toEqual([1, 2]);
    expect(idsOf(await outcomes.list(ALL, 2, true))).toEqual([4, 3]);
    expect(idsOf(await outcomes.list({ ...ALL, after: 1, before: 4 }, 9))).toEqual([2, 3]);
    expect(idsOf(await outcomes.list({ ...ALL, keyId: 'other' }, 9))).toEqual([3]);
    expect(idsOf(await outcomes.list({ ...ALL, model: 'm', source: 'caller' }, 9))).toEqual([1, 2]);
    expect(await outcomes.sums()).toEqual([
      { source: 'caller', outcomes: 3, learnt: 2, withheld: 1 },
      { source: 'retry', outcomes: 1, learnt: 1, withheld: 0 },
    ]);
    expect([await outcomes.models(), await outcomes.countAfter('learned', 1)]).toEqual([['m', 'n'], 1]);
    expect([await outcomes.prune(3), idsOf(await outcomes.list(ALL, 9))]).toEqual([2, [3, 4]]);
  });

  test('a memory is its parts as they were last put, and its position is begun once', async () => {
    await using store = await open();
    const { memories } = store.learning;
    await store.commit([
      memories.beginPosition('learned', { outcome: 1, reset: 0 }),
      memories.beginPosition('learned', { outcome: 9, reset: 9 }),
      memories.putPart('learned', 'b', Uint8Array.of(1)),
      memories.putPart('learned', 'a', Uint8Array.of(2)),
      memories.putPart('toy', 'a', Uint8Array.of(3)),
      memories.putPart('learned', 'b', Uint8Array.of(4)),
    ]);
    expect(await memories.positions()).toEqual([{ estimator: 'learned', outcome: 1, reset: 0 }]);
    const parts = async () => (await memories.parts()).map(({ estimator, part, bytes }) => [estimator, part, bytes[0]]);
    expect(await parts()).toEqual([
      ['learned', 'a', 2],
      ['learned', 'b', 4],
      ['toy', 'a', 3],
    ]);
    await store.commit([
      memories.putPart('learned', 'b', null),
      memories.putPosition('learned', { outcome: 7, reset: 2 }),
    ]);
    expect(await parts()).toEqual([
      ['learned', 'a', 2],
      ['toy', 'a', 3],
    ]);
    for (const behind of [
      { outcome: 6, reset: 2 },
      { outcome: 8, reset: 1 },
    ]) {
      const writes = [memories.putPart('learned', 'a', Uint8Array.of(9)), memories.advance('learned', behind)];
      expect(await refusalOf(store.commit(writes))).toBe('unmet');
    }
    await store.commit([memories.advance('learned', { outcome: 7, reset: 2 })]);
    expect((await parts())[0]).toEqual(['learned', 'a', 2]);
    await store.commit([memories.deleteParts('learned'), memories.putState(7, 'one'), memories.putState(8, 'two')]);
    expect([await parts(), await memories.state()]).toEqual([[['toy', 'a', 3]], { outcome: 8, body: 'two' }]);
    expect(await memories.positions()).toEqual([{ estimator: 'learned', outcome: 7, reset: 2 }]);
  });

  test('a reset is applied once, and resets are found in their order', async () => {
    await using store = await open();
    const { resets } = store.learning;
    await store.commit([resets.add('m', 10), resets.add(null, 20)]);
    const [first] = await resets.after(0);
    await store.commit([resets.apply(first!.id, 5), resets.apply(first!.id, 6)]);
    expect(await resets.after(0)).toMatchObject([
      { model: 'm', at: 10, applied: 5 },
      { model: null, at: 20, applied: null },
    ]);
    expect(await resets.after(first!.id)).toMatchObject([{ model: null }]);
  });
}
