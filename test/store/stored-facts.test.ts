import { expect, test } from 'bun:test';
import { json } from '../../src/core/define/fields.ts';
import { type Facts, FactsAnswer } from '../../src/core/request/facts.ts';
import { decodeBody, encodeBody } from '../../src/store/sql/records/body.ts';
import { record } from '../gateway/records/support.ts';
import { facts } from '../routing/build.ts';
import samples from './stored-facts.json' with { type: 'json' };

/** Facts as earlier builds stored them, and as answers have them. A record that is stored once loads in every later build. */
const ALL: Facts = {
  ...{ operation: 'chat', model: 'm1', alias: 'best', named: ['m1', 'm2'], task: 'coding' },
  ...{ fallbacks: { by: 'policy', error: ['m2'], context: ['m3'] }, mix: [{ task: 'coding', share: 0.8 }] },
  ...{ isTaskStated: true, difficulty: 'hard', naturalLanguage: 'en', languagesSeen: ['python'] },
  stuck: { sameFailures: 1, failingRuns: 2, undoneEdits: 3, repeatedCalls: 4 },
  ...{ inputTokens: 10, inputTokensMax: 11, images: 12, audioBytes: 13, pdfs: 14, pages: 15, unboundedMedia: 16 },
  ...{ inputTokensCounted: { o200k: 17 }, serviceCounts: { m1: { tokens: 18, margin: 19 } } },
  ...{ outputTokens: 20, outputTokensAsked: 21, outputTokensMax: 22, outputTokensMin: 23, capsOutput: true },
  ...{ choices: 2, needs: 0b11, cached: [{ model: 'm1', tokens: 24, at: 1 }], languages: ['rust'] },
  ...{ weights: { cost: 1, quality: 2, latency: 3 }, ceilings: { costCredits: 4.5, latencyMs: 900 } },
  ...{ budget: 5_000_000, funds: { free: 6_000_000, cap: { by: 'team', unspent: 7_000_000 } } },
  addOns: {
    ...{ tier: 'flex', units: ['cache_write_1h'], unitsAt: 'messages[0]', toolUses: { web_search: 2 } },
    ...{ rereadings: 2, unpriced: ['x'] },
  },
  ...{ rules: { constraints: [1], preferences: [2] }, allowedModels: ['m1', 'm2'], deniedModels: ['m4'] },
  ...{ thread: { model: 'm1', endpoints: [0], tokens: 25 }, readers: ['m1'] },
  ...{ texts: { inputs: 3, longest: 26, dimensions: 256 }, tier: { name: 'strong', hard: 0.9 } },
  ...{ escalation: { signal: 'low_score', turnsAgo: 1 }, conversation: { id: 'c', answers: 2 } },
  unescalated: { signal: 'correction', turnsAgo: 0, share: { escalated: 1, conversations: 2 } },
  guards: { pii: 2 },
};

/** The facts of requests, in the order of the samples. */
const FACTS = [
  facts(),
  facts({ model: 'm1', named: ['m1'], unescalated: { signal: 'low_score', turnsAgo: 1, share: null, isUnpaid: true } }),
  facts({ model: 'm1', named: ['m1', 'm2'], pdfs: 2 }),
  facts({ guards: { pii: 1 }, pdfs: 0 }),
  ALL,
];

const textOf = (of: Facts): string => encodeBody(record(1, 5, { facts: of }));

test.each(FACTS.map((of, at) => [of, samples[at]!] as const))(
  'facts are stored and answered as before: %#',
  (of, sample) => {
    expect(JSON.parse(textOf(of))[1]).toEqual(sample.stored);
    expect(JSON.stringify(json(FactsAnswer, of))).toBe(JSON.stringify(sample.answer));
    expect(decodeBody(textOf(of)).facts).toEqual(of);
  },
);

test('facts of builds that knew fewer of them, or more, load', () => {
  const named = facts({ model: 'm1', named: ['m1'] });
  const body = JSON.parse(textOf(named));
  const decoded = (values: readonly unknown[]) => decodeBody(JSON.stringify(body.with(1, values))).facts;
  const { pages: _, ...former } = named;
  expect(decoded(body[1].slice(0, -1))).toEqual(former as Facts);
  const all = samples.at(-1)!;
  expect(decoded([...all.stored, 'later'])).toEqual(ALL);
});
