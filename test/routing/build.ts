import { Value } from '@sinclair/typebox/value';
import { shipped } from '../../plugins/index.ts';
import type { PreparedStrategy, RequestStrategy } from '../../src/contract/strategy.ts';
import type { Decision, Refusal } from '../../src/core/decision/decision.ts';
import type { Readings } from '../../src/core/decision/readings.ts';
import { OPERATIONS } from '../../src/core/kinds/operations.ts';
import { lazy } from '../../src/core/lazy.ts';
import { type Price, priceLine } from '../../src/core/money/price.ts';
import { PART_UNITS, UNITS } from '../../src/core/money/units.ts';
import { languageSupport } from '../../src/core/policy/language-support.ts';
import type { Constraint } from '../../src/core/policy/rules.ts';
import type { Endpoint, Model, PolicySnapshot, Provider, Task } from '../../src/core/policy/snapshot.ts';
import { type Facts, type FundFacts, NO_RULES } from '../../src/core/request/facts.ts';
import { createRegistry } from '../../src/host/plugins/registry.ts';
import { loadPolicy } from '../../src/policy/load.ts';
import { cachedTokensMin } from '../../src/policy/providers/providers.ts';
import { Report } from '../../src/policy/report/report.ts';
import { withLadders } from '../../src/policy/selectors/ladders.ts';
import { createDecider, isRefusal } from '../../src/routing/decide.ts';

export const registry = createRegistry(shipped);

/** Creates a price. At 0.001 USD per Credit, USD per 1M tokens equal millicredits per token. */
export function price(input: number, output: number, more: PriceMore = {}): Price {
  const { divisor = 1, perRequest = 0, rates = {} } = more;
  const [ofInput, ofOutput] = [input * 1000, output * 1000];
  const parts = PART_UNITS.filter((unit) => !UNITS[unit].asked);
  const resolved = parts.map((unit) => [unit, UNITS[unit].side === 'input' ? ofInput : ofOutput]);
  const all = { ...Object.fromEntries(resolved), input: ofInput, output: ofOutput, request: perRequest, ...rates };
  return { lines: [priceLine(0, all)], divisor };
}

interface PriceMore {
  readonly divisor?: number;
  readonly perRequest?: number;
  /** Further rates by `UnitKey`. */
  readonly rates?: Readonly<Record<string, number>>;
}

/** The settings of an endpoint; `capabilities` default to the model's. */
type EndpointMore = Omit<Endpoint, 'capabilities'> & Partial<Endpoint>;

interface ModelMore extends Partial<Omit<Model, 'latency' | 'endpoints'>> {
  readonly endpoints?: readonly [EndpointMore, ...EndpointMore[]];
  readonly q?: number;
  readonly cost?: Price;
  /** `basis` defaults to `stated`, and the warm time to the first token to the cold one. */
  readonly latency?: Omit<Model['latency'], 'warmTtftMs' | 'basis'> & Partial<Model['latency']>;
}

export function model(id: string, more: ModelMore = {}): Model {
  const { q = 0.8, cost = price(1, 4), latency = { ttftMs: 500, outputTokensPerSecond: 100 }, ...rest } = more;
  const { capabilities = 0, endpoints: given = [{ provider: 'p', upstream: id, regions: [], price: cost }] } = more;
  const able = (endpoint: EndpointMore): Endpoint => ({ capabilities, ...endpoint });
  const [first, ...others] = given;
  return {
    id,
    contextWindow: 100_000,
    operations: OPERATIONS.chat.bit,
    embedding: null,
    maxOutput: 8192,
    defaultMaxOutput: 4096,
    capabilities: 0,
    languages: new Set(),
    lacksLanguages: new Set(),
    tags: [],
    acceptsTemperature: true,
    reasoningTokens: 0,
    // 16 entries are more than any test has tasks.
    reasoningByTask: new Float64Array(16).fill(more.reasoningTokens ?? 0),
    mayReason: (more.reasoningTokens ?? 0) > 0,
    imageTokensMax: null,
    pageTokensMax: null,
    pagesMax: [],
    audioTokensPerSecondMax: null,
    family: id,
    tokenizer: null,
    latency: { warmTtftMs: latency.ttftMs, basis: 'stated', ...latency },
    quality: Float64Array.of(q),
    declared: { general: q, stated: Uint8Array.of(0), basis: 'guessed' },
    deadlines: { connectMs: 1, firstTokenMs: 1, idleMs: 1, totalMs: 1 },
    created: 0,
    deprecated: null,
    firstSlot: 0,
    ...rest,
    endpoints: [able(first), ...others.map(able)],
  };
}

