import { extrasOf, NO_EXTRAS } from '../../core/api/extras.ts';
import { ListValues } from '../../core/json/list-memory.ts';
import { type Members, type OriginalPath, valueAt } from '../../core/json/original.ts';
import { isShared, SharedValues, share } from '../../core/json/shared-values.ts';
import type {
  ContentPart,
  Conversation,
  NativeTool,
  ToolChoice,
  ToolDefinition,
  Turn,
} from '../../core/request/conversation.ts';
import { isWrappedState } from '../../core/request/wrapped-state.ts';
import { EarlierReasoning } from '../earlier-reasoning.ts';
import { textPart } from '../neutral-parts.ts';
import { billingOf, runnersIn, toolsAddedBy } from './billing.ts';
import { blockParts } from './blocks.ts';
import type { Message, MessageBlock, MessagesRequest, OwnTool, Tool, ToolResultBlock } from './request.ts';

const OF_MESSAGE: readonly string[] = ['role', 'content'];
const OF_RESULT: readonly string[] = ['type', 'tool_use_id', 'content'];
const OF_TOOL: readonly string[] = ['type', 'name', 'description', 'input_schema', 'strict'];

type Dialogue = Pick<
  MessagesRequest,
  'messages' | 'system' | 'tools' | 'tool_choice' | 'thread' | 'max_tokens' | 'thinking' | 'output_config'
>;

/** Reads the system prompt, the messages, the tools and the tool choice. */
export function conversationOf(body: Dialogue): Conversation {
  const { messages, system, tools, tool_choice: choice, thread } = body;
  const turns = turnsOf(messages, system);
  const all = tools ?? [];
  const nativeTools = [...all.flatMap(nativeTool), ...addedTools(turns, body), ...runnersIn(body)];
  return {
    turns,
    tools: all.flatMap((tool, index) => (isOwn(tool) ? [toolOf(tool, index)] : [])),
    toolChoice: choiceOf(choice),
    ...(nativeTools.length > 0 && { nativeTools }),
    ...(body.max_tokens === 0 && { isWarmUp: true }),
    ...((body.thinking != null || body.output_config?.effort != null) && { asksForThinking: asksForThinking(body) }),
    ...(thread && { thread: { continues: thread.type === 'continue' ? thread.previous_message_id : null } }),
  };
}

const asksForThinking = ({ thinking }: Dialogue): boolean =>
  thinking?.type === 'enabled' || thinking?.type === 'adaptive';

function nativeTool(tool: Tool, index: number): NativeTool[] {
  if (isOwn(tool)) return [];
  const at = ['tools', index];
  return [{ kind: tool.type, at, billing: billingOf(tool, at) }];
}

/** Returns the tools that blocks of the conversation add. */
const addedTools = (turns: readonly Turn[], body: Dialogue): readonly NativeTool[] =>
  knownTools.of(turns, null, ({ parts }, _, added) => {
    for (const { type, at } of parts) if (type === 'native') added.push(...toolsAddedBy(valueAt(body, at), at));
  });

const knownTools = new ListValues<Turn, NativeTool>();

/** The turns of lists of messages, by the system prompt before them. */
const knownLists = new ListValues<Message, Turn>();

function turnsOf(messages: readonly Message[], system: Dialogue['system']): readonly Turn[] {
  const first = system != null && system !== '' ? [systemTurn(system)] : [];
  if (messages.length === 0) return first;
  return knownLists.copyOf(messages, system, (message, index, turns) => {
    if (index === 0) turns.push(...first);
    addTurns(message, index, turns);
  });
}

function systemTurn(system: NonNullable<MessagesRequest['system']>): Turn {
  const at = ['system'];
  const parts =
    typeof system === 'string'
      ? [textPart(system, at)]
      : system.flatMap((block, i) => blockParts(block, ['system', i]));
  return { role: 'system', parts, extras: NO_EXTRAS, at };
}

/** The turns of shared messages, with the indexes of the messages, because the index is in all places of a turn. */
const knownTurns = new SharedValues<Message, { readonly index: number; readonly turns: readonly Turn[] }>();

function addTurns(message: Message, index: number, turns: Turn[]): void {
  if (!isShared(message)) {
    addNewTurns(message, index, turns);
    return;
  }
  let known = knownTurns.get(message);
  if (known?.index !== index) {
    const own: Turn[] = [];
    addNewTurns(message, index, own);
    for (const turn of own) share(turn);
    known = knownTurns.set(message, { index, turns: own });
  }
  for (const turn of known.turns) turns.push(turn);
}

/** Adds the turns of a message. Each tool result in a user's message becomes a turn of its own. */
function addNewTurns(message: Message, index: number, turns: Turn[]): void {
  const at = ['messages', index];
  const place = ['messages', index, 'content'];
  const { role, content } = message;
  const extras = extrasOf(message, OF_MESSAGE);
  if (typeof content === 'string') turns.push({ role, parts: [textPart(content, place)], extras, at });
  else if (role === 'assistant') turns.push(assistantTurn(content, index, extras));
  else addUserTurns(content, { role, extras, at }, turns);
}

