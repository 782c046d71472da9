import { hash } from 'node:crypto';
import type { PreparedGuard } from '../../contract/guard.ts';
import type { PluginMaps } from '../../contract/kinds.ts';
import type { PreparedProvider } from '../../contract/provider.ts';
import type { PreparedStrategy } from '../../contract/strategy.ts';
import { measuredModels, type Readings } from '../../core/decision/readings.ts';
import type { GuardRule } from '../../core/policy/guards.ts';
import type { RuleScope } from '../../core/policy/rules.ts';
import type { Endpoint, PolicySnapshot, Provider } from '../../core/policy/snapshot.ts';
import type { Facts } from '../../core/request/facts.ts';
import { zonedClock } from '../../core/tables/facts/time.ts';
import { messageOf } from '../../core/thrown.ts';
import type { Alarms } from '../../providers/alarm.ts';
import type { Dial } from '../../providers/connection/dial.ts';
import { UpstreamNetwork } from '../../providers/connection/network.ts';
import { type AccountOf, Health } from '../../providers/health/health.ts';
import type { OutputLengths } from '../../providers/health/output-lengths.ts';
import type { UnknownNames } from '../../providers/health/unknown-names.ts';
import { createDecider, type Decider, type DecisionContext } from '../../routing/decide.ts';
import { PromptReader } from '../../routing/profile/prompt-reader.ts';
import { saltOf } from '../../routing/spread-record.ts';
import type { Environment } from '../define/environment.ts';
import { keyValue } from '../providers/key-pool.ts';
import type { Upstream, UpstreamAccount, UpstreamTable } from './upstream.ts';

/** The strategy that scores a request, with its label. */
type StrategyInForce = Pick<DecisionContext, 'strategy' | 'reason'>;

/** How requests to a selector are scored: with its own strategy, or with `weighted` if the request has weights. */
interface SelectorScoring {
  readonly own: StrategyInForce;
  readonly weighted: StrategyInForce;
}

/** A snapshot with its prepared strategies: everything that decisions need. A decision runtime is immutable. */
export interface DecisionRuntime {
  readonly snapshot: PolicySnapshot;
  readonly decider: Decider;
  /** How to score requests, by selector. */
  readonly scorings: ReadonlyMap<string, SelectorScoring>;
  /** The scoring of a request that names a model. */
  readonly pinned: StrategyInForce;
}

/** A decision runtime with its providers: everything that requests need. A runtime is immutable. State: runtime. */
export interface Runtime extends DecisionRuntime {
  /** The guards of the policy with their prepared plugins, in their order. */
  readonly guards: readonly {
    readonly rule: GuardRule;
    readonly prepared: PreparedGuard;
    /** The API key of the guard's service; null for none. */
    readonly apiKey: string | null;
  }[];
  /** Returns the calendar time in the policy's zone. @param timeMs ms since 1970 */
  localTime(timeMs: number): RuleScope['time'];
  /**
   * Upstreams by model, then by endpoint, in the snapshot's order. The upstreams of wildcards follow the upstreams of the catalog. All
   * runtimes share the health of endpoints, because endpoints are identified by their names.
   */
  readonly upstreams: UpstreamTable;
  /** The accounts of all providers by the provider's name, also of providers without a model. */
  readonly accounts: ReadonlyMap<string, readonly UpstreamAccount[]>;
  readonly accountOf: AccountOf;
  /** Lengths of earlier answers. All runtimes share the lengths of earlier answers. */
  readonly outputs: OutputLengths;
  /** Names that services do not know. All runtimes share these unknown names. */
  readonly unknownNames: UnknownNames;
  /** Reads prompts. All runtimes share the reader. */
  readonly reader: PromptReader;
  /** Timers for the deadlines of requests and calls. All runtimes share the timers. */
  readonly alarms: Alarms;
  /** Rules and strategies whose fault was already logged, because each request would log the same fault. */
  readonly reported: WeakSet<object>;
  /** Returns the current readings of the endpoints. */
  readings(): Readings;
}

/** Returns the strategy that scores a request. */
export function strategyOf(facts: Facts, { scorings, pinned }: DecisionRuntime): StrategyInForce {
  if (facts.named !== null) return pinned;
  const { own, weighted } = scorings.get(facts.model)!;
  return facts.weights === null ? own : weighted;
}

/** The health options of a runtime that sends no requests, for example when a policy is only checked. */
const NO_READINGS = { clock: () => 0, now: () => 0, random: () => 0, onChange: () => {} };

/**
 * Prepares the plugins of a snapshot. Errors of a plugin's `prepare` name the provider or selector. @param health outlives the runtime,
 * like `network` and `reader`
 */
