import type { Candidates } from '../contract/strategy.ts';
import { REJECTIONS, type Refusal } from '../core/decision/decision.ts';
import { HEALTH, type Readings } from '../core/decision/readings.ts';
import { byOperation, OPERATIONS, type Operation } from '../core/kinds/operations.ts';
import { qualifiedFor } from '../core/policy/language-support.ts';
import type { Endpoint, Model, PolicySnapshot, Task } from '../core/policy/snapshot.ts';
import { missingBits } from '../core/request/capability.ts';
import type { Facts } from '../core/request/facts.ts';
import { type FallbackLists, listedModels, nextListed } from '../core/request/fallbacks.ts';
import { ceilingRejections, type Requirements, rejectionsOf } from './constrain.ts';
import { decisiveGroup, reasonsOfRejection } from './decisive-group.ts';
import {
  affordableCap,
  expectedCost,
  expectedLatency,
  expectedReasoning,
  expectedWriting,
  outputCap,
  withinBudget,
  withinFunds,
} from './estimate.ts';
import { expectedInput } from './input-tokens.ts';
import { windowAsked } from './model-name.ts';
import { allowedEndpoints, allowsAll, limitsOf, openEndpoints, pricedEndpoints, vectorSpaceOf } from './rules.ts';
import { spreadOver } from './spread-estimate.ts';

/** The index in `REJECTIONS` of each bit, by the exponent of the bit. */
const INDEX_OF_BIT = new Uint8Array(32);
for (const [at, { bit }] of Object.values(REJECTIONS).entries()) INDEX_OF_BIT[Math.log2(bit)] = at;
const KINDS = Object.keys(REJECTIONS).length;

const NONE_REJECTED: Refusal['rejected'][number][] = [];
const NO_REJECTIONS = new Uint32Array(KINDS);

/** A model with the values that the loop over the catalog reads most often, copied once from the frozen arrays. */
interface CatalogEntry {
  readonly index: number;
  readonly model: Model;
  /** The indexes of all endpoints of the model. */
  readonly all: readonly number[];
  /** The capabilities that every endpoint of the model has. */
  readonly commonCapabilities: number;
}

/**
 * Copies a model with the lists that estimates read, because the JavaScript engine takes ten times as long to read an item of a frozen
 * list.
 */
const unfrozen = (model: Model): Model => {
  const [first, ...others] = copyOf(model.endpoints);
  return { ...model, endpoints: [withOwnLines(first), ...others.map(withOwnLines)] };
};

const withOwnLines = (endpoint: Endpoint): Endpoint => ({
  ...endpoint,
  price: { ...endpoint.price, lines: copyOf(endpoint.price.lines) },
});

/** On frozen lists, `slice` is much faster than a spread. */
const copyOf = <T>(list: readonly [T, ...T[]]): [T, ...T[]] => [list[0], ...list.slice(1)];

interface ShortlistInputs extends Requirements {
  readonly quality: Float64Array;
  readonly readings: Readings;
}

/** Returns the requirements of a request for models that are listed as fallbacks, as if the request named them in this order. */
const listedInputs = (own: ShortlistInputs, ids: readonly string[]): ShortlistInputs => ({
  ...own,
  facts: { ...own.facts, named: ids },
  limits: { ...own.limits, models: null },
});

const isEjected = ({ firstSlot }: Model, at: number, { health }: Readings): boolean =>
  health[firstSlot + at] === HEALTH.ejected;

const hasEjected = (model: Model, endpoints: readonly number[], readings: Readings): boolean =>
  endpoints.some((at) => isEjected(model, at, readings));

/**
 * The models that may serve a request, with their estimates. The arrays of a shortlist are allocated once per snapshot and filled again for
 * each request. Deciding is synchronous, so one set of arrays is enough.
 */
