import { patternsOf } from './lexicon/data.ts';
import { ANSWER_TOKENS, PIECE_TOKENS, SIGN, UNIT_TOKENS } from './lexicon/signs.ts';
import words from './lexicon/small-words.json' with { type: 'json' };

const TOKENS_MAX = 1_000_000;

/** Words that, before a number, mean that the number limits the answer. */
const BEFORE: ReadonlySet<string> = new Set(patternsOf(words.lists.before_limit));

/** Collects the length of the answer that a text requests, word by word. */
export class AnswerLength {
  /** The tokens of a request such as "in one word". */
  #word: number | null = null;
  /** The tokens of a request such as "200 words in 3 paragraphs". If a text requests several counts, the largest count applies. */
  #counted: number | null = null;
  /** The largest count that follows a word of `BEFORE`. */
  #limited: number | null = null;
  /** The tokens of a request such as "in one sentence" or "briefly". If a text requests several such lengths, the smallest applies. */
  #whole: number | null = null;
  /** The tokens of a piece of writing, such as "a haiku". */
  #piece: number | null = null;

  /** Records a word that names a length, the number before it (0 for none) and the word before that number. */
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
   * Returns the requested output tokens, or null if the text requests no length. For code only limits count, because other numbers mostly
   * describe the code's input. A poem or a post counts as a length only for writing tasks.
   */
  tokens(task: string): number | null {
    // For coding, tool use and chat a number is often not a length: "20 questions" is a game.
    const isCode = task === 'coding' || task === 'tool_use' || task === 'chat';
    const piece = task === 'writing' ? this.#piece : null;
    return whole(this.#word ?? (isCode ? this.#limited : this.#counted) ?? piece ?? this.#whole);
  }

  /** Returns the length that a system prompt requests of every answer. "Be brief" in a system prompt does not count as a length. */
  tokensOfSystemPrompt(): number | null {
    return whole(this.#word ?? this.#limited ?? (this.#whole === ANSWER_TOKENS.get(SIGN.brief) ? null : this.#whole));
  }
}

const whole = (tokens: number | null): number | null =>
  tokens === null ? null : Math.max(1, Math.min(TOKENS_MAX, Math.ceil(tokens)));
