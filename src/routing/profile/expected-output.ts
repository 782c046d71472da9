import type { ChatMessage } from '../../core/chat-request.ts';
import type { Facts } from '../../core/facts.ts';
import { estimateTokens } from '../../core/tokens.ts';
import { SIGN } from './lexicon/lexicon.ts';
import type { ProfileInput } from './profile.ts';
import { readQuestion, withoutHarness } from './question.ts';
import { QuestionReading } from './reading.ts';
import { schemaTokens } from './schema-length.ts';

/** Visible output tokens of one choice, as the request lets expect them. */
export interface OutputHint {
  /** It says so: in words, by a schema, or by the text that it has rendered or rewritten; null where it does not. */
  readonly stated: number | null;
  /** It cannot be much more: a summary of a short text, the answer to a greeting; null where nothing tells. */
  readonly atMost: number | null;
}

/** A standing instruction beyond this, UTF-16 code units, speaks of many things; a length in it may be of any of them. */
const STANDING_LENGTH = 800;
/** Of a call beside its arguments: the name and what is around. */
const CALL = 10;
/** A text of so few tokens is the instruction itself. */
const TEXT_MIN = 30;
const RENDERED_MIN = 8;
/** Tasks that a text may be rewritten in, as they are read: a long one often hides what is asked. */
const PROSE_TASKS: ReadonlySet<string> = new Set(['writing', 'general', 'summarization', 'reasoning']);
/** A summary is so much of its text. */
const SUMMARY_SHARE = 0.3;
const SUMMARY_MIN = 30;

/** What was read of the request before. */
type Decided = Pick<Facts, 'task' | 'difficulty'>;

/** How long the answer is expected to be by what is asked. `task` is the likeliest; `last` reads the last question. */
export function outputHint(request: ProfileInput, decided: Decided, last: QuestionReading | null): OutputHint {
  const { task } = decided;
  const shaped = shapedTokens(request);
  const worded = last?.length.tokens(task) ?? standingLength(request.messages) ?? null;
  if (shaped !== null)
    return { stated: Math.max(shaped, worded ?? 0, textLength(request, task, last) ?? 0), atMost: null };
  if (worded !== null) return { stated: worded, atMost: null };
  return { stated: textLength(request, task, last), atMost: shortAnswer(request, decided) };
}

/** By the schema of the answer, or of the only call that can be made. */
function shapedTokens({ response_format: format, tools, tool_choice: choice }: ProfileInput): number | null {
  if (tools?.length && choice !== undefined && choice !== null && typeof choice !== 'string') {
    const called = tools.find((tool) => tool.function.name === choice.function.name);
    return called ? CALL + schemaTokens(called.function.parameters ?? {}) : null;
  }
  if (tools?.length === 1 && choice === 'required') return CALL + schemaTokens(tools[0]!.function.parameters ?? {});
  // A tool may be called instead.
  if (tools?.length && choice !== 'none') return null;
  return format?.type === 'json_schema' && format.json_schema.schema ? schemaTokens(format.json_schema.schema) : null;
}

/** What the system prompt asks of every answer: the last one that says so. */
function standingLength(messages: readonly ChatMessage[]): number | null {
  for (let at = messages.length - 1; at >= 0; at--) {
    const { role, content } = messages[at]!;
    if (role !== 'system' && role !== 'developer') continue;
    const text = textOf(content);
    if (text.length > STANDING_LENGTH) continue;
    const stated = new QuestionReading(readQuestion(text)).length.standing();
    if (stated !== null) return stated;
  }
  return null;
}

/** A translation is about as long as its text, and so is one that is rewritten. */
function textLength(request: ProfileInput, task: string, last: QuestionReading | null): number | null {
  if (last === null) return null;
  const isTranslated = task === 'translation';
  if (!isTranslated && !(PROSE_TASKS.has(task) && last.lead === SIGN.edit)) return null;
  const tokens = objectTokens(request.messages);
  if (isTranslated) return Math.max(RENDERED_MIN, tokens);
  return tokens < TEXT_MIN ? null : tokens;
}

function shortAnswer({ messages }: ProfileInput, { task, difficulty }: Decided): number | null {
  if (task === 'summarization') {
    const tokens = objectTokens(messages);
    return tokens < TEXT_MIN ? null : Math.max(SUMMARY_MIN, Math.ceil(SUMMARY_SHARE * tokens));
  }
  // Alone, "ok" and "1" ask for nothing; behind an answer they say to go on.
  const [only] = messages;
  if (messages.length === 1 && only && SAYS_NOTHING.test(textOf(only.content).trim())) return EASY.chat!;
  return difficulty === 'easy' ? (EASY[task] ?? null) : null;
}

/** The answer to a plainly easy request, by its task: a greeting, a sum in a line, a label of a few, a plain fact. */
const EASY: Readonly<Record<string, number>> = { chat: 40, math: 40, classification: 10, general: 60 };

const SAYS_NOTHING =
  /^(?:\d{1,3}|o?k(?:ay)?|yes|yep|no|nope|sure|test(?:ing)?|h+m+|[yn]|ja|nein|sí|si|oui|non|sim|да|нет|ок|はい|いいえ|好|好的|嗯|네)[.!]*$/iu;

/** Tokens of the text that the last question is about: its own, or where that is too short to have one, the one before. */
function objectTokens(messages: readonly ChatMessage[]): number {
  let own = 0;
  for (let at = messages.length - 1, turns = 0; at >= 0 && turns < 3; at--) {
    const { role, content } = messages[at]!;
    if (role !== 'user' && role !== 'assistant') continue;
    turns++;
    const tokens = estimateTokens(withoutHarness(textOf(content)));
    if (turns === 1) own = tokens;
    if (tokens >= TEXT_MIN) return tokens;
  }
  return own;
}

function textOf(content: ChatMessage['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}
