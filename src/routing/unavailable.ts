import type { HealthState } from '../core/decision/readings.ts';
import { SignalboxError } from '../core/errors.ts';
import type { EndpointLimitName, EndpointShortage } from '../core/policy/endpoint-room.ts';
import { plural } from '../core/text/text.ts';

/** An endpoint that accepts no requests at the moment. */
export interface UnavailableEndpoint {
  /** The ID of the endpoint's model. */
  readonly model: string;
  /** `full`: the endpoint has used a limit of the policy. */
  readonly state: Exclude<HealthState, 'healthy'> | 'full';
  /** The limit that is used; absent unless the state is `full`. */
  readonly shortage?: EndpointShortage;
  /** The time at which the endpoint may be tried again, in Unix ms. */
  readonly at: number;
}

const SHUT_TEXTS: Readonly<Record<Exclude<UnavailableEndpoint['state'], 'full'>, string>> = {
  ejected: 'too many faults',
  cooling: 'its provider asked for a pause',
  misconfigured: 'its provider refuses the API key of this gateway',
  out_of_credit: 'its provider account has no credit left',
  absent: 'its server does not have the model',
};

/** Says why an endpoint accepts no requests, as a clause. */
export const shutText = ({ state, shortage }: Pick<UnavailableEndpoint, 'state' | 'shortage'>): string =>
  state === 'full' ? `its limit${shortage ? ` of ${limitText(shortage)}` : ''} is used up` : SHUT_TEXTS[state];

const WAIT_MIN_MS = 1_000;
/** How long a caller waits for a model that its server lacks, ms: until Signalbox reads the list of the server again. */
const ABSENT_MS = 30_000;

/**
 * Creates the error for a request whose endpoints are all unavailable. The endpoint that becomes available first determines the error: if
 * its provider returned 429, the caller receives the rest of that pause. Endpoints that wait for the operator determine the error only if no
 * other is left. If a key is refused, the error is the same as for the attempt that was refused: clients that wait for a `retry-after`
 * would not show it.
 *
 * @param subject the subject of the message, such as `` `gpt` is ``
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
  if (first.state === 'misconfigured') {
    const message = `${subject} unavailable: the provider of \`${first.model}\` refuses the API key of this gateway. The operator must correct the key.`;
    return new SignalboxError('upstream_failed', message, { retry: false, details });
  }
  if (first.state === 'absent') {
    const message = `${subject} unavailable: the server of \`${first.model}\` does not have the model. The operator must add the model to that server.`;
    return new SignalboxError('no_healthy_model', message, { retryAfterMs: ABSENT_MS, details });
  }
  if (first.state === 'out_of_credit') {
    const message = `${subject} unavailable: the gateway's account at the provider has no credit left. The operator must add credit to that account.`;
    return new SignalboxError('upstream_out_of_credit', message, { details });
  }
  const retryAfterMs = Math.max(WAIT_MIN_MS, first.at - now);
  const again = `Try again in ${Math.ceil(retryAfterMs / 1000)} s.`;
  if (first.shortage) {
    const message = `${subject} unavailable for now. An endpoint of \`${first.model}\` has used its limit of ${limitText(first.shortage)}. ${again}`;
    return new SignalboxError('upstream_rate_limited', message, { retryAfterMs, details });
  }
  if (first.state === 'cooling') {
    const message = `${subject} unavailable for now. The provider of \`${first.model}\` is limiting the request rate. ${again}`;
    return new SignalboxError('upstream_rate_limited', message, { retryAfterMs, details });
  }
  const message = `${subject} unavailable for now. The provider of \`${first.model}\` failed too often. ${again}`;
  return new SignalboxError('no_healthy_model', message, { retryAfterMs, details });
}

const LIMIT_WORDS: Readonly<Record<EndpointLimitName, (most: number) => string>> = {
  requests_per_minute: (most) => `${plural(most, 'request')} a minute`,
  tokens_per_minute: (most) => `${plural(most, 'token')} a minute`,
  concurrent_requests: (most) => `${plural(most, 'request')} at the same time`,
};

const limitText = ({ limit, most }: EndpointShortage): string => LIMIT_WORDS[limit](most);

type Recovery = Pick<UnavailableEndpoint, 'state' | 'at'>;

/** States that end only if the operator does something, in the order in which they determine the error. */
const OPERATOR_STATES: readonly Recovery['state'][] = ['misconfigured', 'absent', 'out_of_credit'];

/** Whether an endpoint recovers by waiting. */
export const recovers = ({ state }: Pick<Recovery, 'state'>): boolean => !OPERATOR_STATES.includes(state);

/** Returns which of two endpoints determines the error: the endpoint that is available first. */
export function earlier<T extends Recovery>(one: T, other: T): T {
  const [place, otherPlace] = [OPERATOR_STATES.indexOf(one.state), OPERATOR_STATES.indexOf(other.state)];
  if (place !== otherPlace) return place < otherPlace ? one : other;
  return other.at < one.at ? other : one;
}
