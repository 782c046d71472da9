import type { FinishReason, StreamPart } from 'signalbox/plugin';
import { isObject, type Json, textOf } from '../json.ts';

const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
]);

/** The finish of a message and the reason of a refusal; empty before its end. An unknown reason is a normal stop. */
export function finishOf(message: Json): StreamPart[] {
  const raw = textOf(message.stop_reason);
  if (raw === '') return [];
  const finish: StreamPart = { type: 'finish', choice: 0, reason: REASONS.get(raw) ?? 'stop', raw };
  const text = isObject(message.stop_details) ? textOf(message.stop_details.explanation) : '';
  return raw === 'refusal' && text !== '' ? [{ type: 'refusal', choice: 0, text }, finish] : [finish];
}
