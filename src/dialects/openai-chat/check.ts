import type { ChatMessage, ChatRequest, MessagePart } from '../../core/api/chat-request.ts';
import { ListTotal } from '../../core/json/list-memory.ts';
import { isObject, listOf, objectOf } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';
import { SharedValues } from '../../core/json/shared-values.ts';
import { checkOffered, invalid, missing, refuseBilled, unsupported, withoutTools } from '../refusals.ts';

/** A chat request, or a `/v1/route` request with messages, which need not name a model. */
type AnyChat = Omit<ChatRequest, 'model'>;

/**
 * Checks the dialect's rules that the schema cannot express: fields that contradict each other, and fields that would increase the bill
 * without notice.
 * @throws SignalboxError for the field at fault.
 */
export function checkChat(request: AnyChat): void {
  checkBill(request);
  checkedMessages.of(request.messages, checkMessage);
  checkTools(request);
  const { max_tokens: short, max_completion_tokens: long } = request;
  if (short !== undefined && long !== undefined && short !== long) {
    throw invalid(
      'max_completion_tokens',
      'max_tokens and max_completion_tokens have different values. Send only one of them.',
    );
  }
  // Nulls have been removed from the body already, so every option that is left has a value.
  if (!request.stream) {
    for (const _ in request.stream_options)
      throw invalid('stream_options', '`stream_options` requires `stream: true`.');
  }
  if (request.top_logprobs !== undefined && !request.logprobs) {
    throw invalid('top_logprobs', '`top_logprobs` requires `logprobs: true`.');
  }
}

/**
 * Rejects tool types that OpenAI has but Signalbox does not support. Without a check of tool types, the schema would report the unsupported
 * types as misspelt.
 * @param body unchecked
 * @throws SignalboxError
 */
export function checkToolKinds(body: unknown): void {
  if (!isObject(body)) return;
  refuseKinds(body.tools, 'tools');
  const { tool_choice: choice } = body;
  if (!isObject(choice) || choice.type !== 'allowed_tools') refuseKind(choice, 'tool_choice');
  else if (isObject(choice.allowed_tools)) refuseKinds(choice.allowed_tools.tools, 'tool_choice.allowed_tools.tools');
  plainLists.of(listOf(body.messages), checkCallKinds);
}

/** Lists of messages that were checked before. */
const checkedMessages = new ListTotal<ChatMessage, null>(() => null);
const plainLists = new ListTotal<unknown, null>(() => null);
/** Shared messages that call only functions. */
const plainMessages = new SharedValues<Members, true>();

function checkCallKinds(_: null, given: unknown, at: number): null {
  const message = objectOf(given);
  if (plainMessages.get(message)) return null;
  const calls = listOf(message.tool_calls);
  if (calls.some(isOtherKind)) refuseKinds(calls, `messages[${at}].tool_calls`);
  plainMessages.set(message, true);
  return null;
}

function refuseKinds(stated: unknown, param: string): void {
  const list = listOf(stated);
  const at = list.findIndex(isOtherKind);
  if (at >= 0) refuseKind(list[at], `${param}[${at}]`);
}

const isOtherKind = (tool: unknown): tool is { readonly type: string } =>
  isObject(tool) && typeof tool.type === 'string' && tool.type !== 'function';

function refuseKind(tool: unknown, param: string): void {
  if (!isOtherKind(tool)) return;
  throw unsupported(
    `${param}.type`,
    `Only tools of the type \`function\` are supported, not \`${tool.type.slice(0, 64)}\`.`,
  );
}

const REFUSED: Readonly<Record<string, string>> = {
  web_search_options: 'Web search is billed per call and is not supported.',
  audio: 'Audio output is not supported.',
  prediction: '`prediction` is not supported: rejected predictions are billed beyond max_tokens.',
  functions: '`functions` is not supported. Use `tools`.',
  function_call: '`function_call` is not supported. Use `tool_choice`.',
};

/** Rejects fields with charges in addition to tokens or at other prices, because no hold could cover them. */
function checkBill(request: Members): void {
  const { modalities, best_of: bestOf } = request;
  if (Array.isArray(modalities) && modalities.some((kind) => kind !== 'text')) {
    throw unsupported('modalities', 'Only text output is supported.');
  }
  if (bestOf != null && bestOf !== 1)
    throw unsupported('best_of', '`best_of` is not supported: it bills answers that are discarded. Use `n`.');
  refuseBilled(request, REFUSED);
}

/** Checks the requirements of a message's role. */
function checkMessage(_: null, message: ChatMessage, index: number): null {
  const hasCalls =
    message.role === 'assistant' && (message.tool_calls?.length || 'function_call' in message || message.refusal);
  if (message.content == null && !hasCalls) {
    const param = `messages[${index}].content`;
    throw missing(param, `\`${param}\` is required. Only an assistant message with tool calls can omit it.`);
  }
  if (Array.isArray(message.content)) {
    for (const [i, part] of message.content.entries()) checkPart(part, index, i);
  }
  if (message.role === 'tool' && message.tool_call_id === undefined) {
    const param = `messages[${index}].tool_call_id`;
    throw missing(param, `\`${param}\` is required. It is the ID of the call that this message answers.`);
  }
  return null;
}

const IMAGE_URL = /^(?:https?:\/\/|data:)/i;
/** Members of a part that contain media. Each such member is only allowed in parts of its own type. */
const MEDIA: ReadonlySet<string> = new Set(['image_url', 'input_audio', 'file']);

function checkPart(part: MessagePart, message: number, index: number): void {
  if (part.type === 'image_url' && !IMAGE_URL.test(part.image_url.url)) {
    const at = `messages[${message}].content[${index}]`;
    throw invalid(`${at}.image_url.url`, 'An image must be an http or https address, or a data: URL.');
  }
  for (const name of MEDIA) {
    // Some servers use any medium that a part contains and ignore the type of the part.
    if (name !== part.type && Reflect.get(part, name) != null) {
      throw invalid(
        `messages[${message}].content[${index}].${name}`,
        `A part of the type \`${part.type}\` must not have the member \`${name}\`.`,
      );
    }
  }
}

function checkTools({ tools, tool_choice: choice }: AnyChat): void {
  if (choice === undefined || choice === 'none' || choice === 'auto') return;
  if (!tools?.length) throw withoutTools();
  if (choice === 'required') return;
  const offered = new Set(tools.map((tool) => tool.function.name));
  if (choice.type === 'function') checkOffered(choice.function.name, offered, 'tool_choice.function.name');
  else {
    for (const [at, tool] of choice.allowed_tools.tools.entries())
      checkOffered(tool.function.name, offered, `tool_choice.allowed_tools.tools[${at}].function.name`);
  }
}
