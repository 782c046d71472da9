import type { ChatMessage } from 'signalbox/plugin';
import type { Json } from '../json.ts';
import type { Block } from './cache.ts';
import { Calls } from './calls.ts';
import { blocksOf, type Place, textBlock, textBlocksOf, writtenIn } from './content.ts';
import { isThought, type Thought, thoughtsIn } from './state.ts';
import { isToolName } from './tools.ts';
import { type Turn, Turns } from './turns.ts';

export interface Conversation {
  readonly system: readonly Block[];
  readonly turns: readonly Turn[];
  /** Names of the tools that it calls. */
  readonly called: readonly string[];
}

/** The messages as the API has them. `inline`: the model takes system messages amid them. */
export function conversationOf(
  messages: readonly ChatMessage[],
  inline: boolean,
  tools: Omit<Place, 'path'>,
): Conversation {
  const turns = new Turns(inline);
  const calls = new Calls();
  for (const [at, message] of messages.entries()) {
    const place = { ...tools, path: `messages[${at}]` };
    // There is no place for who of several speaks. A function's name is that of its call.
    if (message.name !== undefined && message.role !== 'function') place.notes.drop(`${place.path}.name`);
    addMessage(message, turns, calls, place);
  }
  const { unanswered, ...conversation } = turns.end();
  if (unanswered !== null) tools.notes.refuse(unanswered, 'makes a call of a tool that no message after it answers');
  if (!calls.names.every(isToolName))
    tools.notes.refuse('messages', 'call a tool by a name that the API does not take');
  return { ...conversation, called: calls.names };
}

function addMessage(message: ChatMessage, turns: Turns, calls: Calls, place: Place): void {
  const { role, content } = message;
  if (role === 'assistant') turns.answer(assistantBlocks(message, calls, place), place.path);
  else if (role === 'user') turns.say(withMark(blocksOf(content, place), message, place));
  else if (role === 'system' || role === 'developer') {
    turns.instruct(withMark(textBlocksOf(content, place), message, place));
  } else {
    const id = calls.answeredBy(message);
    const blocks = blocksOf(content, place);
    const result = { type: 'tool_result', tool_use_id: id, ...(blocks.length > 0 && { content: blocks }) };
    // What answers no call is said as it is.
    if (turns.awaits(id)) turns.result(place.marks.keep(result, message, place.path));
    else turns.say(withMark(blocks, message, place));
  }
}

/** A mark on a message is one on its last block. Thoughts take none. */
function withMark(blocks: readonly Block[], owner: Json, { marks, path }: Place): Block[] {
  const last = blocks.length - 1;
  return blocks.map((block, at) => (at === last && !isThought(block) ? marks.keep(block, owner, path) : block));
}

function assistantBlocks(message: ChatMessage, calls: Calls, place: Place): Block[] {
  const made = calls.madeBy(message);
  const thoughts = thoughtsIn(message);
  const refusal = message.refusal ?? '';
  if (thoughts.length === 0) {
    return withMark([...textBlocksOf(message.content, place), ...textBlock(refusal), ...made], message, place);
  }
  const parts = typeof message.content === 'string' ? [] : (message.content ?? []);
  const owner = [message, ...parts].find((each: Json) => each.cache_control != null) ?? message;
  return withMark(inPlace(thoughts, writtenIn(message.content, place) + refusal, made), owner, place);
}

/** Thoughts, text and calls in the order in which they came. A thought that was cut off behind them is refused, and left out. */
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