export const GENERAL: Task = {
  name: 'general',
  expectedOutputTokens: 400,
  defaultInputTokens: 500,
  minUsefulOutput: 64,
};

/** Creates a snapshot of these models, in the order of their IDs like the loader. */
export function snapshot(models: readonly Model[], more: Partial<PolicySnapshot> = {}): PolicySnapshot {
  let slots = 0;
  const sorted = [...models]
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map((one) => {
      const placed = { ...one, firstSlot: slots };
      slots += one.endpoints.length;
      return placed;
    });
  return {
    ...BASE(),
    tasks: [GENERAL],
    // Typical requests have the first task.
    traffic: [{ task: 0, share: 1, inputTokens: 500, outputTokens: 400 }],
    usefulOutputMax: Math.max(...(more.tasks ?? [GENERAL]).map(({ minUsefulOutput }) => minUsefulOutput)),
    maxOutputMin: Math.min(...models.map(({ maxOutput }) => maxOutput)),
    totalMsMax: Math.max(0, ...models.map(({ deadlines }) => deadlines.totalMs)),
    taskIndex: new Map([['general', 0]]),
    providers: new Map(),
    cachedTokensMin: cachedTokensMin(more.providers?.values() ?? []),
    models: sorted,
    modelIndex: new Map(sorted.map(({ id }, at) => [id, at])),
    selectors: new Map(
      ['auto', 'auto-fast', 'auto-cheap'].map(
        (name) => [name, { name, strategy: name, options: {}, allows: null, vectorSpace: null }] as const,
      ),
    ),
    languages: languageSupport(sorted, true),
    namedModelsReadIntent: true,
    ...more,
  };
}

/** A policy that states only a provider and a model, so that every setting has its default. Attempts are never repeated. */
const BASE = lazy(() =>
  loaded(`version: 1
gateway: { retries_max: 0 }
providers: { sim: { adapter: simulated } }
models:
  m: { provider: sim, price: { input: 1, output: 4 }, context_window: 8192, max_output: 1024, quality: { default: 0.5 } }`),
);

/** Adds the orders of its selectors to a snapshot, as a build does. */
export function withOrders(from: PolicySnapshot): PolicySnapshot {
  const { strategies } = registry;
  const selectors = [...from.selectors].map(([name, selector]) => {
    const schema = strategies.get(selector.strategy)!.options;
    return [
      name,
      { ...selector, options: Value.Default(schema, { ...selector.options }) as Record<string, unknown> },
    ] as const;
  });
  const steps = withLadders({ ...from, selectors: new Map(selectors) }, { selectors: [], strategies }, new Report());
  for (;;) {
    const { done, value } = steps.next();
    if (done) return { ...from, selectors: value.selectors };
  }
}

/** Creates a constraint that applies to each request and limits nothing. */
export const constraint = (more: Partial<Constraint> = {}): Constraint => ({
  ...{ name: 'c', place: { file: 'p.yaml', line: 1, column: 1 }, when: null },
  ...{ allows: null, maxLatencyMs: null, maxCostCredits: null },
  ...more,
});

export function facts(more: Partial<Facts> = {}): Facts {
  return {
    operation: 'chat',
    model: 'auto',
    alias: null,
    named: null,
    task: 'general',
    mix: [],
    difficulty: 'usual',
    naturalLanguage: 'und',
    languagesSeen: [],
    inputTokens: 500,
    inputTokensMax: 2000,
    inputTokensCounted: null,
    images: 0,
    audioBytes: 0,
    pdfs: 0,
    pages: 0,
    unboundedMedia: 0,
    outputTokens: null,
    outputTokensAsked: null,
    outputTokensMax: null,
    choices: 1,
    needs: 0,
    cached: [],
    languages: [],
    weights: null,
    ceilings: { costCredits: null, latencyMs: null },
    budget: null,
    funds: null,
    rules: NO_RULES,
    allowedModels: null,
    ...more,
  };
}

