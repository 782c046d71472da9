import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { CAPABILITIES } from '../../src/core/capability.ts';
import { limitFromCredits } from '../../src/core/credits.ts';
import { REJECTIONS, type Rejection } from '../../src/core/decision.ts';
import type { SignalboxError } from '../../src/core/errors.ts';
import type { Facts } from '../../src/core/facts.ts';
import { costBound } from '../../src/core/price.ts';
import type { Model, PolicySnapshot } from '../../src/core/snapshot.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { refusalError } from '../../src/routing/refuse.ts';
import { decisionOf, facts, GENERAL, idsOf, model, outcomeOf, price, refusalOf, snapshot } from './build.ts';
import { worlds } from './worlds.ts';

const errorOf = (from: PolicySnapshot, asked: Facts): SignalboxError => refusalError(refusalOf(from, asked), from);
const namesOf = (bits: number) =>
  (Object.keys(REJECTIONS) as Rejection[]).filter((kind) => (bits & REJECTIONS[kind].bit) !== 0).sort();

const ceilings = (costCredits: number | null, latencyMs: number | null = null) => ({ costCredits, latencyMs });

describe('a model is left out', () => {
  const limits: readonly (readonly [Rejection, Partial<Model> & { q?: number }, Partial<Facts>, Partial<Facts>])[] = [
    ['key_models', {}, { allowedModels: ['other'] }, { allowedModels: ['x'] }],
    [
      'capability',
      { capabilities: CAPABILITIES.tools.bit },
      { needs: CAPABILITIES.vision.bit },
      { needs: CAPABILITIES.tools.bit },
    ],
    ['language', { languages: new Set(['go']) }, { languages: ['go', 'cobol'] }, { languages: ['go'] }],
    ['max_output', { maxOutput: 100 }, { outputTokensMax: 101 }, { outputTokensMax: 100 }],
    ['max_output', { maxOutput: 500 }, { outputTokens: 501 }, { outputTokens: 500 }],
    ['context', { contextWindow: 1000 }, { inputTokens: 937 }, { inputTokens: 936 }],
    ['max_cost', {}, { ceilings: ceilings(2.0999) }, { ceilings: ceilings(2.1) }],
    ['max_latency', {}, { ceilings: ceilings(null, 4499) }, { ceilings: ceilings(null, 4500) }],
    ['unbounded_media', {}, { images: 1, budget: 10 ** 9 }, { images: 1 }],
    ['unbounded_media', {}, { unboundedMedia: 1, budget: 10 ** 9 }, { unboundedMedia: 1 }],
    ['budget_limit', {}, { budget: 2_255_999 }, { budget: 2_256_000 }],
  ];
  for (const [kind, has, refused, accepted] of limits) {
    test(`for ${kind} exactly from its edge: ${JSON.stringify(refused)}`, () => {
      const from = snapshot([model('x', has)]);
      expect(refusalOf(from, facts(refused)).rejected.map(({ rejections }) => namesOf(rejections))).toEqual([[kind]]);
      expect(idsOf(decisionOf(from, facts(accepted)), from)).toEqual(['x']);
    });
  }

  test('for all reasons at once, and every one is told', () => {
    const from = snapshot([model('x', { maxOutput: 10, contextWindow: 20 })]);
    const asked = facts({
      outputTokensMax: 11,
      needs: CAPABILITIES.vision.bit,
      languages: ['cobol'],
      ceilings: ceilings(0.001, 1),
      allowedModels: [],
      budget: 1,
    });
    expect(namesOf(refusalOf(from, asked).rejected[0]!.rejections)).toEqual([
      'budget_limit',
      'capability',
      'context',
      'key_models',
      'language',
      'max_cost',
      'max_latency',
      'max_output',
    ]);
  });
});

