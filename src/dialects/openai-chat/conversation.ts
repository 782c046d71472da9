import type { ChatMessage, ChatRequest, ChatTool, MessagePart, ToolCall } from '../../core/api/chat-request.ts';
import { extrasOf, NO_EXTRAS } from '../../core/api/extras.ts';
import { ListValues } from '../../core/json/list-memory.ts';
import { isObject, textOf } from '../../core/json/object.ts';
import type { OriginalPath } from '../../core/json/original.ts';
import { isShared, SharedValues, share } from '../../core/json/shared-values.ts';
import type {
  ContentPart,
  Conversation,
  ToolCallPart,
  ToolChoice,
  ToolDefinition,
  Turn,
  TurnRole,
} from '../../core/request/conversation.ts';

const NO_TOOLS: readonly never[] = Object.freeze([]);

const OF_MESSAGE: readonly string[] = [
  'role',
  'content',
  'name',
  'refusal',
  'tool_calls',
  'tool_call_id',
  'function_call',
];
/** The members of each kind of part. Members of a part that are not in this table are extras, because some servers read them. */
const OF_PART: Readonly<Record<MessagePart['type'], readonly string[]>> = {
  text: ['type', 'text'],
  refusal: ['type', 'refusal'],
  image_url: ['type', 'image_url'],
  input_audio: ['type', 'input_audio'],
  file: ['type', 'file'],
};
const OF_CALL: readonly string[] = ['id', 'type', 'function'];
const OF_FUNCTION: readonly string[] = ['name', 'arguments'];
const OF_IMAGE: readonly string[] = ['url', 'detail'];
const OF_AUDIO: readonly string[] = ['data', 'format'];

/** The number of messages, of calls per message and of tools whose paths are cached. */
const KEPT = 1_024;
const KEPT_CALLS = 8;
const KEPT_TOOLS = 128;

/**
 * Creates a path, or returns a path that requests share. Shared paths are frozen, because a plugin that changed a shared path would change
 * other requests.
 */
type PlaceMaker = (...path: OriginalPath) => OriginalPath;
const ownPlace: PlaceMaker = (...path) => path;
const sharedPlace: PlaceMaker = (...path) => Object.freeze(path);

/** Caches the result of `make` for each index below `most`, because paths are the same in every body. */
function kept<Places>(most: number, make: (index: number, place: PlaceMaker) => Places): (index: number) => Places {
  const made: Places[] = [];
  // Freezing a path takes five times as long as reading its message.
  return (index) => {
    if (index >= most) return make(index, ownPlace);
    made[index] ??= make(index, sharedPlace);
    return made[index];
  };
}

const placesOfMessage = kept(KEPT, (message, place) => ({
  at: place('messages', message),
  content: place('messages', message, 'content'),
  ofCall: kept(message < KEPT ? KEPT_CALLS : 0, (call, placeOfCall) => ({
    at: placeOfCall('messages', message, 'tool_calls', call),
    valueAt: placeOfCall('messages', message, 'tool_calls', call, 'function', 'arguments'),
  })),
}));

type MessagePlaces = ReturnType<typeof placesOfMessage>;

const placesOfTool = kept(KEPT_TOOLS, (tool, place) => ({
  at: place('tools', tool),
  valueAt: place('tools', tool, 'function'),
}));

/** Reads messages, tools and the tool choice. */
export function conversationOf({
  messages = [],
  tools,
  tool_choice: choice,
}: Partial<Pick<ChatRequest, 'messages' | 'tools' | 'tool_choice'>>): Conversation {
  const offered = tools ? toolsOf(tools) : NO_TOOLS;
  const turns = knownLists.copyOf(messages, null, addTurn);
  return { turns, tools: allowedOf(choice, offered), toolChoice: choiceOf(choice) };
}

/** The turns of lists of messages. */
const knownLists = new ListValues<ChatMessage, Turn>();
const addTurn = (message: ChatMessage, index: number, turns: Turn[]): void => void turns.push(turnOf(message, index));

/**
 * Returns the tools that may be called. The gateway does not send tools that may not be called, because not every provider can be told to
 * ignore some tools.
 */
function allowedOf(choice: ChatRequest['tool_choice'], tools: readonly ToolDefinition[]): readonly ToolDefinition[] {
  if (typeof choice !== 'object' || choice.type === 'function') return tools;
  const allowed = new Set(choice.allowed_tools.tools.map((tool) => tool.function.name));
  return tools.filter(({ name }) => allowed.has(name));
}

/** The turns of shared messages, with the indexes of the messages, because the index of a turn is in all its places. */
const knownTurns = new SharedValues<ChatMessage, { readonly index: number; readonly turn: Turn }>();

function turnOf(message: ChatMessage, index: number): Turn {
  const known = knownTurns.get(message);
  if (known?.index === index) return known.turn;
  const turn = newTurn(message, index);
  if (isShared(message)) share(turn);
  return knownTurns.set(message, { index, turn }).turn;
}

