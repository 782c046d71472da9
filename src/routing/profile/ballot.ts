import type { Meaning } from './lexicon/lexicon.ts';
import { NATURAL, VOTER, VOTES } from './natural.ts';

/** What votes for a language count in the next line. */
const FADING = 0.04;

/** Counts the votes of words and letters for natural languages. */
export class Ballot {
  /** All votes, in the order of `NATURAL`. */
  readonly votes = new Float64Array(NATURAL.length);
  /** Votes of late: a text may be in one language, and what is asked of it in another. */
  readonly recent = new Float64Array(NATURAL.length);
  /** The language with the most votes of late. */
  leader = 0;

  /** Where the last word with a meaning stands, and how it votes for English, and for another language at most. */
  #at = -1;
  #english = 0;
  #foreign = 0;

  /** A line ends. */
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

  /** The meanings of a word at a place; one that English has too tells no other language: "class", "solve", "ideas". */
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

  /** Of languages that are as likely, English leads: its words are lent most. */
  #add(language: number, vote: number): void {
    this.votes[language]! += vote;
    this.recent[language]! += vote;
    const over = this.recent[language]! - this.recent[this.leader]!;
    if (over > 0 || (language === 0 && over === 0)) this.leader = language;
  }
}
