import { NO_RUN, type RunNames } from '../core/request/run-names.ts';

/** Headers in which agents name their session, by precedence: Claude Code's header, then Codex's old and new header. */
const SESSION_HEADERS = ['x-claude-code-session-id', 'session-id', 'session_id'] as const;

/**
 * Returns the caller's names for the run that a request belongs to; `NO_RUN` if there are none. The caller's names for a run are unverified
 * claims, which `gateway/prompt/sessions.ts` limits.
 * @param stated the values of the body's fields that may name the session, by precedence: `metadata.session_id`, `prompt_cache_key`
 */
export function runIn(headers: Headers, ...stated: readonly (string | null | undefined)[]): RunNames {
  const session = sessionIn(headers, stated);
  const agent = headers.get('x-claude-code-agent-id') || null;
  if (session === null && agent === null) return NO_RUN;
  return { session, agent, parentAgent: headers.get('x-claude-code-parent-agent-id') || null };
}

function sessionIn(headers: Headers, stated: readonly (string | null | undefined)[]): string | null {
  for (const name of SESSION_HEADERS) {
    const value = headers.get(name);
    if (value) return value;
  }
  for (const value of stated) if (value) return value;
  return null;
}