export function buildRuntime(
  snapshot: PolicySnapshot,
  registry: PluginMaps,
  env: Environment,
  health: Health = new Health(NO_READINGS),
  network: UpstreamNetwork = new UpstreamNetwork(),
  reader: PromptReader = new PromptReader(),
): Runtime {
  const accounts = new Map<string, readonly UpstreamAccount[]>();
  for (const provider of snapshot.providers.values()) {
    const plugin = registry.providers.get(provider.adapter);
    if (!plugin) throw new Error(`provider \`${provider.name}\`: there is no adapter \`${provider.adapter}\``);
    const prepare = (): PreparedProvider => plugin.prepare({ ...provider.settings });
    const adapter = naming(`provider \`${provider.name}\``, prepare);
    const dial = dialOf(provider, env, network);
    const targets = provider.accounts.map((one): UpstreamAccount => {
      const sourced = one.apiKeyEnv === null ? undefined : env.sourced?.(one.apiKeyEnv);
      const apiKey = sourced ? null : keyValue(one, env);
      // The tokens of a source are one account.
      const key = accountId(provider, sourced ? { source: sourced.variable } : apiKey);
      const account = one.pooled?.account == null ? key : accountId(provider, { account: one.pooled.account });
      const pooled = provider.accounts.length > 1 && one.pooled;
      return { adapter, dial, apiKey, provider, key, account, ...(sourced && { sourced }), ...(pooled && { pooled }) };
    });
    accounts.set(provider.name, targets);
  }
  const targetOf = ({ provider, account = 0 }: Pick<Endpoint, 'provider' | 'account'>): UpstreamAccount =>
    accounts.get(provider)![account]!;
  const accountOf: AccountOf = (endpoint) => {
    const { provider, key } = targetOf(endpoint);
    const { pooled } = provider.accounts[endpoint.account ?? 0]!;
    return {
      name: provider.name,
      id: key,
      label: pooled?.label,
      ...(pooled && { listedBy: accounts.get(provider.name)![0]!.key }),
    };
  };
  const models = measuredModels(snapshot);
  return {
    ...prepareDecisionRuntime(snapshot, registry),
    guards: snapshot.guards.map((rule) => ({
      rule,
      prepared: prepareGuard(rule, registry),
      apiKey: (rule.service?.apiKeyEnv && env.get(rule.service.apiKeyEnv)?.trim()) || null,
    })),
    localTime: zonedClock(snapshot.gateway.timeZone),
    readings: health.watch(snapshot, accountOf),
    accountOf,
    accounts,
    outputs: health.outputs,
    reader,
    alarms: network.alarms,
    reported: new WeakSet(),
    unknownNames: health.unknownNames,
    upstreams: models.map((model) =>
      model.endpoints.map(
        (endpoint, at): Upstream => ({
          ...targetOf(endpoint),
          model,
          at,
          endpoint,
          health: health.endpoint(endpoint.provider, endpoint.upstream, model.id, accountOf(endpoint)),
          room: health.room(endpoint, model.id, accountOf(endpoint)),
          slot: model.firstSlot + at,
          salt: saltOf(endpoint, snapshot),
        }),
      ),
    ),
  };
}

/**
 * Returns a hash of the provider's address and key. It stays in memory: what is stored is a hash of it under the secret of the database,
 * so that all servers compute the same text and the database has no plain hash of a key. Keys of an account that the policy names have the hash of the address and that name.
 */
const accountId = (
  { adapter, baseUrl }: Provider,
  of: string | { readonly account: string } | { readonly source: string } | null,
): string => hash('sha256', JSON.stringify([adapter, baseUrl, of]), 'base64url').slice(0, 22);

/** Prepares the strategies of a snapshot. Errors of a plugin's `prepare` name the selector. */
export function prepareDecisionRuntime(snapshot: PolicySnapshot, registry: PluginMaps): DecisionRuntime {
  const weighted = prepareStrategy(registry, 'route_strategy', 'weighted', {});
  const scorings = new Map<string, SelectorScoring>();
  for (const { name, strategy, options } of snapshot.selectors.values()) {
    const own = prepareStrategy(registry, name, strategy, options);
    scorings.set(name, {
      own: { strategy: own, reason: `${name}:${own.reason}` },
      weighted: { strategy: weighted, reason: `${name}:${weighted.reason}` },
    });
  }
  const pinned = { strategy: weighted, reason: 'pinned' };
  return { snapshot, decider: createDecider(snapshot), scorings, pinned };
}

/** Returns how to connect to a provider; null for an adapter that runs in this process. */
function dialOf(provider: Provider, env: Environment, network: UpstreamNetwork): Dial | null {
  const { name, baseUrl, allowPrivateNetwork: allowPrivate } = provider;
  return baseUrl === null
    ? null
    : network.dial({ provider: name, baseUrl, allowPrivate }, (variable) => env.get(variable));
}

function prepareStrategy(registry: PluginMaps, selector: string, name: string, options: object): PreparedStrategy {
  const plugin = registry.strategies.get(name);
  if (!plugin) throw new Error(`selector \`${selector}\`: there is no strategy \`${name}\``);
  return naming(`selector \`${selector}\``, () => plugin.prepare({ ...options }));
}

function prepareGuard({ name, plugin: of, settings }: GuardRule, registry: PluginMaps): PreparedGuard {
  const plugin = registry.guards.get(of);
  if (!plugin) throw new Error(`guard \`${name}\`: there is no guard plugin \`${of}\``);
  return naming(`guard \`${name}\``, () => plugin.prepare({ ...settings }));
}

function naming<T>(place: string, run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw new Error(`${place}: ${messageOf(cause)}`, { cause });
  }
}
