import type { FinishReason, ProviderFailure } from 'signalbox/plugin';

const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['model_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_calls', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['content_filter', 'content_filter'],
  // Z.ai.
  ['sensitive', 'content_filter'],
]);

/** Finish reasons of some servers for an answer that broke off. */
const BREAKS: ReadonlySet<string> = new Set(['error', 'insufficient_system_resource', 'network_error']);

/**
 * A raw finish reason in OpenAI's terms; an unknown one is a normal stop. A stop with tool calls is `tool_calls`, which
 * not every server reports.
 */
export function finishReason(raw: string, calls: boolean): FinishReason {
  const reason = REASONS.get(raw) ?? 'stop';
  return reason === 'stop' && calls ? 'tool_calls' : reason;
}

/** The failure that a finish reason reports; null for a real finish. */
export function failureOfFinish(raw: string): ProviderFailure | null {
  if (!BREAKS.has(raw)) return null;
  return { kind: 'overloaded', message: `the upstream broke the answer off: ${raw}` };
}
