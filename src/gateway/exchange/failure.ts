import type { ProviderFailure, StreamPart } from '../../contract/parts.ts';
import { type ErrorInfo, SignalboxError } from '../../core/errors.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import { isObject } from '../../core/object.ts';
import type { Members } from '../../core/original.ts';
import type { Model } from '../../core/snapshot.ts';
import { unknownToService } from '../../policy/runtime/wildcard-runtime.ts';
import type { EndpointHealth } from '../../providers/health/types.ts';
import { type UnavailableEndpoint, unavailableError } from '../../routing/unavailable.ts';

/** A failed attempt, for the record, the log and the final answer. */
export interface FailedAttempt {
  readonly model: string;
  readonly provider: string;
  /** The provider's name of the model. */
  readonly upstream: string;
  readonly failure: ProviderFailure;
  /** The provider's own name of the request; null where it gave none. */
  readonly requestId: string | null;
  /** False if the adapter could not express the request and nothing was sent; absent for true. */
  readonly sent?: boolean;
  /** True if content came before the failure; absent for false. */
  readonly hasBegun?: boolean;
}

/** The kinds of failure in words, for people: fields and metrics keep the kinds. */
const FAILURE_WORDS: Readonly<Record<ProviderFailure['kind'], string>> = {
  auth: 'its provider refuses the API key of this gateway',
  credit: 'the account at its provider has no credit left for it',
  rejected: 'its provider refuses the request',
  context: 'the prompt is too long',
  not_found: 'its provider does not know the model',
  rate_limited: 'its provider is limiting the request rate',
  overloaded: 'its provider is overloaded',
  server: 'its provider had an internal error',
  malformed: 'its answer is not in the form that was expected',
  cut: 'its answer broke off',
  connect: 'could not connect to its provider',
  timeout: 'it did not answer in time',
};

/**
 * The failure, in words.
 * @param upstream the name that the provider should know the model by; callers do not see it
 */
export function failureText({ failure, sent = true }: FailedAttempt, upstream?: string): string {
  if (isUnsayable(failure, sent)) return 'it cannot take this request, and nothing was sent';
  if (failure.kind === 'not_found' && upstream !== undefined) return `${FAILURE_WORDS.not_found} \`${upstream}\``;
  return FAILURE_WORDS[failure.kind];
}

/** Whether a service found nothing for a request whose model the caller chose: its endpoint is none the worse. A redirect says nothing. */
export const isOfAskedModel = ({ kind, status = 404 }: ProviderFailure, { pattern }: Pick<Model, 'pattern'>): boolean =>
  kind === 'not_found' && status >= 400 && pattern !== undefined;

/** Whether it names this model as the one that it does not know. Anything else may be about what one request says. */
export const isUnknownName = ({ unknownModel, message }: ProviderFailure, upstream: string): boolean =>
  unknownModel === true &&
  message.split(/[^\w.:/@-]+/).some((word) => word.replace(/^models\/|[.:]$/g, '') === upstream);

/** The error of a service that found nothing for a request; null where its caller did not choose the model. */
function notFoundError(failure: ProviderFailure, model: Pick<Model, 'id' | 'pattern'>): SignalboxError | null {
  if (!isOfAskedModel(failure, model)) return null;
  return failure.unknownModel ? unknownToService(model.id) : refusedError(failure, { cause: failure.message });
}

/** The error of a service that refuses what a request says. */
const refusedError = ({ message }: ProviderFailure, info: ErrorInfo): SignalboxError =>
  new SignalboxError(
    'upstream_rejected_request',
    `The model's provider refused the request: ${withoutAddresses(message)}`,
    info,
  );

/** Whether the adapter could not express the request and sent nothing: another adapter may still do so. */
const isUnsayable = ({ kind }: ProviderFailure, sent = true): boolean => kind === 'rejected' && !sent;

/** Whether the provider rejected the request as the caller's mistake: no other model would take it. */
export const isFinal = ({ kind }: ProviderFailure, sent: boolean): boolean => kind === 'rejected' && sent;

/** Whether a provider was called. A request that could not be expressed never reached it, and must not use up the retries of others. */
export const hasCalled = (failed: readonly FailedAttempt[], provider: string): boolean =>
  failed.some((one) => one.provider === provider && !isUnsayable(one.failure, one.sent));