/** The rules anew, straight from their description: what speaks against a model. */
function reasons(one: Model, asked: Facts): Rejection[] {
  const found: Rejection[] = [];
  const expectedOutput = Math.max(
    1,
    Math.min(asked.outputTokens ?? 400, asked.outputTokensMax ?? Number.POSITIVE_INFINITY),
  );
  const input = asked.inputTokens + asked.images * Math.min(1000, one.imageTokensMax ?? 1000);
  const needed = one.reasoningTokens > 0 ? Math.max(1024, one.reasoningTokens) : GENERAL.minUsefulOutput;
  const planned = asked.outputTokens === null ? 0 : asked.outputTokens + one.reasoningTokens;
  const wanted = asked.outputTokensMax ?? Math.max(one.defaultMaxOutput, planned);
  const useful = Math.min(needed, wanted, one.maxOutput);
  if (asked.allowedModels !== null && !asked.allowedModels.includes(one.id)) found.push('key_models');
  if ((asked.needs | one.capabilities) !== one.capabilities) found.push('capability');
  if (asked.languages.some((name) => !one.languages.has(name))) found.push('language');
  if ((asked.outputTokensMax ?? asked.outputTokens ?? 0) > one.maxOutput) found.push('max_output');
  if (input + useful > one.contextWindow) found.push('context');
  const [{ price: first }] = one.endpoints;
  const line = first.lines.findLast((each) => each.overInputTokens === 0 || each.overInputTokens < input)!;
  const output = (expectedOutput + one.reasoningTokens) * asked.choices;
  const cost = (first.perRequest + input * line.input + output * line.output) / first.divisor / 1e6;
  if (asked.ceilings.costCredits !== null && cost > asked.ceilings.costCredits) found.push('max_cost');
  const latency = one.latency.ttftMs + (expectedOutput * 1000) / one.latency.outputTokensPerSecond;
  if (asked.ceilings.latencyMs !== null && latency > asked.ceilings.latencyMs) found.push('max_latency');
  if (asked.budget !== null) {
    const isUnbounded = asked.unboundedMedia > 0 || (asked.images > 0 && one.imageTokensMax === null);
    const bound = asked.inputTokensMax + asked.images * (one.imageTokensMax ?? 0);
    const least = Math.max(...one.endpoints.map((each) => costBound(each.price, bound, useful * asked.choices)));
    if (isUnbounded) found.push('unbounded_media');
    else if (least > asked.budget || one.contextWindow - input < useful) found.push('budget_limit');
  }
  return found.sort();
}

/** The order of CONTRACT: budget, then context, else constraints. */
function decisive(all: readonly (readonly Rejection[])[]): string {
  const without = (...kinds: Rejection[]) => all.some((list) => list.every((kind) => kinds.includes(kind)));
  if (without('budget_limit')) return 'budget';
  return without('budget_limit', 'context') ? 'context' : 'constraints';
}

const outcomes = { decided: 0, budget: 0, context: 0, constraints: 0 };

describe('for any catalog and request', () => {
  test('the eligible models and every rejection are those of the rules, and the status follows their precedence', () => {
    fc.assert(
      fc.property(worlds, ({ snapshot: from, facts: asked }) => {
        const expected = from.models.map((one) => reasons(one, asked));
        const outcome = outcomeOf(from, asked);
        if (!isRefusal(outcome)) {
          outcomes.decided++;
          const eligible = from.models.filter((_, at) => expected[at]!.length === 0).map(({ id }) => id);
          expect(outcome.eligible).toBe(eligible.length);
          expect(eligible).toEqual(expect.arrayContaining(idsOf(outcome, from)));
          return;
        }
        outcomes[outcome.group]++;
        expect(outcome.rejected.map(({ rejections }) => namesOf(rejections))).toEqual(expected);
        expect(outcome.group).toBe(decisive(expected) as typeof outcome.group);
        const { code } = refusalError(outcome, from);
        if (outcome.group === 'budget') expect(code).toBe('budget_limit_too_low');
        else if (outcome.group === 'context') expect(code).toBe('context_length_exceeded');
        else expect(['no_eligible_model', 'unsupported_parameter']).toContain(code);
      }),
      { numRuns: 4000 },
    );
    console.log('outcomes:', JSON.stringify(outcomes));
    for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(20);
  });

  test('no decision lets a request cost more than its budget', () => {
    fc.assert(
      fc.property(worlds, ({ snapshot: from, facts: asked }) => {
        const outcome = outcomeOf(from, asked);
        if (isRefusal(outcome) || asked.budget === null) return true;
        return outcome.ranked.every(({ bound, outputCap }) => bound <= asked.budget! && outputCap >= 1);
      }),
      { numRuns: 2000 },
    );
  });

  test('the least budget that an error names is enough, and one microcredit less is not', () => {
    fc.assert(
      fc.property(worlds, ({ snapshot: from, facts: asked }) => {
        const outcome = outcomeOf(from, asked);
        if (!isRefusal(outcome) || outcome.group !== 'budget') return;
        const least = limitFromCredits(Number(refusalError(outcome, from).info.details?.least_credits));
        expect(isRefusal(outcomeOf(from, { ...asked, budget: least }))).toBe(false);
        expect(isRefusal(outcomeOf(from, { ...asked, budget: least - 1 }))).toBe(true);
      }),
      { numRuns: 4000 },
    );
  });

  test('the relaxation that an error names admits the model it names', () => {
    let offered = 0;
    fc.assert(
      fc.property(worlds, ({ snapshot: from, facts: asked }) => {
        const outcome = outcomeOf(from, asked);
        if (!isRefusal(outcome) || outcome.group !== 'constraints') return;
        const relaxation = refusalError(outcome, from).info.details?.relaxation;
        const isNumeric = outcome.rejected.some(({ rejections }) =>
          namesOf(rejections).every((kind) => ['max_cost', 'max_latency', 'max_output'].includes(kind)),
        );
        if (isNumeric && refusalError(outcome, from).code === 'no_eligible_model') expect(relaxation).toBeString();
        if (typeof relaxation !== 'string') return;
        offered++;
        const named = /`(.+)`$/.exec(relaxation)![1]!;
        const relaxed = outcomeOf(from, { ...relax(asked, relaxation), model: named, pinned: true });
        expect(isRefusal(relaxed)).toBe(false);
      }),
      { numRuns: 4000 },
    );
    expect(offered).toBeGreaterThan(50);
  });
});

