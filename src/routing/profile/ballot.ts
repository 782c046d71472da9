import type { Meaning } from './lexicon/lexicon.ts';
import { NATURAL, VOTER, VOTES } from './natural.ts';

/** Weight that recent votes keep in the next line. */
const FADING = 0.04;

/** Counts votes of words and letters for natural languages. */
export class Ballot {
  /** In the order of `NATURAL`. */
  readonly votes = new Float64Array(NATURAL.length);
  /** Votes that fade by line: a text and the instruction about it may be in two languages. */
  readonly recent = new Float64Array(NATURAL.length);
  /** The language with the most recent votes. */
  leader = 0;

  /** Position of the last word with a meaning, its vote for English, and its largest vote for another language. */
  #at = -1;
  #english = 0;
  #foreign = 0;

  /** Ends a line. */
  fade(): void {
    for (let language = 0; language < this.recent.length; language++) this.recent[language]! *= FADING;
  }

  letter(code: number, weight: number): void {
    const voter = VOTER[code]!;
    if (voter === 0) return;
    const vote = VOTES[code]! * weight;
    this.votes[voter - 1]! += vote;
    this.recent[voter - 1]! += vote;
  }

  /** Counts the meanings of a word. One that English shares is no sign of another language: "class", "solve". */
  word(values: readonly Meaning[], from: number, weight: number): void {
    if (from !== this.#at) {
      this.#at = from;
      this.#english = 0;
      this.#foreign = 0;
    }
    for (let at = 0; at < values.length; at++) {
      const { language, vote } = values[at]!;
      if (language < 0) continue;
      this.#add(language, vote * weight);
      if (language === 0) this.#english += vote;
      else this.#foreign = Math.max(this.#foreign, vote);
    }
    const lacks = this.#foreign - this.#english;
    if (this.#english === 0 || lacks <= 0) return;
    this.#english += lacks;
    this.#add(0, lacks * weight);
  }

  /** English wins a tie: other languages borrow most from it. */
  #add(language: number, vote: number): void {
    this.votes[language]! += vote;
    this.recent[language]! += vote;
    const over = this.recent[language]! - this.recent[this.leader]!;
    if (over > 0 || (language === 0 && over === 0)) this.leader = language;
  }
}
