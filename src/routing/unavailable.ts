import type { HealthState } from '../core/decision/readings.ts';
import type { EndpointLimitName, EndpointShortage } from '../core/endpoint-room.ts';
import { SignalboxError } from '../core/errors.ts';
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
  misconfigured: 'its provider cannot be used',
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
 * its provider returned 429, the caller receives the rest of that pause. An endpoint without credit counts only if all other endpoints have
 * no credit either, because it does not recover by waiting.
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
  const message = `${subject} unavailable for now. The provider of \`${first.model}\` cannot be used. ${again}`;
  return new SignalboxError('no_healthy_model', message, { retryAfterMs, details });
}

const LIMIT_WORDS: Readonly<Record<EndpointLimitName, (most: number) => string>> = {
  requests_per_minute: (most) => `${plural(most, 'request')} a minute`,
  tokens_per_minute: (most) => `${plural(most, 'token')} a minute`,
  concurrent_requests: (most) => `${plural(most, 'request')} at the same time`,
};

const limitText = ({ limit, most }: EndpointShortage): string => LIMIT_WORDS[limit](most);

/** Whether an endpoint recovers only if the operator does something. */
const needsOperator = ({ state }: Recovery): boolean => state === 'out_of_credit' || state === 'absent';

type Recovery = Pick<UnavailableEndpoint, 'state' | 'at'>;

/** Returns which of two endpoints is available first. */
export function earlier<T extends Recovery>(one: T, other: T): T {
  if (needsOperator(one) !== needsOperator(other)) return needsOperator(one) ? other : one;
  return other.at < one.at ? other : one;
}
