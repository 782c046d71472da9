import type { RequestHeaders } from '../../core/request/model-request.ts';
import { runIn } from '../session.ts';

/** Anthropic headers that are sent to the provider together with the body, because a beta header and its field belong together. */
const PASSED = /^anthropic-/;
/** The header with which a browser requests direct access to the API does not concern the provider. */
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
