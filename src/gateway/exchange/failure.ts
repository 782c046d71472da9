import type { ProviderFailure, StreamPart } from '../../contract/parts.ts';
import type { InsteadOf } from '../../core/decision/decision.ts';
import { type ErrorInfo, SignalboxError } from '../../core/errors.ts';
import { isObject } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';
import type { Model } from '../../core/policy/snapshot.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { unknownToService } from '../../policy/runtime/wildcard-runtime.ts';
import type { EndpointHealth } from '../../providers/health/types.ts';
import { withUntried } from '../../routing/refuse.ts';
import { recovers, shutText, type UnavailableEndpoint, unavailableError } from '../../routing/unavailable.ts';

/** A failed attempt, for the record, the log and the final answer. */
export interface FailedAttempt {
  readonly model: string;
  readonly provider: string;
  /** The provider's name of the model. */
  readonly upstream: string;
  readonly failure: ProviderFailure;
  /** The provider's own ID of the request; null if the provider gave no ID. */
  readonly requestId: string | null;
  /** The label of the key, for a provider with several keys. */
  readonly key?: string;
  /** False if the adapter could not express the request and nothing was sent. If this field is absent, the request was sent. */
  readonly sent?: boolean;
  /** True if content came before the failure. If this field is absent, no content came. */
  readonly hasBegun?: boolean;
}

/** Describes each kind of failure in words for people. Fields and metrics use the kinds themselves. */
const FAILURE_WORDS: Readonly<Record<ProviderFailure['kind'], string>> = {
  auth: shutText({ state: 'misconfigured' }),
  credit: 'the account at its provider has no credit left for it',
  rejected: 'its provider refuses the request',
  context: 'the prompt is too long',
  not_found: 'its provider does not know the model',
  rate_limited: 'its provider is limiting the request rate',
  overloaded: 'its provider is overloaded',
  server: 'its provider had an internal error',
  malformed: 'its answer does not have the expected form',
  cut: 'its answer broke off',
  connect: 'could not connect to its provider',
  timeout: 'it did not answer in time',
};

const BROKE_UNANSWERED = 'the connection to its provider broke after the request was sent, before an answer';

/**
 * Describes a failure in words.
 * @param upstream the provider's name of the model; callers do not see it
 */
export function failureText({ failure, sent = true }: FailedAttempt, upstream?: string): string {
  if (isUnsayable(failure, sent)) return 'it cannot accept this request, and nothing was sent';
  if (failure.afterSending) return BROKE_UNANSWERED;
  if (failure.kind === 'not_found' && upstream !== undefined) return `${FAILURE_WORDS.not_found} \`${upstream}\``;
  return FAILURE_WORDS[failure.kind];
}

/**
 * Whether a provider does not know a model that the caller chose. This does not count against the endpoint. A redirect does not show that
 * the model is unknown.
 */
export const isOfAskedModel = ({ kind, status = 404 }: ProviderFailure, { pattern }: Pick<Model, 'pattern'>): boolean =>
  kind === 'not_found' && status >= 400 && pattern !== undefined;

/**
 * Whether the provider's error names this model as the model that it does not know. An error that does not name the model may be about the
 * content of a single request.
 */
export const isUnknownName = ({ unknownModel, message }: ProviderFailure, upstream: string): boolean =>
  unknownModel === true &&
  message.split(/[^\w.:/@-]+/).some((word) => word.replace(/^models\/|[.:]$/g, '') === upstream);

/** Makes the error for a provider that does not know the model; null if the caller did not choose the model. */
function notFoundError(failure: ProviderFailure, model: Pick<Model, 'id' | 'pattern'>): SignalboxError | null {
  if (!isOfAskedModel(failure, model)) return null;
  return failure.unknownModel ? unknownToService(model.id) : refusedError(failure, { cause: failure.message });
}

/** Makes the error for a provider that refuses the content of a request. */
const refusedError = ({ message }: ProviderFailure, info: ErrorInfo): SignalboxError =>
  new SignalboxError(
    'upstream_rejected_request',
    `The model's provider refused the request: ${withoutAddresses(message)}`,
    info,
  );