/** Creates a provider with these settings and without an address. */
export const providerNamed = (name: string, more: Partial<Provider> = {}): Provider => ({
  ...{
    name,
    adapter: 'openai-compatible',
    settings: {},
    baseUrl: null,
    allowPrivateNetwork: false,
    accounts: [{ apiKeyEnv: null }],
  },
  ...{ passthrough: new Set(), cache: { ttlMs: 0, tokensMin: 0 }, afterAbort: { bills: 'unknown' } },
  ...more,
});

/** Creates funds with this many free microcredits, which downgrade the choice when they run out; null for funds that never downgrade. */
export const funds = (free: number | null): FundFacts => ({ free });

/** A strategy that scores only by quality. */
export const byQuality: RequestStrategy = {
  reason: 'quality',
  score({ n, quality }, out) {
    for (let i = 0; i < n; i++) out[i] = quality[i]!;
  },
};

export function outcomeOf(
  from: PolicySnapshot,
  request: Facts,
  strategy: PreparedStrategy = byQuality,
  readings?: Readings,
): Decision | Refusal {
  return createDecider(from).decide(request, { id: 7, seed: '0', strategy, reason: 'test', readings });
}

/** Returns the decision; throws if the request is refused. */
export function decisionOf(from: PolicySnapshot, request: Facts, strategy: PreparedStrategy = byQuality): Decision {
  const outcome = outcomeOf(from, request, strategy);
  if (isRefusal(outcome)) throw new Error(`refused: ${JSON.stringify(outcome.rejected)}`);
  return outcome;
}

/** Returns the refusal; throws if there is a decision. */
export function refusalOf(from: PolicySnapshot, request: Facts): Refusal {
  const outcome = outcomeOf(from, request);
  if (!isRefusal(outcome)) throw new Error('not refused');
  return outcome;
}

/** Returns the IDs of the ranked models in order. */
export const idsOf = ({ ranked }: Decision, from: PolicySnapshot): string[] =>
  ranked.map((one) => from.models[one.model]!.id);

/** Loads a policy's text or files with the shipped plugins. */
export function loadWith(
  files: string | readonly { path: string; text: string }[],
  env: Readonly<Record<string, string>> = {},
) {
  return loadPolicy(typeof files === 'string' ? [{ path: 'p.yaml', text: files }] : files, {
    env: { get: (name) => env[name] },
    ...registry,
    revisionOf: () => 'r',
  });
}

export function loaded(
  files: Parameters<typeof loadWith>[0],
  env: Readonly<Record<string, string>> = {},
): PolicySnapshot {
  const result = loadWith(files, env);
  if (!result.snapshot) throw new Error(result.diagnostics.map(({ message }) => message).join('\n'));
  return result.snapshot;
}

/** Returns a selector's strategy as the host prepares it. */
export function prepared(from: PolicySnapshot, selector: string): PreparedStrategy {
  const { strategy, options } = from.selectors.get(selector)!;
  return registry.strategies.get(strategy)!.prepare({ ...options });
}

/** Returns a shipped strategy with its default options. */
export function usual(name: string): PreparedStrategy {
  const { options, prepare } = registry.strategies.get(name)!;
  return prepare(Value.Default(options, {}) as Record<string, unknown>);
}
export const weighted = registry.strategies.get('weighted')!.prepare({});

/**
 * Returns the models that a decision considers: the models with the operation, or all if there are none, and always the model that the
 * request names.
 */
export function candidatesOf(from: PolicySnapshot, { named, operation }: Facts): readonly Model[] {
  if (named) return from.models.filter(({ id }) => named.includes(id));
  const able = from.models.filter(({ operations }) => (operations & OPERATIONS[operation].bit) !== 0);
  return able.length > 0 ? able : from.models;
}
