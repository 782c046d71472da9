import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { RecentItems } from '../../src/learning/recent.ts';

test('none of the last items counts as new, one that never came always does, and the memory is bounded', () => {
  const items = fc.array(fc.nat({ max: 40 }), { maxLength: 300 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), items, (most, added) => {
      const recent = new RecentItems<number>(most);
      /** Distinct items, in the order in which they last counted as new. */
      const counted: number[] = [];
      for (const item of added) {
        const isNew = recent.add(item);
        if (counted.slice(-most).includes(item)) expect(isNew).toBe(false);
        if (!counted.slice(-2 * most).includes(item)) expect(isNew).toBe(true);
        if (isNew) counted.push(item);
      }
    }),
  );
});
