import { membersOf, textOf } from './json.ts';

/** The reason why a request returned no result. An ApiFailure is returned as data, never thrown. */
export interface ApiFailure {
  /** An error code of docs/operate/errors.md; `unreachable` if no response arrived, `unreadable` if the response is not JSON. */
  readonly code: string;
  /** The message for people, as the server wrote it. */
  readonly message: string;
  /** The field of the request that is wrong; null if the error names no field. */
  readonly field: string | null;
  /** The HTTP status; 0 if no response arrived. */
  readonly status: number;
  /** The earliest moment at which a retry makes sense, in ms since 1970; null if a retry may come at any time. */
  readonly retryAt: number | null;
}

export type ApiResult<T> =
  | { readonly ok: true; readonly value: T; readonly etag: string | null }
  | { readonly ok: false; readonly failure: ApiFailure };

/** Whether the role may not do this. A retry by the same role would fail, too. */
export const isForbidden = ({ status }: ApiFailure): boolean => status === 403;

export const failureOf = (code: string, message: string, status = 0): ApiFailure => ({
  code,
  message,
  field: null,
  status,
  retryAt: null,
});

/**
 * Reads the failure from the body of an error response.
 * @param body the parsed body, of any form
 */
export function statedFailure(body: unknown, response: Pick<Response, 'status' | 'headers'>): ApiFailure {
  const error = membersOf(membersOf(body)?.error);
  const details = membersOf(error?.details);
  const after = Number(response.headers.get('retry-after') ?? Number.NaN);
  return {
    code: textOf(error?.code) ?? textOf(details?.error_code) ?? `http_${response.status}`,
    message: textOf(error?.message) ?? `The server answered with ${response.status}.`,
    // Errors in the Anthropic Messages format have the field in their details.
    field: textOf(error?.param) ?? textOf(details?.param),
    status: response.status,
    retryAt: Number.isFinite(after) ? Date.now() + after * 1_000 : null,
  };
}
