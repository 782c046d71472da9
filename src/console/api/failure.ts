import { membersOf, textOf } from './json.ts';

/** Why a request brought nothing: data, never thrown. */
export interface ApiFailure {
  /** Of docs/operate/errors.md; `unreachable` where no answer came, `unreadable` for one that is no JSON. */
  readonly code: string;
  /** For people, as the server wrote it. */
  readonly message: string;
  /** The field of the request that is wrong; null for none. */
  readonly field: string | null;
  /** Of HTTP; 0 without an answer. */
  readonly status: number;
  /** The moment from which another try makes sense, ms since 1970; null for any. */
  readonly retryAt: number | null;
}

export type ApiResult<T> =
  | { readonly ok: true; readonly value: T; readonly etag: string | null }
  | { readonly ok: false; readonly failure: ApiFailure };

/** Whether the role may not do this, however often it asks. */
export const isForbidden = ({ status }: ApiFailure): boolean => status === 403;

export const failureOf = (code: string, message: string, status = 0): ApiFailure => ({
  code,
  message,
  field: null,
  status,
  retryAt: null,
});

/** The failure that an answer with an error states. @param body as parsed, of any form */
export function statedFailure(body: unknown, response: Pick<Response, 'status' | 'headers'>): ApiFailure {
  const error = membersOf(membersOf(body)?.error);
  const details = membersOf(error?.details);
  const after = Number(response.headers.get('retry-after') ?? Number.NaN);
  return {
    code: textOf(error?.code) ?? textOf(details?.error_code) ?? `http_${response.status}`,
    message: textOf(error?.message) ?? `The server answered with ${response.status}.`,
    // The dialect of Messages has it among the details.
    field: textOf(error?.param) ?? textOf(details?.param),
    status: response.status,
    retryAt: Number.isFinite(after) ? Date.now() + after * 1_000 : null,
  };
}
