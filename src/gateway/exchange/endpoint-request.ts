import type { ProviderCall, ServiceTiers } from '../../contract/provider.ts';
import { traitsOf } from '../../contract/traits.ts';
import { idText } from '../../core/id.ts';
import { isEmpty } from '../../core/json/object.ts';
import { AUTO_TIER, pricedTier } from '../../core/money/service-tier.ts';
import type { Endpoint, Model, PolicySnapshot } from '../../core/policy/snapshot.ts';
import { getsSchemaInstead, passthroughBit } from '../../core/request/capability.ts';
import type { Facts } from '../../core/request/facts.ts';
import type { ModelRequest, NamedSchema } from '../../core/request/model-request.ts';
import { type RankedUpstream, stateAccount, type Upstream } from '../../policy/runtime/upstream.ts';
import { forcedFunction, withSchemaInstead } from '../../routing/forced-function.ts';
import { absentNamed } from '../../routing/model-name.ts';
import { withoutUnsupported } from '../../routing/unsupported.ts';
import { NO_EXTRAS, shown, sortExtras } from '../money/extras.ts';
import type { PromptHistory } from '../prompt/affinity.ts';
import { withReadableState } from '../prompt/reasoning-state.ts';
import { type AnswerRewrite, ForcedCall } from './forced-call.ts';
import { fitStops, StopCut } from './stop-cut.ts';

/** A decided request before it is adapted to an endpoint. */
interface UnfittedRequest {
  readonly request: ModelRequest;
  readonly history: PromptHistory;
  readonly decision: { readonly facts: Facts };
  readonly runtime: { readonly snapshot: PolicySnapshot };
}

interface DecidedRequest extends UnfittedRequest {
  readonly decision: { readonly facts: Facts; readonly id: number };
}

/** A call to an endpoint, and the fields of the request that were not sent to the endpoint. */
export interface EndpointCall {
  readonly call: ProviderCall;
  readonly dropped: readonly string[];
  /** The fields, by the names that the caller used, that reach the model in another form. */
  readonly adapted: readonly string[];
  /** Changes the answer on its way to the caller; null if the answer stays as it is. */
  readonly rewrite: AnswerRewrite | null;
  /**
   * The service tier that the provider may use although `call` has none: that of a request that is passed through unchanged, or `auto` if a
   * setting of the account chooses it. Undefined for none.
   */
  readonly passedTier: string | undefined;
}

/** Makes the call that sends a request to an endpoint. @param stream whether a streamed answer is requested from the provider */
export function callFor(unfitted: DecidedRequest, { ranked, upstream }: RankedUpstream, stream: boolean): EndpointCall {
  const { decision, runtime } = unfitted;
  const { model, endpoint, adapter } = upstream;
  const { dropUnsupported } = runtime.snapshot.gateway;
  const fitted = requestFor(unfitted, upstream);
  const { forced } = fitted;
  let { request, dropped } = fitted;
  if (dropUnsupported.size > 0) {
    const supported = withoutUnsupported(request, endpoint.capabilities, dropUnsupported);
    request = supported.request;
    dropped = [...dropped, ...supported.dropped];
  }
  let rewrite: AnswerRewrite | null = null;
  if (request.settings.stop !== undefined) {
    const { request: stopped, stops } = fitStops(request, endpoint, adapter);
    request = stopped;
    if (stops !== null) rewrite = new StopCut(stops, decision.facts.choices);
  }
  const { serviceTier: asked } = request.settings;
  let serviceTier: string | undefined;
  let passedTier: string | undefined;
  if (asked !== undefined || adapter.serviceTiers?.usual !== undefined) {
    serviceTier = tierFor(asked, adapter.serviceTiers, decision.facts);
    if (serviceTier === undefined) {
      // Without a tier, a setting of the operator's account chooses one, as for `auto`.
      passedTier = asked === undefined ? AUTO_TIER : pricedTier(asked);
      if (asked !== undefined && passedTier !== undefined && !isPassed(request, endpoint)) {
        dropped = [...dropped, request.names.serviceTier];
        passedTier = undefined;
      }
    }
  }
  if (forced !== null) rewrite = new ForcedCall(forced.name, idText('call_', decision.id));
  const call: ProviderCall = {
    upstream: endpoint.upstream,
    request,
    extras: fitted.extras,
    stream,
    outputCap: ranked.outputCap,
    model: traitsOf(model),
    serviceTier,
    isSelected: decision.facts.named === null ? true : undefined,
  };
  const adapted = forced === null ? NO_EXTRAS.dropped : [request.names.toolChoice];
  return { call, dropped, adapted, rewrite, passedTier };
}

/**
 * Returns the service tier to request; undefined for none. If a fund pays, settings of the operator's account must not choose the tier,
 * because the hold covers only the default tier and the one that the request asks for.
 */
function tierFor(
  asked: string | undefined,
  tiers: ServiceTiers | undefined,
  { funds, budget }: Facts,
): string | undefined {
  if (tiers === undefined) return undefined;
  if ((asked === undefined || asked === AUTO_TIER) && (funds !== null || budget !== null)) return tiers.usual;
  return asked !== undefined && tiers.takes(asked) ? asked : undefined;
}

/** Whether an endpoint gets a request unchanged, and so with its service tier. */
const isPassed = ({ original }: ModelRequest, { capabilities }: Endpoint): boolean =>
  (capabilities & passthroughBit(original.dialect)) !== 0;

