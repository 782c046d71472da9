import type { SpreadRecord } from '../core/decision/attempt.ts';
import type { Readings } from '../core/decision/readings.ts';
import type { Endpoint, Model, PolicySnapshot } from '../core/policy/snapshot.ts';
import type { SpreadKey, SpreadMode } from '../core/policy/spread.ts';
import type { Facts } from '../core/request/facts.ts';
import { type ExpectedWriting, expectedCost, expectedLatency, expectedWriting } from './estimate.ts';
import { chooseEndpoint, keyOfSeed, keyOfText, type SpreadCandidate, seedOfKey } from './spread.ts';

/** The figures that decide between endpoints and change from one moment to the next. Records keep them. */
type EndpointMoment = Pick<SpreadCandidate, 'weight' | 'load' | 'isWarm' | 'isUnmeasured'>;

/** An endpoint of a model that may be tried. */
interface EndpointCandidate extends SpreadCandidate {
  /** The index of the endpoint in its model. */
  readonly at: number;
}

/** The request and the measurements of its decision. They decide between endpoints and are the same for all of them. */
export interface SpreadRequest {
  readonly facts: Facts;
  readonly readings: Readings;
  readonly writing: ExpectedWriting;
}

/** The part of its weight that an endpoint gets directly after it has recovered. */
export const RECOVERED_SHARE_MIN = 0.1;

/** Returns the weight of an endpoint in the policy. */
export const weightOf = ({ weight = 1 }: Endpoint): number => weight;

/** Returns the hash of the names of an endpoint and its key, if the policy states a pool of keys. */
export function saltOf({ provider, upstream, account = 0 }: Endpoint, { providers }: PolicySnapshot): SpreadKey {
  const label = providers.get(provider)?.accounts[account]?.pooled?.label ?? '';
  return keyOfText(`${provider}/${upstream}/${label}`);
}

/** Returns an endpoint of a model as a candidate for an attempt. */
export function spreadCandidate(
  model: Model,
  at: number,
  salt: SpreadKey,
  moment: EndpointMoment,
  { facts: request, readings, writing }: SpreadRequest,
): EndpointCandidate {
  const facts = factsAt(request, model, at, moment.isWarm);
  return {
    ...moment,
    at,
    salt,
    pool: poolOf(model, at),
    priority: model.endpoints[at]!.priority ?? 0,
    latencyMs: expectedLatency(model, at, facts, readings, writing),
    costCredits: expectedCost(model, at, facts, writing),
  };
}

/** Returns the position of the first key of an endpoint. */
function poolOf({ endpoints }: Model, at: number): number {
  const { provider, upstream } = endpoints[at]!;
  return endpoints.findIndex((one) => one.provider === provider && one.upstream === upstream);
}

/**
 * Returns the facts of a request for an estimate at an endpoint. Facts name one endpoint of a model with a cached prompt; of a pool, it is
 * the endpoint with the first key, although another account may have the cache.
 */
function factsAt(facts: Facts, { id }: Model, at: number, isWarm: boolean): Facts {
  const own = facts.cached.find(({ model }) => model === id);
  if (!own || ((own.at ?? 0) === at) === isWarm) return facts;
  const others = facts.cached.filter((one) => one !== own);
  return { ...facts, cached: isWarm ? [...others, { ...own, at }] : others };
}

/**
 * Chooses an endpoint, and records what is needed to repeat the choice.
 * @param candidates the endpoints of a model that may be tried, with their indexes in the model
 * @param draw the number of the choice in this request, from 0
 */
export function recordedChoice(
  mode: SpreadMode,
  candidates: readonly EndpointCandidate[],
  key: SpreadKey,
  draw: number,
): { readonly at: number; readonly record: SpreadRecord } {
  const { at, compared, stays, isDrawn } = chooseEndpoint(mode, candidates, key, draw);
  const indexOf = (nth: number): number => candidates[nth]!.at;
  const unmeasured = candidates.filter(({ isUnmeasured }) => isUnmeasured).map((one) => one.at);
  const record: SpreadRecord = {
    mode,
    key: seedOfKey(key),
    draw,
    eligible: candidates.map((one) => one.at),
    loads: candidates.map(({ load }) => load),
    weights: candidates.map(({ weight }) => weight),
    compared: compared && [indexOf(compared[0]), indexOf(compared[1])],
    stays,
    warm: candidates.filter(({ isWarm }) => isWarm).map((one) => one.at),
    ...(unmeasured.length > 0 && { unmeasured }),
    ...(isDrawn && { isDrawn }),
  };
  return { at: indexOf(at), record };
}

/**
 * Repeats the choice of an endpoint from its record.
 * @param endpoint the index of the endpoint that was chosen
 * @returns whether the repeated choice is the same, and the recorded weights are possible; null if an earlier version made the record
 */
export function repeatsChoice(
  record: SpreadRecord,
  endpoint: number | undefined,
  model: Model,
  { facts, readings }: Pick<SpreadRequest, 'facts' | 'readings'>,
  snapshot: PolicySnapshot,
): boolean | null {
  const { key, draw, eligible, weights, loads, warm, unmeasured = [] } = record;
  if (warm === undefined) return null;
  const request = { facts, readings, writing: expectedWriting(facts, snapshot, readings) };
  const candidates = eligible.map((at, nth) => {
    const own = model.endpoints[at]!;
    const is = { isWarm: warm.includes(at), isUnmeasured: unmeasured.includes(at) };
    const moment = { weight: weights[nth]!, load: loads[nth]!, ...is };
    return spreadCandidate(model, at, saltOf(own, snapshot), moment, request);
  });
  const again = recordedChoice(model.spread ?? 'order', candidates, keyOfSeed(key), draw);
  // Earlier versions took the first of equal keys.
  if (again.record.isDrawn && !record.isDrawn) return null;
  return (
    again.at === endpoint &&
    JSON.stringify(again.record) === JSON.stringify({ ...again.record, ...record }) &&
    candidates.every(({ weight }, nth) => isPossible(weight, weightOf(model.endpoints[eligible[nth]!]!)))
  );
}

/** Whether an endpoint with this weight in the policy can have had the weight of the record. */
const isPossible = (recorded: number, stated: number): boolean =>
  recorded <= stated && recorded >= stated * RECOVERED_SHARE_MIN;
