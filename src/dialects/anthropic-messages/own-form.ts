import { isObject } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';

/** Members that exist in Anthropic's Messages but not in OpenAI's chat completions. */
const OWN_MEMBERS = ['system', 'stop_sequences', 'thinking', 'output_config', 'context_management', 'thread'] as const;

/** Types of blocks that exist only in Anthropic's Messages. */
const OWN_BLOCKS: ReadonlySet<unknown> = new Set([
  ...['tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'image', 'document', 'search_result'],
]);

/** Whether a body has the form of Anthropic's Messages and of no other dialect. */
export const isMessagesBody = (body: Members): boolean =>
  body.messages != null &&
  (OWN_MEMBERS.some((name) => body[name] != null) || hasTools(body.tools) || hasBlocks(body.messages));

/** Whether the tools have Anthropic's form. */
const hasTools = (tools: unknown): boolean =>
  Array.isArray(tools) && tools.some((tool) => isObject(tool) && tool.input_schema != null);

/** Whether a turn has a block of a type that exists only in Anthropic's Messages. */
const hasBlocks = (turns: unknown): boolean =>
  Array.isArray(turns) &&
  turns.some(
    (turn) =>
      isObject(turn) &&
      Array.isArray(turn.content) &&
      turn.content.some((block) => isObject(block) && OWN_BLOCKS.has(block.type)),
  );
