import { SIGN } from './lexicon/lexicon.ts';

/** Tokens of one of these, in a language of many letters a token. */
const UNITS: Readonly<Record<number, number>> = {
  [SIGN.char_unit]: 0.25,
  [SIGN.word_unit]: 1.5,
  [SIGN.item_unit]: 25,
  [SIGN.sentence_unit]: 30,
  [SIGN.paragraph_unit]: 120,
  [SIGN.page_unit]: 700,
};
const WHOLE: Readonly<Record<number, number>> = {
  [SIGN.one_word]: 4,
  [SIGN.one_sentence]: 30,
  [SIGN.one_paragraph]: 120,
  [SIGN.brief]: 100,
};
/** Of what is written rather than answered. */
const PIECES: Readonly<Record<number, number>> = { [SIGN.verse]: 25, [SIGN.post]: 60 };
const TOKENS_MAX = 1_000_000;

/** What stands before a number that the answer shall keep to: "in 3 sentences", not "the first 3 words". */
const BEFORE: ReadonlySet<string> = new Set(
  `in within under max most about only exactly auf unter höchstens maximal dans en sous em até w v do в до у за на sotto
    binnen onder dalam trong`.split(/\s+/),
);

/** How long a text says that its answer shall be, gathered word by word. */
export class AnswerLength {
  /** "In one word". */
  #word: number | null = null;
  /** "200 words in 3 paragraphs": the most of them; and the most of those that a preposition leads in. */
  #counted: number | null = null;
  #led: number | null = null;
  /** "In one sentence", "briefly": the least of them. */
  #whole: number | null = null;
  /** "A haiku". */
  #piece: number | null = null;

  /** Takes a word that tells a length, the number before it (0 for none) and the word before that. */
  note(sign: number, number: number, before: string): void {
    const whole = WHOLE[sign];
    const piece = PIECES[sign];
    if (sign === SIGN.one_word) this.#word = WHOLE[sign]!;
    else if (whole !== undefined) this.#whole = Math.min(whole, this.#whole ?? whole);
    else if (piece !== undefined) this.#piece = Math.max(piece * Math.max(1, number), this.#piece ?? 0);
    else if (number > 0) {
      const tokens = number * UNITS[sign]!;
      this.#counted = Math.max(tokens, this.#counted ?? 0);
      if (BEFORE.has(before)) this.#led = Math.max(tokens, this.#led ?? 0);
    }
  }

  /**
   * Output tokens that are asked for; null where nothing is said. Of code only what is led in counts, for its counts
   * are mostly of what it works on; a poem or a post is a length only where one is to be written.
   */
  tokens(task: string): number | null {
    // "20 questions" is a game.
    const isCode = task === 'coding' || task === 'tool_use' || task === 'chat';
    const piece = task === 'writing' ? this.#piece : null;
    return whole(this.#word ?? (isCode ? this.#led : this.#counted) ?? piece ?? this.#whole);
  }

  /** What a standing instruction asks of every answer: as `tokens`, without what says "be brief" of any length. */
  standing(): number | null {
    return whole(this.#word ?? this.#led ?? (this.#whole === WHOLE[SIGN.brief] ? null : this.#whole));
  }
}

const whole = (tokens: number | null): number | null =>
  tokens === null ? null : Math.max(1, Math.min(TOKENS_MAX, Math.ceil(tokens)));
