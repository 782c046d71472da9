import { NotFoundError, ValidationError } from 'elysia';
import { ERRORS, SignalboxError } from '../../core/errors.ts';
import { isObject } from '../../core/json/object.ts';
import type { Surface } from '../../dialects/surface.ts';
import { hasSecret, scrub, scrubAll } from '../../host/telemetry/secrets.ts';
import { awayError } from '../../store/unwritten.ts';

/** The SDKs of OpenAI and Anthropic ignore a longer wait, and repeat the request at once. */
const HEEDED_WAIT_MS = 60_000;

/**
 * Maps every error to a response. An error that is not meant for callers becomes a plain status 500.
 * @param mayBeCharged whether the request may have been charged: a client that repeats it by itself would pay again
 */
export function errorResponse(
  error: SignalboxError,
  { errorBody, requestIdHeader }: Pick<Surface, 'errorBody' | 'requestIdHeader'>,
  headers: Record<string, string> = {},
  mayBeCharged = false,
): Response {
  const { retryAfterMs, retry } = error.info;
  const canRetry = !mayBeCharged && (retry ?? ERRORS[error.code].retry) && (retryAfterMs ?? 0) <= HEEDED_WAIT_MS;
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
 * Returns the error with secrets removed from its texts. The other members of the error contain a payment quote that Signalbox made: the
 * seal of the quote looks like a token but must stay complete.
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

/** Passes on a SignalboxError, and reports an unavailable database. Any other error is a bug, and only the log gets it. */
export function publicError(error: unknown, onDefect: (error: unknown) => void): SignalboxError {
  if (error instanceof SignalboxError) return error;
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof SignalboxError) return cause;
  const away = awayError(error);
  if (away) return away;
  // Admission accepted the path, but the router cannot decode it.
  if (error instanceof NotFoundError)
    return new SignalboxError('not_found', 'There is nothing at this path. /docs lists every path.');
  // `compileCheck` checks bodies before the router does, so only the query can be invalid here.
  if (error instanceof ValidationError && error.type === 'query') return queryError(error);
  onDefect(error);
  return new SignalboxError(
    'internal_error',
    'Signalbox failed to handle this request because of an internal error. The server’s log has the reason.',
    {
      cause: error,
    },
  );
}

function queryError({ all }: ValidationError): SignalboxError {
  const [first] = all;
  const path = first && 'path' in first && typeof first.path === 'string' ? first.path : '';
  const param = path.slice(1, 65);
  const message = `The query parameter \`${param}\` is unknown, or does not accept this value.`;
  return new SignalboxError('invalid_value', message, { param });
}
