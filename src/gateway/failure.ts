import type { ProviderFailure, StreamPart } from '../contract/parts.ts';
import { SignalboxError } from '../core/errors.ts';
import type { ModelRequest } from '../core/model-request.ts';

/** What an attempt that failed leaves behind for the record, the log and the final answer. */
export interface FailedAttempt {
  readonly model: string;
  readonly provider: string;
  readonly failure: ProviderFailure;
  /** The provider's own name of the request; null where it gave none. */
  readonly requestId: string | null;
  /** False where its adapter could not say the request, and nothing went out; absent for true. */
  readonly sent?: boolean;
  /** Content had come before; absent for not. */
  readonly hasBegun?: boolean;
}

/** What an adapter could not say to its provider, and never sent: another may still say it. */
export const isUnsayable = ({ kind }: ProviderFailure, sent: boolean): boolean => kind === 'rejected' && !sent;

/** The caller's own fault: no other model would take the request. */
export const isFinal = ({ kind }: ProviderFailure, sent: boolean): boolean => kind === 'rejected' && sent;

/**
 * The one error for a request whose every attempt failed. Names models, never addresses or keys.
 * `billed`: the last attempt is charged, so that nobody should repeat the request blindly.
 */
export function failedError(
  attempts: readonly FailedAttempt[],
  billed: boolean,
  request: ModelRequest,
): SignalboxError {
  const heard = attempts.filter(({ failure, sent = true }) => !isUnsayable(failure, sent));
  // Whoever could not be asked tells nothing of those that were: the same request may well be answered later.
  const failures = (heard.length > 0 ? heard : attempts).map(({ failure }) => failure);
  const last = failures.at(-1);
  const retry = billed || hopeless(failures) ? { retry: false } : {};
  const cause = attempts
    .map(({ provider, model, failure }) => `${provider}/${model}: ${failure.kind} ${failure.message}`)
    .join('; ');
  const unsent = heard.length === 0;
  if (last?.kind === 'rejected' && unsent) {
    // Adapters begin with the path of the field; what begins otherwise names none.
    const [param, root = ''] = /^(\w+)[\w.[\]]*(?= )/.exec(last.message) ?? [];
    const message = `\`${attempts.at(-1)?.model}\` cannot be asked this, and nothing was sent: ${withoutAddresses(last.message)}`;
    return new SignalboxError('upstream_rejected_request', message, {
      ...(Object.hasOwn(request.original.body, root) && { param }),
      cause,
    });
  }
  if (last?.kind === 'rejected') {
    return new SignalboxError(
      'upstream_rejected_request',
      `The model's provider refused the request: ${withoutAddresses(last.message)}`,
      { cause },
    );
  }
  const tried = [...new Set(attempts.map(({ model }) => model))].join(', ');
  const every = (...kinds: readonly ProviderFailure['kind'][]) => failures.every(({ kind }) => kinds.includes(kind));
  if (failures.length > 0 && every('context')) {
    return new SignalboxError('context_length_exceeded', `The prompt is too long for ${tried}.`, {
      param: request.names.turns,
      cause,
    });
  }
  if (failures.length > 0 && every('rate_limited')) {
    const waits = failures.flatMap(({ retryAfterMs }) => (retryAfterMs === undefined ? [] : [retryAfterMs]));
    return new SignalboxError('upstream_rate_limited', `${tried}: the provider asks to slow down.`, {
      retryAfterMs: waits.length > 0 ? Math.min(...waits) : 1_000,
      cause,
    });
  }
  if (failures.length > 0 && every('timeout')) {
    return new SignalboxError('upstream_timeout', `${tried} did not answer in time.`, { cause, ...retry });
  }
  const how = [...new Set(attempts.map(({ model, failure }) => `${model} (${failure.kind})`))].join(', ');
  return new SignalboxError('upstream_failed', `Every attempt failed upstream; tried ${how || 'no model'}.`, {
    cause,
    ...retry,
  });
}

/** Every endpoint was shut when its turn came. `waitMs`: until the first of them may be tried again. */
export function shutError(waitMs: number): SignalboxError {
  const message =
    'Every model that could serve this went out just now: its provider asked for a pause or cannot be used.';
  return new SignalboxError('no_healthy_model', message, { retryAfterMs: Math.max(1_000, waitMs) });
}

/** Only the operator can mend a refused key or an unknown model: the same request will fail again. */
const hopeless = (failures: readonly ProviderFailure[]): boolean =>
  failures.length > 0 && failures.every(({ kind }) => kind === 'auth' || kind === 'not_found');

/** An upstream's own words may name where it runs. */
const ADDRESS =
  /\b[a-z]+:\/\/[^\s"'<>]+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|\[[0-9a-f:]{3,}\](?::\d+)?|\b(?:[a-z0-9-]+\.)+[a-z]{2,}:\d+|\blocalhost:\d+/gi;
const withoutAddresses = (message: string): string => message.replace(ADDRESS, '[address]');

/** The error of an answer that broke off after it had begun: billed, so not to be repeated blindly. */
export function brokenError(model: string, failure: ProviderFailure): SignalboxError {
  const [code, what] =
    failure.kind === 'timeout'
      ? (['upstream_timeout', 'stalled'] as const)
      : (['upstream_failed', 'broke off'] as const);
  return new SignalboxError(code, `The answer of ${model} ${what} before its end.`, {
    retry: false,
    cause: failure.message,
  });
}

/** For whoever has not read an answer until its deadline. */
export const unreadError = () =>
  new SignalboxError('upstream_timeout', 'The answer was not read before its deadline.', { retry: false });

/** What was made until then is charged, so nobody should repeat the request blindly. */
export const crowdedError = () =>
  new SignalboxError('overloaded', 'This gateway has no memory left for the answer; `max_tokens` makes it shorter.', {
    retry: false,
  });

/** For whoever still holds the exchange. */
export const callerGone = () =>
  new SignalboxError('upstream_failed', 'The caller went away before the answer ended.', { retry: false });

/** True for a failure that leaves open what the upstream has done: it took the request and was not heard to the end. */
export function wasCut(failure: ProviderFailure | undefined): boolean {
  // A status is an answer: whoever gave it is done.
  if (!failure || failure.status !== undefined) return false;
  return failure.kind === 'timeout' || failure.kind === 'cut' || failure.kind === 'connect';
}

export function failureIn(batch: readonly StreamPart[]): ProviderFailure | null {
  const last = batch.at(-1);
  return last?.type === 'failure' ? last.failure : null;
}
