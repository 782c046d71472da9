import type { Caller } from '../core/caller.ts';
import { CAPABILITIES, capabilityNames, missingBits } from '../core/capability.ts';
import { toCredits } from '../core/credits.ts';
import type { Facts } from '../core/facts.ts';
import { groupsOf } from '../core/holder.ts';
import { HEALTH, type Readings } from '../core/readings.ts';
import {
  bothBits,
  type Constraint,
  clearBit,
  emptyBits,
  hasBit,
  type Preference,
  type RuleScope,
} from '../core/rules.ts';
import type { Model, PolicySnapshot } from '../core/snapshot.ts';
import { referenceOutput } from './expected-length.ts';

/** Parts of a request that only rules read. */
export interface RuleInputs {
  readonly stream: boolean;
  readonly user: string;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly caller: Caller;
  readonly time: RuleScope['time'];
  /** The answer lengths that `request.output_tokens` uses. Default: the policy's figures. */
  readonly readings?: Pick<Readings, 'referenceTokens'>;
}

/** A request as conditions see it. */
const requestFacts = (
  facts: Facts,
  snapshot: PolicySnapshot,
  { stream, user, metadata, readings }: RuleInputs,
): RuleScope['request'] => ({
  operation: facts.operation,
  model: facts.model,
  task: facts.task,
  difficulty: facts.difficulty,
  input_tokens: facts.inputTokens,
  max_tokens: facts.outputTokensMax ?? 0,
  stream,
  tools: (facts.needs & CAPABILITIES.tools.bit) !== 0,
  images: facts.images,
  output_tokens: referenceOutput(facts, snapshot, readings),
  needs: facts.needs === 0 ? NO_NAMES : capabilityNames(facts.needs),
  languages: languagesOf(facts),
  natural_language: facts.naturalLanguage,
  budget_limit: facts.budget === null ? 0 : toCredits(facts.budget),
  user,
  metadata: metadata === undefined ? NO_METADATA : new Map(Object.entries(metadata)),
});

const NO_NAMES: readonly never[] = [];
const NO_METADATA: RuleScope['request']['metadata'] = new Map();

const languagesOf = ({ languagesSeen: seen, languages }: Facts): readonly string[] =>
  languages.length === 0 ? seen : [...new Set([...seen, ...languages])];

type CallerFacts = Pick<RuleScope, 'key' | 'team' | 'user'>;

/** A caller as conditions see it; it stays the same from request to request. */
const keys = new WeakMap<Caller, CallerFacts>();

function callerFacts(caller: Caller): CallerFacts {
  let facts = keys.get(caller);
  if (!facts) {
    const key = { id: caller.keyId, labels: new Map(Object.entries(caller.labels)) };
    facts = { key, ...groupsOf(caller) };
    keys.set(caller, facts);
  }
  return facts;
}

/** The variables of conditions. It notes whether a condition reads more than the caller. */
class ObservedScope implements RuleScope {
  isRequestRead = false;
  readonly key: RuleScope['key'];
  readonly team: RuleScope['team'];
  readonly user: RuleScope['user'];
  readonly #makeRequest: () => RuleScope['request'];
  #request: RuleScope['request'] | null = null;
  readonly #time: RuleScope['time'];

