import type { CountMargin } from '../../contract/provider.ts';
import { traitsOf } from '../../contract/traits.ts';
import type { RankedModel } from '../../core/decision/decision.ts';
import { SignalboxError } from '../../core/errors.ts';
import type { ContentPart } from '../../core/request/conversation.ts';
import type { Facts, ServiceCount } from '../../core/request/facts.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import { type Upstream, upstreamAt } from '../../policy/runtime/upstream.ts';
import { countAt, type TokenCount } from '../../providers/token-count.ts';
import type { UpstreamTarget } from '../../providers/upstream-call.ts';
import { isRefusal } from '../../routing/decide.ts';
import { outputCap } from '../../routing/estimate.ts';
import { expectedInput } from '../../routing/input-tokens.ts';
import { requestFor } from '../exchange/endpoint-request.ts';
import { choiceWithin, holdTermsOf } from '../money/hold-terms.ts';
import type { PromptHistory } from '../prompt/affinity.ts';
import type { CountPlaces } from './count-places.ts';
import type { FundedTrial } from './decide-within.ts';
import { isRejectedByInput } from './exact-count.ts';
import type { RequestContext } from './request-context.ts';
import type { PromptCountEnd, WorkFacts } from './request-facts.ts';

/** A prompt that providers may count. */
interface CountablePrompt {
  readonly request: ModelRequest;
  readonly history: PromptHistory;
  readonly runtime: Runtime;
  readonly places: CountPlaces;
}

interface CountingLimits {
  readonly withinMs: number;
  /** An object that ends the count of a prompt when the caller disconnects. */
  readonly signal: AbortSignal;
}

/** Lets an endpoint count the prompt that it would receive, once the caller's key has a slot for a count. Never rejects. */
export async function countAtEndpoint(
  prompt: CountablePrompt,
  facts: Facts,
  upstream: Upstream,
  { withinMs, signal }: CountingLimits,
): Promise<TokenCount> {
  const { request, history, runtime, places } = prompt;
  const { model, endpoint, health } = upstream;
  const endsAt = performance.now() + withinMs;
  if (!(await places.take(history.keyId, withinMs))) return NO_PLACE;
  try {
    const left = requestFor({ request, history, decision: { facts }, runtime }, upstream);
    const call = {
      upstream: endpoint.upstream,
      request: left.request,
      extras: left.extras,
      stream: false,
      outputCap: model.maxOutput,
      model: traitsOf(model),
      isSelected: facts.named === null ? (true as const) : undefined,
    };
    const { deadlines } = model;
    const asked = { target: upstream, health, deadlines, alarms: runtime.alarms };
    return await countAt(asked, call, endsAt - performance.now(), signal);
  } finally {
    places.leave(history.keyId);
  }
}

/** The time in which one of the running counts is likely to end, ms. */
const RETRY_MS = 1_000;
const NO_PLACE = { tokens: null, retryAfterMs: RETRY_MS } as const;

type CountingCaller = Pick<RequestContext, 'signal'> & { readonly work: Pick<WorkFacts, 'addPromptCount'> };

/** The longest time that providers may take to count a prompt before its money is held, ms. */
const COUNT_MS = 1_000;

/**
 * Lets providers count a prompt with PDFs, if the upper bound of its pages costs more than the available money. A count costs nothing. Each
 * model's provider is called once, one after the other, and all together within a second.
 */
export class ServiceCounter {
  readonly #prompt: CountablePrompt;
  readonly #caller: CountingCaller;
  /** The object is created at the first count, because few requests need a count. */
  #counts: Map<number, ServiceCount | null> | null = null;
  #endsAt: number | null = null;
  /** The shortest time until a failed count may succeed, ms; null if none failed. */
  #retryAfterMs: number | null = null;

  /** @param caller ends the counts when it disconnects, and notes how they ended */
  constructor(prompt: CountablePrompt, caller: CountingCaller) {
    this.#prompt = prompt;
    this.#caller = caller;
  }

  /**
   * Returns the facts of a decision with the counts of providers. The provider of the model that would be chosen if each file had one page
   * counts first; the provider of the next model counts only while the funds cover no model.
   * @param decideBy decides the request with other facts
   * @returns the same facts if no count would help, or none was made in time
   */
  async factsFor(facts: Facts, decideBy: (facts: Facts) => FundedTrial): Promise<Facts> {
    const { runtime } = this.#prompt;
    let hoped = hopedCounts(facts, runtime);
    let counted = facts;
    for (;;) {
      const { outcome, shortage } = decideBy({ ...facts, serviceCounts: { ...hoped, ...counted.serviceCounts } });
      // If even the shortest prompt of this kind cannot be paid, a count cannot help.
      if (isRefusal(outcome) || shortage !== null) return counted;
      const [choice] = outcome.ranked;
      const { id } = runtime.snapshot.models[choice.model]!;
      if (!(id in hoped)) return counted;
      const { [id]: _, ...rest } = hoped;
      hoped = rest;
      const count = await this.#countOf(choice, facts);
      if (count) counted = { ...facts, serviceCounts: { ...counted.serviceCounts, [id]: count } };
      if (!isRefused(decideBy(counted))) return counted;
    }
  }

