import { Type } from '@sinclair/typebox';
import { count, list, named, shape, text, word } from '../../core/define/fields.ts';
import { ERRORS, type ErrorCode, type SignalboxError } from '../../core/errors.ts';

const STATUSES = [
  'INVALID_ARGUMENT',
  'FAILED_PRECONDITION',
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'NOT_FOUND',
  'ABORTED',
  'RESOURCE_EXHAUSTED',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DEADLINE_EXCEEDED',
] as const;
type Status = (typeof STATUSES)[number];

/** Google's names of HTTP statuses. All other statuses below 500 mean that the request is invalid. */
const BY_STATUS: Readonly<Record<number, Status>> = {
  401: 'UNAUTHENTICATED',
  402: 'FAILED_PRECONDITION',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  410: 'FAILED_PRECONDITION',
  412: 'FAILED_PRECONDITION',
  422: 'FAILED_PRECONDITION',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

const statusOf = (code: ErrorCode): Status => BY_STATUS[ERRORS[code].status] ?? 'INVALID_ARGUMENT';

export const GeminiError = named('GeminiError', 'The body of every error, in Google’s form.', {
  error: shape('The error.', {
    code: count('The HTTP status.', 429),
    message: text('One or two sentences for people.'),
    status: word(STATUSES, 'Google’s name of the status.'),
    details: list(
      Type.Object({ '@type': text('The type of the object.', 'type.googleapis.com/google.rpc.ErrorInfo') }),
      'Objects for programs. `ErrorInfo` has the error code in capitals as `reason`, and figures as texts in `metadata`; `BadRequest` names the field at fault; `RetryInfo` says when to try again.',
    ),
  }),
});

const detail = (type: string, members: object): object => ({
  '@type': `type.googleapis.com/google.rpc.${type}`,
  ...members,
});

/** Google's metadata has texts only. */
const metadataOf = (details: object): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(details).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : (JSON.stringify(value) ?? ''),
    ]),
  );

/** Returns the body of an error. */
export function errorBody({ code, message, info, status }: SignalboxError): object {
  const { code: wire = code }: { readonly code?: string } = ERRORS[code];
  const { param, details = {}, retryAfterMs } = info;
  return {
    ...info.beside,
    error: {
      code: status,
      message,
      status: statusOf(code),
      details: [
        detail('ErrorInfo', { reason: wire.toUpperCase(), domain: 'signalbox', metadata: metadataOf(details) }),
        ...(param === undefined
          ? []
          : [detail('BadRequest', { fieldViolations: [{ field: param, description: message }] })]),
        ...(retryAfterMs === undefined
          ? []
          : [detail('RetryInfo', { retryDelay: `${Math.ceil(retryAfterMs / 1_000)}s` })]),
      ],
    },
  };
}
