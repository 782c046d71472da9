import type { ChatMessage } from 'signalbox/plugin';
import type { Json } from '../json.ts';
import type { Block } from './cache.ts';
import { ToolUses } from './calls.ts';
import { blocksOf, type MessageContext, plainTextOf, textBlock, textBlocksOf } from './content.ts';
import { MessagesBuilder, type MessageTurn } from './messages-builder.ts';
import { isThought, type Thought, thoughtsIn } from './state.ts';
import { isToolName } from './tools.ts';

export interface AnthropicPrompt {
  readonly system: readonly Block[];
  readonly turns: readonly MessageTurn[];
  /** The names of the called tools. */
  readonly called: readonly string[];
}

/** Translates the messages. @param inline the model accepts system messages between others */
export function conversationOf(
  messages: readonly ChatMessage[],
  inline: boolean,
  tools: Omit<MessageContext, 'path'>,
): AnthropicPrompt {
  const turns = new MessagesBuilder(inline);
  const calls = new ToolUses();
  for (const [at, message] of messages.entries()) {
    const context = { ...tools, path: `messages[${at}]` };
    // The API has no names of speakers. A function's name is that of its call.
    if (message.name !== undefined && message.role !== 'function') context.notes.drop(`${context.path}.name`);
    addMessage(message, turns, calls, context);
  }
  const { unanswered, ...conversation } = turns.end();
  if (unanswered !== null) tools.notes.refuse(unanswered, 'makes a call of a tool that no message after it answers');
  if (!calls.names.every(isToolName))
    tools.notes.refuse('messages', 'call a tool by a name that the API does not take');
  return { ...conversation, called: calls.names };
}

function addMessage(message: ChatMessage, turns: MessagesBuilder, calls: ToolUses, context: MessageContext): void {
  const { role, content } = message;
  if (role === 'assistant') turns.answer(assistantBlocks(message, calls, context), context.path);
  else if (role === 'user') turns.say(withMark(blocksOf(content, context), message, context));
  else if (role === 'system' || role === 'developer') {
    turns.instruct(withMark(textBlocksOf(content, context), message, context));
  } else {
    const id = calls.answeredBy(message);
    const blocks = blocksOf(content, context);
    const result = { type: 'tool_result', tool_use_id: id, ...(blocks.length > 0 && { content: blocks }) };
    // A result without a call becomes user content.
    if (turns.awaits(id)) turns.result(context.marks.keep(result, message, context.path));
    else turns.say(withMark(blocks, message, context));
  }
}

/** Moves a message's mark to its last block. Thoughts accept none. */
function withMark(blocks: readonly Block[], owner: Json, { marks, path }: MessageContext): Block[] {
  const last = blocks.length - 1;
  return blocks.map((block, at) => (at === last && !isThought(block) ? marks.keep(block, owner, path) : block));
}

function assistantBlocks(message: ChatMessage, calls: ToolUses, context: MessageContext): Block[] {
  const made = calls.madeBy(message);
  const thoughts = thoughtsIn(message);
  const refusal = message.refusal ?? '';
  if (thoughts.length === 0) {
    return withMark([...textBlocksOf(message.content, context), ...textBlock(refusal), ...made], message, context);
  }
  const parts = typeof message.content === 'string' ? [] : (message.content ?? []);
  const owner = [message, ...parts].find((each: Json) => each.cache_control != null) ?? message;
  return withMark(inPlace(thoughts, plainTextOf(message.content, context) + refusal, made), owner, context);
}

/** Restores the order of thoughts, text and calls. Omits a trailing thought, which the API refuses. */
function inPlace(thoughts: readonly Thought[], text: string, calls: readonly Block[]): Block[] {
  const blocks: Block[] = [];
  let chars = 0;
  let made = 0;
  for (const thought of thoughts) {
    blocks.push(...textBlock(text.slice(chars, thought.chars)), ...calls.slice(made, thought.calls), thought.block);
    chars = Math.max(chars, thought.chars);
    made = Math.max(made, thought.calls);
  }
  blocks.push(...textBlock(text.slice(chars)), ...calls.slice(made));
  return blocks.slice(0, blocks.findLastIndex((block) => !isThought(block)) + 1);
}
