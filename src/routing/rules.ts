import { HEALTH, type Readings } from '../core/decision/readings.ts';
import { hasVectors } from '../core/kinds/operations.ts';
import { coversAll } from '../core/money/price.ts';
import type { Caller } from '../core/people/caller.ts';
import { modelOf } from '../core/policy/model-of.ts';
import {
  bothBits,
  type Constraint,
  clearBit,
  emptyBits,
  hasBit,
  type Preference,
  type RuleScope,
} from '../core/policy/rules.ts';
import type { Model, PolicySnapshot } from '../core/policy/snapshot.ts';
import { missingBits } from '../core/request/capability.ts';
import type { Facts } from '../core/request/facts.ts';
import { keptLists, withFallbacks } from '../core/request/fallbacks.ts';
import { type CallerFacts, readCaller } from '../core/tables/facts/caller.ts';
import { type RequestInputs, readRequest } from '../core/tables/facts/request.ts';
import { expectedOutput } from './expected-length.ts';

/** The parts of a request that only rules read. */
export interface RuleInputs extends RequestInputs {
  readonly caller: Caller;
  readonly time: RuleScope['time'];
  /** The answer lengths that `request.output_tokens` uses. Without `readings`, `request.output_tokens` uses the policy's figures. */
  readonly readings?: Pick<Readings, 'outputTokens'>;
}

/** The facts of callers. They are cached because they stay the same for all requests of a caller. */
const known = new WeakMap<Caller, CallerFacts>();
const factsOf = (caller: Caller): CallerFacts => known.getOrInsertComputed(caller, readCaller);

/** The variables of rule conditions. `ObservedScope` records whether a condition reads more than the caller. */
class ObservedScope implements RuleScope {
  isRequestRead = false;
  readonly key: RuleScope['key'];
  readonly team: RuleScope['team'];
  readonly user: RuleScope['user'];
  readonly #makeRequest: () => RuleScope['request'];
  #request: RuleScope['request'] | null = null;
  readonly #time: RuleScope['time'];
  readonly #guards: RuleScope['guards'];

  constructor(
    { key, team, user }: CallerFacts,
    makeRequest: () => RuleScope['request'],
    time: RuleScope['time'],
    guards: RuleScope['guards'] = NO_GUARDS,
  ) {
    this.key = key;
    this.team = team;
    this.user = user;
    this.#makeRequest = makeRequest;
    this.#time = time;
    this.#guards = guards;
  }

  get request(): RuleScope['request'] {
    this.isRequestRead = true;
    this.#request ??= this.#makeRequest();
    return this.#request;
  }

  get time(): RuleScope['time'] {
    this.isRequestRead = true;
    return this.#time;
  }

  get guards(): RuleScope['guards'] {
    this.isRequestRead = true;
    return this.#guards;
  }
}

const NO_GUARDS: RuleScope['guards'] = {};

/** The result of a condition for every request of a caller; 0 if it is unknown or depends on the request. */
const NEVER = 1;
const ALWAYS = 2;

/** The results of conditions, by index of the rule. */
interface CallerOutcomes {
  /** One list for the caller's own key, then one list for each key above it. */
  readonly constraints: readonly Uint8Array[];
  readonly preferences: Uint8Array;
}

function openOutcomes(caller: Caller, { constraints, preferences }: PolicySnapshot): CallerOutcomes {
  const levels: Uint8Array[] = [];
  for (let one: Caller | undefined = caller; one; one = one.parent) levels.push(new Uint8Array(constraints.length));
  return { constraints: levels, preferences: new Uint8Array(preferences.length) };
}

/** The maximum number of callers whose results are cached. Each caller takes about 1 KB. */
const CALLERS_MAX = 10_000;

/**
 * Caches the results that earlier requests of a caller found. Each change of a key, of a key above it, or of its team, user or organization
 * creates another `Caller` object, so a cached result always matches the caller's current terms.
 */
class OutcomeMemory {
  #bySnapshot = new WeakMap<PolicySnapshot, WeakMap<Caller, CallerOutcomes>>();
  #count = 0;

  of(caller: Caller, snapshot: PolicySnapshot): CallerOutcomes {
    const known = this.#bySnapshot.get(snapshot)?.get(caller);
    if (known) return known;
    if (this.#count === CALLERS_MAX) {
      this.#bySnapshot = new WeakMap();
      this.#count = 0;
    }
    this.#count++;
    const made = openOutcomes(caller, snapshot);
    this.#bySnapshot.getOrInsertComputed(snapshot, () => new WeakMap()).set(caller, made);
    return made;
  }
}

const memory = new OutcomeMemory();

export type OnRuleFailure = (rule: Constraint | Preference, error: unknown) => void;

/** Whether a policy has any rules. */
export const hasRules = ({ constraints, preferences }: PolicySnapshot): boolean =>
  constraints.length + preferences.length > 0;

/**
 * Adds the rules that apply to the facts. Removes listed fallbacks that other constraints would exclude if the request named them, because a
 * condition may read the name of the model.
 */
