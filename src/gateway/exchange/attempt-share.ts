import type { ProviderFailure } from '../../contract/parts.ts';
import { type Awaitable, whenReady } from '../../core/awaitable.ts';
import type { FullEndpointRecord } from '../../core/decision/attempt.ts';
import { type EndpointShortage, type EndpointStay, isShort } from '../../core/policy/endpoint-room.ts';
import type { Facts } from '../../core/request/facts.ts';
import type { RankedUpstream, Upstream } from '../../policy/runtime/upstream.ts';
import { KINDS } from '../kinds/kinds.ts';
import { chargedTokens, type MeasuredUsage } from '../money/meter.ts';
import type { Attempt } from './attempt.ts';
import type { RunnableRequest } from './runnable-request.ts';

/** The share of an exchange's attempt in the limits of its endpoint. */
export class AttemptShare {
  /** The endpoints without room for an attempt, in the order of time; absent if there are none. */
  full?: FullEndpointRecord[];
  #stay: EndpointStay | null = null;

  /** Takes a share for an attempt. Returns null if there is room, or if the endpoint has no limits. */
  take({ ranked, upstream }: RankedUpstream, runnable: RunnableRequest): Awaitable<EndpointShortage | null> {
    const { room, model } = upstream;
    if (room === null) return null;
    const { calls: callsOf, callsAtOnce } = KINDS[runnable.request.operation];
    const calls = callsOf(model, runnable.decision.facts);
    const entering = room.begin(Math.ceil(ranked.tokens), calls, Math.min(calls, callsAtOnce));
    return whenReady(entering, (answer) => {
      if (isShort(answer)) {
        this.#note(upstream, answer, runnable.clock() - runnable.startedAt);
        return answer;
      }
      this.#stay = answer;
      return null;
    });
  }

  #note({ model, endpoint, at }: Upstream, { limit, most }: EndpointShortage, startMs: number): void {
    this.full ??= [];
    const known = this.full.findIndex((one) => one.model === model.id && one.endpoint === at);
    const found = this.full[known];
    if (found) this.full[known] = { ...found, times: found.times + 1 };
    else {
      const { provider, upstream } = endpoint;
      const started = Math.round(startMs);
      this.full.push({ model: model.id, provider, upstream, endpoint: at, limit, most, startMs: started, times: 1 });
    }
  }

  /** Gives the share back, because nothing was sent. */
  undo(): void {
    this.#stay?.undo();
    this.#stay = null;
  }

  /**
   * Ends the share of an attempt that has ended. Later calls do nothing.
   * @param measured null if the usage is not known; an attempt that was sent then keeps its estimate
   */
  leave({ call, model }: Attempt, measured: MeasuredUsage | null, facts: Facts, failure?: ProviderFailure): void {
    if (!call.sent) {
      this.undo();
      return;
    }
    // A request that the provider refused with a status has used no tokens.
    const unknown = failure?.status === undefined ? null : 0;
    this.#stay?.end(measured ? chargedTokens(measured, model, facts) : unknown);
    this.#stay = null;
  }
}