/**
 * Returns the pause that an endpoint asks for, ms; null where waiting for it is of no use.
 * @param now Unix ms
 */
export function pauseOf(
  { state, retryAt }: Pick<EndpointHealth, 'state' | 'retryAt'>,
  { retryAfterMs = 0 }: ProviderFailure,
  now: number,
): number | null {
  // A pause that came with a 5xx is not part of the endpoint's health, but is respected too.
  if (state === 'healthy') return retryAfterMs;
  return state === 'cooling' ? Math.max(retryAfterMs, retryAt - now) : null;
}

/** What is known of a request that no attempt answered. */
interface UnansweredRequest {
  readonly failed: readonly FailedAttempt[];
  /** Endpoints that were unavailable when their turn came. */
  readonly shut: readonly UnavailableEndpoint[];
  /** The model of the last attempt; null for none. */
  readonly model: Pick<Model, 'id' | 'pattern'> | null;
  /** Whether the last attempt is charged: the error then asks the client not to repeat the request. */
  readonly billed: boolean;
  readonly request: ModelRequest;
  /** Unix ms. */
  readonly now: number;
}

/** Makes the error for a request that no attempt answered. */
export function unansweredError({ failed, shut, model, billed, request, now }: UnansweredRequest): SignalboxError {
  // Attempts without credit say less than an endpoint that returns after a pause.
  if (shut.length > 0 && failed.every(({ failure }) => failure.kind === 'credit')) {
    return unavailableError('Every model that could serve this request is', shut, now);
  }
  const last = failed.at(-1)?.failure;
  return (last && model && notFoundError(last, model)) ?? failedError(failed, billed, request);
}

/**
 * Makes the error for a request whose every attempt failed. It names models, never addresses or keys.
 *
 * @param billed whether the last attempt is charged: the error then asks the client not to repeat the request
 */
export function failedError(
  attempts: readonly FailedAttempt[],
  billed: boolean,
  request: ModelRequest,
): SignalboxError {
  const heard = attempts.filter(({ failure, sent = true }) => !isUnsayable(failure, sent));
  // Attempts that were never sent say nothing about the others, whose providers may answer the same request later.
  const said = heard.length > 0 ? heard : attempts;
  // An account without credit says nothing about when the other providers may answer.
  const others = said.filter(({ failure }) => failure.kind !== 'credit');
  const blamed = others.length > 0 ? others : said;
  const failures = blamed.map(({ failure }) => failure);
  const last = failures.at(-1);
  const retry = billed || hopeless(failures) ? { retry: false } : {};
  const cause = attempts
    .map(({ provider, model, failure }) => `${provider}/${model}: ${failure.kind} ${failure.message}`)
    .join('; ');
  if (last?.kind === 'rejected') {
    if (heard.length === 0) return unsayableError(last, attempts.at(-1)!.model, request, cause);
    return refusedError(last, { cause, ...originalOf(last, request) });
  }
  const tried = [...new Set(blamed.map(({ model }) => model))].join(', ');
  const kind = failures.every((one) => one.kind === last?.kind) ? last?.kind : null;
  if (kind === 'context') {
    return new SignalboxError('context_length_exceeded', `The prompt is too long for ${tried}.`, {
      param: request.names.turns,
      cause,
      ...originalOf(last, request),
    });
  }
  if (kind === 'rate_limited') {
    const waits = failures.flatMap(({ retryAfterMs }) => (retryAfterMs === undefined ? [] : [retryAfterMs]));
    return new SignalboxError('upstream_rate_limited', `The provider of ${tried} is limiting its request rate.`, {
      retryAfterMs: waits.length > 0 ? Math.min(...waits) : 1_000,
      cause,
    });
  }
  if (kind === 'credit') {
    const message = `The gateway's account at the provider of ${tried} has no credit left for this request. Its operator has to add credit there.`;
    return new SignalboxError('upstream_out_of_credit', message, { cause });
  }
  if (kind === 'timeout') {
    return new SignalboxError('upstream_timeout', `${tried} did not answer in time.`, { cause, ...retry });
  }
  const how = [...new Set(attempts.map((attempt) => `\`${attempt.model}\`: ${failureText(attempt)}`))];
  const message = `Every attempt at a provider failed. ${how.join('; ') || 'No model was tried'}.`;
  return new SignalboxError('upstream_failed', message, { cause, ...retry });
}

