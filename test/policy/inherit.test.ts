import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { PATIENCE_MS_MAX } from '../../plugins/strategies/weights.ts';
import type { PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { tries } from '../deep/effort.ts';
import { facts, loaded, loadWith, outcomeOf, prepared, registry } from '../routing/build.ts';
import { EVERY_VARIABLE } from './shipped.ts';
import { shippedPolicy } from './support.ts';

const CATALOG = `version: 1
providers: { s: { adapter: simulated } }
models:
  good: { provider: s, price: { input: 5, output: 20 }, context_window: 9000, max_output: 900, quality: { default: 0.95 }, tags: [home] }
  small: { provider: s, price: { input: 0.1, output: 0.4 }, context_window: 9000, max_output: 900, quality: { default: 0.6 } }
`;
const policy = (selectors: string) => `${CATALOG}selectors:\n${selectors}`;
const optionsIn = (selectors: string, name: string) => loaded(policy(selectors)).selectors.get(name)!.options;
const diagnosticsOf = (selectors: string) => loadWith(policy(selectors)).diagnostics;

const TUNED = '  auto: { strategy: auto, options: { quality: 3, cost: 0.5, patience_ms: 5000, quality_floor: 0.7 } }\n';

describe('a selector of auto-cheap or auto-fast', () => {
  test('a selector of auto-cheap or auto-fast inherits from `auto` the options that it does not state, also if `auto` is built in', () => {
    const inherited = { quality: 3, cost: 0.5, latency: 0.1, patience_ms: 5000, quality_floor: 0.7 };
    expect(optionsIn(TUNED, 'auto-cheap')).toEqual({ ...inherited, emphasis: 16, hard_factor_max: 1000 });
    expect(optionsIn(TUNED, 'auto-fast')).toEqual({
      ...inherited,
      emphasis: 12,
      patience_ms_per_token: PATIENCE_MS_MAX,
      hard_factor_max: 1000,
    });
    const own = `${TUNED}  frugal: { strategy: auto-cheap, options: { emphasis: 40, latency: 0, quality_floor: 0.5 } }\n`;
    expect(optionsIn(own, 'frugal')).toEqual({
      ...inherited,
      emphasis: 40,
      hard_factor_max: 1000,
      latency: 0,
      quality_floor: 0.5,
    });
  });

  test('a selector of auto-cheap or auto-fast inherits the filter of models from `auto`, unless it states a filter', () => {
    const filtered = `  auto: { strategy: auto, models: { require: '"home" in model.tags' } }
  wide: { strategy: auto-cheap, models: { require: 'true' } }
`;
    const { selectors } = loaded(policy(filtered));
    const allowed = (name: string) => [...(selectors.get(name)!.allows ?? [])];
    expect(allowed('auto')).toEqual([0b01]);
    expect(allowed('auto-cheap')).toEqual([0b01]);
    expect(allowed('wide')).toEqual([0b11]);
  });

  test('a selector of auto-cheap or auto-fast must state its weights if `auto` uses another strategy, and the error names them', () => {
    const [error, ...others] = diagnosticsOf(
      '  auto: { strategy: weighted }\n  auto-fast: { strategy: fastest-within-margin }\n',
    );
    expect(others).toEqual([]);
    expect(error).toMatchObject({ code: 'nothing-to-inherit', severity: 'error' });
    expect(error!.message).toBe(
      '`selectors.auto-cheap` inherits missing options from the selector `auto`, but that selector runs `weighted` instead of running `auto`',
    );
    expect(error!.expected).toContain('`quality`, `cost`, `latency`, `patience_ms`');
    const stated = '{ strategy: auto-cheap, options: { quality: 1, cost: 1, latency: 0, patience_ms: 1000 } }';
    const mended = '  auto: { strategy: weighted }\n  auto-fast: { strategy: fastest-within-margin }\n';
    expect(diagnosticsOf(`${mended}  auto-cheap: ${stated}\n`)).toEqual([]);
  });

  test('a selector of auto-cheap or auto-fast does not repeat the errors of `auto`', () => {
    const found = diagnosticsOf('  auto: { strategy: auto, options: { quality: -1 } }\n');
    expect(found.map(({ code }) => code)).toEqual(['out-of-range']);
  });
});

describe('a policy of 0.1', () => {
  const old = `  auto-fast: { strategy: auto-fast, options: { quality_margin: 0.08 } }
  frugal: { strategy: auto-cheap, options: { quality_margin: 0.25, quality_floor: 0.8 } }
`;

  test('a policy of 0.1 loads with warnings and keeps running the margin strategies', () => {
    const { snapshot, diagnostics } = loadWith(policy(old));
    expect(diagnostics.map(({ code, severity, line }) => [code, severity, line])).toEqual([
      ['former-option', 'warning', 7],
      ['former-option', 'warning', 8],
    ]);
    expect(diagnostics[1]!.message).toBe('`selectors.frugal` sets `quality_margin`, which `auto-cheap` no longer has');
    expect(diagnostics[1]!.hint).toBe(
      'the selector runs as `cheapest-within-margin`. To keep that, write `strategy: cheapest-within-margin`; to use the current `auto-cheap`, remove `quality_margin`',
    );
    expect(snapshot!.selectors.get('frugal')).toMatchObject({
      strategy: 'cheapest-within-margin',
      options: { quality_margin: 0.25, quality_floor: 0.8 },
    });
    expect(snapshot!.selectors.get('auto-fast')!.strategy).toBe('fastest-within-margin');
  });

  test('a policy of 0.1 that mixes former and current options gets an error with the strategy and the reason', () => {
    const found = diagnosticsOf('  frugal: { strategy: auto-cheap, options: { emphasis: 4, quality_margin: 0.05 } }\n');
    expect(found.map(({ code }) => code)).toEqual(['unknown-key', 'former-option']);
    expect(found[0]!.hint).toBe(
      'the selector runs as `cheapest-within-margin`, because it sets `quality_margin`, which `auto-cheap` no longer has',
    );
  });

  test('a policy of 0.1 has no warning after the change that the warning suggests', () => {
    const mended = old.replace('strategy: auto-fast', 'strategy: fastest-within-margin');
    expect(diagnosticsOf(mended.replace('strategy: auto-cheap', 'strategy: cheapest-within-margin'))).toEqual([]);
  });
});

describe('over the shipped catalog, with any options of `auto`,', () => {
  const weight = fc.constantFrom(0, 0.05, 0.1, 0.3, 0.6, 1, 5);
  const tuned = fc
    .record({
      quality: weight,
      cost: weight,
      latency: weight,
      patience_ms: fc.constantFrom(500, 5_000, 20_000, 120_000),
      floor: fc.constantFrom(undefined, 0.5, 0.8, 0.93),
      filter: fc.constantFrom('', `, models: { require: '!("flagship" in model.tags)' }`),
    })
    .filter(({ quality, cost, latency }) => quality + cost + latency > 0);
  const request = fc.record({
    task: fc.constantFrom('general', 'chat', 'coding', 'math', 'writing', 'classification', 'tool_use', 'vision'),
    inputTokens: fc.constantFrom(5, 300, 4_000, 60_000, 250_000),
    outputTokensAsked: fc.constantFrom(null, 1, 200, 4_000),
    choices: fc.constantFrom(1, 3),
    ceilings: fc.record({
      costCredits: fc.constantFrom(null, 2, 40),
      latencyMs: fc.constantFrom(null, 15_000, 60_000),
    }),
  });
  /** Many requests for each policy, because loading takes a thousand times as long as deciding. */
  const requests = fc.array(request, { minLength: 20, maxLength: 20 });
  const keys = fc.constantFrom(
    EVERY_VARIABLE,
    { OPENAI_API_KEY: 'key-of-the-test' },
    { ANTHROPIC_API_KEY: 'key-of-the-test' },
    { GROQ_API_KEY: 'key-of-the-test' },
  );

  /** Returns the shipped policy with another `auto`. The policy keeps the two other selectors unchanged. */
  const policyWith = ({ filter, floor, ...weights }: typeof tuned extends fc.Arbitrary<infer T> ? T : never) => {
    const options = Object.entries({ ...weights, ...(floor === undefined ? {} : { quality_floor: floor }) });
    const text = options.map(([key, value]) => `${key}: ${value}`).join(', ');
    const shipped = shippedPolicy().filter(({ path }) => !path.endsWith('cases.yaml'));
    return shipped.map(({ path, text: file }) => ({
      path,
      text: file.replace(/^ {2}auto:\n(?: {4}.*\n)+/m, `  auto: { strategy: auto, options: { ${text} }${filter} }\n`),
    }));
  };

  type Prepare = typeof prepared;
  const NAMES = ['auto', 'auto-cheap', 'auto-fast'];

  function neverWorse(from: PolicySnapshot, asked: Partial<Facts>, prepare: Prepare): boolean {
    const decided = NAMES.map((model) => {
      const whole = facts({ ...asked, inputTokensMax: asked.inputTokens, model });
      const outcome = outcomeOf(from, whole, prepare(from, model));
      return 'ranked' in outcome ? outcome.ranked : null;
    });
    const [ofAuto, cheap, fast] = decided;
    if (!ofAuto || !cheap || !fast) return decided.every((one) => one === null);
    const isClear = ([first, second]: typeof ofAuto) => !second || first.utility - second.utility > 2e-9;
    if (![ofAuto, cheap, fast].every(isClear)) return true;
    return cheap[0].costCredits <= ofAuto[0].costCredits && fast[0].latencyMs <= ofAuto[0].latencyMs;
  }

  const holds = (prepare: Prepare) =>
    fc.property(tuned, requests, keys, (given, all, env) => {
      const from = loaded(policyWith(given), env);
      return all.every((one) => neverWorse(from, one, prepare));
    });

  test('auto-cheap never costs more than auto, and auto-fast is never slower', () => {
    fc.assert(holds(prepared), tries('auto-cheap never costs more than auto, and auto-fast is never slower', 6, 300));
  });

  test('the law detects a loader that ignores inheritance', () => {
    const stubborn: typeof prepared = (from, selector) => {
      const { strategy } = from.selectors.get(selector)!;
      if (selector === 'auto') return prepared(from, selector);
      return registry.strategies.get(strategy)!.prepare({ emphasis: 6, hard_factor_max: 1_000 });
    };
    expect(fc.check(holds(stubborn), { numRuns: 300, endOnFailure: true }).failed).toBe(true);
  });
});