export class Shortlist implements Pick<Candidates, 'n' | 'quality' | 'cost' | 'latency'> {
  /** The number of eligible models, which is the used length of the arrays. The models of a shortlist are in the order of their IDs, or as the request names them. */
  n = 0;
  /** The index of each model in the snapshot. */
  readonly model: Int32Array;
  /** Unfrozen copies of the models of the snapshot, whose endpoints and prices can be read faster. */
  readonly models: readonly Model[];
  readonly quality: Float64Array;
  readonly cost: Float64Array;
  readonly latency: Float64Array;
  /** The output cap of one choice in tokens, limited by `budget_limit` and by funds that cap outputs. */
  readonly cap: Float64Array;
  /** The expected tokens of the input and of the output of all choices, including hidden reasoning. */
  readonly tokens: Float64Array;
  /** The value is 1 if a fund lowered the model's output cap. */
  readonly isCapped: Uint8Array;
  /** The indexes of the endpoints that may be tried, by model. */
  readonly endpoints: (readonly number[])[] = [];
  /** The rejected models with their reasons. Each `fill` that rejects models creates a new list of rejected models. */
  rejected = NONE_REJECTED;
  /**
   * The number of models rejected by each kind, in the order of `REJECTIONS`. Each `fill` that rejects models creates a new list of counts.
   */
  rejections = NO_REJECTIONS;
  /** Whether endpoints were left out because a circuit breaker ejected them. */
  hasEjected = false;
  /** Whether ejected endpoints count as available, because no model was eligible without them. */
  isLastResort = false;
  /** Whether the models are the listed fallbacks of a selector that has no eligible model of its own. */
  isListed = false;
  /** The inputs of the last `fill`. */
  #inputs: ShortlistInputs | null = null;
  readonly #snapshot: PolicySnapshot;
  /** For each model, a list of that model alone, so that a request which names one model allocates no list. */
  readonly #alone: readonly (readonly CatalogEntry[])[];
  /**
   * The catalog's models by operation. A model with another operation is a candidate only if the request names it or no model has the
   * operation.
   */
  readonly #serving: Readonly<Record<Operation, readonly CatalogEntry[]>>;

  constructor(snapshot: PolicySnapshot) {
    const size = snapshot.models.length;
    this.#snapshot = snapshot;
    this.models = snapshot.models.map(unfrozen);
    const entries: readonly CatalogEntry[] = this.models.map((model, index) => ({
      index,
      model,
      all: model.endpoints.map((_, at) => at),
      commonCapabilities: model.endpoints.reduce((bits, { capabilities }) => bits & capabilities, -1),
    }));
    // A model that only serves requests which name it is left out here, so that it changes no choice and no refusal of a selector.
    this.#alone = entries.map((entry) => [entry]);
    const open = entries.filter(({ model }) => model.found?.isNamedOnly !== true);
    const serving = (operation: Operation) => {
      const able = open.filter(({ model }) => (model.operations & OPERATIONS[operation].bit) !== 0);
      return able.length > 0 ? able : open;
    };
    this.#serving = byOperation(serving);
    this.model = new Int32Array(size);
    this.quality = new Float64Array(size);
    this.cost = new Float64Array(size);
    this.latency = new Float64Array(size);
    this.cap = new Float64Array(size);
    this.tokens = new Float64Array(size);
    this.isCapped = new Uint8Array(size);
  }

