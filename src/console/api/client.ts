import { signal } from '@preact/signals';
import { BASE, type Query, queryText } from './base.ts';
import { type ApiFailure, type ApiResult, failureOf, statedFailure } from './failure.ts';
import { jsonOf } from './json.ts';
import type { ReadOf, ReadPath } from './reads.ts';

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

export interface SendOptions {
  readonly query?: Query;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** Counts logins that ended while the page was open. When a login ends, the shell requests again who is signed in. */
export const sessionEnds = signal(0);

/**
 * Sends a request. `exchange` never throws, except for the reason of an aborted signal.
 * @param take reads the body of a successful response
 */
async function exchange<Result>(
  method: Method,
  path: string,
  { query = {}, body, headers, signal: given }: SendOptions,
  take: (response: Response) => Promise<Result>,
): Promise<ApiResult<Result>> {
  const hasBody = body !== undefined;
  try {
    const response = await fetch(BASE + path + queryText(query), {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'manual',
      headers: { ...(hasBody && { 'content-type': 'application/json' }), ...headers },
      ...(hasBody && { body: JSON.stringify(body) }),
      ...(given && { signal: given }),
    });
    // Signing out redirects to another page.
    if (response.ok || response.type === 'opaqueredirect') {
      return { ok: true, value: await take(response), etag: response.headers.get('etag') };
    }
    if (response.status === 401) sessionEnds.value += 1;
    return refused(statedFailure(jsonOf(await response.text()), response));
  } catch (cause) {
    if (given?.aborted) throw cause;
    return refused(failureOf('unreachable', 'Signalbox does not answer. Check the connection.'));
  }
}

const refused = (failure: ApiFailure) => ({ ok: false, failure }) as const;

/** Reads from the admin API. `read` never throws, except for the reason of an aborted signal. */
export const read = <Path extends ReadPath>(path: Path, query: Query = {}, given?: AbortSignal) =>
  send<ReadOf<Path>>('GET', path, { query, signal: given });

/** Changes something through the admin API. `Result` is the type of the response, from the schema of its route. */
export async function send<Result>(
  method: Method,
  path: string,
  options: SendOptions = {},
): Promise<ApiResult<Result>> {
  const answer = await sendForText(method, path, options);
  if (!answer.ok) return answer;
  const text = answer.value;
  // The response to a change may contain the secret of a key, so it is not cached.
  const value = method === 'GET' ? parsed(path + queryText(options.query ?? {}), text) : jsonOf(text);
  if (value === undefined && text !== '') return refused(failureOf('unreadable', 'The response is not JSON.'));
  // The page and the server come from one build, so the server responds with the schema that types `Result`.
  return { ...answer, value: value as Result };
}

/** Changes something through the admin API, like `send`, and returns the response as text, such as a patch. */
export const sendForText = (method: Method, path: string, options: SendOptions = {}): Promise<ApiResult<string>> =>
  exchange(method, path, options, (response) => response.text());

/**
 * Sends a body whose response is read as it streams.
 * @throws the reason of an aborted signal
 */
export const open = (path: string, body: unknown, given: AbortSignal): Promise<ApiResult<Response>> =>
  exchange('POST', path, { body, signal: given }, async (response) => response);

/**
 * Caches the text of each response. If a later response has the same text, the caller gets the same object and nothing is rendered again.
 */
const lastOf = new Map<string, { readonly text: string; readonly value: unknown }>();
const KEPT_MAX = 100;

function parsed(address: string, text: string): unknown {
  const last = lastOf.get(address);
  if (last?.text === text) return last.value;
  const value = jsonOf(text);
  if (value === undefined) return undefined;
  lastOf.delete(address);
  lastOf.set(address, { text, value });
  const [oldest] = lastOf.keys();
  if (lastOf.size > KEPT_MAX && oldest !== undefined) lastOf.delete(oldest);
  return value;
}

/** Forgets all responses, because they belong to a person who has signed out. */
export const forgetAnswers = (): void => lastOf.clear();
