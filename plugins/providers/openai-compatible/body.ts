import {
  type AnswerFormat,
  type ContentPart,
  ListValues,
  type Members,
  type ModelRequest,
  type ToolCallPart,
  type ToolChoice,
  type ToolDefinition,
  type Turn,
} from 'signalbox/plugin';
import { callsIn } from '../calls.ts';
import { isObject } from '../json.ts';

/** The dialect of requests that are passed on unchanged. */
export const OPENAI_CHAT = 'openai-chat';

/**
 * Returns the request in OpenAI's dialect: the original if it arrived in this dialect, otherwise a translation of its neutral form.
 * @param isMarked whether the server accepts `cache_control`
 */
export const chatBodyOf = (request: ModelRequest, isMarked: boolean): Members =>
  request.original.dialect === OPENAI_CHAT ? withAllowedTools(request) : translated(request, isMarked);

/** Returns the original without the tools that may not be called, because few servers know `allowed_tools`. */
function withAllowedTools(request: ModelRequest): Members {
  const { body } = request.original;
  if (!isObject(body.tool_choice) || body.tool_choice.type !== 'allowed_tools') return body;
  const { tools, toolChoice } = request.conversation;
  return { ...body, tools: tools.map(({ at }) => request.originalAt(at)), tool_choice: toolChoice };
}

function translated({ conversation, settings, stream }: ModelRequest, isMarked: boolean): Members {
  const { turns, tools, toolChoice } = conversation;
  const marksOf = isMarked ? markIn : noMark;
  return {
    messages: knownMessages.of(turns, isMarked, (turn, _, messages) => messages.push(messageOf(turn, marksOf))),
    ...(tools.length > 0 && { tools: tools.map((tool) => ({ ...toolOf(tool), ...marksOf(tool) })) }),
    tool_choice: choiceOf(toolChoice),
    temperature: settings.temperature,
    top_p: settings.topP,
    frequency_penalty: settings.frequencyPenalty,
    presence_penalty: settings.presencePenalty,
    n: settings.choices,
    stop: settings.stop,
    seed: settings.seed,
    logprobs: settings.logprobs,
    top_logprobs: settings.topLogprobs,
    logit_bias: settings.logitBias,
    response_format: settings.answerFormat && formatOf(settings.answerFormat),
    reasoning_effort: settings.reasoningEffort,
    parallel_tool_calls: settings.parallelToolCalls,
    user: settings.user,
    stream,
  };
}

/** The messages of turns, which do not depend on other turns. */
const knownMessages = new ListValues<Turn, Members>();

/** Returns the cache mark of a turn, part or tool, as a member. */
type MarkReader = (owner: Pick<Turn, 'extras'>) => Members;
const markIn: MarkReader = ({ extras }) => membersIn(extras, ['cache_control']);
const noMark: MarkReader = () => ({});

function messageOf(turn: Turn, marksOf: MarkReader): Members {
  const { role, name, toolCallId, extras } = turn;
  const calls = callsIn(turn).map((call) => ({ ...callOf(call), ...marksOf(call) }));
  return {
    role,
    ...contentOf(turn, marksOf),
    ...membersIn(extras, OF_MESSAGE),
    ...(name !== undefined && { name }),
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/** Returns the content of a message. Servers read cache marks on parts, so the mark of a message goes to the last part of the message. */
function contentOf(turn: Turn, marksOf: MarkReader): Members {
  const { role, parts } = turn;
  const mark = marksOf(turn);
  const content = parts.flatMap((part) => partOf(part).map((one) => ({ ...one, ...marksOf(part) })));
  const last = content.length - 1;
  if (last < 0) return { content: role === 'assistant' ? null : '', ...mark };
  const marked = content.map((part, at) => (at === last ? { ...mark, ...part } : part));
  const [only] = parts;
  const isBare = parts.length === 1 && only?.type === 'text' && !('cache_control' in marked[0]!);
  return { content: isBare ? only.text : marked };
}

function partOf(part: ContentPart): Members[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text }];
    case 'refusal':
      return [{ type: 'refusal', refusal: part.text }];
    case 'image':
      return [{ type: 'image_url', image_url: { url: part.url, detail: part.detail } }];
    case 'audio':
      return [{ type: 'input_audio', input_audio: { data: part.data, format: part.format } }];
    case 'file':
      return [{ type: 'file', file: { file_data: part.data, file_id: part.id, filename: part.name } }];
    case 'tool-call':
    // A model of OpenAI's chat dialect is never eligible for a request with a part that only another dialect can express.
    case 'native':
      return [];
  }
}

const callOf = ({ id, name, arguments: text, extras }: ToolCallPart): Members => ({
  id,
  type: 'function',
  function: { name, arguments: text },
  ...membersIn(extras, OF_CALL),
});

/**
 * Members of a message and of a call with the reasoning of an earlier answer. Every surface reads the reasoning of an earlier answer in the
 * same way.
 */
const OF_MESSAGE = ['reasoning_content', 'reasoning_details', 'extra_content'] as const;
const OF_CALL = ['extra_content'] as const;

function membersIn(extras: Members, names: readonly string[]): Members {
  const members: Record<string, unknown> = {};
  for (const name of names) if (extras[name] != null) members[name] = extras[name];
  return members;
}

const toolOf = ({ name, description, parameters, strict }: ToolDefinition): Members => ({
  type: 'function',
  function: { name, description, parameters, strict },
});

const choiceOf = (choice: ToolChoice | undefined): unknown =>
  typeof choice === 'object' ? { type: 'function', function: { name: choice.name } } : choice;

function formatOf({ type, name, description, schema, strict }: AnswerFormat): Members {
  if (type !== 'json-schema') return { type: type === 'json' ? 'json_object' : 'text' };
  return { type: 'json_schema', json_schema: { name: name ?? 'answer', description, schema, strict } };
}
