import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { addFeatures } from '../../../src/routing/profile/add-features.ts';
import { FEATURES } from '../../../src/routing/profile/features.ts';
import { readFigures } from '../../../src/routing/profile/figures.ts';
import { SIGN, SIGNS } from '../../../src/routing/profile/lexicon/signs.ts';
import type { QuestionView } from '../../../src/routing/profile/question-view.ts';
import { sharesOf } from '../../../src/routing/profile/shares.ts';
import { TASKS } from '../../../src/routing/profile/tasks.ts';
import { WeightedSum } from '../../../src/routing/profile/weighted-sum.ts';
import { addShippedRows, COLUMNS, ROW_BITS, SHIPPED_WORDS, STEPS } from '../../../src/routing/profile/word-table.ts';
import { tries } from '../../deep/effort.ts';
import { lastView, READER, systemPromptView } from '../../support/chat-body.ts';
import { promptsOf } from './prompts.ts';

type Visits = ReadonlyMap<number, number>;

function visitsOf(view: QuestionView): Visits {
  const { terms: sum } = READER.tables;
  sum.size = 0;
  addFeatures(view, READER.tables);
  const visits = new Map<number, number>();
  for (let nth = 0; nth < sum.size; nth++) {
    expect(visits.has(sum.rows[nth]!)).toBe(false);
    visits.set(sum.rows[nth]!, sum.values[nth]!);
  }
  return visits;
}

/** Tests every feature separately, and evaluates its conditions each time. */
function oneByOne(view: QuestionView): Visits {
  const { reading, before, tools, system, isSystemPrompt } = view;
  const states: Readonly<Record<string, boolean>> = {
    before: before !== null,
    tools: tools !== null,
    'system prompt': system !== null,
    'system prompt itself': isSystemPrompt,
    ...Object.fromEntries(SIGNS.map((sign) => [sign, reading.signs[SIGN[sign]]! > 0])),
  };
  const visits = new Map<number, number>();
  const { figures } = READER.tables;
  readFigures(view, figures);
  for (const [at, { figure, most, requires, tests }] of FEATURES.entries()) {
    if (requires !== undefined && !states[requires]) continue;
    if (!tests.every(({ figure: tested, low, high }) => figures[tested]! > low && figures[tested]! <= high)) continue;
    if (figures[figure] !== 0) visits.set(at, Math.min(most, figures[figure]!));
  }
  return visits;
}

test('the features of a question are those that are not 0, each added once', () => {
  const views = promptsOf('dev').flatMap(({ request }) => [lastView(request), systemPromptView(request)]);
  const seen = new Set<number>();
  for (const view of views) {
    if (view === null) continue;
    const expected = oneByOne(view);
    expect([...visitsOf(view)].sort(([a], [b]) => a - b)).toEqual([...expected]);
    for (const at of expected.keys()) seen.add(at);
  }
  expect(seen.size).toBeGreaterThan(FEATURES.length / 2);
});

test('a sum of weighted rows adds the rows in their order, by column', () => {
  const rows = 5;
  const weight = fc.float({ noNaN: true, min: -9, max: 9 });
  const weights = fc.array(weight, { minLength: rows * COLUMNS, maxLength: rows * COLUMNS });
  const terms = fc.array(fc.tuple(fc.nat(rows - 1), weight), { maxLength: 20 });
  fc.assert(
    fc.property(weights, terms, (figures, all) => {
      const sum = new WeightedSum();
      for (const [row, value] of all) sum.add(row, value);
      const expected = Array.from({ length: COLUMNS }, (_, column) =>
        all.reduce((total, [row, value]) => total + value * figures[row * COLUMNS + column]!, 0),
      );
      expect([...sum.over(Float32Array.from(figures))]).toEqual(expected);
    }),
    tries('a sum of weighted rows adds them up', 100, 5_000),
  );
});

test('words of the shipped table add the figures of their rows, four columns at once', () => {
  const rows = fc.array(fc.nat(2 ** ROW_BITS - 1), { maxLength: 600 });
  fc.assert(
    fc.property(rows, (all) => {
      const sums = new Float64Array(COLUMNS);
      addShippedRows(Int32Array.from(all), STEPS, sums);
      const expected = Array.from(sums, (_, column) =>
        all.reduce((total, row) => total + SHIPPED_WORDS[row * COLUMNS + column]!, 0),
      );
      expect([...sums]).toEqual(expected);
    }),
    tries('words add the figures of their rows', 100, 2_000),
  );
});

test('words of the shipped table add the figures that a fit changes', () => {
  const sum = () => {
    const sums = new Float64Array(COLUMNS);
    addShippedRows(Int32Array.of(0), STEPS, sums);
    return sums[0]!;
  };
  const [before] = SHIPPED_WORDS;
  try {
    SHIPPED_WORDS[0] = 7;
    expect(sum()).toBe(7);
    SHIPPED_WORDS[0] = -128;
    expect(sum()).toBe(-128);
  } finally {
    SHIPPED_WORDS[0] = before!;
  }
});

describe('the shares of tasks', () => {
  const logits = fc
    .array(
      fc.oneof(
        fc.nat(12).map((n) => n / 4),
        fc.constant(Number.NEGATIVE_INFINITY),
      ),
      {
        minLength: TASKS.length,
        maxLength: TASKS.length,
      },
    )
    .filter((all) => all.some(Number.isFinite))
    .map((all) => Float64Array.from(all));

  test('the shares of tasks are in the order of their likelihood, equal ones by name', () => {
    fc.assert(
      fc.property(logits, (all) => {
        const { mix } = sharesOf(all, READER.tables.tasks);
        const logitOf = ({ task }: { readonly task: string }) => all[TASKS.indexOf(task)]!;
        const sorted = mix.toSorted((a, b) => logitOf(b) - logitOf(a) || (a.task < b.task ? -1 : 1));
        expect(mix).toEqual(sorted);
      }),
      tries('shares of tasks are in order', 300, 20_000),
    );
  });
});
