import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { shipped } from '../../../plugins/index.ts';
import { decideFor, hypotheticalFacts } from '../../../src/admin/use-cases/policy/hypothetical.ts';
import { USUAL_TIME } from '../../../src/admin/use-cases/policy/reasons.ts';
import type { PolicySnapshot } from '../../../src/core/policy/snapshot.ts';
import { createRegistry } from '../../../src/host/plugins/registry.ts';
import { buildRuntime, type Runtime } from '../../../src/policy/runtime/runtime.ts';
import { isRefusal } from '../../../src/routing/decide.ts';
import { tries } from '../../deep/effort.ts';
import { runtimeWith } from '../../panel/decide.ts';
import { SELECTORS } from '../../panel/judge.ts';
import { PARTS, panelOf } from '../../panel/panel.ts';
import { loaded } from '../../routing/build.ts';
import { chatRequest } from '../../support/model-request.ts';
import { decisionsOfVersion1 } from './decisions.ts';
import recorded from './version-1.json' with { type: 'json' };

const KEYS = { OPENAI_API_KEY: 'key-of-the-test', ANTHROPIC_API_KEY: 'key-of-the-test' };
const THREE = ['gpt-6.1-sol', 'gpt-6-luna', 'claude-sonnet-5-5'];
const handWritten = readFileSync(new URL('three-models.yaml', import.meta.url), 'utf8');
const panel = PARTS.flatMap((part) => panelOf(part));

test('version 1 decides exactly as the release before version 2 did', () => {
  expect(decisionsOfVersion1()).toEqual(recorded);
});

/**
 * Returns the estimates of the three models for each request of the panel and each selector. Their classes of quality depend on the other
 * models of the policy, so only the estimates can be equal.
 */
function decidedBy(runtime: Runtime): string[] {
  const key = { id: 'panel', labels: {}, models: THREE };
  return panel.flatMap(({ id, body }) =>
    SELECTORS.map((model) => {
      const request = chatRequest({ ...body, model });
      const facts = hypotheticalFacts({ request, key, timeMs: Date.parse(USUAL_TIME) }, runtime);
      // The tiers of the shipped policy have other models than these three.
      const { tier: _, ...ranked } = facts;
      const outcome = decideFor(ranked, runtime);
      if (isRefusal(outcome)) return `${id} ${model} refused`;
      const estimates = outcome.ranked.map((one) => [
        runtime.snapshot.models[one.model]!.id,
        one.quality,
        one.costCredits,
        one.latencyMs,
      ]);
      return `${id} ${model} ${estimates.map(String).sort().join(' ')}`;
    }),
  );
}

describe('a policy of three models that states only the reference price', () => {
  const runtimeOf = (text: string) => buildRuntime(loaded(text, KEYS), createRegistry(shipped), () => 'x');
  const ofShipped = decidedBy(runtimeWith({ name: 'two', providers: ['openai', 'anthropic'] }));

  test('a policy of three models that states only the reference price estimates every request of the panel in version 2 as the shipped policy does', () => {
    expect(ofShipped.length).toBeGreaterThan(500);
    expect(decidedBy(runtimeOf(handWritten))).toEqual(ofShipped);
  });

  test('a policy of three models that states only the reference price decides differently in version 1', () => {
    const former = decidedBy(runtimeOf(handWritten.replace('version: 2', 'version: 1')));
    const chosen = (line: string) => line.split(' ').slice(0, 3).join(' ');
    expect(former.filter((line, at) => chosen(line) !== chosen(ofShipped[at]!)).length).toBeGreaterThan(10);
  });
});

/** The defaults of version 2, as a policy of version 1 states them. */
const WRITTEN_OUT: Readonly<Record<string, string>> = {
  unstated_latency: 'slow',
  unstated_quality: 'lower_end',
  quality_step: '0.015',
  unstated_languages: 'admit',
  alias_patterns: 'unknown_names',
  default_aliases: 'agents',
  language_worth: '0.06',
  hard_quality_factor: '8',
  'gateway.output_above_maximum': 'cap',
  'gateway.failed_streams': 'break',
  'gateway.repeats_in_flight': 'wait',
  'gateway.request_fallbacks': 'true',
  'gateway.forced_tools': 'adapt',
  answer_length: 'measured',
  reference_price: '{ input: 1, output: 2 }',
  'tasks.general': '{ expected_output_tokens: 400, default_input_tokens: 500, min_useful_output: 64 }',
  'tasks.chat': '{ expected_output_tokens: 250, default_input_tokens: 300, min_useful_output: 64 }',
  'tasks.coding': '{ expected_output_tokens: 1200, default_input_tokens: 2000, min_useful_output: 128 }',
  'tasks.math': '{ expected_output_tokens: 700, default_input_tokens: 300, min_useful_output: 64 }',
  'tasks.reasoning': '{ expected_output_tokens: 800, default_input_tokens: 800, min_useful_output: 64 }',
  'tasks.writing': '{ expected_output_tokens: 900, default_input_tokens: 400, min_useful_output: 128 }',
  'tasks.summarization': '{ expected_output_tokens: 350, default_input_tokens: 4000, min_useful_output: 64 }',
  'tasks.translation': '{ expected_output_tokens: 600, default_input_tokens: 600, min_useful_output: 64 }',
  'tasks.extraction': '{ expected_output_tokens: 250, default_input_tokens: 2000, min_useful_output: 32 }',
  'tasks.classification': '{ expected_output_tokens: 20, default_input_tokens: 400, min_useful_output: 8 }',
  'tasks.tool_use': '{ expected_output_tokens: 200, default_input_tokens: 1500, min_useful_output: 64 }',
  'tasks.vision': '{ expected_output_tokens: 300, default_input_tokens: 300, min_useful_output: 64 }',
  'auto.quality': '0.8',
  'auto.cost': '0.2',
  'auto.latency': '0.02',
  'auto.patience_ms': '60000',
  'auto-fast.patience_ms_per_token': '60',
  'auto-fast.emphasis': '34',
  'auto-fast.hard_factor_max': '2',
  'frugal.hard_factor_max': '1',
};
const OWN: Readonly<Record<string, string>> = {
  unstated_latency: 'neutral',
  unstated_quality: 'default',
  quality_step: '0.01',
  unstated_languages: 'exclude',
  alias_patterns: 'all_names',
  default_aliases: 'none',
  language_worth: '0.2',
  hard_quality_factor: '3',
  'gateway.output_above_maximum': 'refuse',
  'gateway.failed_streams': 'end',
  'gateway.repeats_in_flight': 'refuse',
  'gateway.request_fallbacks': 'false',
  'gateway.forced_tools': 'refuse',
  answer_length: 'blended',
  reference_price: '{ input: 3, output: 5 }',
  'auto.quality': '3',
  'auto.cost': '1',
  'auto.latency': '0.5',
  'auto.patience_ms': '7000',
  'auto-fast.patience_ms_per_token': '90',
  'auto-fast.emphasis': '5',
  'auto-fast.hard_factor_max': '5',
  'frugal.hard_factor_max': '3',
};
const OWN_TASK = '{ expected_output_tokens: 77, default_input_tokens: 88 }';

