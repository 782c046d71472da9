import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { createIds, idAt, idText, parseId, timeOfId } from '../../src/core/id.ts';
import { tries } from '../deep/effort.ts';

const START = Date.UTC(2026, 10, 20, 12);
const END = Date.UTC(2059, 11, 31);

/** The life of an ID generator: its restarts, jumps of its clock, and requests for IDs. */
type Step = { readonly slot: number } & (
  | { readonly do: 'give'; readonly count: number }
  | { readonly do: 'clock'; readonly byMs: number }
  | { readonly do: 'restart' }
);

/** Slots from 128 on are the second series of the slots from 0 on. */
const slot = fc.constantFrom(0, 1, 2, 127, 128, 129, 255);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ do: fc.constant('give' as const), slot, count: fc.integer({ min: 1, max: 200 }) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('clock' as const),
        slot,
        byMs: fc.oneof(
          fc.integer({ min: 0, max: 3 }),
          fc.double({ min: 0, max: 2, noNaN: true }),
          fc.integer({ min: -600_000, max: 600_000 }),
        ),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const), slot }) },
  ),
  { maxLength: 40 },
);

/** Runs generators of several slots, each with its own clock. @returns what was wrong; null for nothing */
function live(life: readonly Step[], last: number, make: typeof createIds): string | null {
  const seen = new Set<number>();
  const clocks = new Map<number, number>();
  const lasts = new Map<number, number>();
  const makers = new Map<number, () => number>();
  for (const step of life) {
    const { slot } = step;
    if (step.do === 'clock') clocks.set(slot, (clocks.get(slot) ?? START) + step.byMs);
    else if (step.do === 'restart') makers.delete(slot);
    else {
      const maker = makers.get(slot) ?? make(() => clocks.get(slot) ?? START, lasts.get(slot) ?? last, slot);
      makers.set(slot, maker);
      for (let i = 0; i < step.count; i++) {
        const id = maker();
        if (!Number.isSafeInteger(id)) return `${id} is not a whole number of at most 53 bits`;
        if (seen.has(id)) return `${id} was returned twice`;
        if (id <= (lasts.get(slot) ?? last)) return `${id} is not greater than the previous ID`;
        seen.add(id);
        lasts.set(slot, id);
      }
    }
  }
  return null;
}

const aLife = fc.tuple(steps, fc.integer({ min: idAt(START - 1_000), max: idAt(START + 1_000) }));

describe('IDs', () => {
  test('IDs never repeat, and the IDs of each generator grow, across slots, restarts and clocks that jump', () => {
    fc.assert(
      fc.property(aLife, ([life, last]) => live(life, last, createIds) === null),
      tries('IDs never repeat across slots, restarts and clocks that jump', 300, 20_000),
    );
  });

  const mutants: Readonly<Record<string, typeof createIds>> = {
    'the slot is ignored': (now, last) => createIds(now, last, 0),
    'a step of one reaches the next slot': (now, last, slot = 0) => {
      let previous = last - (last % 128) + slot;
      return () => {
        previous = Math.max(previous + 1, idAt(Math.floor(now())) + slot);
        return previous;
      };
    },
    'a restart begins at its clock': (now, _last, slot) => createIds(now, 0, slot),
    'bits of a number': (now, last, slot = 0) => {
      const next = createIds(now, last, 0);
      return () => (next() & ~127) | slot;
    },
  };
  for (const [name, mutant] of Object.entries(mutants))
    test(`the law detects that ${name}`, () => {
      const found = fc.check(
        fc.property(aLife, ([life, last]) => live(life, last, mutant) === null),
        {
          numRuns: 300,
          seed: 1,
          endOnFailure: true,
        },
      );
      expect(found.failed).toBe(true);
    });

  test('a slot has 32 IDs of each series in a millisecond, and then uses the IDs of the next millisecond', () => {
    const next = createIds(() => START, 0, 5);
    const ids = Array.from({ length: 130 }, next);
    expect(ids.slice(0, 32).map(timeOfId)).toEqual(Array.from({ length: 32 }, () => START));
    expect([ids[32]!, ids[129]!].map(timeOfId)).toEqual([START + 1, START + 4]);
  });

  test('the texts of IDs sort like the IDs, and IDs of earlier versions are read correctly', () => {
    // In earlier versions all 13 bits were a counter.
    const id = fc.tuple(fc.integer({ min: START, max: END }), fc.nat(8_191)).map(([at, count]) => idAt(at) + count);
    fc.assert(
      fc.property(id, id, (one, other) => {
        const [a, b] = [idText('dec_', one), idText('dec_', other)];
        expect(a).toMatch(/^dec_[0-9a-z]{11}$/);
        expect(parseId('dec_', a)).toBe(one);
        expect(a < b).toBe(one < other);
      }),
      tries('texts of IDs sort like the IDs', 300, 10_000),
    );
    expect(idText('dec_', idAt(START) + 8_191)).toBe('dec_0295v7tqznj');
    expect(timeOfId(idAt(START) + 8_191)).toBe(START);
  });

  test('an ID that is not admitted is not returned, and is the next one again', () => {
    let isOpen = false;
    const next = createIds(
      () => START,
      0,
      3,
      () => {
        if (!isOpen) throw new Error('not now');
      },
    );
    expect(next).toThrow('not now');
    expect(next).toThrow('not now');
    isOpen = true;
    expect(next()).toBe(idAt(START) + 3);
  });
});
