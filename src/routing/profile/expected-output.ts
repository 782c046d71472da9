import type { Turn } from '../../core/conversation.ts';
import type { Facts } from '../../core/facts.ts';
import { estimateTokens } from '../../core/tokens.ts';
import { turnText } from '../texts.ts';
import type { ProfileInput } from './input.ts';
import file from './lexicon/answers.json' with { type: 'json' };
import { expressionsOf, figuresOf } from './lexicon/data.ts';
import { SIGN } from './lexicon/signs.ts';
import { withoutHarness } from './question.ts';
import type { QuestionReading } from './reading.ts';
import { schemaTokens } from './schema-length.ts';
import { readSystemPrompt } from './system-prompt.ts';

/** Visible output tokens of one choice that a request lets expect. */
export interface OutputHint {
  /** By words, a schema, or a text to translate or rewrite; null for none. */
  readonly stated: number | null;
  /** An upper bound: a summary of a short text, the answer to a greeting; null for none. */
  readonly atMost: number | null;
}

const LENGTH = figuresOf(file);
/** Tasks that rewriting is read as: a long text often hides the instruction. */
const PROSE_TASKS: ReadonlySet<string> = new Set(['writing', 'general', 'summarization', 'reasoning']);

type TaskDifficulty = Pick<Facts, 'task' | 'difficulty'>;

/** Reads the expected length of the answer. `last`: the last question. */
export function outputHint(request: ProfileInput, guess: TaskDifficulty, last: QuestionReading | null): OutputHint {
  const { task } = guess;
  const shaped = schemaLength(request);
  const worded = last?.length.tokens(task) ?? systemPromptLength(request.conversation.turns) ?? null;
  if (shaped !== null)
    return { stated: Math.max(shaped, worded ?? 0, textLength(request, task, last) ?? 0), atMost: null };
  if (worded !== null) return { stated: worded, atMost: null };
  return { stated: textLength(request, task, last), atMost: shortAnswer(request, guess, last) };
}

/** Tokens by the schema of the answer, or of the only possible call. */
function schemaLength({ conversation, settings: { answerFormat: format } }: ProfileInput): number | null {
  const { tools, toolChoice: choice } = conversation;
  if (tools.length > 0 && typeof choice === 'object') {
    const called = tools.find(({ name }) => name === choice.name);
    return called ? LENGTH.call_tokens + schemaTokens(called.parameters ?? {}) : null;
  }
  if (tools.length === 1 && choice === 'required') return LENGTH.call_tokens + schemaTokens(tools[0]!.parameters ?? {});
  // A tool may be called instead.
  if (tools.length > 0 && choice !== 'none') return null;
  return format?.type === 'json-schema' && format.schema ? schemaTokens(format.schema) : null;
}

/** The length that the system prompt requests of every answer; the last message with one counts. */
function systemPromptLength(turns: readonly Turn[]): number | null {
  for (let at = turns.length - 1; at >= 0; at--) {
    const turn = turns[at]!;
    if (turn.role !== 'system' && turn.role !== 'developer') continue;
    const text = turnText(turn);
    if (text.length > LENGTH.system_prompt_chars_max) continue;
    const tokens = readSystemPrompt(text).view.reading.length.tokensOfSystemPrompt();
    if (tokens !== null) return tokens;
  }
  return null;
}

/** Translated and rewritten texts keep about their length. */
function textLength(request: ProfileInput, task: string, last: QuestionReading | null): number | null {
  if (last === null) return null;
  const isTranslated = task === 'translation';
  if (!isTranslated && !(PROSE_TASKS.has(task) && last.lead === SIGN.edit)) return null;
  const { turns } = request.conversation;
  const tokens = objectTokens(turns);
  if (isTranslated) return Math.max(LENGTH.rendered_tokens_min, tokens);
  return tokens < LENGTH.text_tokens_min ? shownTokens(lastText(turns), last) : tokens;
}

/** Tokens of a short text behind a colon or in quotes; null for none: then it is of the conversation, or not there yet. */
function shownTokens(text: string, { hasText, quotes }: QuestionReading): number | null {
  if (!hasText && quotes === 0) return null;
  const shown = text.slice(text.search(/[:："“„«「]/) + 1);
  return Math.max(LENGTH.rendered_tokens_min, estimateTokens(shown));
}

const lastText = (turns: readonly Turn[]): string => {
  const turn = turns.findLast(({ role }) => role === 'user');
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
  // "ok" and "1" alone ask for nothing; behind an answer they mean "go on".
  const [only] = turns;
  if (turns.length === 1 && only && SAYS_NOTHING.test(turnText(only).trim())) return EASY.chat!;
  if (difficulty !== 'easy') return null;
  // Thanks and emoji are answered with about as much; a greeting begins a conversation.
  const isThanks = task === 'chat' && last?.signs[SIGN.greet] === 0;
  return isThanks ? Math.max(LENGTH.rendered_tokens_min, estimateTokens(lastText(turns))) : (EASY[task] ?? null);
}

/** Tokens of the answer to an easy request, by task. */
const EASY: Readonly<Record<string, number>> = {
  chat: LENGTH.easy_chat_tokens,
  math: LENGTH.easy_math_tokens,
  classification: LENGTH.easy_classification_tokens,
  general: LENGTH.easy_general_tokens,
};

const { says_nothing: SAYS_NOTHING } = expressionsOf(file);

/** Tokens of the text that the last question is about: its own, else that of the latest long message before it. */
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
