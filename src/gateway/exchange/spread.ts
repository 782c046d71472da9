import type { RankedModel } from '../../core/decision/decision.ts';
import type { SpreadKey, SpreadMode } from '../../core/policy/spread.ts';
import { type Upstream, upstreamAt } from '../../policy/runtime/upstream.ts';
import { expectedCost, expectedLatency, expectedWriting, warmEndpoint } from '../../routing/estimate.ts';
import { chooseEndpoint, keyOfSeed, type SpreadCandidate, seedOfKey } from '../../routing/spread.ts';
import type { SpreadPick } from './plan.ts';
import type { RunnableRequest } from './runnable-request.ts';

/** Chooses the endpoints of one request for models whose requests are spread. */
export class EndpointSpread {
  readonly #runnable: RunnableRequest;
  /** The number that places the request, computed at the first choice. */
  #key: SpreadKey | null = null;

  constructor(runnable: RunnableRequest) {
    this.#runnable = runnable;
  }

  readonly isSpread = ({ model, endpoints }: RankedModel): boolean =>
    endpoints.length > 1 && this.#runnable.runtime.snapshot.models[model]!.spread !== undefined;

  readonly pick = (ranked: RankedModel, left: readonly number[], draw: number): SpreadPick => {
    const { runtime, decision } = this.#runnable;
    const mode: SpreadMode = runtime.snapshot.models[ranked.model]!.spread ?? 'order';
    const warm = warmEndpoint(decision.facts, runtime.snapshot.models[ranked.model]!);
    const upstreams = left.map((at) => upstreamAt(runtime.upstreams, ranked.model, at));
    const candidates = upstreams.map((upstream) => this.#candidateOf(upstream, upstream.at === warm));
    const key = this.#keyOf();
    const { at, compared, stays } = chooseEndpoint(mode, candidates, key, draw);
    const record = {
      mode,
      key: seedOfKey(key),
      draw,
      eligible: left,
      loads: candidates.map(({ load }) => load),
      weights: candidates.map(({ weight }) => weight),
      compared: compared && ([left[compared[0]]!, left[compared[1]]!] as const),
      stays,
    };
    return { at: left[at]!, record };
  };

  #candidateOf(upstream: Upstream, isWarm: boolean): SpreadCandidate {
    const { decision, runtime } = this.#runnable;
    const { facts, readings } = decision;
    const { model, at, endpoint, salt } = upstream;
    const writing = expectedWriting(facts, runtime.snapshot, readings);
    return {
      salt,
      weight: endpoint.weight ?? 1,
      priority: endpoint.priority ?? 0,
      load: loadOf(upstream),
      latencyMs: expectedLatency(model, at, facts, readings, writing),
      costCredits: expectedCost(model, at, facts, writing),
      isWarm,
    };
  }

  /** A conversation has one place on all servers; any other request has the place that its seed draws. */
  #keyOf(): SpreadKey {
    const { history, decision, runtime } = this.#runnable;
    this.#key ??= history.conversation(decision.facts, runtime.snapshot) ?? keyOfSeed(decision.seed);
    return this.#key;
  }
}

/** Returns how a plan chooses endpoints; nothing for a policy without models whose requests are spread. */
export function spreadOf(runnable: RunnableRequest): Pick<EndpointSpread, 'isSpread' | 'pick'> | null {
  const { ranked, lastResorts } = runnable.decision;
  const spread = new EndpointSpread(runnable);
  return ranked.some(spread.isSpread) || lastResorts.some(spread.isSpread) ? spread : null;
}

/** How busy an endpoint is. */
const loadOf = (_upstream: Upstream): number => 0;
