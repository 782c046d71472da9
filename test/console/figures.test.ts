import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { logTicks, paretoFront, ticksTo } from '../../src/console/charts/scale.ts';
import { inColumn } from '../../src/console/design/column.ts';
import {
  asSum,
  duration,
  figure,
  percent,
  price,
  relative,
  span,
  usd,
  type WrittenFigure,
} from '../../src/console/design/format.ts';
import { knowModels, markOf, marksOf } from '../../src/console/design/marks.ts';

const SEED = 471_147;

interface Point {
  readonly cost: number;
  readonly quality: number;
}

const point = fc.record({ cost: fc.integer({ min: 1, max: 9 }), quality: fc.integer({ min: 0, max: 9 }) });
const beats = (one: Point, other: Point): boolean =>
  one.cost <= other.cost && one.quality >= other.quality && (one.cost < other.cost || one.quality > other.quality);

/**
 * Whether a front is valid: no point of it is beaten, and for each point that it leaves out it contains a point that is at least as good.
 */
function isFront(front: readonly Point[], points: readonly Point[]): boolean {
  const isUnbeaten = front.every((one) => !points.some((other) => beats(other, one)));
  const isWhole = points.every((one) =>
    front.some((other) => beats(other, one) || (other.cost === one.cost && other.quality === one.quality)),
  );
  return isUnbeaten && isWhole;
}

test(`the Pareto front contains exactly the points that no other point beats (seed ${SEED})`, () => {
  const law = (frontOf: (points: readonly Point[]) => readonly Point[]) =>
    fc.check(
      fc.property(fc.array(point, { maxLength: 12 }), (points) => isFront(frontOf(points), points)),
      { seed: SEED },
    ).failed;
  expect(law(paretoFront)).toBe(false);
  // This mutant sorts only by cost, so it contains points that are worse than cheaper ones.
  expect(law((points) => points.toSorted((one, other) => one.cost - other.cost))).toBe(true);
});

describe('the console writes figures as a person would', () => {
  test.each([
    [figure(1_204).short, '1,204'],
    [figure(31_204.5).short, '31.2K'],
    [figure(0.012_345).short, '0.0123'],
    [figure(null).short, '–'],
    [percent(0.123_4).short, '12.3 %'],
    [percent(0.000_1).short, '< 0.1 %'],
    [percent(-0.0833).short, '−8.33 %'],
    [usd('1204.5').short, '$1,204.50'],
    [usd('0.615').short, '$0.62'],
    [usd('0.00061234').short, '$0.000612'],
    [usd('0.00061234').exact, '$0.00061234'],
    [usd(-3).short, '−$3.00'],
    [price('0.4351').short, '$0.4351'],
    [price('2').short, '$2.00'],
    [price(null).short, '–'],
    [duration(412.4).short, '412 ms'],
    [duration(2_149).short, '2.15 s'],
    [span(187_200_000), '2 d 4 h'],
    [relative(1_000, 61_000), '1 min ago'],
    [relative(7_300_000, 0), 'in 2 h'],
  ])('%s', (written, expected) => {
    expect(written).toBe(expected);
  });

  test('axis ticks are round numbers and reach the largest value', () => {
    expect(ticksTo(1.7)).toEqual([0, 0.5, 1, 1.5, 2]);
    expect(ticksTo(0)).toEqual([0, 1]);
    expect(logTicks(0.02, 0.9)).toEqual([0.02, 0.05, 0.1, 0.2, 0.5]);
  });

  test('a name always has the same of eight colours, and “other” has its own colour', () => {
    const marks = ['gpt-6-luna', 'claude-mirror-4', 'mistral-breeze'].map(markOf);
    expect(marks).toEqual(['gpt-6-luna', 'claude-mirror-4', 'mistral-breeze'].map(markOf));
    for (const mark of marks) expect(mark).toMatch(/^mark-[0-7]$/);
    expect(markOf('')).toBe('mark-other');
  });

  const seed = 47;
  const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), { maxLength: 14 });
  type Colours = typeof marksOf;
  /**
   * A chart must use as many different colours as possible, must not depend on the order of names, and must keep a name's own colour if no
   * other name has it.
   */
  const colours = (of: Colours) =>
    fc.check(
      fc.property(names, (given) => {
        const marks = given.map(of(given));
        const own = given.map(markOf);
        const isLone = (at: number) => own.indexOf(own[at]!) === own.lastIndexOf(own[at]!);
        return (
          new Set(marks).size === Math.min(8, given.length) &&
          Bun.deepEquals(given.map(of(given.toReversed())), marks) &&
          marks.every((mark, at) => /^mark-[0-7]$/.test(mark) && (!isLone(at) || mark === own[at]))
        );
      }),
      { numRuns: 500, seed },
    );

  test(`names in one chart have different colours up to eight, and keep their own colour if possible (seed ${seed})`, () => {
    const { failed, counterexample } = colours(marksOf);
    expect([failed, counterexample]).toEqual([false, null]);
    expect(marksOf(['', 'a'])('')).toBe('mark-other');
  });

  /** Every view colours some of the models of the installation, alone or together. Eight models never share a colour. */
  const everywhere = (of: Colours) =>
    fc.check(
      fc.property(fc.uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), { maxLength: 8 }), (all) => {
        knowModels(() => all);
        const alone = all.map((name) => of([name])(name));
        const some = all.filter((_, at) => at % 2 === 0);
        return (
          new Set(alone).size === all.length &&
          Bun.deepEquals(all.map(of(all)), alone) &&
          Bun.deepEquals(
            some.map(of(some)),
            alone.filter((_, at) => at % 2 === 0),
          )
        );
      }),
      { numRuns: 300, seed },
    );

  test(`up to eight models have different colours, and each the same in every view (seed ${seed})`, () => {
    try {
      const { failed, counterexample } = everywhere(marksOf);
      expect([failed, counterexample]).toEqual([false, null]);
      expect(everywhere(MUTANTS['by place']!).failed).toBe(true);
    } finally {
      knowModels(() => []);
    }
  });

  const MUTANTS: Readonly<Record<string, Colours>> = {
    'by name alone': () => markOf,
    'by place': (given) => (name) => `mark-${given.indexOf(name) % 8}`,
    'by rank': (given) => (name) => `mark-${given.toSorted().indexOf(name) % 8}`,
  };
  test.each(Object.keys(MUTANTS))('colours %s break this law', (name) => {
    expect(colours(MUTANTS[name]!).failed).toBe(true);
  });
});

