import type { StreamPart } from '../../contract/parts.ts';
import { isObject, parseJson } from '../../core/json/object.ts';
import { isPlausible } from '../../core/money/usage.ts';
import { FAILURE_KINDS } from '../../core/request/failure-kinds.ts';
import { shortJson } from './law.ts';

const FINISHES: readonly unknown[] = ['stop', 'length', 'tool_calls', 'content_filter'];
const KINDS: readonly unknown[] = FAILURE_KINDS;

const isCount = (value: unknown): boolean => typeof value === 'number' && Number.isInteger(value) && value >= 0;
const isText = (value: unknown): boolean => typeof value === 'string';
const isTextOrNone = (value: unknown): boolean => value === undefined || isText(value);
const isObjectOrNone = (value: unknown): boolean => value === undefined || isObject(value);

/** Whether a text is JSON that fits on one line of an event. */
const isJsonLine = (value: unknown): boolean =>
  typeof value === 'string' && !/[\r\n]/.test(value) && parseJson(value) !== undefined;

const isUnread = (value: unknown): boolean =>
  isObject(value) && Array.isArray(value.texts) && value.texts.every(isText) && isCount(value.stateChars);

const isNumber = (value: unknown): boolean => typeof value === 'number';

const isUsage = (value: unknown): boolean =>
  isObject(value) &&
  [value.inputTokens, value.outputTokens, value.reasoningTokens].every(isNumber) &&
  (value.units === undefined || (isObject(value.units) && Object.values(value.units).every(isNumber)));

const isPlaceOrNone = (value: unknown): boolean => value === undefined || (isObject(value) && Array.isArray(value.at));

type Check = (part: Readonly<Record<string, unknown>>) => boolean;

const isTextPart: Check = ({ choice, text, place }) => isCount(choice) && isText(text) && isPlaceOrNone(place);

const FORMS: Readonly<Record<StreamPart['type'], Check>> = {
  text: isTextPart,
  reasoning: isTextPart,
  refusal: isTextPart,
  'tool-call': ({ choice, index, id, name, arguments: args, extra, place }) =>
    isCount(choice) &&
    isCount(index) &&
    isTextOrNone(id) &&
    isTextOrNone(name) &&
    isText(args) &&
    isObjectOrNone(extra) &&
    isPlaceOrNone(place),
  state: ({ choice, details, extra }) =>
    isCount(choice) &&
    (details === undefined || (Array.isArray(details) && details.every(isObject))) &&
    isObjectOrNone(extra),
  logprobs: ({ choice, content, refusal }) => isCount(choice) && Array.isArray(content) && Array.isArray(refusal),
  embedding: ({ choice, index, vector }) =>
    choice === 0 && isCount(index) && Array.isArray(vector) && vector.every((number) => typeof number === 'number'),
  passthrough: ({ choice, event, json, unread, usage }) =>
    choice === 0 &&
    isObject(event) &&
    (json === undefined || isJsonLine(json)) &&
    (unread === undefined || isUnread(unread)) &&
    (usage === undefined || isUsage(usage)),
  unread: ({ choice, unread }) => isCount(choice) && isUnread(unread),
  finish: ({ choice, reason, raw }) => isCount(choice) && FINISHES.includes(reason) && isText(raw),
  usage: ({ usage, serviceTier }) =>
    usage === undefined ? isText(serviceTier) : isUsage(usage) && isTextOrNone(serviceTier),
  failure: ({ failure }) => failureFault(failure) === null,
};

const hasForm = (type: unknown): type is StreamPart['type'] => typeof type === 'string' && Object.hasOwn(FORMS, type);

/** The fault of a failure part; null if it is valid. */
export function failureFault(failure: unknown): string | null {
  if (!isObject(failure)) return `a failure is ${shortJson(failure)}; it must be an object`;
  const { kind, message, status, retryAfterMs } = failure;
  if (!KINDS.includes(kind))
    return `a failure has the unknown kind ${shortJson(kind)}; the kinds are ${KINDS.join(', ')}`;
  if (typeof message !== 'string') return `a failure has the message ${shortJson(message)}; it must be a text`;
  if (status !== undefined && !isCount(status))
    return `a failure has the status ${shortJson(status)}; it must be a whole number from 0`;
  if (retryAfterMs === undefined || (typeof retryAfterMs === 'number' && retryAfterMs >= 0)) return null;
  return `a failure has the waiting time ${shortJson(retryAfterMs)}; it must be a number of ms from 0`;
}

/** The fault of parts under the plugin contract; null if they are valid. */
export function partsFault(parts: unknown): string | null {
  if (!Array.isArray(parts)) return `the adapter returns ${shortJson(parts)}; it must be a list of parts`;
  for (const part of parts) {
    if (!isObject(part) || !hasForm(part.type))
      return `the adapter returns ${shortJson(part)}, which is not a known part`;
    if (part.type === 'failure') {
      const fault = failureFault(part.failure);
      if (fault) return fault;
    }
    if (!FORMS[part.type](part))
      return `the adapter returns ${shortJson(part)}, which does not have the form of a \`${part.type}\` part`;
  }
  return null;
}

/**
 * Finds the fault in the parts of an answer: an impossible usage, or a part after the end of its choice.
 * @param finished receives the choices that end
 */
export function orderFault(parts: readonly StreamPart[], finished: Set<number>): string | null {
  for (const part of parts) {
    if (part.type === 'usage') {
      if (part.usage && !isPlausible(part.usage))
        return `the usage ${shortJson(part.usage)} is impossible: no number may be below 0, cached must be within input, and reasoning within output`;
    } else if (part.type !== 'failure' && part.type !== 'unread') {
      if (finished.has(part.choice)) return `${shortJson(part)} comes after the finish of its choice`;
      if (part.type === 'finish') finished.add(part.choice);
    }
  }
  return null;
}

/**
 * Joins adjacent parts of the same text, so that results do not depend on how the text was split. Leaves out output that is only counted
 * and tiers without a usage, because a stream splits them differently than a whole answer.
 */
export function joinParts(parts: readonly StreamPart[]): StreamPart[] {
  const out: StreamPart[] = [];
  for (const part of parts) {
    if (part.type === 'unread' || (part.type === 'usage' && part.usage === undefined)) continue;
    const last = out.at(-1);
    if (last && 'text' in part && 'text' in last && last.type === part.type && last.choice === part.choice) {
      out[out.length - 1] = { ...last, text: last.text + part.text };
    } else if (last?.type === 'tool-call' && part.type === 'tool-call' && last.index === part.index) {
      out[out.length - 1] = { ...last, arguments: last.arguments + part.arguments };
    } else out.push(part);
  }
  return out;
}