/** The error of a request that no adapter could express, by the last. */
function unsayableError(
  { message: why }: ProviderFailure,
  model: string,
  { original }: ModelRequest,
  cause: string,
): SignalboxError {
  // Adapters begin the message with the path of a field, if it is about one.
  const [param, root = ''] = /^(\w+)[\w.[\]]*(?= )/.exec(why) ?? [];
  const message = `\`${model}\` cannot take this request, and nothing was sent: ${withoutAddresses(why)}`;
  const about = Object.hasOwn(original.body, root) ? { param } : {};
  return new SignalboxError('upstream_rejected_request', message, { ...about, cause });
}

/** The statuses by which services refuse a request for what it says. */
const OF_REQUEST: ReadonlySet<number> = new Set([400, 404, 413, 422]);

/** The words of a service about a request that went out as it came: clients go by them. */
function originalOf(
  failure: ProviderFailure | undefined,
  { original: { dialect } }: ModelRequest,
): Pick<ErrorInfo, 'original'> {
  const { original: body, status = 0 } = failure ?? {};
  return body && OF_REQUEST.has(status) ? { original: { dialect, status, body: objectWithoutAddresses(body) } } : {};
}

/** Only the operator can fix a refused key or an unknown model: the same request will fail again. */
const hopeless = (failures: readonly ProviderFailure[]): boolean =>
  failures.length > 0 && failures.every(({ kind }) => kind === 'auth' || kind === 'not_found');

/** Matches addresses: an upstream's message may reveal where it runs. A name with a port is matched from its first label only: trying each would take quadratic time. */
const ADDRESS =
  /\b[a-z]+:\/\/[^\s"'<>]+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|\[[0-9a-f:]{3,}\](?::\d+)?|(?<![a-z0-9-]|[a-z0-9-]\.)(?:[a-z0-9-]+\.)+[a-z]{2,}:\d+|\blocalhost:\d+/gi;
const withoutAddresses = (message: string): string => message.replace(ADDRESS, '[address]');

/** Pages of the services whose errors go out as they came. */
const PUBLIC = /^https:\/\/(?:[a-z0-9-]+\.)*(?:anthropic|claude|openai)\.com(?![^/?#.,)])/;

const objectWithoutAddresses = (body: Members): Members =>
  Object.fromEntries(Object.entries(body).map(([name, value]) => [name, valueWithoutAddresses(value)]));

function valueWithoutAddresses(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(ADDRESS, (found) => (PUBLIC.test(found) ? found : '[address]'));
  if (Array.isArray(value)) return value.map(valueWithoutAddresses);
  return isObject(value) ? objectWithoutAddresses(value) : value;
}

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

/** The error for a caller who has not read the answer by its deadline. */
export const unreadError = () =>
  new SignalboxError('upstream_timeout', 'The answer was not read before its deadline.', { retry: false });

/** The error for a reader who has missed a part of an answer that is stored for repeats. */
export const slowReaderError = () =>
  new SignalboxError(
    'upstream_timeout',
    'The answer was read too slowly, and a part of it was skipped. Send the same request again, with the same `Idempotency-Key` or payment, to get the whole answer.',
  );

/** The error for an answer that found no room in memory. Its part so far is charged, so clients should not repeat the request. */
export const crowdedError = (outputField: string) =>
  new SignalboxError(
    'overloaded',
    `The server has no memory left for this answer. A lower \`${outputField}\` makes the answer shorter.`,
    {
      retry: false,
    },
  );

/** The error that an exchange ends with when its caller has left. */
export const callerGone = () =>
  new SignalboxError('upstream_failed', 'The caller disconnected before the answer ended.', { retry: false });

/** True for a failure after which the upstream may still have worked: it took the request and its answer has no end. */
export function wasCut(failure: ProviderFailure | undefined): boolean {
  // A status is an answer: the upstream has finished.
  if (!failure || failure.status !== undefined) return false;
  return failure.kind === 'timeout' || failure.kind === 'cut' || failure.kind === 'connect';
}

export function failureIn(batch: readonly StreamPart[]): ProviderFailure | null {
  const last = batch.at(-1);
  return last?.type === 'failure' ? last.failure : null;
}
