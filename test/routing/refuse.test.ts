import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { REJECTIONS, type Rejection } from '../../src/core/decision/decision.ts';
import type { SignalboxError } from '../../src/core/errors.ts';
import { isAbove } from '../../src/core/money/ceiling.ts';
import { limitFromCredits } from '../../src/core/money/credits.ts';
import { costBound } from '../../src/core/money/price.ts';
import type { Model, PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { CAPABILITIES } from '../../src/core/request/capability.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { nearestModel } from '../../src/routing/nearest-model.ts';
import { leastWorstCase, refusalError } from '../../src/routing/refuse.ts';
import { tries } from '../deep/effort.ts';
import { changedLine } from '../support/money.ts';
import {
  candidatesOf,
  decisionOf,
  facts,
  funds,
  GENERAL,
  idsOf,
  model,
  outcomeOf,
  price,
  refusalOf,
  snapshot,
} from './build.ts';
import { type World, worlds } from './worlds.ts';

const errorOf = (from: PolicySnapshot, request: Facts): SignalboxError => refusalError(refusalOf(from, request), from);
const namesOf = (bits: number) =>
  (Object.keys(REJECTIONS) as Rejection[]).filter((kind) => (bits & REJECTIONS[kind].bit) !== 0).sort();

const ceilings = (costCredits: number | null, latencyMs: number | null = null) => ({ costCredits, latencyMs });

describe('a model is rejected', () => {
  const { tools, vision } = CAPABILITIES;
  const limits: readonly (readonly [Rejection, Parameters<typeof model>[1], Partial<Facts>, Partial<Facts>])[] = [
    ['key_models', {}, { allowedModels: ['other'] }, { allowedModels: ['x'] }],
    ['capability', { capabilities: tools.bit }, { needs: vision.bit }, { needs: tools.bit }],
    [
      'language',
      { languages: new Set(['go']), lacksLanguages: new Set(['cobol']) },
      { languages: ['go', 'cobol'] },
      { languages: ['go'] },
    ],
    ['max_output', { maxOutput: 100 }, { outputTokensMax: 101 }, { outputTokensMax: 100 }],
    ['max_output', { maxOutput: 500 }, { outputTokens: 501 }, { outputTokens: 500 }],
    ['context', { contextWindow: 1000 }, { inputTokens: 937 }, { inputTokens: 936 }],
    ['max_cost', {}, { ceilings: ceilings(2.0999) }, { ceilings: ceilings(2.1) }],
    ['max_latency', {}, { ceilings: ceilings(null, 4499) }, { ceilings: ceilings(null, 4500) }],
    ['unbounded_media', {}, { images: 1, budget: 10 ** 9 }, { images: 1 }],
    ['unbounded_media', {}, { unboundedMedia: 1, budget: 10 ** 9 }, { unboundedMedia: 1 }],
    ['budget_limit', {}, { budget: 2_255_999 }, { budget: 2_256_000 }],
    ['funds', {}, { funds: funds(18_383_999) }, { funds: funds(18_384_000) }],
    ['funds', { cost: price(0, 0) }, { funds: funds(-1) }, { funds: funds(0) }],
    ['unbounded_media', {}, { images: 1, funds: funds(null) }, { images: 1 }],
  ];
  for (const [kind, has, refused, accepted] of limits) {
    test(`a model is rejected for ${kind} exactly from its limit on: ${JSON.stringify(refused)}`, () => {
      const from = snapshot([model('x', has)]);
      expect(refusalOf(from, facts(refused)).rejected.map(({ rejections }) => namesOf(rejections))).toEqual([[kind]]);
      expect(idsOf(decisionOf(from, facts(accepted)), from)).toEqual(['x']);
    });
  }
});

/** A request without funds, without free funds, with any amount, or with an amount close to the worst-case cost of a model. */
const funded: fc.Arbitrary<World> = fc
  .record({
    world: worlds,
    kind: fc.constantFrom('none', 'none', 'unlimited', 'any', 'any', 'edge', 'edge'),
    any: fc.oneof(fc.integer({ min: -10, max: 5000 }), fc.integer({ min: 1, max: 20_000_000 })),
    at: fc.nat(5),
    beside: fc.constantFrom(-1, 0, 1),
  })
  .map(({ world: { snapshot: from, facts: request }, kind, any, at, beside }) => {
    if (kind === 'none') return { snapshot: from, facts: request };
    const one = from.models[at % from.models.length]!;
    const edge = worstOn(one, request)[at % one.endpoints.length]! + beside;
    const free = kind === 'unlimited' ? null : kind === 'any' ? any : edge;
    // A ceiling is checked at the first remaining endpoint, so it is combined with funds only for models with one endpoint.
    const isPlain = free === null || from.models.every(({ endpoints }) => endpoints.length === 1);
    const ceilings = isPlain ? request.ceilings : { ...request.ceilings, costCredits: null };
    return { snapshot: from, facts: { ...request, ceilings, funds: funds(free) } };
  });

/** Whether the request has media without a bound on a model. */
const isUnbounded = (one: Model, request: Facts): boolean =>
  request.unboundedMedia > 0 ||
  (request.images > 0 && one.imageTokensMax === null) ||
  (request.pdfs > 0 && (one.pageTokensMax === null || one.pagesMax.length === 0));

/** The maximum tokens of a prompt with a bound: its PDFs have the pages that the model's provider reads, or fill the window. */
function boundOf(one: Model, request: Facts): number {
  const rest = request.inputTokensMax + request.images * (one.imageTokensMax ?? 0);
  const [{ request: inAll, file }] = [...one.pagesMax, { request: 0, file: null }] as const;
  const pages = request.pdfs === 0 ? 0 : (inAll ?? request.pdfs * file!);
  return Math.max(rest, Math.min(rest + pages * (one.pageTokensMax ?? 0), one.contextWindow));
}

/** The requested maximum of output tokens of one choice. */
function wantedOutput(one: Model, request: Facts): number {
  const planned = request.outputTokens === null ? 0 : request.outputTokens + one.reasoningTokens;
  return request.outputTokensMax ?? Math.max(one.defaultMaxOutput, planned, request.outputTokensMin ?? 0);
}

function expectedTokens(one: Model, request: Facts): number {
  const rest = request.inputTokens + request.images * Math.min(1000, one.imageTokensMax ?? 1000);
  if (request.pdfs === 0) return rest;
  return (
    rest + Math.min(request.pages * (one.pageTokensMax ?? 2_300), Math.max(0, one.contextWindow - one.maxOutput - rest))
  );
}

/** The worst case on each endpoint: the prompt's bound, and the longest output that is requested, possible and affordable. */
function worstOn(one: Model, request: Facts): number[] {
  const bound = boundOf(one, request);
  const on = (cap: number) => one.endpoints.map((each) => costBound(each, bound, cap * request.choices));
  let cap = Math.min(
    wantedOutput(one, request),
    one.maxOutput,
    Math.max(0, one.contextWindow - expectedTokens(one, request)),
  );
  while (request.budget !== null && cap > 0 && on(cap).some((cost) => cost > request.budget!)) cap--;
  return on(cap);
}

/** The endpoints of a model whose worst case the free funds cover. */
function paidFor(one: Model, request: Facts): number[] {
  const free = request.funds?.free ?? Number.POSITIVE_INFINITY;
  return worstOn(one, request).flatMap((cost, at) => (cost <= free ? [at] : []));
}

/**
 * Whether a model may serve the language: models that declare it may; if none does, models that do not lack it may, if the language is
 * known.
 */
function mayServe(one: Model, name: string, all: readonly Model[]): boolean {
  if (all.some(({ languages }) => languages.has(name))) return one.languages.has(name);
  const isLanguage = name !== 'klingon';
  return isLanguage && !one.lacksLanguages.has(name);
}

/** A second implementation of the rules, written from their description. */
function reasons(one: Model, request: Facts, all: readonly Model[]): Rejection[] {
  const found: Rejection[] = [];
  const expectedOutput = Math.max(
    1,
    Math.min(request.outputTokens ?? 400, request.outputTokensMax ?? Number.POSITIVE_INFINITY),
  );
  const input = expectedTokens(one, request);
  const needed = one.reasoningTokens > 0 ? Math.max(1024, one.reasoningTokens) : GENERAL.minUsefulOutput;
  const wanted = Math.min(Math.max(needed, request.outputTokensMin ?? 0), wantedOutput(one, request));
  const useful = Math.min(wanted, one.maxOutput);
  if (one.operations === 0) found.push('operation');
  if (request.allowedModels !== null && !request.allowedModels.includes(one.id)) found.push('key_models');
  if ((request.needs | one.capabilities) !== one.capabilities) found.push('capability');
  if (request.languages.some((name) => !mayServe(one, name, all))) found.push('language');
  const stated = Math.max(request.outputTokensMax ?? request.outputTokens ?? 0, request.outputTokensMin ?? 0);
  const covered = request.capsOutput ? Math.max(expectedOutput, wanted) : stated;
  if (covered > one.maxOutput) found.push('max_output');
  if (input + useful > one.contextWindow) found.push('context');
  const paid = paidFor(one, request);
  const { price: first } = one.endpoints[paid[0] ?? 0]!;
  const line = first.lines.findLast((each) => each.overInputTokens === 0 || each.overInputTokens < input)!;
  const output = (expectedOutput + one.reasoningTokens) * request.choices;
  const cost = (line.request + input * line.input + output * line.output) / first.divisor / 1e6;
  if (isAbove(cost, request.ceilings.costCredits)) found.push('max_cost');
  const latency = one.latency.ttftMs + (expectedOutput * 1000) / one.latency.outputTokensPerSecond;
  if (isAbove(latency, request.ceilings.latencyMs)) found.push('max_latency');
  if (isUnbounded(one, request) && (request.budget !== null || request.funds !== null)) found.push('unbounded_media');
  else if (request.budget !== null) {
    const bound = boundOf(one, request);
    const least = Math.max(...one.endpoints.map((each) => costBound(each, bound, useful * request.choices)));
    if (least > request.budget || one.contextWindow - input < useful) found.push('budget_limit');
  }
  if (paid.length === 0) found.push('funds');
  return found.sort();
}

/** Removes `funds` if the model has no worst case: for unbounded media, or if the budget_limit cannot pay for anything. */
function comparable(found: readonly Rejection[]): Rejection[] {
  const isMoot = found.includes('unbounded_media') || found.includes('budget_limit');
  return found.filter((kind) => !isMoot || kind !== 'funds');
}

/** The order of precedence in the public contract. */
function decisive(all: readonly (readonly Rejection[])[]): string {
  const without = (...kinds: Rejection[]) => all.some((list) => list.every((kind) => kinds.includes(kind)));
  if (without('funds')) return 'funds';
  if (without('funds', 'budget_limit')) return 'budget';
  return without('funds', 'budget_limit', 'context') ? 'context' : 'constraints';
}

const outcomes = { decided: 0, funds: 0, budget: 0, context: 0, constraints: 0 };
type Group = keyof typeof outcomes;

describe('for any catalog and request', () => {
  test('eligible models and rejections are those of the rules, and the status follows their precedence', () => {
    fc.assert(
      fc.property(funded, ({ snapshot: from, facts: request }) => {
        const candidates = candidatesOf(from, request);
        const expected = candidates.map((one) => reasons(one, request, from.models));
        const outcome = outcomeOf(from, request);
        if (!isRefusal(outcome)) {
          outcomes.decided++;
          const eligible = candidates.filter((_, at) => expected[at]!.length === 0).map(({ id }) => id);
          expect(outcome.eligible).toBe(eligible.length);
          expect(eligible).toEqual(expect.arrayContaining(idsOf(outcome, from)));
          return;
        }
        outcomes[outcome.group as Group]++;
        expect(outcome.rejected.map(({ rejections }) => comparable(namesOf(rejections)))).toEqual(
          expected.map(comparable),
        );
        expect(outcome.group).toBe(decisive(expected) as typeof outcome.group);
        // The gateway creates the error for funds.
        if (outcome.group === 'funds') return;
        const { code } = refusalError(outcome, from);
        if (outcome.group === 'budget') expect(code).toBe('budget_limit_too_low');
        else if (outcome.group === 'context') expect(code).toBe('context_length_exceeded');
        else expect(['no_eligible_model', 'unsupported_parameter']).toContain(code);
      }),
      tries(
        'eligible models and rejections are those of the rules, and the status follows their precedence',
        500,
        20_000,
      ),
    );
    console.log('outcomes:', JSON.stringify(outcomes));
    for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(5);
  });

  test('no decision lets a request cost more than its budget or free funds, or requests more output than a model’s maximum', () => {
    let skipped = 0;
    fc.assert(
      fc.property(funded, ({ snapshot: from, facts: request }) => {
        const outcome = outcomeOf(from, request);
        if (isRefusal(outcome)) return;
        for (const { model: at, endpoints, bound, outputCap } of outcome.ranked) {
          expect(bound).toBeLessThanOrEqual(request.budget ?? bound);
          expect(bound).toBeLessThanOrEqual(request.funds?.free ?? bound);
          expect(outputCap).toBeGreaterThanOrEqual(request.outputTokensMin ?? 1);
          const one = from.models[at]!;
          expect(outputCap).toBeLessThanOrEqual(one.maxOutput);
          // Endpoints that the funds cannot pay for are skipped; cheaper endpoints of the same model remain.
          expect(endpoints).toEqual(paidFor(one, request));
          const costs = worstOn(one, request);
          if (!isUnbounded(one, request)) expect(bound).toBe(Math.max(...endpoints.map((each) => costs[each]!)));
          if (endpoints.length < one.endpoints.length) skipped++;
        }
      }),
      tries('no decision lets a request cost more than its budget or its free funds', 800, 20_000),
    );
    expect(skipped).toBeGreaterThan(5);
  });

  test('the minimum budget that an error states is enough unless funds then refuse; one microcredit less is not', () => {
    fc.assert(
      fc.property(funded, ({ snapshot: from, facts: request }) => {
        const outcome = outcomeOf(from, request);
        if (!isRefusal(outcome) || outcome.group !== 'budget') return;
        const least = limitFromCredits(Number(refusalError(outcome, from).info.details?.least_credits));
        const enough = outcomeOf(from, { ...request, budget: least });
        if (isRefusal(enough)) expect([request.funds === null, enough.group]).toEqual([false, 'funds']);
        expect(isRefusal(outcomeOf(from, { ...request, budget: least - 1 }))).toBe(true);
      }),
      tries(
        'the least budget of an error suffices unless funds then refuse; one microcredit less does not',
        500,
        20_000,
      ),
    );
  });

  test('the lowest worst case in a refusal because of funds is enough; one microcredit less is not', () => {
    let refused = 0;
    fc.assert(
      fc.property(funded, ({ snapshot: from, facts: request }) => {
        const outcome = outcomeOf(from, request);
        if (!isRefusal(outcome) || outcome.group !== 'funds') return;
        refused++;
        const least = leastWorstCase(outcome, from);
        expect(least).toBeGreaterThan(request.funds!.free!);
        expect(isRefusal(outcomeOf(from, { ...request, funds: funds(least) }))).toBe(false);
        expect(isRefusal(outcomeOf(from, { ...request, funds: funds(least - 1) }))).toBe(true);
      }),
      tries('the least worst case of a refusal by funds suffices; one microcredit less does not', 500, 20_000),
    );
    expect(refused).toBeGreaterThan(5);
  });

  test('the change that an error suggests makes the named model eligible', () => {
    let offered = 0;
    fc.assert(
      fc.property(funded, ({ snapshot: from, facts: request }) => {
        const outcome = outcomeOf(from, request);
        if (!isRefusal(outcome) || outcome.group !== 'constraints') return;
        const relaxation = refusalError(outcome, from).info.details?.relaxation;
        const isNumeric = outcome.rejected.some(({ rejections }) =>
          namesOf(rejections).every((kind) => ['max_cost', 'max_latency', 'max_output'].includes(kind)),
        );
        if (isNumeric && refusalError(outcome, from).code === 'no_eligible_model') expect(relaxation).toBeString();
        if (typeof relaxation !== 'string') return;
        offered++;
        const named = /`(.+)`$/.exec(relaxation)![1]!;
        const relaxed = outcomeOf(from, { ...relax(request, relaxation), model: named, named: [named] });
        expect(isRefusal(relaxed)).toBe(false);
      }),
      tries('the relaxation of an error admits the model that it names', 500, 20_000),
    );
    expect(offered).toBeGreaterThan(5);
  });
});

/** Returns the request with the change that the text of an error suggests. */
function relax(request: Facts, relaxation: string): Facts {
  let changed = request;
  for (const [, field, to] of relaxation.matchAll(/(\w+) from \S+ to (\S+)/g)) {
    const figure = Number(to);
    if (field === 'max_cost_credits') changed = { ...changed, ceilings: { ...changed.ceilings, costCredits: figure } };
    if (field === 'max_latency_ms') changed = { ...changed, ceilings: { ...changed.ceilings, latencyMs: figure } };
    if (field === 'max_tokens') changed = { ...changed, outputTokensMax: figure };
    if (field === 'min_output_tokens') changed = { ...changed, outputTokensMin: figure };
    if (field === 'estimated_output_tokens') changed = { ...changed, outputTokens: figure };
  }
  if (relaxation.startsWith('leave budget_limit out')) changed = { ...changed, budget: null };
  const without = /remove (.+) from required_languages/.exec(relaxation)?.[1]?.split(', ') ?? [];
  return { ...changed, languages: changed.languages.filter((name) => !without.includes(name)) };
}

describe('funds', () => {
  /** Two endpoints: the first is cheap in the expected case and expensive in the worst case, the second lies between. */
  const tiered = price(1, 4);
  const [line] = tiered.lines;
  const first = { ...tiered, lines: [line, changedLine(line, { input: 90_000, output: 90_000 }, 800)] as const };
  const endpoints = [first, price(2, 8)].map((each) => ({ provider: 'p', upstream: 'u', regions: [], price: each }));
  const from = snapshot([model('x', { endpoints: [endpoints[0]!, endpoints[1]!] })]);

  test('funds that cover only the second endpoint leave that endpoint, with its estimate', () => {
    const rich = decisionOf(from, facts({ funds: funds(10 ** 9) }));
    expect(rich.ranked[0]).toMatchObject({ endpoints: [0, 1], costCredits: 2.1 });
    const poor = decisionOf(from, facts({ funds: funds(10 ** 8) }));
    expect(poor.ranked[0]).toMatchObject({ endpoints: [1], costCredits: 4.2, bound: 36_768_000 });
  });

  test('funds are the reason if only an endpoint that they cannot pay for is within a ceiling', () => {
    expect(idsOf(decisionOf(from, facts({ ceilings: ceilings(3), funds: funds(10 ** 9) })), from)).toEqual(['x']);
    expect(refusalOf(from, facts({ ceilings: ceilings(3), funds: funds(10 ** 8) })).group).toBe('funds');
  });
});

describe('an error for a request that no model can serve', () => {
  const from = snapshot([
    model('near', { latency: { ttftMs: 150, outputTokensPerSecond: 500 }, cost: price(2, 2) }),
    model('far', {
      latency: { ttftMs: 9000, outputTokensPerSecond: 500 },
      languages: new Set(['go']),
      lacksLanguages: new Set(['cobol']),
    }),
  ]);

  test('names every model with its reasons, and the smallest change that helps', () => {
    const error = errorOf(from, facts({ ceilings: ceilings(null, 800) }));
    expect(error.status).toBe(422);
    expect(error.info.details).toEqual({
      rejected: [
        { model: 'far', reasons: ['its expected latency of 9800 ms is above max_latency_ms'] },
        { model: 'near', reasons: ['its expected latency of 950 ms is above max_latency_ms'] },
      ],
      relaxation: 'change max_latency_ms from 800 to 950 to use `near`',
    });
    expect(error.message).toBe(
      'No model can serve this request. The nearest is `near`: its expected latency of 950 ms is above max_latency_ms; change max_latency_ms from 800 to 950 to use `near`.',
    );
  });

  test('suggests changing two limits if one is not enough, and fewer languages if limits do not help', () => {
    expect(errorOf(from, facts({ ceilings: ceilings(1, 900) })).info.details).toMatchObject({
      relaxation: 'change max_cost_credits from 1 to 1.8 and max_latency_ms from 900 to 950 to use `near`',
    });
    expect(errorOf(from, facts({ languages: ['go', 'cobol'] })).info.details).toMatchObject({
      relaxation: 'remove cobol from required_languages to use `far`',
      rejected: [
        { model: 'far', reasons: ['it does not handle cobol'] },
        { model: 'near', reasons: ['the policy does not say whether it handles go'] },
      ],
    });
  });

  test('names the nearest model with all its reasons if no single change helps', () => {
    const several = snapshot([
      model('embedder', { operations: 0 }),
      model('many', { q: 0.9, lacksLanguages: new Set(['cobol', 'go']) }),
      model('near-a', { q: 0.6, lacksLanguages: new Set(['cobol']) }),
      model('near-b', { q: 0.7, lacksLanguages: new Set(['cobol']) }),
    ]);
    const { message } = errorOf(several, facts({ languages: ['go', 'cobol'], ceilings: ceilings(null, 800) }));
    expect(message).toBe(
      'No model can serve this request. The nearest is `near-b`: it does not handle cobol (remove cobol from required_languages); its expected latency of 4500 ms is above max_latency_ms (change max_latency_ms from 800 to 4500).',
    );
  });

  /** Whether the message names a model that no other model is nearer than, with all its reasons. */
  const nearestLaw = (by: typeof nearestModel) =>
    fc.property(funded, ({ snapshot: from, facts: request }) => {
      const outcome = outcomeOf(from, request);
      if (!isRefusal(outcome) || outcome.group !== 'constraints') return true;
      const inputs = { ...outcome, snapshot: from };
      const countOf = ({ model: at, rejections }: (typeof outcome.rejected)[number]) => {
        const one = from.models[at]!;
        const names = namesOf(rejections);
        const missing = (request.needs & ~one.capabilities).toString(2).replaceAll('0', '').length;
        const lacking = request.languages.filter((name) => !mayServe(one, name, from.models)).length;
        const counts = names.map((name) => (name === 'capability' ? missing : name === 'language' ? lacking : 1));
        const isElsewhere = names.includes('operation');
        return counts.reduce((sum, count) => sum + count, isElsewhere ? 1_000 : 0);
      };
      const least = Math.min(...outcome.rejected.map(countOf));
      const named = by(outcome.rejected, inputs)!;
      return countOf(named) === least && by(outcome.rejected.toReversed(), inputs)!.model === named.model;
    });

  test('the nearest model has the fewest reasons, in whatever order the models are compared', () => {
    fc.assert(nearestLaw(nearestModel), tries('the nearest model has the fewest reasons', 400, 20_000));
  });

  test('the law detects a nearest model that is only the first', () => {
    expect(
      fc.check(
        nearestLaw((rejected) => rejected[0]!),
        { numRuns: 400, endOnFailure: true, seed: 1 },
      ).failed,
    ).toBe(true);
  });

  test('suggests no change if none helps', () => {
    const { details } = errorOf(from, facts({ needs: CAPABILITIES.vision.bit })).info;
    expect(details).not.toHaveProperty('relaxation');
    expect(details).toMatchObject({ rejected: [{ reasons: ['it lacks vision'] }, { reasons: ['it lacks vision'] }] });
  });

  test('names the context window for a prompt that is too long, and the model that the request names', () => {
    const long = errorOf(from, facts({ inputTokens: 200_000 }));
    expect([long.status, long.code]).toEqual([400, 'context_length_exceeded']);
    expect(long.info.details).toEqual({ estimated_input_tokens: 200_000, context_window: 100_000 });
    const pinned = errorOf(from, facts({ model: 'near', named: ['near'], languages: ['go'] }));
    expect(pinned.message).toStartWith('`near` cannot serve this request');
  });
});