/**
 * Whether the adapter could not express the request and sent nothing. The adapter of another provider may be able to express the same
 * request.
 */
const isUnsayable = ({ kind }: ProviderFailure, sent = true): boolean => kind === 'rejected' && !sent;

/** Whether the provider rejected the request as the caller's mistake, so that no other model would accept it. */
export const isFinal = ({ kind }: ProviderFailure, sent: boolean): boolean => kind === 'rejected' && sent;

/** Whether the provider was called. A request that could not be expressed never reached the provider, and must not use up its retries. */
export const wasCalled = ({ failure, sent }: FailedAttempt): boolean => !isUnsayable(failure, sent);

/**
 * Returns the pause that an endpoint requests, ms; null if waiting does not help.
 * @param now Unix ms
 */
export function pauseOf(
  { state, retryAt }: Pick<EndpointHealth, 'state' | 'retryAt'>,
  { retryAfterMs = 0 }: ProviderFailure,
  now: number,
): number | null {
  // A pause that came with a 5xx status is not part of the endpoint's health, but Signalbox respects this pause as well.
  if (state === 'healthy') return retryAfterMs;
  return state === 'cooling' ? Math.max(retryAfterMs, retryAt - now) : null;
}

/** The facts about a request that no attempt answered. */
interface UnansweredRequest {
  readonly failed: readonly FailedAttempt[];
  /** The endpoints that were unavailable when the exchange was about to try them. */
  readonly shut: readonly UnavailableEndpoint[];
  /** The model of the last attempt; null for none. */
  readonly model: Pick<Model, 'id' | 'pattern'> | null;
  /** Whether the last attempt is charged. The error of a charged attempt tells the client not to repeat the request. */
  readonly billed: boolean;
  readonly request: ModelRequest;
  /** The time of the failure, Unix ms. */
  readonly now: number;
  /** The model that the request names, if it was not tried; absent otherwise. */
  readonly insteadOf?: InsteadOf;
}

/** Makes the error for a request that no attempt answered. It names each model that was tried, and a named model that was not. */
export function unansweredError({ insteadOf, ...unanswered }: UnansweredRequest): SignalboxError {
  const error = attemptsError(unanswered);
  return insteadOf ? withUntried(error, insteadOf) : error;
}

function attemptsError({ failed, shut, model, billed, request, now }: UnansweredRequest): SignalboxError {
  // An endpoint that returns after a pause is more useful to report than attempts that only the operator can help.
  const ofOperator = shut.some(recovers) ? ['credit', 'auth'] : ['credit'];
  if (shut.length > 0 && failed.every(({ failure }) => ofOperator.includes(failure.kind))) {
    return unavailableError('Every model that could serve this request is', shut, now);
  }
  const last = failed.at(-1)?.failure;
  return (last && model && notFoundError(last, model)) ?? failedError(failed, billed, request);
}

/**
 * Makes the error for a request whose attempts all failed. It names models, never addresses or keys.
 *
 * @param billed whether the last attempt is charged; the error then tells the client not to repeat the request
 */
export function failedError(
  attempts: readonly FailedAttempt[],
  billed: boolean,
  request: ModelRequest,
): SignalboxError {
  const heard = attempts.filter(({ failure, sent = true }) => !isUnsayable(failure, sent));
  // Attempts that were never sent say nothing about other providers, which may answer the same request later.
  const said = heard.length > 0 ? heard : attempts;
  // An account without credit says nothing about when other providers may answer.
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
    const message = `The gateway's account at the provider of ${tried} has no credit left for this request. The gateway's operator must add credit there.`;
    return new SignalboxError('upstream_out_of_credit', message, { cause });
  }
  if (kind === 'timeout') {
    return new SignalboxError('upstream_timeout', `${tried} did not answer in time.`, { cause, ...retry });
  }
  const how = [...new Set(attempts.map((attempt) => `\`${attempt.model}\`: ${failureText(attempt)}`))];
  const message = `Every attempt at a provider failed. ${how.join('; ') || 'No model was tried'}.`;
  return new SignalboxError('upstream_failed', message, { cause, ...retry });
}

