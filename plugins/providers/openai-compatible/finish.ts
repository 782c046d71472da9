import type { FinishReason, ProviderFailure } from 'signalbox/plugin';

const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['model_length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['content_filter', 'content_filter'],
]);

/** A raw finish reason in OpenAI's terms; unknown ones mean an ordinary stop. */
export function finishReason(raw: string): FinishReason {
  return REASONS.get(raw) ?? 'stop';
}

/** Some servers say by a finish reason that the answer broke off. Null for a real finish. */
export function failureOfFinish(raw: string): ProviderFailure | null {
  if (raw !== 'error' && raw !== 'insufficient_system_resource') return null;
  return { kind: 'overloaded', message: `the upstream broke the answer off: ${raw}` };
}
