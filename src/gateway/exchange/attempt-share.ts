import type { ProviderFailure } from '../../contract/parts.ts';
import { type Awaitable, whenReady } from '../../core/awaitable.ts';
import { type EndpointShortage, type EndpointStay, isShort } from '../../core/endpoint-room.ts';
import type { Model } from '../../core/policy/snapshot.ts';
import type { Facts } from '../../core/request/facts.ts';
import type { RankedUpstream } from '../../policy/runtime/upstream.ts';
import { BATCHES_MAX } from '../../providers/embeddings.ts';
import { chargedTokens, type MeasuredUsage } from '../money/meter.ts';
import type { Attempt } from './attempt.ts';

/** The share of an exchange's attempt in the limits of its endpoint. */
export class AttemptShare {
  #stay: EndpointStay | null = null;

  /** Takes a share for an attempt. Returns null if there is room, or if the endpoint has no limits. */
  take({ ranked, upstream }: RankedUpstream, facts: Facts): Awaitable<EndpointShortage | null> {
    const { room, model } = upstream;
    if (room === null) return null;
    const calls = callsOf(model, facts);
    const entering = room.begin(Math.ceil(ranked.tokens), calls, Math.min(calls, BATCHES_MAX));
    return whenReady(entering, (answer) => {
      if (isShort(answer)) return answer;
      this.#stay = answer;
      return null;
    });
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

/** The number of calls that an attempt sends: more than one only for embeddings of many inputs. */
const callsOf = ({ embedding: own }: Model, { embedding }: Facts): number =>
  own && embedding ? Math.max(1, Math.ceil(embedding.inputs / own.batchInputs)) : 1;
