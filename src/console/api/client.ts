import { BASE, type Query, queryText } from './base.ts';
import { type ApiFailure, type ApiResult, failureOf, statedFailure } from './failure.ts';
import type { ReadOf, ReadPath } from './reads.ts';
import { endSession } from './session-end.ts';

type Method = 'POST' | 'PATCH' | 'PUT' | 'DELETE';

export interface SendOptions {
  readonly query?: Query;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

const initOf = (method: Method, { body, headers, signal }: SendOptions): RequestInit => ({
  method,
  headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
  ...(body !== undefined && { body: JSON.stringify(body) }),
  ...(signal && { signal }),
});

/** Reads from the admin API. @throws never, but the reason of an aborted signal */
export const read = <Path extends ReadPath>(path: Path, query: Query = {}, signal?: AbortSignal) =>
  request<ReadOf<Path>>(path + queryText(query), { method: 'GET', ...(signal && { signal }) });

/** Changes something by the admin API. `Result` is the answer's type, by the schema of its route. */
export function send<Result>(method: Method, path: string, options: SendOptions = {}) {
  return request<Result>(path + queryText(options.query ?? {}), initOf(method, options));
}

/** The same, of an answer that is a text, such as a patch. */
export async function sendForText(method: Method, path: string, options: SendOptions = {}): Promise<ApiResult<string>> {
  const answer = await answerTo(path + queryText(options.query ?? {}), initOf(method, options));
  if (!answer.ok) return answer;
  const { response, text } = answer.value;
  if (response.ok) return { ok: true, value: text, etag: response.headers.get('etag') };
  return { ok: false, failure: failureIn(response, parsed(path, text)) };
}

/** Sends a body whose answer is read as it comes. @throws the reason of an aborted signal */
export async function open(path: string, body: unknown, signal: AbortSignal): Promise<ApiResult<Response>> {
  let response: Response;
  try {
    response = await fetch(BASE + path, {
      ...{ method: 'POST', credentials: 'same-origin', cache: 'no-store', signal },
      ...{ headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
    });
  } catch (cause) {
    if (signal.aborted) throw cause;
    return { ok: false, failure: failureOf('unreachable', 'Signalbox does not answer. Check the connection.') };
  }
  if (response.ok) return { ok: true, value: response, etag: null };
  if (response.status === 401) endSession();
  return { ok: false, failure: statedFailure(await response.json().catch(() => null), response) };
}

/** The texts of answers, so that one that says the same again gives the same object, and nothing is drawn anew. */
const lastOf = new Map<string, { readonly text: string; readonly value: unknown }>();
const KEPT_MAX = 100;

async function request<Result>(address: string, init: RequestInit): Promise<ApiResult<Result>> {
  const answer = await answerTo(address, init);
  if (!answer.ok) return answer;
  const { response, text } = answer.value;
  // The answer to a change may have the secret of a key, which is kept nowhere.
  const value = init.method === 'GET' ? parsed(address, text) : jsonOf(text);
  if (!response.ok) return { ok: false, failure: failureIn(response, value) };
  if (value === undefined && text !== '') {
    return { ok: false, failure: failureOf('unreadable', 'The answer is not JSON.', response.status) };
  }
  // The page and the server are one build: the schema of the route, which types `Result`, is the one that the server answers by.
  return { ok: true, value: value as Result, etag: response.headers.get('etag') };
}

async function answerTo(address: string, init: RequestInit): Promise<ApiResult<{ response: Response; text: string }>> {
  try {
    const response = await fetch(BASE + address, { ...init, credentials: 'same-origin', cache: 'no-store' });
    return { ok: true, value: { response, text: await response.text() }, etag: null };
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    return { ok: false, failure: failureOf('unreachable', 'Signalbox does not answer. Check the connection.') };
  }
}

function failureIn(response: Response, value: unknown): ApiFailure {
  if (response.status === 401) endSession();
  return statedFailure(value, response);
}

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

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Forgets all answers: they belonged to somebody who has signed out. */
export const forgetAnswers = (): void => lastOf.clear();