export function withRules(facts: Facts, snapshot: PolicySnapshot, inputs: RuleInputs, onFailure: OnRuleFailure): Facts {
  const rules = activeRules(facts, snapshot, inputs, onFailure);
  if (facts.fallbacks === undefined) return { ...facts, rules };
  const { fallbacks: lists, ...others } = facts;
  const fallbacks = keptLists(lists, (id) => {
    const model = modelOf(id, snapshot);
    const own = activeRules({ ...others, model: id, named: [id] }, snapshot, inputs, onFailure);
    return own.constraints.every((at) => {
      const { allows, maxLatencyMs, maxCostCredits } = snapshot.constraints[at]!;
      return rules.constraints.includes(at) || ((maxLatencyMs ?? maxCostCredits) === null && allowsAll(model, allows));
    });
  });
  const first = facts.named?.[0];
  const named = first === undefined ? null : fallbacks ? withFallbacks(first, fallbacks) : [first];
  return { ...others, named, rules, ...(fallbacks && { fallbacks }) };
}

function activeRules(
  facts: Facts,
  snapshot: PolicySnapshot,
  inputs: RuleInputs,
  onFailure: OnRuleFailure,
): Facts['rules'] {
  const { caller, time } = inputs;
  const outputTokens = () => expectedOutput(facts, snapshot, inputs.readings);
  const request = () => readRequest({ facts, inputs, outputTokens });
  const own = factsOf(caller);
  const scope = new ObservedScope(own, request, time, facts.guards);
  const outcomes = memory.of(caller, snapshot);
  let constraints = activeOf(snapshot.constraints, outcomes.constraints[0]!, scope, onFailure);
  // The constraints of parent keys also apply to a child key. If a parent key's constraints did not apply, a child key could escape them
  // with a name or label of its own.
  for (let above = caller.parent, level = 1; above; above = above.parent, level++) {
    const asAbove = new ObservedScope({ ...own, key: factsOf(above).key }, request, time, facts.guards);
    const more = activeOf(snapshot.constraints, outcomes.constraints[level]!, asAbove, onFailure);
    constraints = [...new Set([...constraints, ...more])].sort((a, b) => a - b);
  }
  const preferences = activeOf(snapshot.preferences, outcomes.preferences, scope, onFailure);
  return { constraints, preferences };
}

/**
 * Returns the indexes of a model's endpoints that constraints allow and that have the needed capabilities. If no endpoint has the needed
 * capabilities, all endpoints count as capable, and the `capability` rejection reports the problem.
 */
export function allowedEndpoints(model: Model, slots: Uint32Array | null, needs: number): readonly number[] {
  const { endpoints, firstSlot } = model;
  const needed = canServe(model, needs) ? needs : 0;
  const allowed: number[] = [];
  for (let at = 0; at < endpoints.length; at++) {
    const isCapable = missingBits(needed, endpoints[at]!.capabilities) === 0;
    if (isCapable && (slots === null || hasBit(slots, firstSlot + at))) allowed.push(at);
  }
  return allowed;
}

/**
 * Returns the endpoints whose prices cover everything that their provider may bill, for a request that draws on a fund or limits its cost. If
 * no endpoint has such a price, all endpoints count, and the `unpriced` rejection reports the problem.
 */
export function pricedEndpoints(
  { endpoints }: Model,
  allowed: readonly number[],
  { addOns, budget, funds }: Facts,
): readonly number[] {
  if (addOns === undefined || (budget === null && funds === null)) return allowed;
  const priced = allowed.filter((at) => coversAll(endpoints[at]!, addOns));
  return priced.length > 0 ? priced : allowed;
}

/** Returns the indexes of a model's endpoints that the constraints of a request allow and that have the needed capabilities and prices. */
export const endpointsFor = (model: Model, facts: Facts, snapshot: PolicySnapshot): readonly number[] =>
  pricedEndpoints(model, allowedEndpoints(model, limitsOf(facts, snapshot).slots, facts.needs), facts);

/** Returns whether constraints allow every endpoint of a model. */
export function allowsAll({ endpoints, firstSlot }: Model, slots: Uint32Array | null): boolean {
  if (slots === null) return true;
  for (let at = 0; at < endpoints.length; at++) if (!hasBit(slots, firstSlot + at)) return false;
  return true;
}

/** Returns whether a single endpoint of a model has all needed capabilities. */
export function canServe({ endpoints, capabilities }: Model, needs: number): boolean {
  if (missingBits(needs, capabilities) !== 0) return false;
  for (let at = 0; at < endpoints.length; at++) if (missingBits(needs, endpoints[at]!.capabilities) === 0) return true;
  return false;
}

/**
 * Returns the endpoints that are healthy enough to be tried. As a last resort `openEndpoints` includes ejected endpoints, because a circuit
 * breaker must not make all endpoints unavailable.
 */