describe('a column writes its figures in one format', () => {
  const shorts = (figures: readonly WrittenFigure[]) => figures.map(inColumn(figures)).map(({ short }) => short);

  test.each<readonly [string, readonly WrittenFigure[], readonly string[]]>([
    ['prices of requests', [usd('0.0415'), usd('0.39'), usd('0.000612')], ['$0.041500', '$0.390000', '$0.000612']],
    ['sums', [usd('1204.5'), usd('0.0004'), usd(-3), usd(0)], ['$1,204.50', '< $0.01', '−$3.00', '$0.00']],
    ['fees', [usd('0.001'), usd(0)], ['$0.001', '$0.000']],
    ['a tiny amount alone', [usd('0.00000049'), usd(0)], ['$0.00000049', '$0.00000000']],
    ['prices of a list', [price('0.0375'), price('0.435'), price('150')], ['$0.0375', '$0.4350', '$150.0000']],
    ['prices of cents', [price('0.1'), price('15')], ['$0.10', '$15.00']],
    ['sums from cents on', [usd('0.615'), usd('12')], ['$0.62', '$12.00']],
    ['short times', [duration(9), duration(412), duration(null)], ['9 ms', '412 ms', '–']],
    ['times within a second of each other', [duration(412), duration(2_149)], ['0.41 s', '2.15 s']],
    ['times of minutes', [duration(800), duration(192_000)], ['0.8 s', '192.0 s']],
    ['counts', [figure(7), figure(1_204_311)], ['7', '1,204,311']],
    ['rates', [figure(82.44), figure(100)], ['82', '100']],
    ['small figures', [figure(0.5), figure(-3)], ['0.5', '−3.0']],
    ['shares', [percent(0.333), percent(1), percent(0.0001)], ['33.3 %', '100.0 %', '< 0.1 %']],
  ])('%s', (_, figures, expected) => {
    expect(shorts(figures)).toEqual([...expected]);
  });

  test(`a list price is written with all its digits (seed ${SEED})`, () => {
    const prices = fc.array(fc.integer({ min: 0, max: 1e9 }), { minLength: 1 });
    const law = (column: typeof inColumn) =>
      fc.check(
        fc.property(prices, (list) => {
          const stated = list.map((digits) => digits / 1e6);
          const figures = stated.map((one) => price(String(one)));
          const shown = figures.map(column(figures)).map(({ short }) => Number(short.replace(/[$,]/g, '')));
          return Bun.deepEquals(shown, stated);
        }),
        { seed: SEED },
      ).failed;
    expect(law(inColumn)).toBe(false);
    // Writes a price in the format of sums.
    const asUsd = ({ exact }: WrittenFigure) => usd(exact.slice(1));
    expect(law((figures) => (one) => inColumn(figures.map(asUsd))(asUsd(one)))).toBe(true);
  });

  test('keeps the exact value of each figure', () => {
    const figures = [usd('0.00061234'), usd('1')];
    expect(figures.map(inColumn(figures)).map(({ exact }) => exact)).toEqual(['$0.00061234', '$1']);
  });

  const amounts = fc.array(fc.double({ min: -1e9, max: 1e9, noNaN: true, noDefaultInfinity: true }), { minLength: 1 });
  const formatOf = (text: string) =>
    text
      .replace(/^[<>] /, '')
      .replace('−', '')
      .replace(/[\d,]+/, '0')
      .replace(/(?<=\.)\d+/, (part) => '0'.repeat(part.length));
  test.each([
    ['USD', usd],
    ['sums', (value: number) => asSum(usd(value))],
    ['durations', (value: number) => duration(Math.abs(value))],
    ['shares', percent],
    ['counts', figure],
  ] as const)(`%s of a column have one unit and the same number of decimals (seed ${SEED})`, (_, write) => {
    const law = (column: typeof inColumn) =>
      fc.check(
        fc.property(amounts, (values) => {
          const figures = values.map((value) => write(value));
          const formats = figures.map(column(figures)).map(({ short }) => formatOf(short));
          return new Set(formats).size === 1;
        }),
        { seed: SEED },
      ).failed;
    expect(law(inColumn)).toBe(false);
    // This mutant writes each figure without regard to the others.
    expect(law(() => (one) => one)).toBe(true);
  });
});
