import type { RankedModel } from '../../core/decision/decision.ts';
import type { Model } from '../../core/policy/snapshot.ts';
import type { SpreadKey, SpreadMode } from '../../core/policy/spread.ts';
import { type Upstream, upstreamAt } from '../../policy/runtime/upstream.ts';
import { expectedWriting, warmEndpoint } from '../../routing/estimate.ts';
import { keyOfSeed } from '../../routing/spread.ts';
import { RECOVERED_SHARE_MIN, recordedChoice, spreadCandidate, weightOf } from '../../routing/spread-record.ts';
import { accountIn } from './key-turns.ts';
import type { EndpointChoice, SpreadPick } from './plan.ts';
import type { RunnableRequest } from './runnable-request.ts';

type SpreadRequest = Pick<RunnableRequest, 'decision' | 'runtime' | 'history' | 'clock'>;

/** Chooses the endpoints of one request, for models with several endpoints. */
export class RequestEndpoints implements EndpointChoice {
  readonly #runnable: SpreadRequest;
  /** The number that places the request, computed at the first choice. */
  #key: SpreadKey | null = null;

  constructor(runnable: SpreadRequest) {
    this.#runnable = runnable;
  }

  isSpread({ model, endpoints }: RankedModel): boolean {
    return endpoints.length > 1 && this.#runnable.runtime.snapshot.models[model]!.spread !== undefined;
  }

  stayAt(pool: readonly Upstream[]): string | null {
    const { history, decision, runtime } = this.#runnable;
    return accountIn(pool, history, decision.facts, runtime.snapshot);
  }

  pick(ranked: RankedModel, left: readonly number[], draw: number): SpreadPick {
    const { runtime, decision } = this.#runnable;
    const mode: SpreadMode = runtime.snapshot.models[ranked.model]!.spread ?? 'order';
    const isWarm = this.#warmthOf(runtime.snapshot.models[ranked.model]!);
    const all = left.map((at) => upstreamAt(runtime.upstreams, ranked.model, at));
    // An endpoint without room is tried only if no other has any. Then the request waits there.
    const roomy = all.filter(({ room }) => room === null || room.hasRoom(Math.ceil(ranked.tokens)));
    const upstreams = this.#ofWriter(roomy.length > 0 ? roomy : all);
    const writing = expectedWriting(decision.facts, runtime.snapshot, decision.readings);
    // Shares of limits and numbers of attempts cannot be compared with each other.
    const areLimited = upstreams.every(({ room }) => room !== null);
    const request = { facts: decision.facts, readings: decision.readings, writing };
    const candidates = upstreams.map((upstream) => {
      const { model, at, salt, health, endpoint } = upstream;
      const recovered = recoveredShare(health.recoveredAt, this.#runnable.clock());
      const moment = {
        weight: weightOf(endpoint) * recovered,
        load: areLimited ? usedShare(upstream, recovered) : queueOf(upstream, recovered),
        isWarm: isWarm(upstream),
        isUnmeasured: mode === 'fastest' && health.busy === 0 && health.measuredAnswers < MEASURED_MIN,
      };
      return spreadCandidate(model, at, salt, moment, request);
    });
    return recordedChoice(mode, candidates, this.#keyOf(), draw);
  }

  /** Returns the upstreams of the account that can read the state of the conversation; all of them if none can. */
  #ofWriter(all: readonly Upstream[]): readonly Upstream[] {
    const writer = this.#runnable.history.stateWriter();
    const own = writer === null ? [] : all.filter(({ account }) => account === writer);
    return own.length > 0 ? own : all;
  }

  /** Returns which upstreams probably have the conversation in their cache: the upstreams of one endpoint, and in a pool the keys of one account. */
  #warmthOf(model: Model): (upstream: Upstream) => boolean {
    const { decision, history, runtime } = this.#runnable;
    const warm = model.endpoints[warmEndpoint(decision.facts, model)];
    if (!warm) return () => false;
    const account = history.accountFor(model.id, runtime.snapshot);
    return ({ endpoint, pooled, account: own }) =>
      endpoint.provider === warm.provider && endpoint.upstream === warm.upstream && (!pooled || own === account);
  }

  /** A conversation has one place on all servers; any other request has the place that its seed draws. */
  #keyOf(): SpreadKey {
    const { history, decision, runtime } = this.#runnable;
    this.#key ??= history.conversation(decision.facts, runtime.snapshot) ?? keyOfSeed(decision.seed);
    return this.#key;
  }
}

/** The used share of the limit that is used most, 0 to 1. An endpoint that has recovered has only a part of its limits at first. */
const usedShare = ({ room }: Upstream, recovered: number): number => 1 - (1 - (room?.load() ?? 0)) * recovered;

/** The attempts that would run at an endpoint together with this one, in relation to its weight. */
const queueOf = ({ health, endpoint }: Upstream, recovered: number): number =>
  (health.busy + 1) / ((endpoint.weight || 1) * recovered);

/** An endpoint with fewer measured answers gets one request at a time with `fastest`, whatever its expected speed. */
const MEASURED_MIN = 3;

/** The time in which an endpoint that has recovered gets its whole share again, ms. */
const SLOW_START_MS = 60_000;

/**
 * Returns the part of its weight that an endpoint has. After a recovery it rises within a minute, so that an endpoint which is still weak is not
 * flooded.
 * @param recoveredAt ms on the clock
 */
function recoveredShare(recoveredAt: number, now: number): number {
  const passed = (now - recoveredAt) / SLOW_START_MS;
  return passed >= 1 ? 1 : RECOVERED_SHARE_MIN + (1 - RECOVERED_SHARE_MIN) * Math.max(0, passed);
}
