import type { StreamPart, UnreadOutput } from '../../contract/parts.ts';
import { TextRun } from '../../contract/text-run.ts';
import { isObject } from '../../core/json/object.ts';
import { tokenWeight, weightWithin } from '../../core/request/tokens.ts';

/** The number of base64 characters that count as one token. Base64 state is denser than text, and no tokenizer reads it. */
const STATE_CHARS_PER_TOKEN = 4;

/** Members of a state entry that do not contain state: names, and texts that other parts already contain. */
const PLAIN: ReadonlySet<string> = new Set(['type', 'format', 'id', 'text', 'summary']);

/**
 * Adds the tokens of a part of an answer to a sum. The tokens are counted if the answer's provider reports no usage, event by event, so that
 * the sum does not depend on how the events arrive.
 */
export function addWeight(sum: number, part: StreamPart): number {
  if (!(part instanceof TextRun)) return sum + outputWeight(part);
  let weight = sum;
  let start = 0;
  for (const end of part.ends) {
    weight += weightWithin(part.text, start, end);
    start = end;
  }
  return weight;
}

function outputWeight(part: StreamPart): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
    case 'refusal':
      return tokenWeight(part.text);
    case 'tool-call':
      return tokenWeight(part.arguments) + tokenWeight(part.name ?? '') + weightOfState(part.extra);
    case 'state':
      return weightOfState(part.details) + weightOfState(part.extra);
    case 'passthrough':
    case 'unread':
      return part.unread ? weightOfUnread(part.unread) : 0;
    default:
      return 0;
  }
}

function weightOfUnread({ texts, stateChars: chars }: UnreadOutput): number {
  let weight = chars / STATE_CHARS_PER_TOKEN;
  for (const text of texts) weight += tokenWeight(text);
  return weight;
}

const weightOfState = (state: unknown): number => (state === undefined ? 0 : stateChars(state) / STATE_CHARS_PER_TOKEN);

function stateChars(state: unknown): number {
  if (typeof state === 'string') return state.length;
  if (Array.isArray(state)) return state.reduce<number>((sum, one) => sum + stateChars(one), 0);
  if (!isObject(state)) return 0;
  let chars = 0;
  for (const name in state) if (!PLAIN.has(name)) chars += stateChars(state[name]);
  return chars;
}
