import type { ToolDefinition, Turn } from '../../core/request/conversation.ts';
import { ESCALATION_NAMES, type Escalation, type EscalationSignal } from '../../core/request/escalation.ts';
import { isFittingCall } from '../../core/request/fitting-call.ts';
import type { CheckBudget } from '../../core/schema/fits.ts';
import { turnText } from '../texts.ts';
import file from './lexicon/corrections.json' with { type: 'json' };

/** The steps that checking the calls of a transcript may take. Calls that are left when they are used up count as good. */
const CHECK_STEPS = 20_000;

/**
 * Finds the latest signal in a transcript that an earlier answer failed. Only the last answers and the turns around them are read, so the
 * cost has a bound, and all servers agree. Whether an answer should have been JSON is not known, because only the present request says which
 * format it wants.
 * @param answers the number of answers without a signal that ends an escalation, 1 or more
 * @param on the signals that count
 * @param tools the functions of the present request
 * @returns undefined if no signal is recent enough
 */
export function transcriptEscalation(
  turns: readonly Turn[],
  answers: number,
  on: readonly EscalationSignal[] = ESCALATION_NAMES,
  tools: readonly ToolDefinition[] = NO_TOOLS,
): Escalation | undefined {
  const budget: CheckBudget = { left: CHECK_STEPS };
  let turnsAgo = 0;
  for (let at = turns.length - 1; at > 0 && turnsAgo < answers; at--) {
    const turn = turns[at]!;
    if (turn.role === 'user' && turns[at - 1]!.role === 'assistant') {
      const text = turnText(turn).trim();
      if (on.includes('repeated_question') && repeatsQuestion(turns, at, text))
        return { signal: 'repeated_question', turnsAgo };
      if (on.includes('correction') && isCorrection(text)) return { signal: 'correction', turnsAgo };
    }
    // An assistant turn at the end is the beginning of the answer, which the caller wrote.
    if (turn.role !== 'assistant' || at === turns.length - 1) continue;
    const signal = signalOf(turn, tools, budget);
    if (signal && on.includes(signal)) return { signal, turnsAgo };
    turnsAgo++;
  }
  return undefined;
}

/** Whether a user's turn is the same question as the user's turn directly before the last answer. */
function repeatsQuestion(turns: readonly Turn[], at: number, text: string): boolean {
  const before = turns[at - 2];
  return before?.role === 'user' && isQuestion(text) && text === turnText(before).trim();
}

/** Shorter turns, such as "continue", "yes" or "1", are often sent twice although no answer failed, in characters. */
const QUESTION_MIN = 20;
/** The same bound for Chinese, Japanese and Korean, which need fewer characters. */
const DENSE_QUESTION_MIN = 8;
const LETTERS = /\p{L}/gu;
const DENSE_LETTERS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu;

/** Whether a turn is long enough to be a question of its own. */
function isQuestion(text: string): boolean {
  // A character has at most two UTF-16 code units.
  if (text.length >= 2 * QUESTION_MIN) return true;
  const { length } = [...text];
  return length >= QUESTION_MIN || (length >= DENSE_QUESTION_MIN && isDense(text));
}

/** Whether at least half of the letters are Chinese, Japanese or Korean. */
const isDense = (text: string): boolean => 2 * countOf(text, DENSE_LETTERS) >= Math.max(1, countOf(text, LETTERS));

const countOf = (text: string, letters: RegExp): number => text.match(letters)?.length ?? 0;

/** A longer turn says more than that the answer is wrong, in UTF-16 code units. */
const CORRECTION_MAX = 160;
const CORRECTIONS: ReadonlySet<string> = new Set(Object.values(file.corrections).flat());
const LONGEST = Math.max(...Array.from(CORRECTIONS, ({ length }) => length));

/** Whether a short turn begins with words such as "that is wrong", in one of many languages. */
function isCorrection(text: string): boolean {
  if (text.length > CORRECTION_MAX) return false;
  const start = text.toLowerCase().replaceAll('’', "'").replace(NO, '');
  for (let length = Math.min(LONGEST, start.length); length > 0; length--) {
    if (!CORRECTIONS.has(start.slice(0, length))) continue;
    // A word of a script with spaces must end here: "wrong, because", but not "wrongly".
    if (!LETTER.test(start.slice(length)) || NO_SPACES.test(start)) return true;
  }
  return false;
}

/** A word before a correction, as in "no, that is wrong". */
const NO = /^(?:no|nope|nein|non|não|nee|nej|нет|nie)[,.!:;]\s*/u;
const LETTER = /^[\p{L}\p{M}\p{N}]/u;
const NO_SPACES = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

const NO_TOOLS: readonly ToolDefinition[] = [];

function signalOf(
  { parts, extras }: Turn,
  tools: readonly ToolDefinition[],
  budget: CheckBudget,
): EscalationSignal | null {
  let isBlank = Object.keys(extras).length === 0;
  for (const part of parts) {
    if (part.type === 'refusal') return 'refused_answer';
    if (part.type === 'tool-call' && !isFittingCall(part, tools, budget)) return 'malformed_call';
    if (part.type !== 'text' || part.text.trim() !== '') isBlank = false;
  }
  return isBlank ? 'empty_answer' : null;
}
