import type { ListedModel } from '../contract/provider.ts';
import { beyondLimits } from '../core/json/limits.ts';
import { openFailure, sanitizeFailure, UpstreamError } from './failures.ts';
import { callHeaders } from './http-request.ts';
import { readText } from './read-text.ts';
import { keyNow, type UpstreamTarget } from './upstream-call.ts';

/** The maximum time for all pages together, in ms, unless the caller states another. */
const WITHIN_MS = 30_000;
/** The maximum number of pages, of bytes per page and of JSON values per page. A provider's list has a few hundred models. */
const PAGES_MAX = 50;
const PAGE_MAX = 16_777_216;
const VALUES_MAX = 1_000_000;

interface ListOptions {
  /** The maximum time for all pages together, ms. */
  readonly withinMs?: number;
  /** Called with the headers of each answer, also of a refusal. */
  readonly onHeaders?: (headers: Headers) => void;
}

/**
 * Reads the provider's own list of models.
 * @returns null if the adapter cannot read a list
 * @throws UpstreamError, with a message that is safe to show
 */
export async function listModels(
  target: UpstreamTarget,
  { withinMs = WITHIN_MS, onHeaders }: ListOptions = {},
): Promise<readonly ListedModel[] | null> {
  const { adapter, dial } = target;
  if (adapter.kind !== 'wire' || !adapter.modelList || !dial) return null;
  const { headers: own, path, read } = adapter.modelList;
  const signal = AbortSignal.timeout(withinMs);
  const models: ListedModel[] = [];
  let after: string | null = null;
  try {
    const headers = callHeaders(adapter, own, target, false);
    for (let page = 0; page < PAGES_MAX; page++) {
      const reply = await dial.get(path(after), headers, signal);
      onHeaders?.(reply.headers);
      if (reply.status >= 300 && reply.status < 400)
        throw new UpstreamError('not_found', 'redirects are not followed', reply.status);
      const body = await readText(reply, PAGE_MAX);
      if (reply.status < 200 || reply.status > 299) {
        const { kind, message } = adapter.failure(reply.status, reply.headers, body);
        throw new UpstreamError(kind, message, reply.status);
      }
      const found = beyondLimits(body, VALUES_MAX) ? null : read(body);
      if (!found) throw new UpstreamError('malformed', 'the answer is not a list of models', reply.status);
      models.push(...found.models);
      if (found.next === null) return models;
      after = found.next;
    }
    throw new UpstreamError('malformed', `the list has more than ${PAGES_MAX} pages`);
  } catch (error) {
    const late = signal.aborted
      ? new UpstreamError('timeout', `the complete list did not arrive within ${withinMs / 1000} s`)
      : error;
    const { kind, message, status } = sanitizeFailure(openFailure(late, false), keyNow(target));
    throw new UpstreamError(kind, message, status);
  }
}
