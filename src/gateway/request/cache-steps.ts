import { setImmediate } from 'node:timers/promises';
import { whenReady } from '../../core/awaitable.ts';
import type { ByteHold } from '../../core/byte-room.ts';
import { SignalboxError } from '../../core/errors.ts';
import { valueAt } from '../../core/json/original.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import { rootOf } from '../../core/people/caller.ts';
import type { CachePolicy, CacheSkip } from '../../core/policy/cache.ts';
import type { EmbeddingInput } from '../../core/request/embedding.ts';
import type { Facts } from '../../core/request/facts.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { factsReaderOf } from '../../routing/facts.ts';
import { mayAnswer } from '../../routing/may-answer.ts';
import { vectorSpaceOf } from '../../routing/rules.ts';
import { type CachedAnswer, TOGETHER } from '../cache/answer-cache.ts';
import { type CacheNames, cacheNames, entriesOf, partitionOf } from '../cache/cache-name.ts';
import { type CacheControl, cacheControlOf, isWallet, skipOf } from '../cache/cache-scope.ts';
import { EndingAnswer, HeldAnswer, MergedVectors, RecordedAnswer, vectorsOf } from '../cache/recorded-answer.ts';
import type { RunningAnswer } from '../exchange/answer-source.ts';
import { scopeOf } from '../guards/guard-scope.ts';
import { ruledFacts, withGuards } from './decide.ts';
import { answerHere } from './own-answer.ts';
import type { PreparedRequest } from './prepared.ts';
import type { ServedRequest } from './served.ts';
import type { Next, Step } from './steps.ts';

/** The reason in records and in `platform.route_reason` of an answer from the cache. */
const CACHE_REASON = 'cache:exact';
const CACHE_HEADER = 'x-signalbox-cache';

/** A request that the cache applies to. */
interface CacheQuery extends CacheNames {
  readonly policy: CachePolicy;
  readonly control: CacheControl;
  readonly facts: Facts;
  readonly terms: ServedRequest['terms'];
}

/** The step that answers a request from the cache of the policy. */
export const answerFromCache: Step = (served, next) => {
  const policy = served.prepared.runtime.snapshot.cache;
  if (policy === null) return next(served);
  const query = queryOf(served, policy);
  if (query !== null && typeof query !== 'string') return answerQuery(served, query, next);
  served.context.work.cacheSkip = query;
  return next(served);
};

/**
 * The outermost step: stores the answer of a model once no guard has ended or changed it. It stores the answer as the model wrote it, so
 * that guards inspect each hit.
 */
export const storeAnswer: Step = (served, next) => {
  return whenReady(next(served), (answer) => {
    const { cache } = served.context.work;
    if (!cache || cache.result === 'hit') return answer;
    return new EndingAnswer(answer, { [CACHE_HEADER]: cache.result }, () => cache.store?.());
  });
};

/** @returns why the cache does not apply to the request; null for a request that the decision will refuse */
function queryOf(served: ServedRequest, policy: CachePolicy): CacheQuery | CacheSkip | null {
  const { context, prepared, terms, funded, gateway } = served;
  const { request, runtime } = prepared;
  const { caller } = terms;
  const isPaid = terms.holder !== null || served.funding.identity !== null || isWallet(caller);
  if (isPaid) return 'wallet';
  if (context.client.sentBy !== null) return 'playground';
  const skip = skipOf(policy, request, () => scopeOf(request, caller, context));
  if (skip !== null) return skip;
  const control = cacheControlOf(context.headers?.get('cache-control') ?? null);
  if (!control.reads && !control.stores) return 'no_store';
  const partition = partitionOf(policy.partition, caller);
  if (partition === null) return 'no_team';
  const secret = policy.partition === 'key' ? funded.secretOf() : gateway.cache.secretOf(partition);
  const facts = secret === null ? null : factsOf(served);
  if (secret === null || facts === null) return null;
  const named = cacheNames(request, facts, { caller, partition, snapshot: runtime.snapshot }, secret);
  return { ...named, policy, control, facts, terms };
}

