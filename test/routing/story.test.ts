import { describe, expect, test } from 'bun:test';
import type { PreparedStrategy, RequestStrategy } from '../../src/contract/strategy.ts';
import { HEALTH, priorReadings, type Readings } from '../../src/core/decision/readings.ts';
import { textsOf } from '../../src/core/decision/sentence.ts';
import { emptyBits, setBit } from '../../src/core/policy/rules.ts';
import type { PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { CAPABILITIES } from '../../src/core/request/capability.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { certify } from '../../src/routing/certify.ts';
import { story } from '../../src/routing/story.ts';
import { byQuality, facts, funds, GENERAL, model, price, snapshot, usual, withOrders } from './build.ts';

const place = (line: number) => ({ file: '/srv/policy/rules.yaml', line, column: 3 });

function bits(...chosen: number[]): Uint32Array {
  const set = emptyBits(4);
  for (const at of chosen) setBit(set, at);
  return set;
}

const sees = { capabilities: CAPABILITIES.vision.bit };
const from = withOrders(
  snapshot(
    [
      model('best', { q: 0.9, cost: price(3, 12), ...sees }),
      model('blind', { q: 0.8, cost: price(1, 4) }),
      model('good', { q: 0.8, cost: price(1, 4), ...sees }),
      model('slow', { q: 0.7, latency: { ttftMs: 60_000, outputTokensPerSecond: 100 }, ...sees }),
    ],
    {
      constraints: [
        { name: 'patience', place: place(7), when: null, allows: null, maxLatencyMs: 9_000, maxCostCredits: null },
      ],
      preferences: [{ name: 'mature', place: place(12), when: null, prefers: bits(2), worth: 0.2 }],
    },
  ),
);

function tell(
  request: Facts,
  of: PolicySnapshot = from,
  strategy: PreparedStrategy = usual('weighted'),
  readings?: Readings,
) {
  return textsOf(
    story(
      certify(of, request, { id: 0, seed: '0', reason: 'weighted', strategy, ...(readings && { readings }) }),
      request,
    ),
  );
}

describe('a story', () => {
  test('names the request, the rejected models, the reason for the choice and the order of the selector', () => {
    const hard = { tier: { name: 'usual', hard: 0.123 } } as const;
    expect(tell(facts({ needs: CAPABILITIES.vision.bit, ...hard }))).toEqual([
      'The request names auto, and its task is general: about 500 input tokens; needs vision.',
      'Expected answer: 400 tokens, declared by the policy for general tasks.',
      'blind was rejected because it lacks vision.',
      'best costs least (a second counted as 0.1 Credits) within 0.03 of the best quality (0.9); the request is not hard. best: expected quality 90 %, 6.3 Credits, 4.5 s.',
      'Of 3 models that could serve the request, no other model was both cheaper and better.',
      'The models have the order of the selector for typical requests, and the first one that is good enough is chosen.',
      'The next in the order is good: 10 percentage points lower expected quality at 33 % of the cost.',
      'The first question is hard with a probability of 12 %, below 88 %. The order of auto: blind, then good, then best, and 1 more.',
      'Signalbox holds at most 55.152 Credits, the cost of up to 4,096 output tokens.',
      'best is also the baseline that savings are measured against, so this choice saves nothing.',
    ]);
  });

  test('names the reason for a choice by weights', () => {
    const weights = { cost: 0.3, quality: 0.7 };
    expect(tell(facts({ needs: CAPABILITIES.vision.bit, weights }))[3]).toBe(
      'best is the best of 3 eligible models by weighted: expected quality 90 %, 6.3 Credits, 4.5 s. Its utility is 0.04 above the utility of good: quality +0.07, cost −0.03.',
    );
  });

  test('names active rules with their locations, and the effect of preferences', () => {
    const lines = tell(facts({ rules: { constraints: [0], preferences: [0] } }));
    expect(lines).toContain('Constraints that apply: patience (rules.yaml:7).');
    expect(lines).toContain('slow was rejected because the policy rejects it: patience (rules.yaml:7).');
    expect(lines).toContain(
      'Preferences that apply: mature (rules.yaml:12) counts as +0.2 quality for good. Without them, best would be chosen.',
    );
    expect(lines.find((line) => line.startsWith('good costs'))).toContain(
      'expected quality 80 % (counts as 99.9 %), 2.1 Credits',
    );
  });

  test('names what decided between equal utilities', () => {
    const tied = (more: Parameters<typeof model>[1]) => {
      const of = snapshot([model('a', { q: 0.8 }), model('b', { q: 0.8, ...more })]);
      const certificate = certify(of, facts(), { id: 0, seed: '0', reason: 'test', strategy: byQuality });
      return [
        certificate.tieDecidedBy,
        textsOf(story(certificate, facts())).find((line) => line.includes('is the best')),
      ];
    };
    expect(tied({ cost: price(0.5, 2) })).toEqual([
      'cost',
      'b is the best of 2 eligible models by test: expected quality 80 %, 1.05 Credits, 4.5 s. a has the same utility; the lower cost decided.',
    ]);
    expect(tied({ latency: { ttftMs: 100, outputTokensPerSecond: 100 } })[0]).toBe('latency');
    expect(tied({})[0]).toBe('id');
    expect(tied({ q: 0.7 })[0]).toBeNull();
  });

  test('names the shares of tasks and every limit of the request', () => {
    const mix = [
      { task: 'coding', share: 0.6 },
      { task: 'general', share: 0.4 },
    ];
    const [first] = tell(
      facts({
        task: 'coding',
        mix,
        choices: 2,
        languages: ['go'],
        weights: { cost: 0.3, quality: 0.7 },
        ceilings: { costCredits: 3, latencyMs: 800 },
        budget: 5_000_000,
        funds: funds(1_500_000),
      }),
    );
    expect(first).toBe(
      'The request names auto, and its task is coding (60 % coding, 40 % general): about 500 input tokens; must handle go; 2 choices; weights 0.3 for cost, 0.7 for quality; max_cost_credits 3; max_latency_ms 800; budget_limit 5; the budgets have 1.5 Credits left.',
    );
  });

  test('names the expected length of the answer with its source', () => {
    const two = snapshot([model('a')], {
      tasks: [GENERAL, { ...GENERAL, name: 'coding', expectedOutputTokens: 1_200 }],
      taskIndex: new Map([
        ['general', 0],
        ['coding', 1],
      ]),
    });
    const prior = priorReadings(two);
    const lengths = Float64Array.of(400, 640);
    const measured = { ...prior, outputTokens: lengths };
    const said = (more: Parameters<typeof facts>[0], readings: Readings) =>
      tell(facts(more), two, byQuality, readings)[1];
    const coding = { task: 'coding' };
    const both = {
      ...coding,
      mix: [
        { task: 'coding', share: 0.5 },
        { task: 'general', share: 0.5 },
      ],
    };
    expect(said(coding, prior)).toBe('Expected answer: 1,200 tokens, declared by the policy for coding tasks.');
    expect(said(coding, measured)).toBe('Expected answer: 640 tokens, measured from answers to coding tasks.');
    expect(said(both, measured)).toBe('Expected answer: 520 tokens, partly measured from answers to coding tasks.');
    expect(said({ ...coding, outputTokens: 1 }, measured)).toBe('Expected answer: 1 token, stated by the request.');
    expect(said({ ...coding, outputTokensAsked: 90 }, measured)).toBe(
      'Expected answer: 90 tokens, read from the prompt or the response format.',
    );
    expect(said({ ...coding, outputTokensMax: 50 }, measured)).toBe(
      'Expected answer: 50 tokens, limited by max_tokens.',
    );
  });

  test('names the reasons of a refusal and the smallest change that helps', () => {
    expect(tell(facts({ ceilings: { costCredits: null, latencyMs: 800 } })).slice(2)).toEqual([
      '4 models were rejected, each because its expected latency is above max_latency_ms: best, blind, good, slow.',
      'Refused with no_eligible_model: No model can serve this request. The nearest is `best`: its expected latency of 4500 ms is above max_latency_ms; change max_latency_ms from 800 to 4500 to use `best`.',
    ]);
  });

  test('says that a model was requested by name, was the only one, or won a tie', () => {
    expect(tell(facts({ model: 'good', named: ['good'] }))[2]).toStartWith('good was requested by name: expected');
    expect(tell(facts({ allowedModels: ['good'] })).at(-4)).toStartWith(
      'good is the only model that can serve the request: expected',
    );
    const dear = snapshot([model('a', { cost: price(2, 2) }), model('b')]);
    expect(tell(facts(), dear, byQuality)[2]).toEndWith('b has the same utility; the lower cost decided.');
  });

  test('names the amount of the hold, the output that it pays for, and the fund that caps it', () => {
    const held = (unspent: number) =>
      tell(facts({ funds: { free: null, cap: { by: 'team', unspent } } }), snapshot([model('a')])).at(-2);
    expect(held(18_384_000)).toBe('Signalbox holds at most 18.384 Credits, the cost of up to 4,096 output tokens.');
    expect(held(6_003_000)).toBe(
      'Signalbox holds at most 6 Credits, the cost of up to 1,000 output tokens: budget `team` cannot pay for more.',
    );
  });

  test('reports that a strategy gave no usable score', () => {
    const broken: PreparedStrategy = { reason: 'broken', score: () => {} };
    expect(tell(facts({ model: 'scoring' }), from, broken)[2]).toEndWith(
      'The strategy gave no usable score, so the higher quality decided.',
    );
  });

  test('names cached input, unhealthy endpoints and the cost of the baseline', () => {
    const two = snapshot(
      [
        model('a', {
          endpoints: ['q', 'p'].map((provider) => ({
            provider,
            upstream: 'a',
            regions: [],
            price: price(1, 4),
          })) as never,
        }),
        model('b', { q: 0.7, cost: price(2, 8) }),
      ],
      { baseline: 1 },
    );
    const readings = { ...priorReadings(two), health: Uint8Array.of(0, HEALTH.cooling, 0), allHealthy: false };
    const lines = tell(facts({ cached: [{ model: 'a', tokens: 300 }] }), two, byQuality, readings);
    expect(lines.slice(3)).toEqual([
      'Of 2 models that could serve the request, no other model was both cheaper and better.',
      'The highest utility wins.',
      'The next best is b: 10 percentage points lower expected quality at 200 % of the cost.',
      'Some endpoints of a are not healthy: p is cooling.',
      'About 300 of 500 input tokens are probably still in the cache of a.',
      'Signalbox holds at most 18.384 Credits, the cost of up to 4,096 output tokens.',
      'Savings are measured against the baseline, b, which would cost 4.2 Credits.',
    ]);
  });

  test('names a model that was better or cheaper than the choice, and says which of the two', () => {
    const quick = { latency: { ttftMs: 10, outputTokensPerSecond: 1_000 } };
    const weights = { cost: 0, quality: 0, latency: 1 };
    const lineWith = (other: Parameters<typeof model>[1]) =>
      tell(facts({ weights }), snapshot([model('quick', { q: 0.7, ...quick }), model('other', other)]))[3];
    const start = 'Of 2 models that could serve the request, other was';
    expect(lineWith({ q: 0.8 })).toStartWith(`${start} better at the same cost.`);
    expect(lineWith({ q: 0.7, cost: price(0.1, 0.4) })).toStartWith(`${start} cheaper and as good.`);
    expect(lineWith({ q: 0.8, cost: price(0.1, 0.4) })).toStartWith(`${start} cheaper and better.`);
  });

  test('names each state of health', () => {
    const two = snapshot([model('a', { q: 0.9 }), model('b', { q: 0.7 })]);
    const out = (state: keyof typeof HEALTH) => {
      const health = Uint8Array.of(HEALTH[state], 0);
      return tell(facts(), two, byQuality, { ...priorReadings(two), health, allHealthy: false })[2];
    };
    expect(out('ejected')).toBe('a was rejected because it is unavailable for now: too many faults.');
    expect(out('cooling')).toBe('a was rejected because it is unavailable for now: its provider asked for a pause.');
    expect(out('misconfigured')).toBe(
      'a was rejected because it is unavailable for now: its provider refuses the API key of this gateway.',
    );
  });

  test('omits the lead by part if the strategy gives the parts of only one model', () => {
    const half: RequestStrategy = {
      ...byQuality,
      parts: ({ quality }, at): Record<string, number> => (at === 0 ? {} : { quality: quality[at]! }),
    };
    const two = snapshot([model('a', { q: 0.9 }), model('b', { q: 0.7 })]);
    expect(tell(facts(), two, half)[2]).toEndWith(' Its utility is 0.2 above the utility of b.');
  });

  test('names the input tokens as counted for the choice, not for other models', () => {
    const two = snapshot([model('a', { q: 0.9, imageTokensMax: 85 }), model('b', { q: 0.7, imageTokensMax: 900 })]);
    expect(tell(facts({ images: 2 }), two)[0]).toContain('about 670 input tokens');
    expect(tell(facts({ images: 2, allowedModels: ['b'] }), two)[0]).toContain('about 2,300 input tokens');
  });

  test('stays short for any catalog: it groups models by reason and counts the rest', () => {
    const languages = ['c', 'go', 'lua', 'perl', 'ruby', 'rust', 'scala', 'swift'];
    const many = snapshot(
      [...Array(500).keys()].map((at) =>
        model(`m${at}`, {
          languages: new Set(languages.slice(0, at % 8)),
          lacksLanguages: new Set(['swift']),
          maxOutput: 100 + at,
        }),
      ),
    );
    const lines = tell(facts({ languages }), many);
    expect(lines).toHaveLength(2 + 6 + 1 + 1);
    expect(lines[2]).toBe(
      '63 models were rejected, each because it does not handle swift, and the policy does not say whether it handles c, go, lua, perl, ruby, rust, scala: m0, m104, m112, m120, m128, m136, m144, m152 and 55 more.',
    );
    expect(lines.at(-2)).toBe('124 more models were rejected for other reasons.');
    const capped = tell(facts({ outputTokensMax: 350 }), many, byQuality);
    expect(capped[2]).toStartWith('250 models were rejected, each because max_tokens is above its maximum: m0, ');
  });
});
