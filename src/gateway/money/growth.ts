import type { Decision } from '../../core/decision/decision.ts';
import { abortBillingOf, type StoppedBilling } from '../../core/money/abort-billing.ts';
import type { Endpoint, PolicySnapshot } from '../../core/policy/snapshot.ts';
import { CAPABILITIES, passthroughBit } from '../../core/request/capability.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import type { FirstTranche } from '../../ledger/hold-request.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import { type RankedUpstream, type Upstream, upstreamAt } from '../../policy/runtime/upstream.ts';
import { affordableCap, capWithin, outputCap, taskOf, usefulOutput } from '../../routing/estimate.ts';
import { expectedOutput } from '../../routing/expected-length.ts';
import { inputBound, mediaOf } from '../../routing/input-tokens.ts';
import { passesExtras } from './extras.ts';
import { firstTranche, leastTranche, marginOf, type TrancheTerms } from './tranches.ts';

/** A decided request, its decision, and the runtime that made the decision. */
export interface DecidedRequest {
  readonly runtime: Pick<Runtime, 'snapshot' | 'upstreams'>;
  readonly decision: Pick<Decision, 'facts' | 'readings' | 'ranked' | 'second'>;
  /** The neutral form of the request; null for a request of which only the facts are known. */
  readonly request:
    | (Pick<ModelRequest, 'settings' | 'extras' | 'operation' | 'stream' | 'conversation'> &
        Partial<Pick<ModelRequest, 'original'>>)
    | null;
  /** Whether a guard may ask the model again. */
  readonly asksAgain?: boolean;
}

/** Returns how an endpoint declares to bill aborted answers, if its answers can be paid for while they are written; else null. */
function growingBilling({ providers }: PolicySnapshot, endpoint: Endpoint): StoppedBilling | null {
  const billing = abortBillingOf(endpoint, providers);
  return billing.bills === 'stops' && billing.reports === 'each' ? billing : null;
}

/**
 * Whether a model may write hidden reasoning for a request: by default, because the request sets an effort, or because a field that
 * Signalbox does not read is passed through. Even the effort `none` may reach a provider that does not know this value.
 */
export function mayHide(
  { model, endpoint, provider }: Pick<Upstream, 'model' | 'endpoint' | 'provider'>,
  request: DecidedRequest['request'],
): boolean {
  if (model.mayReason) return true;
  if (request === null || (model.capabilities & CAPABILITIES.reasoning.bit) === 0) return false;
  // A request that is passed through unchanged keeps all of its fields.
  if (endpoint.capabilities & passthroughBit(request.original?.dialect ?? '')) return true;
  return request.settings.reasoningEffort !== undefined || passesExtras(request, provider);
}

/**
 * Returns the terms on which an answer of an endpoint may be paid for while the model writes it. Returns null if the whole worst case of
 * the answer must be held, because the endpoint's provider may bill an aborted answer in full, or writes output that cannot be counted.
 */
export function trancheTerms(
  { runtime, decision, request }: DecidedRequest,
  { ranked, upstream }: RankedUpstream,
): TrancheTerms | null {
  const { snapshot } = runtime;
  const { model, endpoint, health, slot } = upstream;
  const billing = growingBilling(snapshot, endpoint);
  if (billing === null || ranked.outputCap === 0 || health.hasBroken(billing)) return null;
  const { facts, readings } = decision;
  const inputMax = inputBound(model, facts);
  // Hidden reasoning is billed but not visible, and so is the text that a provider's own tools read.
  if (inputMax === null || facts.addOns !== undefined) return null;
  if (mayHide(upstream, request)) return null;
  return {
    declared: billing,
    priced: endpoint,
    inputMax,
    media: mediaOf(facts),
    choices: facts.choices,
    outputMax: ranked.outputCap * facts.choices,
    useful: usefulOutput(model, facts, taskOf(facts, snapshot)) * facts.choices,
    // An answer begins only once the shortest useful answer is paid for.
    expected:
      Math.max(Math.ceil(expectedOutput(facts, snapshot, readings)), facts.outputTokensMin ?? 0) * facts.choices,
    margin: marginOf(billing, readings.tokensPerSecond[slot]! * facts.choices),
  };
}

/**
 * Returns an endpoint with the output limit of its request and model, as far as the funds can ever pay for it at the endpoint's own price.
 * The decision's limit uses the model's most expensive endpoint. Money held by other requests is counted as available, because it may be
 * released while the answer is written.
 */
export function roomyWay(
  { decision: { facts } }: Pick<DecidedRequest, 'decision'>,
  way: RankedUpstream,
): RankedUpstream {
  const { ranked, upstream } = way;
  const unspent = facts.funds?.cap?.unspent;
  if (ranked.cappedBy === null || unspent === undefined) return way;
  const { model, at } = upstream;
  const own = affordableCap(model, [at], facts, outputCap(model, facts));
  const cap = capWithin(unspent, model, [at], facts, own);
  return { upstream, ranked: { ...ranked, outputCap: cap, cappedBy: cap < own ? ranked.cappedBy : null } };
}

/** Returns the first tranche for the chosen model of a decision; null if the whole worst case must be held. */
export function firstTrancheOf(decided: DecidedRequest): FirstTranche | null {
  const [ranked] = decided.decision.ranked;
  const upstream = upstreamAt(decided.runtime.upstreams, ranked.model, ranked.endpoints[0] ?? 0);
  const terms = trancheTerms(decided, roomyWay(decided, { ranked, upstream }));
  if (!terms) return null;
  return { wanted: firstTranche(terms), least: leastTranche(terms) };
}

/**
 * Whether an endpoint of the chosen model declares that its answers can be paid for while they are written. The check reads only the
 * declarations of the endpoints, so it is cheap.
 */
export const mayGrow = (snapshot: PolicySnapshot, { ranked: [choice] }: Pick<Decision, 'ranked'>): boolean =>
  choice.outputCap > 0 &&
  growingBilling(snapshot, snapshot.models[choice.model]!.endpoints[choice.endpoints[0]!]!) !== null;
