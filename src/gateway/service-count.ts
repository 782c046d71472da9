import type { CountMargin } from '../contract/provider.ts';
import { traitsOf } from '../contract/traits.ts';
import type { RankedModel } from '../core/decision.ts';
import type { Facts, ServiceCount } from '../core/facts.ts';
import type { ModelRequest } from '../core/model-request.ts';
import { isRefusal } from '../routing/decide.ts';
import { outputCap } from '../routing/estimate.ts';
import { expectedInput } from '../routing/input-tokens.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { countAt } from '../upstream/token-count.ts';
import type { UpstreamTarget } from '../upstream/upstream-call.ts';
import type { PromptHistory } from './affinity.ts';
import type { FundedTrial } from './decide-within.ts';
import { requestFor } from './endpoint-request.ts';
import { isRejectedByInput } from './exact-count.ts';
import { choiceWithin, holdTermsOf } from './hold-terms.ts';

/** A prompt that services may count. */
export interface CountablePrompt {
  readonly request: ModelRequest;
  readonly history: PromptHistory;
  readonly runtime: Runtime;
}

/** A place to have it counted: an endpoint of a model, both by index. */
interface CountingPlace {
  readonly model: number;
  readonly at: number;
  readonly withinMs: number;
  /** Ends the count when its caller leaves. */
  readonly signal: AbortSignal;
}

/** Has an endpoint count the prompt that it would get; null where it does not count now. Never rejects. */
export function countAtEndpoint(
  { request, history, runtime }: CountablePrompt,
  facts: Facts,
  { model: index, at, withinMs, signal }: CountingPlace,
): Promise<number | null> {
  const { snapshot, targets, health } = runtime;
  const model = snapshot.models[index]!;
  const endpoint = model.endpoints[at]!;
  const left = requestFor({ request, history, decision: { facts }, runtime }, model, endpoint);
  const call = {
    upstream: endpoint.upstream,
    request: left.request,
    extras: left.extras,
    stream: false,
    outputCap: model.maxOutput,
    model: traitsOf(model),
    isSelected: facts.pinned ? undefined : (true as const),
  };
  const asked = { target: targets[index]![at]!, health: health[index]![at]!, deadlines: model.deadlines };
  return countAt(asked, call, withinMs, signal);
}

/** The longest time that services may take to count a prompt before its money is held, ms. */
const COUNT_MS = 1_000;

/**
 * Has services count one prompt with PDFs where the bound of their pages is too much for the money there is. A count costs
 * nothing. Each model is asked once, and all within a second.
 */
export class ServiceCounter {
  readonly #prompt: CountablePrompt;
  readonly #caller: { readonly signal: AbortSignal };
  /** Made for the first: few requests need one. */
  #counts: Map<number, Promise<ServiceCount | null>> | null = null;
  #endsAt: number | null = null;

  /** @param caller whose signal ends the counts when it leaves */
  constructor(prompt: CountablePrompt, caller: { readonly signal: AbortSignal }) {
    this.#prompt = prompt;
    this.#caller = caller;
  }

  /**
   * Returns the facts of a decision by the counts of the services that it would ask for an answer.
   * @param decideBy decides the request by other facts
   * @returns null where no count would help, or none was made in time
   */
  async factsFor(facts: Facts, decideBy: (facts: Facts) => FundedTrial): Promise<Facts | null> {
    const { runtime } = this.#prompt;
    const hoped = hopedCounts(facts, runtime);
    const { outcome, shortage } = decideBy({ ...facts, serviceCounts: hoped });
    // Without money for the shortest prompt of its kind there is no use in asking.
    if (isRefusal(outcome) || shortage !== null) return null;
    const counted: Record<string, ServiceCount> = {};
    await Promise.all(
      outcome.ranked.map(async (ranked) => {
        const { id } = runtime.snapshot.models[ranked.model]!;
        const count = id in hoped ? await this.#countOf(ranked, facts) : null;
        if (count) counted[id] = count;
      }),
    );
    return Object.keys(counted).length === 0 ? null : { ...facts, serviceCounts: counted };
  }

  #countOf(ranked: RankedModel, facts: Facts): Promise<ServiceCount | null> {
    this.#counts ??= new Map();
    const count = this.#counts.get(ranked.model) ?? this.#ask(ranked, facts);
    this.#counts.set(ranked.model, count);
    return count;
  }

  /** Has each provider of a model count, for any of them may answer; the greatest bound stands for all. */
  async #ask({ model: index, endpoints }: RankedModel, facts: Facts): Promise<ServiceCount | null> {
    const { snapshot, targets } = this.#prompt.runtime;
    const model = snapshot.models[index]!;
    this.#endsAt ??= performance.now() + COUNT_MS;
    const withinMs = this.#endsAt - performance.now();
    const { signal } = this.#caller;
    const byProvider = new Map(endpoints.map((at) => [model.endpoints[at]!.provider, at]));
    const counts = await Promise.all(
      [...byProvider.values()].map(async (at) => {
        const tokens = await countAtEndpoint(this.#prompt, facts, { model: index, at, withinMs, signal });
        const margin = marginAt(targets[index]![at]!);
        return tokens === null || margin === null
          ? null
          : { tokens, margin: margin.tokens + Math.ceil(margin.share * tokens) };
      }),
    );
    const made = counts.filter((one) => one !== null);
    return made.length < counts.length ? null : made.reduce((most, one) => (boundOf(one) > boundOf(most) ? one : most));
  }
}

const boundOf = ({ tokens, margin }: ServiceCount): number => tokens + margin;

/** The margin of an endpoint that counts prompts; null where its count bounds nothing, or it has none. */
function marginAt({ adapter }: UpstreamTarget): CountMargin | null {
  const margin = adapter.kind === 'wire' ? adapter.tokenCount?.margin : undefined;
  // A plugin may state anything.
  return margin && margin.tokens >= 0 && margin.share >= 0 ? margin : null;
}

/** The counts that may come at best, by ID of the models whose services count: each PDF has one page. */
function hopedCounts(facts: Facts, { snapshot, targets }: Runtime): NonNullable<Facts['serviceCounts']> {
  const least = { ...facts, pages: facts.pdfs };
  const counting = snapshot.models.filter((_, index) => targets[index]!.every((target) => marginAt(target) !== null));
  return Object.fromEntries(counting.map((model) => [model.id, { tokens: expectedInput(least, model), margin: 0 }]));
}

/** Whether the bound of a prompt has its request refused, its output capped, or the request wait for money. */
export function isHeldBack(
  { outcome, shortage, funds }: FundedTrial,
  request: ModelRequest,
  runtime: Pick<Runtime, 'snapshot' | 'health'>,
): boolean {
  if (shortage !== null) return true;
  if (isRefusal(outcome)) return outcome.rejected.some(isRejectedByInput);
  const [choice] = outcome.ranked;
  if (choice.outputCap < outputCap(runtime.snapshot.models[choice.model]!, outcome.facts)) return true;
  if (funds === null) return false;
  const hold = funds.firstHold(holdTermsOf({ runtime, decision: outcome, request }));
  return hold === null || choiceWithin(hold, outcome, runtime.snapshot) !== choice;
}
