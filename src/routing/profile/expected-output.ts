import type { Turn } from '../../core/request/conversation.ts';
import { estimateTokens } from '../../core/request/tokens.ts';
import { turnText } from '../texts.ts';
import type { ProfileInput } from './input.ts';
import file from './lexicon/answers.json' with { type: 'json' };
import { figuresOf } from './lexicon/data.ts';
import { withoutHarness } from './message.ts';
import type { Question } from './question.ts';
import { schemaTokens } from './schema-length.ts';
import { COLUMN } from './table.ts';

/** The visible output that a request suggests, in tokens of one choice. */
export interface OutputHint {
  /** The length that words, a schema, or a text to translate determine; null for none. */
  readonly stated: number | null;
  /** An upper bound, such as the length of a summary of a short text or of the answer to a greeting; null for none. */
  readonly atMost: number | null;
}

const LENGTH = figuresOf(file);
/** Tasks in whose questions a number mostly describes something else than the answer, unless a word says that it is a limit. */
const OF_NUMBERS: ReadonlySet<string> = new Set(['coding', 'tool_use', 'chat']);
/** Tasks whose answers depend on more than words: the length of a call, and of what an image shows, is not read. */
const UNREAD: ReadonlySet<string> = new Set(['tool_use', 'vision']);
/** The log odds from which an answer counts as short: 82 %. On new authors, nine of ten such answers had at most 70 tokens. */
const SHORT = 1.5;

/** Reads the expected length of the answer from a request. */
export function outputHint(request: ProfileInput, task: string, question: Question): OutputHint {
  const { turns } = request.conversation;
  const shaped = schemaLength(request);
  const worded = statedLength(task, question);
  const translated = task === 'translation' ? Math.max(LENGTH.rendered_tokens_min, objectTokens(turns)) : null;
  if (shaped !== null) return { stated: Math.max(shaped, worded ?? 0, translated ?? 0), atMost: null };
  if (worded !== null) return { stated: worded, atMost: null };
  return { stated: translated, atMost: shortAnswer(turns, task, question) };
}

/** Returns the length that the last question states, or that the system prompt states for every answer. */
function statedLength(task: string, { asked, system }: Question): number | null {
  const stated = asked[0]?.message.stated;
  const own = (OF_NUMBERS.has(task) ? stated?.limited : stated?.counted) ?? null;
  if (own !== null || system === null || system.length > LENGTH.system_prompt_chars_max) return own;
  return system.stated.limited;
}

/** Returns the tokens that the schema of the answer suggests, or the schema of the only possible tool call. */
function schemaLength({ conversation, settings: { answerFormat: format } }: ProfileInput): number | null {
  const { tools, toolChoice: choice } = conversation;
  if (tools.length > 0 && typeof choice === 'object') {
    const called = tools.find(({ name }) => name === choice.name);
    return called ? LENGTH.call_tokens + schemaTokens(called.parameters ?? {}) : null;
  }
  if (tools.length === 1 && choice === 'required') return LENGTH.call_tokens + schemaTokens(tools[0]!.parameters ?? {});
  // The model may call a tool instead of answering in the schema.
  if (tools.length > 0 && choice !== 'none') return null;
  return format?.type === 'json-schema' && format.schema ? schemaTokens(format.schema) : null;
}

function shortAnswer(turns: readonly Turn[], task: string, { asked, odds }: Question): number | null {
  if (task === 'summarization') {
    const tokens = objectTokens(turns);
    if (tokens >= LENGTH.text_tokens_min)
      return Math.max(LENGTH.summary_tokens_min, Math.ceil(LENGTH.summary_share * tokens));
  }
  // A short message after an answer, such as "ok", may ask to go on.
  return asked.length === 1 && !UNREAD.has(task) && odds[COLUMN.short]! > SHORT ? LENGTH.short_tokens : null;
}

/** Returns the tokens of the text that the last question is about: its own text, or otherwise the latest long message before it. */
function objectTokens(turns: readonly Turn[]): number {
  let own = 0;
  for (let at = turns.length - 1, read = 0; at >= 0 && read < 3; at--) {
    const turn = turns[at]!;
    if (turn.role !== 'user' && turn.role !== 'assistant') continue;
    read++;
    const tokens = estimateTokens(withoutHarness(turnText(turn)));
    if (read === 1) own = tokens;
    if (tokens >= LENGTH.text_tokens_min) return tokens;
  }
  return own;
}
