import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { FEATURES, type QuestionView } from '../../../src/routing/profile/features.ts';
import { SIGN } from '../../../src/routing/profile/lexicon/lexicon.ts';
import { SIGNS } from '../../../src/routing/profile/lexicon/signs.ts';
import { sharesOf } from '../../../src/routing/profile/shares.ts';
import { TASKS } from '../../../src/routing/profile/tasks.ts';
import { visitFeatures } from '../../../src/routing/profile/visit-features.ts';
import { tries } from '../../deep/effort.ts';
import { lastView, systemPromptView } from '../../support/chat-body.ts';
import { promptsOf } from './prompts.ts';

type Visits = ReadonlyMap<number, number>;

function visitsOf(view: QuestionView): Visits {
  const visits = new Map<number, number>();
  visitFeatures(view, (at, value) => {
    expect(visits.has(at)).toBe(false);
    visits.set(at, value);
  });
  return visits;
}

/** Every feature by itself: what its condition requires is asked each time. */
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
  for (const [at, [, of, requires, holds]] of FEATURES.entries()) {
    if (requires !== undefined && !states[requires]) continue;
    const value = holds?.(view) === false ? 0 : of(view);
    if (value !== 0) visits.set(at, value);
  }
  return visits;
}

test('the features of a question are those that are not 0, each visited once', () => {
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

  test('stand in the order of the likelihoods, of equals by name', () => {
    fc.assert(
      fc.property(logits, (all) => {
        const { mix } = sharesOf(all);
        const logitOf = ({ task }: { readonly task: string }) => all[TASKS.indexOf(task)]!;
        const sorted = mix.toSorted((a, b) => logitOf(b) - logitOf(a) || (a.task < b.task ? -1 : 1));
        expect(mix).toEqual(sorted);
      }),
      tries('shares of tasks are in order', 300, 20_000),
    );
  });
});
