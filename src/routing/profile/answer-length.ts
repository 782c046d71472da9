import { patternsOf } from './lexicon/data.ts';
import { ANSWER_TOKENS, PIECE_TOKENS, SIGN, UNIT_TOKENS } from './lexicon/signs.ts';
import words from './lexicon/small-words.json' with { type: 'json' };

const TOKENS_MAX = 1_000_000;

/** Words before a number that limits the answer. */
const BEFORE: ReadonlySet<string> = new Set(patternsOf(words.lists.before_limit));

/** The length of the answer that a text asks for, gathered word by word. */
export class AnswerLength {
  /** "In one word". */
  #word: number | null = null;
  /** "200 words in 3 paragraphs": the largest count. */
  #counted: number | null = null;
  /** The largest count behind a word of `BEFORE`. */
  #limited: number | null = null;
  /** "In one sentence", "briefly": the smallest. */
  #whole: number | null = null;
  /** "A haiku". */
  #piece: number | null = null;

  /** Takes a word for a length, the number before it (0 for none) and the word before that number. */
  note(sign: number, number: number, before: string): void {
    const whole = ANSWER_TOKENS.get(sign);
    const piece = PIECE_TOKENS.get(sign);
    if (sign === SIGN.one_word) this.#word = whole!;
    else if (whole !== undefined) this.#whole = Math.min(whole, this.#whole ?? whole);
    else if (piece !== undefined) this.#piece = Math.max(piece * Math.max(1, number), this.#piece ?? 0);
    else if (number > 0) {
      const tokens = number * UNIT_TOKENS.get(sign)!;
      this.#counted = Math.max(tokens, this.#counted ?? 0);
      if (BEFORE.has(before)) this.#limited = Math.max(tokens, this.#limited ?? 0);
    }
  }

  /**
   * Requested output tokens; null without a request. For code only limits count, because other numbers mostly describe its
   * input. A poem or a post is a length only for writing tasks.
   */
  tokens(task: string): number | null {
    // "20 questions" is a game.
    const isCode = task === 'coding' || task === 'tool_use' || task === 'chat';
    const piece = task === 'writing' ? this.#piece : null;
    return whole(this.#word ?? (isCode ? this.#limited : this.#counted) ?? piece ?? this.#whole);
  }

  /** The length that a system prompt requests of every answer; "be brief" is none. */
  tokensOfSystemPrompt(): number | null {
    return whole(this.#word ?? this.#limited ?? (this.#whole === ANSWER_TOKENS.get(SIGN.brief) ? null : this.#whole));
  }
}

const whole = (tokens: number | null): number | null =>
  tokens === null ? null : Math.max(1, Math.min(TOKENS_MAX, Math.ceil(tokens)));
