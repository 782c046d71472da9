import { describe, expect, test } from 'bun:test';
import type { PreparedStrategy } from '../../src/contract/strategy.ts';
import type { Estimate } from '../../src/core/decision/estimate.ts';
import { HEALTH, priorReadings, type Readings } from '../../src/core/decision/readings.ts';
import { emptyBits, setBit } from '../../src/core/policy/rules.ts';
import type { PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { CAPABILITIES } from '../../src/core/request/capability.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { certify } from '../../src/routing/certify.ts';
import { story } from '../../src/routing/story.ts';
import { byQuality, facts, funds, GENERAL, model, price, snapshot, usual } from './build.ts';

const place = (line: number) => ({ file: '/srv/policy/rules.yaml', line, column: 3 });

function bits(...chosen: number[]): Uint32Array {
  const set = emptyBits(4);
  for (const at of chosen) setBit(set, at);
  return set;
}

const sees = { capabilities: CAPABILITIES.vision.bit };
const from = snapshot(
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
);

function tell(
  request: Facts,
  of: PolicySnapshot = from,
  strategy: PreparedStrategy = usual('auto'),
  readings?: Readings,
) {
  return story(
    certify(of, request, { id: 0, seed: '0', reason: 'auto:balanced', strategy, ...(readings && { readings }) }),
    request,
  );
}

describe('a story', () => {
  test('names the request, the rejected models, and the reason for the choice', () => {
    expect(tell(facts({ needs: CAPABILITIES.vision.bit }))).toEqual([
      'The request names auto, and its task is general: about 500 input tokens; needs vision.',
      'Expected answer: 400 tokens, declared by the policy for general tasks.',
      'blind was rejected because it lacks vision.',
      'best is the best of 3 models by auto:balanced: expected quality 90 %, 6.3 Credits, 4.5 s. Its utility is 0.0588 above the utility of good: quality +0.0784, cost −0.0196.',
      'Signalbox holds at most 55.152 Credits, the cost of up to 4,096 output tokens.',
      'best is also the baseline that savings are measured against, so this choice saves nothing.',
    ]);
  });

  test('names active rules with their locations, and the effect of preferences', () => {
    const lines = tell(facts({ rules: { constraints: [0], preferences: [0] } }));
    expect(lines).toContain('Constraints that apply: patience (rules.yaml:7).');
    expect(lines).toContain('slow was rejected because the policy rejects it: patience.');
    expect(lines).toContain(
      'Preferences that apply: mature (rules.yaml:12) counts as +0.2 quality for good. Without them, best would be chosen.',
    );
    expect(lines.find((line) => line.startsWith('good is the best'))).toContain(
      'expected quality 80 % (counts as 99.9 % with preferences), 2.1 Credits',
    );
  });

  test('names the quality of the class, and what decided between equal utilities', () => {
    const tied = (more: Parameters<typeof model>[1]) => {
      const all = [model('a', { q: 0.805 }), model('b', { q: 0.79, ...more })];
      const of = snapshot(all, { qualityStep: 0.02 });
      const request = facts({ qualityStep: 0.02 });
      const context = { id: 0, seed: '0', reason: 'test', strategy: byQuality };
      const certificate = certify(of, request, context);
      return [certificate.tieDecidedBy, story(certificate, request).find((line) => line.includes('is the best'))];
    };
    expect(tied({ cost: price(0.5, 2) })).toEqual([
      'cost',
      'b is the best of 2 models by test: expected quality 79 % (scored as 81 %, the best of its class), 1.05 Credits, 4.5 s. a has the same utility; the lower cost decided.',
    ]);
    expect(tied({ latency: { ttftMs: 100, outputTokensPerSecond: 100 } })[0]).toBe('latency');
    expect(tied({})[0]).toBe('quality');
    expect(tied({ q: 0.805 })[0]).toBe('id');
    expect(tied({ q: 0.7 })[0]).toBeNull();
  });

  test('names the effect of preferences and the quality of the class together', () => {
    const preferences = [{ name: 'mature', place: place(12), when: null, prefers: bits(0), worth: 0.1 }];
    const of = snapshot([model('a', { q: 0.79 }), model('b', { q: 0.8 })], { qualityStep: 0.02, preferences });
    const lines = tell(facts({ qualityStep: 0.02, rules: { constraints: [], preferences: [0] } }), of);
    expect(lines.find((line) => line.startsWith('a is'))).toContain(
      'expected quality 79 % (counts as 89 % with preferences, scored as 90 %, the best of its class), ',
    );
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
    const measured = { ...prior, outputTokens: lengths, referenceTokens: lengths };
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
    expect(said(coding, { ...prior, outputTokens: lengths })).toBe(
      'Expected answer: 640 tokens, measured from answers to coding tasks, blended with the declared length.',
    );
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

  test('shows qualities below a quality floor with enough decimals to distinguish them from it', () => {
    const floored: PreparedStrategy = {
      ...byQuality,
      qualityFloor: 0.93,
      score: ({ n, quality }, out) => {
        for (let at = 0; at < n; at++) out[at] = quality[at]! < 0.93 ? Number.NEGATIVE_INFINITY : quality[at]!;
      },
    };
    const of = (...qualities: number[]) =>
      tell(facts(), snapshot([0.95, ...qualities].map((q, at) => model(`m${at}`, { q }))), floored)[2];
    const why = 'below the `quality_floor` of 93 %';
    expect(of(0.8)).toBe(`m1 was rejected because its expected quality of 80 % is ${why}.`);
    expect(of(0.928)).toBe(`m1 was rejected because its expected quality of 92.8 % is ${why}.`);
    expect(of(0.92999)).toBe(`m1 was rejected because its expected quality of 92.999 % is ${why}.`);
    expect(of(0.8, 0.928)).toBe(`2 models were rejected, each because its expected quality is ${why}: m1, m2.`);
  });

  test('says that a model was requested by name, was the only one, or won a tie', () => {
    expect(tell(facts({ model: 'good', named: ['good'] }))[2]).toStartWith('good was requested by name: expected');
    expect(tell(facts({ allowedModels: ['good'] })).at(-3)).toStartWith('good is the only model left: expected');
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
    expect(tell(facts(), from, broken)[2]).toEndWith(
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
      'Some endpoints of a are not healthy: p is cooling.',
      'About 300 of 500 input tokens are probably still in the cache of a.',
      'Signalbox holds at most 18.384 Credits, the cost of up to 4,096 output tokens.',
      'Savings are measured against the baseline, b, which would cost 4.2 Credits: 10 percentage points lower expected quality at 200 % of the cost.',
    ]);
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
    const half: PreparedStrategy = {
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

  test('uses the recorded shares of a mix of tasks', () => {
    const tasks = {
      tasks: [GENERAL, { ...GENERAL, name: 'coding' }],
      taskIndex: new Map([
        ['general', 0],
        ['coding', 1],
      ]),
    };
    const mixed = snapshot([model('a', { quality: Float64Array.of(0.2, 0.8) })], tasks);
    const mix = [
      { task: 'coding', share: 0.5 },
      { task: 'general', share: 0.5 },
    ];
    expect(tell(facts({ task: 'coding', mix }), mixed, byQuality)[2]).toContain('expected quality 50 %');
  });
});

describe('the explanation of estimates', () => {
  const two = snapshot([model('a', { q: 0.74 }), model('b', { q: 0.6 })]);
  const lines = (more: Partial<Estimate>, request = facts({ task: 'general' })) => {
    const estimate = { quality: Float64Array.of(0.74, 0.6), length: 0, ...more };
    const given = { id: 0, seed: '0', reason: 'auto:balanced', strategy: byQuality, estimate };
    return story(certify(two, request, given), request);
  };

  test('is empty if a quality is the declared one', () => {
    expect(lines({})).toEqual(tell(facts(), two, byQuality));
  });

  test('has the declared quality and the step from it, rounded so that they add up', () => {
    const sentences = lines({ quality: Float64Array.of(0.714, 0.6), length: -0.1 });
    expect(sentences.slice(3, 4)).toEqual([
      'Quality of a: 0.71 = declared 0.74 for general, −0.03 for the length of the question.',
    ]);
  });
});