/** @returns null for a request that the decision will refuse */
function factsOf({ gateway, context, prepared, terms }: ServedRequest): Facts | null {
  const { request, runtime } = prepared;
  const { caller, cap } = terms;
  const { reader, snapshot } = runtime;
  const read = factsReaderOf(request);
  try {
    const facts = read(request, caller, snapshot, { reader, cap, readings: runtime.readings() });
    return ruledFacts(gateway, withGuards(facts, context), request, caller, runtime);
  } catch (cause) {
    if (cause instanceof SignalboxError) return null;
    throw cause;
  }
}

async function answerQuery(served: ServedRequest, query: CacheQuery, next: Next): Promise<RunningAnswer> {
  const hold = served.gateway.answers.hold(rootOf(query.terms.caller));
  const leave = () => hold.leave();
  try {
    const answer = await answerWithin(served, query, next, hold);
    return hold.bytes === 0 ? answer : new HeldAnswer(answer, leave);
  } catch (cause) {
    leave();
    throw cause;
  }
}

/** @param hold the memory of the answers of the cache, which count like answers of providers */
async function answerWithin(
  served: ServedRequest,
  query: CacheQuery,
  next: Next,
  hold: ByteHold,
): Promise<RunningAnswer> {
  const { gateway, context, prepared } = served;
  const failed = (error: unknown) =>
    gateway.log.warn('an answer could not be stored in the cache', { error: String(error) });
  const found = query.control.reads ? await usableAnswers(served, query, hold) : [];
  const isWhole = found.length > 0 && found.every((one) => one !== null && one.model === found[0]?.model);
  if (isWhole) {
    gateway.cache.use(query.names, found);
    const answers = found.flatMap((one) => one ?? []);
    context.work.cache = { result: 'hit', spared: sumOfPrices(answers), store: null };
    return hit(served, query, answers);
  }
  const inputs = entriesOf(prepared.request);
  const model = found.find((one) => one !== null)?.model;
  const isPartial = inputs !== null && model !== undefined && isOfOneSpace(served, query, model);
  const kept = found.map((one) => (one?.model === model ? one : null));
  const missing = isPartial ? inputs.flatMap((_, at) => (kept[at] === null ? [at] : [])) : null;
  const rest = missing && inputs && requestFor(prepared.request, inputs, missing);
  if (missing && rest) served.prepared = withRequest(served, rest);
  else hold.leave();
  const spared = rest ? sumOfPrices(kept) : 0;
  context.work.cache = { result: rest ? 'partial' : 'miss', spared, store: null };
  const asked = served.prepared.request;
  const recorded = new RecordedAnswer(await next(served), entriesOf(asked));
  const names = missing && rest ? missing.map((at) => query.names[at]!) : query.names;
  if (query.control.stores) context.work.cache.store = () => store(served, { ...query, names }, recorded).catch(failed);
  return rest ? new MergedVectors(recorded, kept) : recorded;
}

/**
 * Finds the answers that may be given to this caller, in the order of the names. Without an answer of the store there are none, and none if
 * the terms of the caller have changed while the store was read.
 * @throws SignalboxError, by rejecting, if the caller may no longer send the request
 */
async function usableAnswers(served: ServedRequest, { control, facts, terms, ...query }: CacheQuery, hold: ByteHold) {
  const { gateway, prepared } = served;
  const { snapshot, readings } = prepared.runtime;
  const found = await storedAnswers(served, query, hold);
  const isUsable = ({ model, stored }: CachedAnswer) =>
    gateway.now() - stored <= control.ageMax * 1_000 && mayAnswer(model, facts, snapshot, readings());
  const usable = found.map((one) => (one && isUsable(one) ? one : null));
  if (usable.every((one) => one === null)) return [];
  await served.checkAfterWait();
  return served.terms === terms ? usable : [];
}

