import { type HttpCall, isWrappedState, ListTotal, type Members, type ProviderCall, writeJson } from 'signalbox/plugin';
import { isObject, listOf, textOf } from '../json.ts';
import { type ModelRules, rulesOf } from './models.ts';
import { asReminder } from './reminder.ts';
import type { ClaudeService } from './service.ts';
import { thinkingBelow } from './thinking.ts';

/** The dialect of requests that are passed on unchanged. */
export const OWN_DIALECT = 'anthropic-messages';

/** Fields that only Signalbox reads. */
const OWN_FIELDS = ['route_strategy', 'constraints', 'budget_limit', 'agent_wallet'] as const;

type Body = Record<string, unknown>;

/**
 * Builds a request for a message from a request in Anthropic's own dialect. `passRequest` changes the model, the output cap and `stream`.
 * `passRequest` removes Signalbox's own fields, and the state of other providers' models, which Anthropic would reject. `passRequest`
 * rewords system messages if the model does not accept them.
 *
 * `passRequest` adapts other fields that a model does not accept only if a selector chose the model. A caller who names a model wants that
 * model's own answer.
 */
export function passRequest(call: ProviderCall, service: ClaudeService): HttpCall {
  const { request, upstream, outputCap, stream, isSelected } = call;
  const body: Body = { ...request.original.body };
  for (const field of OWN_FIELDS) delete body[field];
  const named = service.model(upstream, request.headers.passed['anthropic-version'] ?? '');
  if (named.model === undefined) delete body.model;
  Object.assign(body, named);
  const cap = request.conversation.isWarmUp ? 0 : outputCap;
  body.max_tokens = cap;
  if (stream) body.stream = true;
  else delete body.stream;
  keepUserId(body);
  const rules = rulesOf(upstream);
  body.messages = withoutForeignState(body.messages);
  body.messages = withReminders(body.messages, rules.inlineSystem);
  const dropped: string[] = [];
  if (isSelected) fit(body, rules, request.headers.passed['anthropic-version'] ?? '', dropped);
  // The caller's own thinking budget may exceed the caller's own cap, because thinking between tool calls counts over several requests.
  if (cap !== request.original.body.max_tokens) limitThinking(body, cap, dropped);
  const path = service.path(upstream, stream);
  const headers = service.headersWith(request.headers.passed);
  return { path, headers, ...writeJson(body, request.original.body), dropped, passthrough: true };
}

/** Anthropic accepts only `user_id` in the metadata; all other members are for the policy's rules. */
function keepUserId(body: Body): void {
  const { metadata } = body;
  if (!isObject(metadata) || Object.keys(metadata).every((name) => name === 'user_id')) return;
  if (metadata.user_id === undefined) delete body.metadata;
  else body.metadata = { user_id: metadata.user_id };
}

/** Whether lists have messages with state of other providers' models, and system messages. */
const foreignLists = new ListTotal<unknown, boolean>(() => false);
const instructedLists = new ListTotal<unknown, boolean>(() => false);

/** Returns the messages without thinking blocks of other providers' models, or the same list if it has no such blocks. */
function withoutForeignState(messages: unknown): unknown {
  if (!Array.isArray(messages) || !foreignLists.of(messages, (has, message) => has || hasForeignState(message)))
    return messages;
  return messages.flatMap((message: unknown) => {
    if (!hasForeignState(message)) return [message];
    const content = listOf(message.content).filter((block) => !isForeign(block));
    // The API rejects an empty message.
    return content.length === 0 ? [] : [{ ...message, content }];
  });
}

/**
 * Returns the messages with text of the user instead of system messages that the model rejects, or the same list if it has no such
 * messages.
 * @param inline whether the model accepts system messages between a user's turn and an answer
 */
function withReminders(messages: unknown, inline: boolean): unknown {
  const isRefused = (message: unknown, at: number, all: readonly unknown[]): message is Members =>
    isOf(message, 'system') && !(inline && mayPrecede(all[at - 1]) && mayFollow(all[at + 1]));
  if (!Array.isArray(messages) || !instructedLists.of(messages, (has, message) => has || isOf(message, 'system')))
    return messages;
  if (!messages.some(isRefused)) return messages;
  return messages.map((message: unknown, at) => {
    if (!isRefused(message, at, messages)) return message;
    const { content } = message;
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content).filter(isObject);
    return { ...message, role: 'user', content: blocks.map(asReminder) };
  });
}

const isOf = (message: unknown, role: string): message is Members => isObject(message) && message.role === role;

/**
 * Returns whether a system message may follow a message. A system message that may not follow its predecessor is reworded to text of the
 * user.
 */
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

/** The version of Anthropic's API since which it refuses `temperature`, `top_p` and `top_k` for every model. */
const WITHOUT_SAMPLING = '2026-10-21';

/** Adapts fields that the chosen model rejects, because the caller could not know which model would be chosen. */
function fit(body: Body, rules: ModelRules, version: string, dropped: string[]): void {
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
  if (!rules.fixedSampling && version < WITHOUT_SAMPLING) return;
  for (const field of ['temperature', 'top_p', 'top_k']) if (body[field] != null) drop(body, field, dropped);
}

function drop(body: Body, field: string, dropped: string[]): void {
  delete body[field];
  dropped.push(field);
}

/** Keeps the thinking budget below a cap that was lowered because of money or the model's maximum. */
function limitThinking(body: Body, cap: number, dropped: string[]): void {
  if (!isObject(body.thinking)) return;
  const thinking = thinkingBelow(cap, body.thinking);
  if (thinking === null) drop(body, 'thinking', dropped);
  else body.thinking = thinking;
}
