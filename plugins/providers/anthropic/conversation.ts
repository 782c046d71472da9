import { type ModelRequest, pathText, type Turn } from 'signalbox/plugin';
import { AnswerOrder } from './answer-order.ts';
import type { Block } from './cache.ts';
import { ToolUses } from './calls.ts';
import { blocksOf, refuseOthers, type TranslationContext, textBlocksOf } from './content.ts';
import { MessagesBuilder, type MessageTurn } from './messages-builder.ts';
import { isThought, thoughtsIn } from './state.ts';
import { isToolName } from './tools.ts';

export interface AnthropicPrompt {
  readonly system: readonly Block[];
  readonly turns: readonly MessageTurn[];
  /** The names of the called tools. */
  readonly called: readonly string[];
}

/** Translates the turns. @param inline whether the model accepts system messages between other messages */
export function promptOf(request: ModelRequest, inline: boolean, context: TranslationContext): AnthropicPrompt {
  const builder = new MessagesBuilder(inline);
  const calls = new ToolUses();
  for (const turn of request.conversation.turns) {
    // Anthropic's API does not support names of speakers.
    if (turn.name !== undefined) context.notes.drop(`${pathText(turn.at)}.name`);
    addTurn(turn, builder, calls, context);
  }
  const { unanswered, ...prompt } = builder.end();
  const { notes } = context;
  if (unanswered !== null) notes.refuse(unanswered, 'calls a tool, but no later message has its result');
  if (!calls.names.every(isToolName))
    notes.refuse(request.names.turns, 'call a tool whose name this provider does not accept');
  return { ...prompt, called: calls.names };
}

function addTurn(turn: Turn, builder: MessagesBuilder, calls: ToolUses, context: TranslationContext): void {
  const { role, parts } = turn;
  if (role === 'assistant') builder.answer(assistantBlocks(turn, calls, context), pathText(turn.at));
  else if (role === 'user') builder.say(withMark(blocksOf(parts, context), turn, context));
  else if (role === 'system' || role === 'developer') {
    builder.instruct(withMark(textBlocksOf(parts, context), turn, context));
  } else {
    const id = calls.answeredBy(turn);
    const blocks = blocksOf(parts, context);
    const result = {
      type: 'tool_result',
      tool_use_id: id,
      ...(blocks.length > 0 && { content: blocks }),
      ...(turn.extras.is_error === true && { is_error: true }),
    };
    // A tool result without a call becomes content of the user.
    if (builder.awaits(id)) builder.result(context.marks.keep(result, turn.extras, pathText(turn.at)));
    else builder.say(withMark(blocks, turn, context));
  }
}

/** Moves a turn's cache mark to its last block. Thinking blocks accept no mark. */
function withMark(blocks: readonly Block[], { extras, at }: Turn, { marks }: TranslationContext): Block[] {
  const last = blocks.length - 1;
  return blocks.map((block, i) => (i === last && !isThought(block) ? marks.keep(block, extras, pathText(at)) : block));
}

function assistantBlocks(turn: Turn, calls: ToolUses, context: TranslationContext): Block[] {
  refuseOthers(turn.parts, context.notes);
  const answer = new AnswerOrder(turn, calls, context);
  const blocks: Block[] = [];
  for (const { block, chars, calls: made } of thoughtsIn(turn)) blocks.push(...answer.until(chars, made), block);
  blocks.push(...answer.until(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY));
  // The API rejects a turn that ends in a thinking block.
  const end = blocks.findLastIndex((block) => !isThought(block)) + 1;
  return withMark(blocks.slice(0, end), turn, context);
}
