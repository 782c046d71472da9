import type { PromptCount } from '../../core/decision/answer.ts';
import { rootOf } from '../../core/people/caller.ts';
import { modelOf } from '../../core/policy/model-of.ts';
import type { Model } from '../../core/policy/snapshot.ts';
import type { Facts } from '../../core/request/facts.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { estimateTokens } from '../../core/request/tokens.ts';
import { upstreamAt } from '../../policy/runtime/upstream.ts';
import { ASKED_COUNT_MS } from '../../providers/token-count.ts';
import { chatFacts } from '../../routing/facts.ts';
import { expectedInput, type InputFigures } from '../../routing/input-tokens.ts';
import { allowedEndpoints, limitsOf } from '../../routing/rules.ts';
import { textsOf } from '../../routing/texts.ts';
import { ruledFacts, withGuards } from './decide.ts';
import type { Gateway } from './gateway.ts';
import type { Pipeline } from './pipeline.ts';
import type { PreparedRequest } from './prepared.ts';
import type { RequestContext } from './request-context.ts';
import { countAtEndpoint } from './service-count.ts';

/** The figures for a request that names a selector. These figures are usual figures, because no model is chosen yet. */
const ANY_MODEL: InputFigures = {
  id: '',
  tokenizer: null,
  imageTokensMax: null,
  audioTokensPerSecondMax: null,
  pageTokensMax: null,
  contextWindow: Number.POSITIVE_INFINITY,
  maxOutput: 0,
};

/**
 * Counts the tokens of a prompt for a model. The count uses the model's tokenizer if Signalbox has the tokenizer, else an endpoint of the
 * model that can count, else an estimate. The request is handled like a chat up to its profile, but no decision, hold or record is made.
 * @param context ends a count at an endpoint when its caller disconnects
 * @throws SignalboxError for a model that does not exist or that the key may not use
 */
export async function countTokens(
  { gateway, prepare }: Pipeline,
  given: ModelRequest,
  context: RequestContext,
): Promise<PromptCount> {
  const prepared = await prepare(given, gateway.lease(), context);
  const { request, runtime } = prepared;
  const { snapshot, reader } = runtime;
  const facts = withGuards(chatFacts(request, context.knownCaller, snapshot, { reader }), context);
  if (facts.named === null) return { inputTokens: Math.ceil(expectedInput(facts, ANY_MODEL)), basis: 'estimated' };
  const model = modelOf(facts.model, snapshot);
  const own = await ownCount(gateway, request, model, expectedInput(facts, model));
  if (own !== null) return { inputTokens: own, basis: 'counted' };
  // No request pays for a guard that calls a model, so it has not read the texts, so no provider may get them.
  if (prepared.guardsNotRun.length > 0)
    return { inputTokens: Math.ceil(expectedInput(facts, model)), basis: 'estimated' };
  const asked = await endpointCount(gateway, prepared, facts, context);
  if (asked !== null) return { inputTokens: asked, basis: 'provider' };
  return { inputTokens: Math.ceil(expectedInput(facts, model)), basis: 'estimated' };
}

/**
 * Counts the texts with the model's tokenizer, and estimates the rest; null if Signalbox does not have the tokenizer or the count takes too
 * long.
 */
async function ownCount(
  { counter }: Pick<Gateway, 'counter'>,
  { conversation }: ModelRequest,
  { tokenizer }: Model,
  expected: number,
): Promise<number | null> {
  const texts = textsOf(conversation.turns);
  const counted = tokenizer && texts.length > 0 ? await counter.count(tokenizer, texts) : null;
  if (counted === null) return null;
  const estimated = texts.reduce((sum, text) => sum + estimateTokens(text), 0);
  return Math.max(counted, Math.ceil(expected - estimated + counted));
}

/** Counts at the first endpoint that the policy allows for the prompt and that can count; null if there is none. */
async function endpointCount(
  gateway: Gateway,
  { request, runtime }: PreparedRequest,
  facts: Facts,
  { knownCaller: caller, signal }: RequestContext,
): Promise<number | null> {
  const { snapshot } = runtime;
  const { settings, routing } = request;
  const ruled = ruledFacts(gateway, facts, { stream: false, settings, routing }, caller, runtime);
  const { slots } = limitsOf(ruled, snapshot);
  const prompt = {
    request,
    history: gateway.affinity.history(rootOf(caller), request),
    runtime,
    places: gateway.countPlaces,
  };
  const model = snapshot.modelIndex.get(facts.model)!;
  for (const at of allowedEndpoints(snapshot.models[model]!, slots, facts.needs)) {
    const upstream = upstreamAt(runtime.upstreams, model, at);
    const { tokens } = await countAtEndpoint(prompt, facts, upstream, { withinMs: ASKED_COUNT_MS, signal });
    if (tokens !== null || signal.aborted) return tokens;
  }
  return null;
}