  /** Checks every model, or only the models that the request names. `quality` is by index of the model in the snapshot. */
  fill(facts: Facts, task: Task, quality: Float64Array, readings: Readings): void {
    const { languages, models } = this.#snapshot;
    const { ceilings } = facts;
    const limits = limitsOf(facts, this.#snapshot);
    const { costCreditsMax, latencyMsMax } = limits;
    this.#inputs = {
      facts,
      task,
      quality,
      readings,
      allowed: facts.allowedModels === null ? null : new Set(facts.allowedModels),
      denied: facts.deniedModels === undefined ? null : new Set(facts.deniedModels),
      writing: expectedWriting(facts, this.#snapshot, readings),
      limits,
      hasCeilings:
        (ceilings.costCredits ?? ceilings.latencyMs) !== null ||
        Math.min(costCreditsMax, latencyMsMax) < Number.POSITIVE_INFINITY,
      vectorSpace: vectorSpaceOf(facts, this.#snapshot),
      windowMin: windowAsked(facts),
      qualified: facts.languages.length > 0 ? qualifiedFor(facts.languages, languages, models.length) : null,
    };
    this.isListed = false;
    this.#fill(this.#inputs, false);
    if (facts.fallbacks !== undefined) this.#useLists(this.#inputs, facts.fallbacks);
    // A circuit breaker keeps requests away from an endpoint only as long as there is another endpoint.
    this.isLastResort = this.n === 0 && this.hasEjected;
    if (this.isLastResort) this.#fill(this.#inputs, true);
  }

  /**
   * If the model or the selector of the request has no eligible model, puts first the fallback that is listed for the reason, and then its
   * reason to be rejected, and so on. Without such a fallback, the request is refused.
   */
  #useLists(own: ShortlistInputs, lists: FallbackLists): void {
    const { models, modelIndex } = this.#snapshot;
    const { named } = own.facts;
    const idAt = (at: number) => models[this.model[at]!]!.id;
    if (this.n > 0 && (named === null || idAt(0) === named[0])) return;
    const rejectedOf = (id: string) => this.rejected.filter(({ model }) => model === modelIndex.get(id));
    const group = decisiveGroup(named === null ? this.rejected : rejectedOf(named[0]!));
    const order = listedModels(lists);
    if (named === null) this.#fill(listedInputs(own, order), false);
    const eligible = new Set(Array.from({ length: this.n }, (_, at) => idAt(at)));
    const visited: string[] = named === null ? [] : [named[0]!];
    const reasons = [...reasonsOfRejection(group)];
    let next = nextListed(lists, reasons, visited);
    for (; next !== undefined && !eligible.has(next); next = nextListed(lists, reasons, visited)) {
      visited.push(next);
      reasons.unshift(...reasonsOfRejection(decisiveGroup(rejectedOf(next))));
    }
    this.isListed = named === null && next !== undefined;
    const rest = next === undefined ? [] : [next, ...order.filter((id) => id !== next && !visited.includes(id))];
    const isOwn = named === null && next === undefined;
    this.#inputs = isOwn ? own : listedInputs(own, [...visited, ...rest]);
    this.#fill(this.#inputs, false);
  }

  /** Fills the shortlist again, only with models that are listed as fallbacks, in this order. @param lastResort whether ejected endpoints count */
  refillListed(ids: readonly string[], lastResort: boolean): void {
    if (this.#inputs !== null) this.#fill(listedInputs(this.#inputs, ids), lastResort);
  }

  /** Fills the shortlist again, only with ejected endpoints and the models that have an ejected endpoint. */
  refillWithEjected(): void {
    const inputs = this.#inputs;
    if (inputs === null) return;
    this.#fill(inputs, true, ({ model, all }) => all.some((at) => isEjected(model, at, inputs.readings)));
  }

  /** Returns whether a circuit breaker had ejected this endpoint of a model at the last `fill`. */
  isEjected(model: number, endpoint: number): boolean {
    return this.#inputs !== null && isEjected(this.#snapshot.models[model]!, endpoint, this.#inputs.readings);
  }

  #fill(inputs: ShortlistInputs, lastResort: boolean, isIncluded?: (entry: CatalogEntry) => boolean): void {
    this.n = 0;
    this.rejected = NONE_REJECTED;
    this.rejections = NO_REJECTIONS;
    this.hasEjected = false;
    const entries = this.#considered(inputs.facts);
    for (let at = 0; at < entries.length; at++) {
      if (isIncluded && !isIncluded(entries[at]!)) continue;
      this.#addModel(entries[at]!, inputs, lastResort);
    }
  }

  /** Returns the models that may serve the request. Named models are in the order in which the request names them. */
  #considered({ named, operation }: Facts): readonly CatalogEntry[] {
    if (named === null) return this.#serving[operation];
    const [first] = named;
    return named.length === 1 ? this.#listOf(first!) : named.flatMap((id) => this.#listOf(id));
  }