const CATALOG = `providers: { s: { adapter: simulated }, o: { preset: openai } }
models:
  quick: { provider: o, price: { input: 1, output: 2 }, context_window: 9000, max_output: 900, quality: { default: 0.5 }, latency: { ttft_ms: 70, output_tokens_per_second: 99, basis: guessed } }
  m: { provider: o, price: { input: 1, output: 2 }, context_window: 9000, max_output: 900, quality: { default: 0.5 } }
`;

/** Makes a policy that states these settings, by name. */
function policyOf(version: number, settings: Readonly<Record<string, string>>): string {
  const below = (owner: string) =>
    Object.entries(settings).flatMap(([name, value]) =>
      name.startsWith(owner) ? `${name.slice(owner.length)}: ${value}` : [],
    );
  const singles = Object.entries(settings).flatMap(([name, value]) =>
    name.includes('.') ? [] : `${name}: ${value}\n`,
  );
  const auto = below('auto.').join(', ');
  return `version: ${version}\n${CATALOG}${singles.join('')}gateway: { ${below('gateway.').join(', ')} }
tasks: { ${below('tasks.').join(', ')} }
selectors: { auto: { strategy: auto, options: { ${auto} } }, mine: { strategy: auto, options: { ${auto} } }, frugal: { strategy: auto-cheap, options: { ${below('frugal.').join(', ')} } }, auto-cheap: { strategy: auto-cheap, options: { ${below('frugal.').join(', ')} } }, auto-fast: { strategy: auto-fast, options: { ${below('auto-fast.').join(', ')} } } }\n`;
}

/**
 * Returns everything in a snapshot that defaults affect. Tasks are compared by name, because their order is the order in which they are
 * written.
 */
function effectOf({ tasks, selectors, models, languages, ...others }: PolicySnapshot) {
  const {
    languageWorth,
    hardQualityFactor,
    qualityStep,
    answerLength,
    answerWorth,
    referencePrice,
    defaultWeights,
    patternsCoverKnown,
    defaultAliases,
    gateway,
  } = others;
  return {
    tasks: tasks.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    options: [...selectors.values()].map(({ name, strategy, options }) => [name, strategy, options]),
    latencies: models.map(({ latency }) => latency),
    qualities: models.map(({ quality }) => [...tasks].map(({ name }, at) => [name, quality[at]]).sort()),
    languages,
    single: {
      languageWorth,
      hardQualityFactor,
      qualityStep,
      answerLength,
      answerWorth,
      referencePrice,
      defaultWeights,
      patternsCoverKnown,
      defaultAliases,
      gateway,
    },
  };
}

describe('version 2 is version 1 with the defaults written out:', () => {
  const env = { OPENAI_API_KEY: 'key-of-the-test' };
  const effectIn = (text: string) => effectOf(loaded(text, env));
  const names = Object.keys(WRITTEN_OUT);
  const statements = fc
    .subarray(names)
    .map((stated) => Object.fromEntries(stated.map((name) => [name, OWN[name] ?? OWN_TASK])));
  const law = (defaults: Readonly<Record<string, string>>) =>
    fc.property(statements, (own) => {
      expect(effectIn(policyOf(2, own))).toEqual(effectIn(policyOf(1, { ...defaults, ...own })));
    });

  test('whatever a policy states itself, both versions have the same effect', () => {
    fc.assert(law(WRITTEN_OUT), tries('version 2 is version 1 with the defaults written out', 30, 3000));
  });

  test.each(Object.keys(WRITTEN_OUT).filter((name) => name !== 'tasks.general'))('the law fails without %s', (name) => {
    const { [name]: _, ...others } = WRITTEN_OUT;
    expect(fc.check(law(others), { numRuns: 60, endOnFailure: true, seed: 1 }).failed).toBe(true);
  });
});
