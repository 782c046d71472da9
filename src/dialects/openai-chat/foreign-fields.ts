import type { Members } from '../../core/json/original.ts';
import { refuseForeign } from '../refusals.ts';

const SYSTEM = 'a message with the role `system`';

/** The fields that contain the conversation in other APIs. */
const TURNS = ['prompt', 'contents'] as const;

/** Maps fields of other APIs to the fields of a chat completion to use instead. */
export const FOREIGN_FIELDS: ReadonlyMap<string, string> = new Map([
  ...TURNS.map((field) => [field, '`messages`'] as const),
  ...['max_output_tokens', 'maxOutputTokens', 'maxTokens', 'max_new_tokens', 'num_predict'].map(
    (field) => [field, '`max_tokens`'] as const,
  ),
  ...['system', 'instructions', 'systemInstruction', 'system_instruction'].map((field) => [field, SYSTEM] as const),
  ...['stop_sequences', 'stopSequences'].map((field) => [field, '`stop`'] as const),
  ...['thinking', 'thinkingConfig', 'reasoning'].map((field) => [field, '`reasoning_effort`'] as const),
  ['topP', '`top_p`'],
  ['toolChoice', '`tool_choice`'],
  ['responseFormat', '`response_format`'],
  ['generationConfig', 'its members as fields of the body'],
  ['options', 'its members as fields of the body'],
]);

/**
 * Rejects a body that has no messages but contains the conversation in the form of another API.
 * @throws SignalboxError
 */
export function checkTurns(body: Members): void {
  refuseForeign(body, TURNS, 'messages', '"messages": [{"role": "user", "content": "…"}]');
}
