import { NotFoundError, ValidationError } from 'elysia';
import { ERRORS, SignalboxError } from '../core/errors.ts';
import { isObject } from '../core/object.ts';
import type { Surface } from '../dialects/surface.ts';
import { hasSecret, scrub, scrubAll } from '../host/telemetry/secrets.ts';
import { awayError } from '../store/unwritten.ts';

/** SDKs of OpenAI and Anthropic ignore a longer wait and repeat the request at once. */
const HEEDED_WAIT_MS = 60_000;

/** The one mapping from errors to responses. An error that is not meant for callers becomes a plain 500. */
export function errorResponse(
  error: SignalboxError,
  { errorBody, requestIdHeader }: Pick<Surface, 'errorBody' | 'requestIdHeader'>,
  headers: Record<string, string> = {},
): Response {
  const { retryAfterMs, retry } = error.info;
  const canRetry = (retry ?? ERRORS[error.code].retry) && (retryAfterMs ?? 0) <= HEEDED_WAIT_MS;
  const requestId = headers['x-request-id'];
  return new Response(JSON.stringify(errorBody(withoutSecrets(error), requestId)), {
    status: error.status,
    headers: {
      'content-type': 'application/json',
      'x-should-retry': String(canRetry),
      ...(retryAfterMs !== undefined && {
        'retry-after': String(Math.ceil(retryAfterMs / 1000)),
        'retry-after-ms': String(Math.ceil(retryAfterMs)),
      }),
      ...error.info.headers,
      ...headers,
      ...(requestIdHeader && requestId && { [requestIdHeader]: requestId }),
    },
  });
}

/**
 * Returns the error with its texts scrubbed. Members beside it are a quote, made here: its seal must arrive whole,
 * though it looks like a token.
 */
export function withoutSecrets(error: SignalboxError): SignalboxError {
  const { code, message, info } = error;
  if (!hasSecret(JSON.stringify([message, info.param, info.details]))) return error;
  const details = scrubAll(info.details);
  return new SignalboxError(code, scrub(message), {
    ...info,
    ...(info.param !== undefined && { param: scrub(info.param) }),
    ...(isObject(details) && { details }),
  });
}

/** Passes errors of ours on, and says that the database is away. Any other error is a defect: it goes to the log only. */
export function publicError(error: unknown, onDefect: (error: unknown) => void): SignalboxError {
  if (error instanceof SignalboxError) return error;
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof SignalboxError) return cause;
  const away = awayError(error);
  if (away) return away;
  // A path that is admitted and that the router cannot decode.
  if (error instanceof NotFoundError) return new SignalboxError('not_found', 'There is nothing at this path.');
  // Bodies are checked before the router does it, by `compileCheck`: only the query is left.
  if (error instanceof ValidationError && error.type === 'query') return queryError(error);
  onDefect(error);
  return new SignalboxError('internal_error', 'Signalbox failed on this request. The server’s log has the reason.', {
    cause: error,
  });
}

function queryError({ all }: ValidationError): SignalboxError {
  const [first] = all;
  const path = first && 'path' in first && typeof first.path === 'string' ? first.path : '';
  const param = path.slice(1, 65);
  const message = `The query parameter \`${param}\` is unknown, or does not accept this value.`;
  return new SignalboxError('invalid_value', message, { param });
}
