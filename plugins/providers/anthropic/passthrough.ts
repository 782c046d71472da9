import { type HttpCall, isWrappedState, type Members, type ProviderCall } from 'signalbox/plugin';
import { isObject, listOf, textOf } from '../json.ts';
import { type ModelRules, rulesOf } from './models.ts';
import { asReminder } from './reminder.ts';
import { HEADERS } from './request.ts';
import { thinkingBelow } from './thinking.ts';

/** The dialect of a request that goes out as it came. */
export const OWN_DIALECT = 'anthropic-messages';

/** Fields that are Signalbox's own. */
const OWN_FIELDS = ['route_strategy', 'constraints', 'budget_limit', 'agent_wallet'] as const;

type Body = Record<string, unknown>;

/**
 * Builds `POST /messages` from a request in Anthropic's own dialect. Changed are the model, the cap and `stream`; Signalbox's
 * own fields are taken out, and the state of other services' models, which Anthropic would refuse; system messages are
 * reworded where the model takes none. Fields that a model does not
 * take are fitted only where a selector chose the model: a caller who names it wants its answer.
 */
export function passRequest(call: ProviderCall): HttpCall {
  const { request, upstream, outputCap, stream, isSelected } = call;
  const body: Body = { ...request.original.body };
  for (const field of OWN_FIELDS) delete body[field];
  body.model = upstream;
  const cap = request.conversation.isWarmUp ? 0 : outputCap;
  body.max_tokens = cap;
  if (stream) body.stream = true;
  else delete body.stream;
  keepUserId(body);
  const rules = rulesOf(upstream);
  body.messages = withoutForeignState(body.messages);
  body.messages = withReminders(body.messages, rules.inlineSystem);
  const dropped: string[] = [];
  if (isSelected) fit(body, rules, dropped);
  // A caller's own budget may exceed the caller's own cap: thoughts between calls of tools count over several requests.
  if (cap !== request.original.body.max_tokens) limitThinking(body, cap, dropped);
  const headers = { ...HEADERS, ...request.headers.passed };
  return { path: '/messages', headers, body: JSON.stringify(body), dropped, passthrough: true };
}

/** Of the metadata, Anthropic takes this member; the others are for the policy's rules. */
function keepUserId(body: Body): void {
  const { metadata } = body;
  if (!isObject(metadata) || Object.keys(metadata).every((name) => name === 'user_id')) return;
  if (metadata.user_id === undefined) delete body.metadata;
  else body.metadata = { user_id: metadata.user_id };
}

/** The messages without thoughts of other services' models. The same list where there are none. */
function withoutForeignState(messages: unknown): unknown {
  if (!Array.isArray(messages) || !messages.some(hasForeignState)) return messages;
  return messages.flatMap((message: unknown) => {
    if (!hasForeignState(message)) return [message];
    const content = listOf(message.content).filter((block) => !isForeign(block));
    // A message must not be empty.
    return content.length === 0 ? [] : [{ ...message, content }];
  });
}

/**
 * The messages with text of the user in place of system messages that the model refuses. The same list where there are none.
 * @param inline the model takes system messages, between a user's turn and an answer
 */
function withReminders(messages: unknown, inline: boolean): unknown {
  const isRefused = (message: unknown, at: number, all: readonly unknown[]): message is Members =>
    isOf(message, 'system') && !(inline && mayPrecede(all[at - 1]) && mayFollow(all[at + 1]));
  if (!Array.isArray(messages) || !messages.some(isRefused)) return messages;
  return messages.map((message: unknown, at) => {
    if (!isRefused(message, at, messages)) return message;
    const { content } = message;
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content).filter(isObject);
    return { ...message, role: 'user', content: blocks.map(asReminder) };
  });
}

const isOf = (message: unknown, role: string): message is Members => isObject(message) && message.role === role;

/** Whether a system message may stand behind another one. A system message there is reworded to a user's. */
function mayPrecede(message: unknown): boolean {
  if (!isOf(message, 'assistant')) return message !== undefined;
  const last = listOf(message.content).at(-1);
  return isObject(last) && last.type === 'server_tool_use';
}

const mayFollow = (message: unknown): boolean => message === undefined || isOf(message, 'assistant');

const hasForeignState = (message: unknown): message is Members =>
  isOf(message, 'assistant') && listOf(message.content).some(isForeign);

function isForeign(block: unknown): boolean {
  if (!isObject(block)) return false;
  if (block.type === 'thinking') return isWrappedState(textOf(block.signature));
  return block.type === 'redacted_thinking' && isWrappedState(textOf(block.data));
}

/** Fits fields that the chosen model refuses: its caller could not know which model it would be. */
function fit(body: Body, rules: ModelRules, dropped: string[]): void {
  const { thinking, output_config: output } = body;
  const type = isObject(thinking) ? thinking.type : undefined;
  if (type === 'adaptive' && !rules.adaptive) drop(body, 'thinking', dropped);
  else if (type === 'enabled' && rules.fixedSampling) body.thinking = { type: 'adaptive' };
  else if (type === 'disabled' && rules.alwaysThinks) drop(body, 'thinking', dropped);
  if (isObject(output) && output.effort != null) {
    const { effort, ...others } = output;
    if (!rules.adaptive) {
      dropped.push('output_config.effort');
      if (Object.keys(others).length > 0) body.output_config = others;
      else delete body.output_config;
    } else if (effort === 'xhigh' && !rules.xhigh) body.output_config = { ...output, effort: 'high' };
  }
  if (!rules.fixedSampling) return;
  for (const field of ['temperature', 'top_p', 'top_k']) if (body[field] != null) drop(body, field, dropped);
}

function drop(body: Body, field: string, dropped: string[]): void {
  delete body[field];
  dropped.push(field);
}

/** Keeps a budget of thinking below a cap that money or the maximum of the model has lowered. */
function limitThinking(body: Body, cap: number, dropped: string[]): void {
  if (!isObject(body.thinking)) return;
  const thinking = thinkingBelow(cap, body.thinking);
  if (thinking === null) drop(body, 'thinking', dropped);
  else body.thinking = thinking;
}