  #listOf(id: string): readonly CatalogEntry[] {
    const list = this.#alone[this.#snapshot.modelIndex.get(id) ?? -1];
    if (!list) throw new Error(`the policy has no model ${id}`);
    return list;
  }

  #addModel(entry: CatalogEntry, inputs: ShortlistInputs, lastResort: boolean): void {
    const { index, model, all, commonCapabilities } = entry;
    const { facts, limits, quality, readings } = inputs;
    const isPlain = missingBits(facts.needs, commonCapabilities) === 0 && allowsAll(model, limits.slots);
    const within = isPlain ? all : allowedEndpoints(model, limits.slots, facts.needs);
    const allowed = facts.addOns === undefined ? within : pricedEndpoints(model, within, facts);
    const open = openEndpoints(model, allowed, readings, lastResort);
    if (!lastResort && open.length < allowed.length) this.hasEjected ||= hasEjected(model, allowed, readings);
    let rejections = this.#estimate(entry, open.length > 0 ? open : allowed, inputs);
    if (open.length < allowed.length && (open.length === 0 || rejections !== 0)) {
      // If only an unavailable endpoint is within a limit, the model is rejected for health.
      const anyway = open.length === 0 ? rejections : this.#estimate(entry, allowed, inputs);
      if (open.length === 0 || anyway !== rejections) rejections = anyway | REJECTIONS.health.bit;
    }
    if (rejections !== 0) {
      this.#reject(index, rejections);
      return;
    }
    const { n } = this;
    this.model[n] = index;
    this.quality[n] = quality[index]!;
    this.n++;
  }

  #reject(model: number, rejections: number): void {
    if (this.rejected === NONE_REJECTED) {
      this.rejected = [];
      this.rejections = new Uint32Array(KINDS);
    }
    this.rejected.push({ model, rejections });
    for (let bits = rejections; bits !== 0; bits &= bits - 1)
      this.rejections[INDEX_OF_BIT[31 - Math.clz32(bits & -bits)]!]!++;
  }

  /** Writes a model's estimates for these endpoints after the estimates of the last candidate, and returns the model's rejections. */
  #estimate({ index, model }: CatalogEntry, open: readonly number[], inputs: ShortlistInputs): number {
    const { facts, task, writing, readings } = inputs;
    const input = expectedInput(facts, model);
    const reasoning = expectedReasoning(model, writing);
    const most = outputCap(model, facts, input);
    const allowed = model.spread === undefined ? open : withinBudget(model, open, facts, task, most);
    const affordable = affordableCap(model, allowed, facts, most);
    const funded = withinFunds(model, allowed, facts, task, affordable);
    const payable = funded?.endpoints ?? allowed;
    const cap = funded?.cap ?? affordable;
    const first = payable[0] ?? allowed[0] ?? 0;
    const isSpread = model.spread !== undefined && payable.length > 1;
    const spread = isSpread ? spreadOver(model, payable, inputs, input, reasoning) : null;
    const costCredits = spread?.costCredits ?? expectedCost(model, first, facts, writing, input, reasoning);
    const latencyMs = spread?.latencyMs ?? expectedLatency(model, first, facts, readings, writing, reasoning);
    const endpoints = spread?.endpoints ?? payable;
    const { n } = this;
    this.cost[n] = costCredits;
    this.latency[n] = latencyMs;
    this.tokens[n] = input + Math.min(writing.outputTokens + reasoning, cap) * facts.choices;
    this.cap[n] = cap;
    this.isCapped[n] = cap < affordable ? 1 : 0;
    this.endpoints[n] = endpoints;
    const anywhere =
      rejectionsOf(model, index, inputs, input, affordable, allowed[0]) |
      (allowed.length === 0 ? REJECTIONS.constraint.bit : 0);
    const rejections = anywhere | (spread?.rejections ?? ceilingRejections(inputs, costCredits, latencyMs));
    if (payable.length === allowed.length || (payable.length > 0 && rejections === 0)) return rejections;
    // If only an endpoint that the funds cannot pay for is within a ceiling, the model is rejected for funds.
    const dear = allowed[0]!;
    let anyway = rejections;
    if (first !== dear) {
      const cost = expectedCost(model, dear, facts, writing, input, reasoning);
      const latency = expectedLatency(model, dear, facts, readings, writing, reasoning);
      anyway = anywhere | ceilingRejections(inputs, cost, latency);
    }
    return payable.length === 0 || anyway !== rejections ? anyway | REJECTIONS.funds.bit : rejections;
  }
}