/** A request as an error's text tells to change it. */
function relax(asked: Facts, relaxation: string): Facts {
  let changed = asked;
  for (const [, field, to] of relaxation.matchAll(/(\w+) \S+ → (\S+)/g)) {
    const figure = Number(to);
    if (field === 'max_cost_credits') changed = { ...changed, ceilings: { ...changed.ceilings, costCredits: figure } };
    if (field === 'max_latency_ms') changed = { ...changed, ceilings: { ...changed.ceilings, latencyMs: figure } };
    if (field === 'max_tokens') changed = { ...changed, outputTokensMax: figure };
    if (field === 'estimated_output_tokens') changed = { ...changed, outputTokens: figure };
  }
  if (relaxation.startsWith('leaving budget_limit out')) changed = { ...changed, budget: null };
  const without = /required_languages without (.+) admits/.exec(relaxation)?.[1]?.split(', ') ?? [];
  return { ...changed, languages: changed.languages.filter((name) => !without.includes(name)) };
}

describe('an error about no model', () => {
  const from = snapshot([
    model('near', { latency: { ttftMs: 150, outputTokensPerSecond: 500 }, cost: price(2, 2) }),
    model('far', { latency: { ttftMs: 9000, outputTokensPerSecond: 500 }, languages: new Set(['go']) }),
  ]);

  test('names every model with its reasons, and the smallest relaxation', () => {
    const error = errorOf(from, facts({ ceilings: ceilings(null, 800) }));
    expect(error.status).toBe(422);
    expect(error.info.details).toEqual({
      rejected: [
        { model: 'far', reasons: ['its expected latency of 9800 ms is above max_latency_ms'] },
        { model: 'near', reasons: ['its expected latency of 950 ms is above max_latency_ms'] },
      ],
      relaxation: 'max_latency_ms 800 → 950 admits `near`',
    });
    expect(error.message).toBe('No model meets the request; max_latency_ms 800 → 950 admits `near`.');
  });

  test('offers two figures where one is not enough, and languages where figures do not help', () => {
    expect(errorOf(from, facts({ ceilings: ceilings(1, 900) })).info.details).toMatchObject({
      relaxation: 'max_cost_credits 1 → 1.8 and max_latency_ms 900 → 950 admits `near`',
    });
    expect(errorOf(from, facts({ languages: ['go', 'cobol'] })).info.details).toMatchObject({
      relaxation: 'required_languages without cobol admits `far`',
      rejected: [
        { model: 'far', reasons: ['it does not declare cobol'] },
        { model: 'near', reasons: ['it does not declare go, cobol'] },
      ],
    });
  });

  test('has no relaxation where none would help', () => {
    const { details } = errorOf(from, facts({ needs: CAPABILITIES.vision.bit })).info;
    expect(details).not.toHaveProperty('relaxation');
    expect(details).toMatchObject({ rejected: [{ reasons: ['it lacks vision'] }, { reasons: ['it lacks vision'] }] });
  });

  test('that only `n` is to blame for says so', () => {
    const error = errorOf(from, facts({ choices: 2, needs: CAPABILITIES.choices.bit }));
    expect([error.code, error.info.param]).toEqual(['unsupported_parameter', 'n']);
  });

  test('tells the window where the prompt is too long, and the pinned model where it was pinned', () => {
    const long = errorOf(from, facts({ inputTokens: 200_000 }));
    expect([long.status, long.code]).toEqual([400, 'context_length_exceeded']);
    expect(long.info.details).toEqual({ estimated_input_tokens: 200_000, context_window: 100_000 });
    const pinned = errorOf(from, facts({ model: 'near', pinned: true, languages: ['go'] }));
    expect(pinned.message).toStartWith('`near` does not meet the request');
  });
});