async function storedAnswers(
  { gateway, context, prepared }: ServedRequest,
  { names, seal }: CacheNames,
  hold: ByteHold,
) {
  const { answersBytesMax } = prepared.runtime.snapshot.gateway;
  try {
    // A caller that has disconnected needs no answer.
    const hasRoom = (bytes: number) => !context.signal.aborted && hold.take(bytes, answersBytesMax);
    return await gateway.cache.find(names, seal, hasRoom);
  } catch (error) {
    gateway.log.warn('the cache could not be read', { error: String(error) });
    return [];
  }
}

/** Answers with one entry, or with one entry for each input of the request. */
function hit(
  served: ServedRequest,
  { policy, facts }: CacheQuery,
  found: readonly CachedAnswer[],
): Promise<RunningAnswer> {
  const { gateway, prepared } = served;
  const [first] = found;
  if (!first) throw new Error('a hit without an answer');
  const stored = found.reduce((oldest, one) => Math.min(oldest, one.stored), first.stored);
  const isByInput = entriesOf(prepared.request) !== null;
  const inputTokens = found.reduce((sum, { usage }) => sum + usage.inputTokens, 0);
  return answerHere(served, {
    reason: CACHE_REASON,
    model: first.model,
    parts: isByInput ? vectorsOf(found) : () => first.source.read(),
    usage: isByInput ? { ...first.usage, inputTokens } : first.usage,
    price: policy.price,
    tariff: gateway.cache.tariffOf(first.model),
    facts,
    repeats: first.decision,
    dropped: first.dropped,
    adapted: first.adapted,
    headers: { [CACHE_HEADER]: 'hit', age: String(Math.max(0, Math.floor((gateway.now() - stored) / 1_000))) },
  });
}

/** Stores an answer, and lets other requests run between some of its entries and the next ones. */
async function store(
  { gateway, context, exchange, terms, prepared }: ServedRequest,
  { names, seal, policy, terms: namedFor }: CacheQuery,
  recorded: RecordedAnswer,
): Promise<void> {
  const outcome = context.exchange.result?.outcome;
  const isWhole = exchange !== null && outcome?.status === 'completed' && outcome.cappedBy === null;
  // The rights of the caller are a part of the names.
  if (!isWhole || terms !== namedFor) return;
  const verdicts = context.work.guards?.verdicts.all ?? [];
  if (verdicts.some(({ side, action, failed }) => side === 'output' && (failed || action !== 'flag'))) return;
  for (const [at, entry] of recorded.entries().entries()) {
    if (at > 0 && at % TOGETHER === 0) await setImmediate();
    gateway.cache.keep(names[at]!, entry, seal, terms.caller, policy, prepared.runtime.snapshot.records);
  }
}

const sumOfPrices = (answers: readonly (CachedAnswer | null)[]): Microcredits =>
  answers.reduce((sum, answer) => sum + (answer?.price ?? 0), 0);

/** Whether the vectors of a model of the cache, and of a model that will answer, are of one vector space. */
function isOfOneSpace({ prepared }: ServedRequest, { facts }: CacheQuery, model: string): boolean {
  const { snapshot } = prepared.runtime;
  const spaceOf = (id: string) => snapshot.models[snapshot.modelIndex.get(id) ?? -1]?.embedding?.vectorSpace;
  const [named] = facts.named ?? [];
  const space = vectorSpaceOf(facts, snapshot) ?? (named === undefined ? undefined : spaceOf(named));
  return space !== undefined && spaceOf(model) === space;
}

/** Returns the request with only some of its inputs; null if they are not the items of one list. */
function requestFor(
  request: ModelRequest,
  inputs: readonly EmbeddingInput[],
  kept: readonly number[],
): ModelRequest | null {
  const list = inputs[0]?.at.slice(0, -1) ?? [];
  const items = valueAt(request.original.body, list);
  if (list.length === 0 || !Array.isArray(items) || items.length !== inputs.length) return null;
  return request.edit([{ at: list, value: kept.map((at): unknown => items[at]) }]);
}

/** A retry of the request must find it whole, so the prepared request itself does not change. */
function withRequest({ prepared }: ServedRequest, request: ModelRequest): PreparedRequest {
  return prepared.with(request);
}