  /**
   * Returns the error to answer instead of a refusal, because a prompt that could not be counted now may fit later.
   * @returns null if no count failed
   */
  get failure(): SignalboxError | null {
    return this.#retryAfterMs === null
      ? null
      : new SignalboxError('overloaded', UNCOUNTED, { retryAfterMs: this.#retryAfterMs });
  }

  async #countOf(ranked: RankedModel, facts: Facts): Promise<ServiceCount | null> {
    this.#counts ??= new Map();
    const known = this.#counts.get(ranked.model);
    if (known !== undefined) return known;
    const count = await this.#ask(ranked, facts);
    this.#counts.set(ranked.model, count);
    return count;
  }

  /** Lets each provider of a model count, because any of them may answer; the greatest bound applies to all. */
  async #ask({ model: index, endpoints }: RankedModel, facts: Facts): Promise<ServiceCount | null> {
    const { upstreams } = this.#prompt.runtime;
    this.#endsAt ??= performance.now() + COUNT_MS;
    const withinMs = this.#endsAt - performance.now();
    const { signal } = this.#caller;
    const each = endpoints.map((at) => upstreamAt(upstreams, index, at));
    const byAccount = new Map(each.map((upstream) => [upstream.account, upstream]));
    const counts = await Promise.all(
      [...byAccount.values()].map(async (upstream) => {
        const counted = await countAtEndpoint(this.#prompt, facts, upstream, { withinMs, signal });
        this.#caller.work.addPromptCount({ provider: upstream.provider.name, end: endOf(counted) });
        return this.#read(counted, marginAt(upstream));
      }),
    );
    const made = counts.filter((one) => one !== null);
    return made.length < counts.length ? null : made.reduce((most, one) => (boundOf(one) > boundOf(most) ? one : most));
  }

  /** Reads one count. For a failed count, notes when the count may be tried again. */
  #read(counted: TokenCount, margin: CountMargin | null): ServiceCount | null {
    if (counted.tokens === null) {
      const { retryAfterMs } = counted;
      if (retryAfterMs !== null) this.#retryAfterMs = Math.min(retryAfterMs, this.#retryAfterMs ?? retryAfterMs);
      return null;
    }
    const { tokens } = counted;
    return margin && { tokens, margin: margin.tokens + Math.ceil(margin.share * tokens) };
  }
}

function endOf(counted: TokenCount): PromptCountEnd['end'] {
  if (counted.tokens !== null) return 'counted';
  return counted.retryAfterMs === null ? 'refused' : 'failed';
}

const UNCOUNTED =
  'The PDFs of this request may cost more than the available funds, and the provider could not count their tokens now. Try again.';

const boundOf = ({ tokens, margin }: ServiceCount): number => tokens + margin;

/** Returns the margin of error of an endpoint that counts prompts; null if its count is not a bound, or it does not count. */
function marginAt({ adapter }: UpstreamTarget): CountMargin | null {
  const margin = adapter.kind === 'wire' ? adapter.tokenCount?.margin : undefined;
  // A plugin may return any value, so negative margins are ignored.
  return margin && margin.tokens >= 0 && margin.share >= 0 ? margin : null;
}

/** Returns the lowest possible counts, by ID of the models whose providers count: each PDF has one page. */
function hopedCounts(facts: Facts, { snapshot, upstreams }: Runtime): NonNullable<Facts['serviceCounts']> {
  const least = { ...facts, pages: facts.pdfs };
  const counting = snapshot.models.filter((_, index) =>
    upstreams[index]!.every((upstream) => marginAt(upstream) !== null),
  );
  return Object.fromEntries(counting.map((model) => [model.id, { tokens: expectedInput(least, model), margin: 0 }]));
}

/** Whether a decision found no model, or the funds cover none. */
export const isRefused = ({ outcome, shortage }: FundedTrial): boolean => shortage !== null || isRefusal(outcome);

/**
 * Whether the request itself contains everything that a model reads. A server may return different files at the same address for the count
 * and for the answer, and an upload may change. A content part that only its dialect can express may refer to either.
 */
export const standsInRequest = ({ conversation }: Pick<ModelRequest, 'conversation'>): boolean =>
  conversation.turns.every(({ parts }) => parts.every(isInline));

function isInline(part: ContentPart): boolean {
  switch (part.type) {
    case 'image':
      return isData(part.url);
    case 'file':
      return part.id === undefined && part.url === undefined;
    case 'native':
      return false;
    default:
      return true;
  }
}

const isData = (url: string): boolean => /^data:/i.test(url);

/** Whether a request is refused, its output limited, or the request delayed, because of the upper bound of its prompt. */
export function isHeldBack(
  { outcome, shortage, funds }: FundedTrial,
  request: ModelRequest,
  runtime: Pick<Runtime, 'snapshot' | 'upstreams'>,
): boolean {
  if (shortage !== null) return true;
  if (isRefusal(outcome)) return outcome.rejected.some(isRejectedByInput);
  const [choice] = outcome.ranked;
  if (choice.outputCap < outputCap(runtime.snapshot.models[choice.model]!, outcome.facts)) return true;
  if (funds === null) return false;
  const hold = funds.firstHold(holdTermsOf({ runtime, decision: outcome, request }));
  return hold === null || choiceWithin(hold, outcome, runtime.snapshot) !== choice;
}
