import type { RequestHeaders } from '../../core/model-request.ts';
import { runIn } from '../session.ts';

/** Headers of Anthropic's that travel with a body: a beta and its field are a pair. */
const PASSED = /^anthropic-/;
/** The browser's wish to call the API directly is none of the provider's. */
const KEPT_HERE: ReadonlySet<string> = new Set(['anthropic-dangerous-direct-browser-access']);
const PASSED_MAX = 32;

/**
 * Reads the headers that belong to a request in this dialect.
 * @param session the session that the body names
 */
export function requestHeaders(headers: Headers, session?: string | null): RequestHeaders {
  const passed: Record<string, string> = {};
  let count = 0;
  headers.forEach((value, name) => {
    if (PASSED.test(name) && !KEPT_HERE.has(name) && ++count <= PASSED_MAX) passed[name] = value;
  });
  return { passed, run: runIn(headers, session) };
}