/** Makes the error for a request that no adapter could express, from the last attempt. */
function unsayableError(
  { message: why }: ProviderFailure,
  model: string,
  { original }: ModelRequest,
  cause: string,
): SignalboxError {
  // If an adapter's message is about a field, it begins with the path of the field.
  const [param, root = ''] = /^(\w+)[\w.[\]]*(?= )/.exec(why) ?? [];
  const message = `\`${model}\` cannot accept this request, and nothing was sent: ${withoutAddresses(why)}`;
  const about = Object.hasOwn(original.body, root) ? { param } : {};
  return new SignalboxError('upstream_rejected_request', message, { ...about, cause });
}

/** The statuses with which providers refuse a request because of its content. */
const OF_REQUEST: ReadonlySet<number> = new Set([400, 404, 413, 422]);

/** Returns a provider's own error for a request that was passed through unchanged, because clients act on its text. */
function originalOf(
  failure: ProviderFailure | undefined,
  { original: { dialect } }: ModelRequest,
): Pick<ErrorInfo, 'original'> {
  const { original: body, status = 0 } = failure ?? {};
  return body && OF_REQUEST.has(status) ? { original: { dialect, status, body: objectWithoutAddresses(body) } } : {};
}

/** Only the operator can fix a refused key or an unknown model, so the same request would fail again. */
const hopeless = (failures: readonly ProviderFailure[]): boolean =>
  failures.length > 0 && failures.every(({ kind }) => kind === 'auth' || kind === 'not_found');

/**
 * Matches addresses, because an upstream's message may reveal where the upstream runs. A name with a port is matched only from its first
 * label: matching from each label would take quadratic time.
 */
const ADDRESS =
  /\b[a-z]+:\/\/[^\s"'<>]+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|\[[0-9a-f:]{3,}\](?::\d+)?|(?<![a-z0-9-]|[a-z0-9-]\.)(?:[a-z0-9-]+\.)+[a-z]{2,}:\d+|\blocalhost:\d+/gi;
export const withoutAddresses = (message: string): string => message.replace(ADDRESS, '[address]');

/** Public pages of the providers whose errors are passed through unchanged. */
const PUBLIC = /^https:\/\/(?:[a-z0-9-]+\.)*(?:anthropic|claude|openai)\.com(?![^/?#.,)])/;

const objectWithoutAddresses = (body: Members): Members =>
  Object.fromEntries(Object.entries(body).map(([name, value]) => [name, valueWithoutAddresses(value)]));

function valueWithoutAddresses(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(ADDRESS, (found) => (PUBLIC.test(found) ? found : '[address]'));
  if (Array.isArray(value)) return value.map(valueWithoutAddresses);
  return isObject(value) ? objectWithoutAddresses(value) : value;
}

/**
 * Makes the error of an answer that broke off after it had begun. The incomplete answer is billed, so the client must not repeat the
 * request blindly.
 */
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

/**
 * The error for an answer that found no room in memory. The part of the answer that was already read is charged, so clients should not
 * repeat the request.
 */
export const crowdedError = (outputField: string) =>
  new SignalboxError(
    'overloaded',
    `The server has no memory left for this answer. Set a lower \`${outputField}\` to get a shorter answer.`,
    {
      retry: false,
    },
  );

/** The error with which an exchange ends when its caller has disconnected. */
export const callerGone = () =>
  new SignalboxError('upstream_failed', 'The caller disconnected before the answer ended.', { retry: false });

/** Returns true for a failure after which the upstream may still have worked: it accepted the request, and its answer has no end. */
export function wasCut(failure: ProviderFailure | undefined): boolean {
  // An upstream that answered with an HTTP status has finished its work.
  if (!failure || failure.status !== undefined) return false;
  return failure.kind === 'timeout' || failure.kind === 'cut' || failure.kind === 'connect';
}

export function failureIn(batch: readonly StreamPart[]): ProviderFailure | null {
  const last = batch.at(-1);
  return last?.type === 'failure' ? last.failure : null;
}