export const openEndpoints = (
  model: Model,
  endpoints: readonly number[],
  readings: Readings,
  lastResort: boolean,
): readonly number[] => (readings.allHealthy ? endpoints : openOf(model, endpoints, readings, lastResort));

function openOf(
  { firstSlot }: Model,
  endpoints: readonly number[],
  { health }: Readings,
  lastResort: boolean,
): readonly number[] {
  const isOpen = (at: number): boolean => {
    const state = health[firstSlot + at]!;
    return state === HEALTH.healthy || (lastResort && state === HEALTH.ejected);
  };
  return endpoints.every(isOpen) ? endpoints : endpoints.filter(isOpen);
}

/**
 * Returns the vector space that a request's models must have: the vector space of its selector, or null if the selector has none.
 * The fallbacks of a named model must have its vector space. `vectorSpaceOf` returns undefined if the request does not need a vector space.
 */
export function vectorSpaceOf({ operation, named, model }: Facts, { selectors, models, modelIndex }: PolicySnapshot) {
  if (!hasVectors(operation) || named?.length === 1) return undefined;
  if (named === null) return selectors.get(model)?.vectorSpace ?? null;
  return models[modelIndex.get(model) ?? -1]?.embedding?.vectorSpace;
}

/** The limits that active rules and the selector put on the catalog. */
export interface RuleLimits {
  /** The endpoints that every constraint allows, as bits by slot; null for all. */
  readonly slots: Uint32Array | null;
  /** The models that the selector includes, as bits by model; null for all. */
  readonly models: Uint32Array | null;
  /** The lowest latency ceiling of the constraints in ms; Infinity if there is none. */
  readonly latencyMsMax: number;
  readonly costCreditsMax: number;
}

const NO_LIMITS: RuleLimits = {
  slots: null,
  models: null,
  latencyMsMax: Number.POSITIVE_INFINITY,
  costCreditsMax: Number.POSITIVE_INFINITY,
};

/** Combines the active constraints: an endpoint must be allowed by all of them, and the lowest ceilings apply. */
export function limitsOf(facts: Facts, snapshot: PolicySnapshot): RuleLimits {
  const { model, named, rules, thread } = facts;
  const { constraints, selectors } = snapshot;
  const models = named !== null ? null : (selectors.get(model)?.allows ?? null);
  if (rules.constraints.length === 0 && thread === undefined)
    return models === null ? NO_LIMITS : { ...NO_LIMITS, models };
  let slots = slotsBeside(facts, snapshot);
  let { latencyMsMax, costCreditsMax } = NO_LIMITS;
  for (const at of rules.constraints) {
    const { allows, maxLatencyMs, maxCostCredits } = constraints[at]!;
    slots = bothBits(slots, allows);
    latencyMsMax = Math.min(latencyMsMax, maxLatencyMs ?? latencyMsMax);
    costCreditsMax = Math.min(costCreditsMax, maxCostCredits ?? costCreditsMax);
  }
  return { slots, models, latencyMsMax, costCreditsMax };
}

/**
 * If a provider keeps the history of the conversation, excludes the endpoints of the same model that do not have the history. `slotsBeside`
 * returns bits by endpoint slot, or null if no provider keeps a history.
 */
function slotsBeside({ thread }: Facts, { models, modelIndex }: PolicySnapshot): Uint32Array | null {
  const kept = thread && models[modelIndex.get(thread.model) ?? -1];
  if (!kept) return null;
  const { firstSlot, endpoints } = kept;
  const last = models.at(-1)!;
  const slots = emptyBits(last.firstSlot + last.endpoints.length).fill(~0);
  for (let at = 0; at < endpoints.length; at++) if (!thread.endpoints.includes(at)) clearBit(slots, firstSlot + at);
  return slots;
}

/** Returns the indexes of the rules whose condition is true. `activeOf` caches the results that do not depend on the request. */
function activeOf(
  rules: readonly (Constraint | Preference)[],
  outcomes: Uint8Array,
  scope: ObservedScope,
  onFailure: OnRuleFailure,
): number[] {
  const active: number[] = [];
  for (let at = 0; at < rules.length; at++) {
    const outcome = outcomes[at];
    if (outcome === NEVER) continue;
    if (outcome === ALWAYS) {
      active.push(at);
      continue;
    }
    scope.isRequestRead = false;
    const holds = evaluate(rules[at]!, scope, onFailure);
    if (holds !== false) active.push(at);
    if (holds !== null && !scope.isRequestRead) outcomes[at] = holds ? ALWAYS : NEVER;
  }
  return active;
}

/**
 * Evaluates the condition of a rule. `evaluate` returns null if the condition throws; the rule then applies, so that a failing constraint
 * does not allow a model by mistake.
 */
function evaluate(rule: Constraint | Preference, scope: RuleScope, onFailure: OnRuleFailure): boolean | null {
  if (rule.when === null) return true;
  try {
    return rule.when(scope);
  } catch (error) {
    onFailure(rule, error);
    return null;
  }
}
