import { SignalboxError } from '../core/errors.ts';
import type { HealthState } from '../core/readings.ts';

/** An endpoint that takes no requests for now. */
export interface UnavailableEndpoint {
  /** ID of its model. */
  readonly model: string;
  readonly state: HealthState;
  /** When it may be tried again, Unix ms. */
  readonly at: number;
}

const WAIT_MIN_MS = 1_000;

/**
 * Makes the error of a request whose every endpoint is unavailable. The endpoint that returns first decides: after a 429 of
 * its provider, the caller gets the rest of that pause. An endpoint without credit counts only if all others are, too, as
 * time alone does not bring it back.
 *
 * @param subject the subject of its sentence, such as `` `gpt` is ``
 * @param endpoints at least one
 * @param now Unix ms
 */
export function unavailableError(
  subject: string,
  endpoints: readonly UnavailableEndpoint[],
  now: number,
): SignalboxError {
  const byModel = new Map<string, UnavailableEndpoint>();
  for (const one of endpoints) byModel.set(one.model, earlier(byModel.get(one.model) ?? one, one));
  const models = [...byModel.values()];
  const first = models.reduce(earlier);
  const details = { unavailable: models.map(({ model, state }) => ({ model, state })) };
  if (first.state === 'out_of_credit') {
    const message = `${subject} unavailable: the gateway's account at the provider has no credit left. Its operator has to add credit there.`;
    return new SignalboxError('upstream_out_of_credit', message, { details });
  }
  const retryAfterMs = Math.max(WAIT_MIN_MS, first.at - now);
  const again = `Try again in ${Math.ceil(retryAfterMs / 1000)} s.`;
  if (first.state === 'cooling') {
    const message = `${subject} unavailable for now. The provider of \`${first.model}\` is limiting the request rate. ${again}`;
    return new SignalboxError('upstream_rate_limited', message, { retryAfterMs, details });
  }
  const message = `${subject} unavailable for now. The provider of \`${first.model}\` cannot be used. ${again}`;
  return new SignalboxError('no_healthy_model', message, { retryAfterMs, details });
}

const isUnpaid = ({ state }: UnavailableEndpoint): boolean => state === 'out_of_credit';

function earlier(one: UnavailableEndpoint, other: UnavailableEndpoint): UnavailableEndpoint {
  if (isUnpaid(one) !== isUnpaid(other)) return isUnpaid(one) ? other : one;
  return other.at < one.at ? other : one;
}
