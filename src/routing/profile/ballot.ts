import { languageOf, voteOf } from './lexicon/meaning.ts';
import { NATURAL, VOTER, VOTES } from './natural.ts';

/** The share of their weight that recent votes keep when the next line begins. */
const FADING = 0.04;

/**
 * Counts the votes of words and letters for natural languages. All questions reuse one ballot, so that reading a question allocates no
 * arrays.
 */
export class Ballot {
  /** All votes, in the order of `NATURAL`. */
  readonly votes = new Float64Array(NATURAL.length);
  /** Votes that lose weight with each line, because a text and the instruction about the text may be in two languages. */
  readonly recent = new Float64Array(NATURAL.length);
  /** The language with the most recent votes. */
  leader = 0;

  /** The position of the last word with a meaning, its vote for English, and its largest vote for another language. */
  #at = -1;
  #english = 0;
  #foreign = 0;

  /** Resets all votes before another text is read. */
  clear(): void {
    this.votes.fill(0);
    this.recent.fill(0);
    this.leader = 0;
    this.#at = -1;
  }

  /** Reduces the recent votes at the end of a line. */
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

  /**
   * Counts the meanings of a word, which are `meanings` from `begin` to `end`. A word that English shares, such as "class" or "solve", does
   * not count as a sign of another language.
   */
  word(meanings: Int32Array, begin: number, end: number, from: number, weight: number): void {
    const isNext = from !== this.#at;
    let english = isNext ? 0 : this.#english;
    let foreign = isNext ? 0 : this.#foreign;
    for (let at = begin; at < end; at++) {
      const meaning = meanings[at]!;
      const language = languageOf(meaning);
      if (language < 0) continue;
      const vote = voteOf(meaning);
      this.#add(language, vote * weight);
      if (language === 0) english += vote;
      else if (vote > foreign) foreign = vote;
    }
    if (english !== 0 && foreign > english) {
      const lacks = foreign - english;
      english += lacks;
      this.#add(0, lacks * weight);
    }
    this.#at = from;
    this.#english = english;
    this.#foreign = foreign;
  }

  /** Adds a vote for a language. English wins a tie, because other languages borrow most of their shared words from English. */
  #add(language: number, vote: number): void {
    this.votes[language]! += vote;
    const recent = this.recent[language]! + vote;
    this.recent[language] = recent;
    if (language === this.leader) return;
    const most = this.recent[this.leader]!;
    if (recent > most || (language === 0 && recent === most)) this.leader = language;
  }
}
