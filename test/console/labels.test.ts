import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { boxOf, isClear, NAMES_OVER_CIRCLES, type NamedCircle, placeLabels } from '../../src/console/charts/labels.ts';
import { seedOf } from '../deep/effort.ts';

/** Tests the names beside the circles of a scatter chart. */
const SEED = seedOf('labels of circles');
const PLOT = { left: 52, right: 600, top: 12, bottom: 244 };

const circles: fc.Arbitrary<readonly NamedCircle[]> = fc.uniqueArray(
  fc.record({
    name: fc.stringMatching(/^[a-z0-9-]{3,24}$/),
    x: fc.integer({ min: 60, max: 590 }),
    y: fc.integer({ min: 30, max: 230 }),
    radius: fc.integer({ min: 4, max: 16 }),
  }),
  { minLength: 1, maxLength: 14, selector: ({ name }) => name },
);

/** The first name is always there. Only the first three names may cover circles, and no name covers another name or leaves the plot. */
const law = (place: typeof placeLabels) =>
  fc.check(
    fc.property(circles, (given) => {
      const labels = place(given, PLOT).map((label) => ({ name: label.name, box: boxOf(label) }));
      const first = given[0]?.name;
      const isApart = labels.every(({ box: one }, at) =>
        labels
          .slice(at + 1)
          .every(
            ({ box: other }) =>
              one.right <= other.left || other.right <= one.left || one.bottom <= other.top || other.bottom <= one.top,
          ),
      );
      return (
        labels[0]?.name === first &&
        isApart &&
        labels.every(({ box }) => box.left >= PLOT.left && box.right <= PLOT.right && box.top >= PLOT.top) &&
        labels.slice(NAMES_OVER_CIRCLES).every(({ box }) => given.every((circle) => isClear(box, circle)))
      );
    }),
    { seed: SEED, numRuns: 300 },
  );

test(`names of circles cover no other name, and after the first three no circle (seed ${SEED})`, () => {
  const { failed, counterexample } = law(placeLabels);
  expect({ failed, counterexample }).toEqual({ failed: false, counterexample: null });
});

test('this law detects names that always stand at the right, and names that are left out', () => {
  const atRight: typeof placeLabels = (given) =>
    given.map(({ name, x, y, radius }) => ({ name, x: x + radius + 6, y: y + 4, anchor: 'start' as const }));
  expect(law(atRight).failed).toBe(true);
  expect(law(() => []).failed).toBe(true);
});

test('on a phone, three names are there although every place beside their circles is covered', () => {
  const crowd = Array.from({ length: 40 }, (_, at) => ({
    name: `model-${at}`,
    x: 60 + (at % 8) * 26,
    y: 60 + Math.floor(at / 8) * 26,
    radius: 14,
  }));
  expect(placeLabels(crowd, { ...PLOT, right: 300 }).length).toBeGreaterThanOrEqual(3);
});

test('with room, every circle is named', () => {
  const apart = [80, 200, 320].map((x, at) => ({ name: `model-${at}`, x, y: 100, radius: 8 }));
  expect(placeLabels(apart, PLOT).map(({ name }) => name)).toEqual(['model-0', 'model-1', 'model-2']);
});