/** A request in the form in which a particular endpoint may receive it. */
interface EndpointRequest {
  readonly request: ModelRequest;
  /** Fields that the gateway does not know and that the provider accepts. */
  readonly extras: Readonly<Record<string, unknown>>;
  /** The paths of the request's fields that were left out for this endpoint. */
  readonly dropped: readonly string[];
  /** The function whose call replaces the answer; null for an answer that stays as it is. */
  readonly forced: NamedSchema | null;
}

/**
 * Adapts a request to an endpoint. A request that is passed through unchanged keeps its fields, and the state that its own provider has
 * signed.
 */
export function requestFor(
  unfitted: UnfittedRequest,
  upstream: Pick<Upstream, 'model' | 'endpoint' | 'provider' | 'account' | 'pooled'>,
): EndpointRequest {
  const { model, endpoint, provider } = upstream;
  const { history, decision } = unfitted;
  const own = withoutSentFallbacks(unfitted);
  const forced = getsSchemaInstead(decision.facts.needs, endpoint.capabilities) ? replaceableCall(own) : null;
  const request = forced === null ? own : withSchemaInstead(own, forced);
  const account = stateAccount(upstream);
  if (isPassed(request, endpoint)) {
    const isFallback = mayBeFallback(model, decision.facts);
    if ((account === null && !isFallback) || !history.bearsState)
      return { request, extras: NO_EXTRAS.passed, dropped: NO_EXTRAS.dropped, forced };
    const left = readableAsPassed({ ...unfitted, request }, model, account, isFallback);
    return { request: left.request, extras: NO_EXTRAS.passed, dropped: left.dropped, forced };
  }
  const { unnamed = NO_EXTRAS.dropped } = request.routing;
  const { passed: extras, dropped } = isEmpty(request.extras) ? NO_EXTRAS : sortExtras(request, provider);
  if (!history.bearsState && unnamed.length === 0) return { request, extras, dropped, forced };
  const left = readable({ ...unfitted, request }, model, account);
  return { request: left.request, extras, dropped: [...dropped, ...left.dropped, ...unnamed], forced };
}

/** Removes the fallbacks that the request lists, because the gateway itself tries them. */
const withoutSentFallbacks = ({ request, runtime }: UnfittedRequest): ModelRequest =>
  request.routing.fallbacks === undefined || !runtime.snapshot.gateway.requestFallbacks
    ? request
    : request.edit(SENT_FALLBACKS);

const SENT_FALLBACKS = [
  { at: ['fallbacks'], value: undefined },
  { at: ['models'], value: undefined },
] as const;

/** Returns the forced function call that a JSON schema of the answer can replace; null if it cannot. */
function replaceableCall(request: ModelRequest): NamedSchema | null {
  const forced = forcedFunction(request);
  return 'why' in forced ? null : forced;
}

/** Whether a request may have come to a model because another model failed. */
const mayBeFallback = ({ id }: Model, { fallbacks, named }: Facts): boolean =>
  fallbacks !== undefined && named?.[0] !== id;

/** Whether another model wrote reasoning. The reasoning of an unknown writer belongs to the model that the request names. */
const isOfOther = ({ family }: Model, writer: string | null, { named }: Facts): boolean =>
  writer === null ? named !== null : writer !== family;

/** Whether an account can read state: state that another account of the provider has written is encrypted for that account. */
const isReadableAt = (account: string | null, writer: string | null): boolean =>
  account === null || writer === null || writer === account;

/** Whether the request names this model, and not another model that it stands in for. */
const isNamed = (id: string, { named, alias }: Facts, snapshot: PolicySnapshot): boolean =>
  named?.[0] === id && absentNamed(alias, snapshot) === undefined;

/** Removes reasoning of other accounts, and for a fallback also of other models, from a request that is passed through unchanged. */
function readableAsPassed(
  { request, history, decision: { facts } }: UnfittedRequest,
  model: Model,
  account: string | null,
  isFallback: boolean,
): Pick<EndpointRequest, 'request' | 'dropped'> {
  const left = withReadableState(
    request,
    (turn) =>
      isReadableAt(account, history.accountOf(turn)) &&
      !(isFallback && isOfOther(model, history.writerOf(turn), facts)),
  );
  return { request: left.request, dropped: shown(left.dropped) };
}

/**
 * Removes reasoning that the model cannot read: signed or encrypted reasoning goes only to the model family, and to the account, that wrote
 * it.
 */
function readable(
  { request, history, decision: { facts }, runtime: { snapshot } }: UnfittedRequest,
  { id, family }: Model,
  account: string | null,
): Pick<EndpointRequest, 'request' | 'dropped'> {
  const left = withReadableState(request, (turn) => {
    if (account !== null && !isReadableAt(account, history.accountOf(turn))) return false;
    const writer = history.writerOf(turn);
    // If Signalbox does not know which model wrote the reasoning in a request, a caller who names a model is responsible for sending that
    // reasoning to the model. The fallbacks of the model do not get it.
    return writer === null ? isNamed(id, facts, snapshot) : writer === family;
  });
  return { request: left.request, dropped: shown(left.dropped) };
}

/** The most characters of the path of an omitted field that are shown. */
const PATH_SHOWN = 128;

/**
 * Joins the paths of the fields that were left out for every endpoint, for this endpoint, and by this endpoint's adapter. The adapter's
 * list is bounded: a long conversation can have thousands of paths, and a caller's names may have any length.
 */
export function droppedPaths(
  before: readonly string[],
  fitted: readonly string[],
  own: readonly string[],
): readonly string[] {
  if (before.length + fitted.length + own.length === 0) return NO_EXTRAS.dropped;
  return [...before, ...fitted, ...shown(own.map((path) => path.slice(0, PATH_SHOWN)))];
}
