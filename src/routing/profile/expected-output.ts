import type { Turn } from '../../core/request/conversation.ts';
import type { Facts } from '../../core/request/facts.ts';
import { estimateTokens } from '../../core/request/tokens.ts';
import { turnText } from '../texts.ts';
import type { ProfileInput } from './input.ts';
import file from './lexicon/answers.json' with { type: 'json' };
import { expressionsOf, figuresOf } from './lexicon/data.ts';
import { SIGN } from './lexicon/signs.ts';
import type { PromptReader } from './prompt-reader.ts';
import { withoutHarness } from './question.ts';
import type { QuestionReading } from './reading.ts';
import { schemaTokens } from './schema-length.ts';
import { userPlaces } from './user-turn.ts';

/** The visible output that a request suggests, in tokens of one choice. */
export interface OutputHint {
  /** The length that words, a schema, or a text to translate or rewrite determine; null for none. */
  readonly stated: number | null;
  /** An upper bound, such as the length of a summary of a short text or of the answer to a greeting; null for none. */
  readonly atMost: number | null;
}

const LENGTH = figuresOf(file);
/** The tasks that a request to rewrite a text is often classified as, because a long text can hide the instruction. */
const PROSE_TASKS: ReadonlySet<string> = new Set(['writing', 'general', 'summarization', 'reasoning']);

type TaskDifficulty = Pick<Facts, 'task' | 'difficulty'>;

/** Reads the expected length of the answer from a request. `last` is the reading of the last question. */
export function outputHint(
  request: ProfileInput,
  guess: TaskDifficulty,
  last: QuestionReading | null,
  reader: PromptReader,
): OutputHint {
  const { task } = guess;
  const shaped = schemaLength(request);
  const worded = last?.length.tokens(task) ?? systemPromptLength(request.conversation.turns, reader) ?? null;
  if (shaped !== null)
    return { stated: Math.max(shaped, worded ?? 0, textLength(request, task, last) ?? 0), atMost: null };
  if (worded !== null) return { stated: worded, atMost: null };
  return { stated: textLength(request, task, last), atMost: shortAnswer(request, guess, last) };
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

/**
 * Returns the length that the system prompt requests of every answer. If several system messages state a length, the last of them counts.
 */
function systemPromptLength(turns: readonly Turn[], reader: PromptReader): number | null {
  for (let at = turns.length - 1; at >= 0; at--) {
    const turn = turns[at]!;
    if (turn.role !== 'system' && turn.role !== 'developer') continue;
    const text = turnText(turn);
    if (text.length > LENGTH.system_prompt_chars_max) continue;
    const tokens = reader.systemPrompt(text).view.reading.length.tokensOfSystemPrompt();
    if (tokens !== null) return tokens;
  }
  return null;
}

/** Returns the length of the text to translate or rewrite, because the answer has about the same length. */
function textLength(request: ProfileInput, task: string, last: QuestionReading | null): number | null {
  if (last === null) return null;
  const isTranslated = task === 'translation';
  if (!isTranslated && !(PROSE_TASKS.has(task) && last.lead === SIGN.edit)) return null;
  const { turns } = request.conversation;
  const tokens = objectTokens(turns);
  if (isTranslated) return Math.max(LENGTH.rendered_tokens_min, tokens);
  return tokens < LENGTH.text_tokens_min ? shownTokens(lastText(turns), last) : tokens;
}

/**
 * Returns the tokens of a short text after a colon or in quotes. The result is null if the message has no such text: the text is then
 * elsewhere in the conversation, or still to come.
 */
function shownTokens(text: string, { hasText, quotes }: QuestionReading): number | null {
  if (!hasText && quotes === 0) return null;
  const shown = text.slice(text.search(/[:："“„«「]/) + 1);
  return Math.max(LENGTH.rendered_tokens_min, estimateTokens(shown));
}

const lastText = (turns: readonly Turn[]): string => {
  const turn = turns[userPlaces(turns).at(-1) ?? -1];
  return turn ? withoutHarness(turnText(turn)) : '';
};

function shortAnswer(
  { conversation: { turns } }: ProfileInput,
  { task, difficulty }: TaskDifficulty,
  last: QuestionReading | null,
): number | null {
  if (task === 'summarization') {
    const tokens = objectTokens(turns);
    return tokens < LENGTH.text_tokens_min
      ? null
      : Math.max(LENGTH.summary_tokens_min, Math.ceil(LENGTH.summary_share * tokens));
  }
  // "ok" and "1" request nothing as a first message. After an answer, "ok" and "1" mean "go on".
  const [only] = turns;
  if (turns.length === 1 && only && SAYS_NOTHING.test(turnText(only).trim())) return EASY.chat!;
  if (difficulty !== 'easy') return null;
  // The answer to thanks or emoji is about as short as the message; a greeting begins a conversation.
  const isThanks = task === 'chat' && last?.signs[SIGN.greet] === 0;
  return isThanks ? Math.max(LENGTH.rendered_tokens_min, estimateTokens(lastText(turns))) : (EASY[task] ?? null);
}

/** The expected tokens of the answer to an easy request, by task. */
const EASY: Readonly<Record<string, number>> = {
  chat: LENGTH.easy_chat_tokens,
  math: LENGTH.easy_math_tokens,
  classification: LENGTH.easy_classification_tokens,
  general: LENGTH.easy_general_tokens,
};

const { says_nothing: SAYS_NOTHING } = expressionsOf(file);

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