function newTurn(message: ChatMessage, index: number): Turn {
  const { role, name, tool_call_id: toolCallId } = message;
  const places = placesOfMessage(index);
  const { at } = places;
  const extras = extrasOf(message, OF_MESSAGE);
  const parts = messageParts(message, index, places);
  if (role === 'function') return { role: 'tool', parts, toolCallId: olderId(name ?? ''), extras, at };
  return { role: role satisfies TurnRole, parts, name, toolCallId, extras, at };
}

/** @param index of the message */
function messageParts(message: ChatMessage, index: number, places: MessagePlaces): readonly ContentPart[] {
  const { content, refusal, tool_calls: calls } = message;
  const parts: ContentPart[] = [];
  if (typeof content === 'string') {
    const at = places.content;
    parts.push({ type: 'text', text: content, at, valueAt: at, extras: NO_EXTRAS });
  } else if (content) {
    for (let i = 0; i < content.length; i++) parts.push(partOf(content[i]!, ['messages', index, 'content', i]));
  }
  if (refusal) {
    const at = ['messages', index, 'refusal'];
    parts.push({ type: 'refusal', text: refusal, at, valueAt: at, extras: NO_EXTRAS });
  }
  if (calls) for (let i = 0; i < calls.length; i++) parts.push(callOf(calls[i]!, places.ofCall(i)));
  const older = olderCall(Reflect.get(message, 'function_call'), index);
  if (older) parts.push(older);
  return parts;
}

function callOf(call: ToolCall, { at, valueAt }: ReturnType<MessagePlaces['ofCall']>): ToolCallPart {
  const { id, function: fn } = call;
  const { name, arguments: text } = fn;
  return {
    type: 'tool-call',
    id,
    name,
    arguments: text,
    at,
    valueAt,
    extras: extrasOf(fn, OF_FUNCTION, extrasOf(call, OF_CALL)),
  };
}

/** Reads the older form of a call, which has no ID. */
function olderCall(call: unknown, message: number): ToolCallPart | null {
  if (!isObject(call)) return null;
  const name = textOf(call.name);
  return {
    type: 'tool-call',
    id: olderId(name),
    name,
    arguments: textOf(call.arguments),
    at: ['messages', message, 'function_call'],
    valueAt: ['messages', message, 'function_call', 'arguments'],
    extras: extrasOf(call, OF_FUNCTION),
  };
}

/** Returns an ID for an older call, made from the function's name. */
const olderId = (name: string): string => `function_${name}`;

function partOf(part: MessagePart, at: OriginalPath): ContentPart {
  const outer = extrasOf(part, OF_PART[part.type]);
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, at, valueAt: [...at, 'text'], extras: outer };
    case 'refusal':
      return { type: 'refusal', text: part.refusal, at, valueAt: [...at, 'refusal'], extras: outer };
    case 'image_url': {
      const { url, detail } = part.image_url;
      const extras = extrasOf(part.image_url, OF_IMAGE, outer);
      return { type: 'image', url, detail, at, valueAt: [...at, 'image_url', 'url'], extras };
    }
    case 'input_audio': {
      const { data, format } = part.input_audio;
      const extras = extrasOf(part.input_audio, OF_AUDIO, outer);
      return { type: 'audio', data, format, at, valueAt: [...at, 'input_audio', 'data'], extras };
    }
    case 'file': {
      const { file_data: data, file_id: id, filename: name } = part.file;
      return { type: 'file', data, id, name, at, valueAt: [...at, 'file', 'file_data'], extras: outer };
    }
  }
}

const OF_TOOL: readonly string[] = ['type', 'function'];
const OF_DEFINITION: readonly string[] = ['name', 'description', 'parameters', 'strict'];

/** The definitions in lists of tools that several requests share. */
const knownTools = new SharedValues<readonly ChatTool[], readonly ToolDefinition[]>();

function toolsOf(tools: readonly ChatTool[]): readonly ToolDefinition[] {
  const known = knownTools.get(tools);
  if (known !== undefined) return known;
  const definitions = tools.map(toolOf);
  if (isShared(tools)) share(definitions);
  return knownTools.set(tools, definitions);
}

function toolOf(tool: ChatTool, index: number): ToolDefinition {
  const { function: fn } = tool;
  const { name, description, parameters, strict } = fn;
  const { at, valueAt } = placesOfTool(index);
  const extras = extrasOf(fn, OF_DEFINITION, extrasOf(tool, OF_TOOL));
  return { name, description, parameters, strict, extras, at, valueAt };
}

function choiceOf(choice: ChatRequest['tool_choice']): ToolChoice | undefined {
  if (typeof choice !== 'object') return choice;
  return choice.type === 'function' ? { name: choice.function.name } : choice.allowed_tools.mode;
}