  constructor({ key, team, user }: CallerFacts, makeRequest: () => RuleScope['request'], time: RuleScope['time']) {
    this.key = key;
    this.team = team;
    this.user = user;
    this.#makeRequest = makeRequest;
    this.#time = time;
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
}

/** The outcome of a condition for every request of a caller; 0 where it is not known or depends on the request. */
const NEVER = 1;
const ALWAYS = 2;

/** Outcomes by index of the rule. */
interface CallerOutcomes {
  /** Of the caller's own key, then of each key above it. */
  readonly constraints: readonly Uint8Array[];
  readonly preferences: Uint8Array;
}

function openOutcomes(caller: Caller, { constraints, preferences }: PolicySnapshot): CallerOutcomes {
  const levels: Uint8Array[] = [];
  for (let one: Caller | undefined = caller; one; one = one.parent) levels.push(new Uint8Array(constraints.length));
  return { constraints: levels, preferences: new Uint8Array(preferences.length) };
}

/** Callers whose outcomes are kept, about 1 KB each. */
const CALLERS_MAX = 10_000;

/**
 * A cache of the outcomes that earlier requests of a caller found. Each change of a key, of a key above it, or of its team, user or
 * organization makes another `Caller`, so an outcome is never older than the terms of its caller.
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

/** Adds the rules that apply to the facts. */
export function withRules(facts: Facts, snapshot: PolicySnapshot, inputs: RuleInputs, onFailure: OnRuleFailure): Facts {
  const { caller, time } = inputs;
  const request = () => requestFacts(facts, snapshot, inputs);
  const own = callerFacts(caller);
  const scope = new ObservedScope(own, request, time);
  const outcomes = memory.of(caller, snapshot);
  let constraints = activeOf(snapshot.constraints, outcomes.constraints[0]!, scope, onFailure);
  // A child is held by the constraints of its parents, too, so that no name or label of its own opens what is closed to them.
  for (let above = caller.parent, level = 1; above; above = above.parent, level++) {
    const asAbove = new ObservedScope({ ...own, key: callerFacts(above).key }, request, time);
    const more = activeOf(snapshot.constraints, outcomes.constraints[level]!, asAbove, onFailure);
    constraints = [...new Set([...constraints, ...more])].sort((a, b) => a - b);
  }
  const preferences = activeOf(snapshot.preferences, outcomes.preferences, scope, onFailure);
  return { ...facts, rules: { constraints, preferences } };
}

/** The limits that active rules and the selector put on the catalog. */
export type RuleLimits = Readonly<ReturnType<typeof limitsOf>>;

/**
 * Indexes of a model's endpoints that have the needed capabilities and that constraints allow. Where none has them, all
 * count as capable: the `capability` rejection reports that case.
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

/** The same by the constraints that apply to a request. */
export const endpointsFor = (model: Model, facts: Facts, snapshot: PolicySnapshot): readonly number[] =>
  allowedEndpoints(model, limitsOf(facts, snapshot).slots, facts.needs);

/** Whether constraints allow every endpoint of a model. */
export function allowsAll({ endpoints, firstSlot }: Model, slots: Uint32Array | null): boolean {
  if (slots === null) return true;
  for (let at = 0; at < endpoints.length; at++) if (!hasBit(slots, firstSlot + at)) return false;
  return true;
}

/** Whether one endpoint of a model has all needed capabilities. */
export function canServe({ endpoints, capabilities }: Model, needs: number): boolean {
  if (missingBits(needs, capabilities) !== 0) return false;
  for (let at = 0; at < endpoints.length; at++) if (missingBits(needs, endpoints[at]!.capabilities) === 0) return true;
  return false;
}

/** The endpoints whose health lets them be tried; as a last resort also ejected ones, which a breaker must not all take. */
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

/** The vector space that a request's models must have: that of its selector, null for none; undefined where none is asked for. */
export const vectorSpaceOf = ({ embedding, pinned, model }: Facts, { selectors }: PolicySnapshot) =>
  embedding === undefined || pinned ? undefined : (selectors.get(model)?.vectorSpace ?? null);

/** Joins the active constraints: bits are ANDed, the lowest ceilings hold. */
export function limitsOf(facts: Facts, snapshot: PolicySnapshot) {
  const { model, pinned, rules } = facts;
  const { constraints, selectors } = snapshot;
  let slots = slotsBeside(facts, snapshot);
  let latencyMsMax = Number.POSITIVE_INFINITY;
  let costCreditsMax = Number.POSITIVE_INFINITY;
  for (const at of rules.constraints) {
    const { allows, maxLatencyMs, maxCostCredits } = constraints[at]!;
    slots = bothBits(slots, allows);
    latencyMsMax = Math.min(latencyMsMax, maxLatencyMs ?? latencyMsMax);
    costCreditsMax = Math.min(costCreditsMax, maxCostCredits ?? costCreditsMax);
  }
  const models = pinned ? null : (selectors.get(model)?.allows ?? null);
  return {
    /** Bits by endpoint slot: allowed by every constraint; null for all. */
    slots,
    /** Bits by model: those that the selector chooses from; null for all. */
    models,
    /** The lowest ceiling of constraints; Infinity without one. */
    latencyMsMax,
    costCreditsMax,
  };
}

/** Bits by endpoint slot: all but the endpoints of a thread's model where its history is not; null without a thread. */
function slotsBeside({ thread }: Facts, { models, modelIndex }: PolicySnapshot): Uint32Array | null {
  const kept = thread && models[modelIndex.get(thread.model) ?? -1];
  if (!kept) return null;
  const { firstSlot, endpoints } = kept;
  const last = models.at(-1)!;
  const slots = emptyBits(last.firstSlot + last.endpoints.length).fill(~0);
  for (let at = 0; at < endpoints.length; at++) if (!thread.endpoints.includes(at)) clearBit(slots, firstSlot + at);
  return slots;
}

/** The indexes of the rules whose condition holds. Notes the outcomes that do not depend on the request. */
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

/** Returns null for a condition that throws. It counts as true, so that a failing constraint fails closed. */
function evaluate(rule: Constraint | Preference, scope: RuleScope, onFailure: OnRuleFailure): boolean | null {
  if (rule.when === null) return true;
  try {
    return rule.when(scope);
  } catch (error) {
    onFailure(rule, error);
    return null;
  }
}
