import type { FinishReason, ProviderFailure } from 'signalbox/plugin';

const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['STOP', 'stop'],
  ['MAX_TOKENS', 'length'],
  // Gemini 4 gives at most 65,536 tokens per request.
  ['CONTINUATION', 'length'],
]);

/** Finish reasons of invalid answers. */
const BROKEN: ReadonlySet<string> = new Set([
  'MALFORMED_FUNCTION_CALL',
  'MALFORMED_RESPONSE',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
]);

/** A finish reason in OpenAI's terms. All others mean withheld content: `SAFETY`, `RECITATION`, `OTHER`, … */
export function finishReason(raw: string, calls: number): FinishReason {
  const reason = REASONS.get(raw) ?? 'content_filter';
  return reason === 'stop' && calls > 0 ? 'tool_calls' : reason;
}

/** The failure of an invalid answer; null for a real finish. */
export function failureOfFinish(raw: string): ProviderFailure | null {
  return BROKEN.has(raw) ? { kind: 'malformed', message: `the model’s answer broke: ${raw}`, ofModel: true } : null;
}
