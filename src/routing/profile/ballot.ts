import { languageOf, voteOf } from './lexicon/meaning.ts';
import { NATURAL, VOTER, VOTES } from './natural.ts';

/** Weight that recent votes keep in the next line. */
const FADING = 0.04;

/** Counts votes of words and letters for natural languages. It is used again, so that a question makes no arrays. */
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

  /** Begins another text. */
  clear(): void {
    this.votes.fill(0);
    this.recent.fill(0);
    this.leader = 0;
    this.#at = -1;
  }

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

  /**
   * Counts the meanings of a word: those of `meanings` from `begin` to `end`. One that English shares is no sign of another language:
   * "class", "solve".
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

  /** English wins a tie: other languages borrow most from it. */
  #add(language: number, vote: number): void {
    this.votes[language]! += vote;
    const recent = this.recent[language]! + vote;
    this.recent[language] = recent;
    if (language === this.leader) return;
    const most = this.recent[this.leader]!;
    if (recent > most || (language === 0 && recent === most)) this.leader = language;
  }
}