function addUserTurns(content: readonly MessageBlock[], turn: Omit<Turn, 'parts'>, turns: Turn[]): void {
  let parts: ContentPart[] = [];
  /** Whether all parts so far are media of tool results. */
  let ofResults = true;
  /** Extra members of the message belong only to its first turn. */
  let { extras } = turn;
  const flush = () => {
    if (parts.length === 0) return;
    turns.push({ ...turn, extras, parts });
    extras = NO_EXTRAS;
    parts = [];
    ofResults = true;
  };
  for (let i = 0; i < content.length; i++) {
    const block = content[i]!;
    const place = [...turn.at, 'content', i];
    if (!isResult(block)) {
      for (const part of blockParts(block, place)) {
        parts.push(part);
        ofResults &&= part.at.length > place.length;
      }
      continue;
    }
    const { result, media } = resultTurn(block, place);
    // Media of tool results follow the results in a turn of their own, because few providers accept media within a result.
    if (!ofResults) flush();
    turns.push(result);
    for (const part of media) parts.push(part);
  }
  flush();
  if (content.length === 0) turns.push({ ...turn, parts: [] });
}

function resultTurn(block: ToolResultBlock, at: OriginalPath): { result: Turn; media: readonly ContentPart[] } {
  const { tool_use_id: toolCallId, content } = block;
  const extras = extrasOf(block, OF_RESULT);
  if (typeof content === 'string') {
    const parts = [textPart(content, [...at, 'content'])];
    return { result: { role: 'tool', toolCallId, parts, extras, at }, media: [] };
  }
  const all = (content ?? []).flatMap((part, i) => blockParts(part, [...at, 'content', i]));
  return {
    result: { role: 'tool', toolCallId, parts: all.filter(staysInResult), extras, at },
    media: all.filter((part) => !staysInResult(part)),
  };
}

const staysInResult = ({ type }: ContentPart): boolean => type === 'text' || type === 'native';

function assistantTurn(content: readonly MessageBlock[], index: number, own: Members): Turn {
  const at = ['messages', index];
  const earlier = earlierReasoning(content);
  const parts: ContentPart[] = [];
  for (let i = 0; i < content.length; i++) {
    for (const part of blockParts(content[i]!, ['messages', index, 'content', i], earlier.calls)) parts.push(part);
  }
  return { role: 'assistant', parts, extras: earlier.extrasBeside(own), at };
}

const isResult = (block: MessageBlock): block is ToolResultBlock => block.type === 'tool_result';
/** Whether a tool is the caller's own; Anthropic's tools have another type. */
const isOwn = (tool: Tool): tool is OwnTool => tool.type == null || tool.type === 'custom';

function toolOf(tool: OwnTool, index: number): ToolDefinition {
  const { name, description, input_schema: parameters, strict } = tool;
  const at = ['tools', index];
  return {
    name,
    description: description ?? undefined,
    parameters,
    strict: strict ?? undefined,
    extras: extrasOf(tool, OF_TOOL),
    at,
    valueAt: at,
  };
}

function choiceOf(choice: MessagesRequest['tool_choice']): ToolChoice | undefined {
  if (choice == null) return undefined;
  if (choice.type === 'tool') return { name: choice.name };
  return choice.type === 'any' ? 'required' : choice.type;
}

/** The `format` of Anthropic's signed thinking in `reasoning_details`. */
const FORMAT = 'anthropic-claude-v1';

/**
 * Reads the thinking blocks of an earlier answer. Thinking blocks may contain state of other models, which is unwrapped; Anthropic's own
 * thinking becomes details.
 */
function earlierReasoning(content: readonly MessageBlock[]): EarlierReasoning {
  const earlier = new EarlierReasoning();
  let chars = 0;
  let callsBefore = 0;
  for (const block of content) {
    if (block.type === 'text') chars += block.text.length;
    else if (block.type === 'tool_use') callsBefore++;
    if (block.type !== 'thinking' && block.type !== 'redacted_thinking') continue;
    const opaque = block.type === 'thinking' ? block.signature : block.data;
    if (block.type === 'thinking') earlier.text += block.thinking;
    if (earlier.unwrap(opaque) || opaque === '' || isWrappedState(opaque)) continue;
    const index = earlier.details.length;
    // The ID encodes the position of the thinking block for the adapters, because Anthropic rejects thinking that was moved.
    earlier.details.push(detailOf(block, { format: FORMAT, index, id: `thought-${index}-${chars}-${callsBefore}` }));
  }
  return earlier;
}

type ThoughtBlock = Extract<MessageBlock, { type: 'thinking' | 'redacted_thinking' }>;

const detailOf = (block: ThoughtBlock, common: Members): Members =>
  block.type === 'thinking'
    ? { type: 'reasoning.text', text: block.thinking, signature: block.signature, ...common }
    : { type: 'reasoning.encrypted', data: block.data, ...common };
