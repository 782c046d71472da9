import { AnswerLength } from './answer-length.ts';
import { Ballot } from './ballot.ts';
import { DIGIT, FOLDED, GAP, isUnspaced, MARK, STEM_LETTERS, STEM_PLACES, stemOn } from './letters.ts';
import { EXTENSION, HOMOGRAPH, LEXICON, type Meaning, NAME, NUMERAL, SIGN, TOPIC } from './lexicon/lexicon.ts';
import { SIGNS } from './lexicon/signs.ts';
import {
  isDefinition,
  isErrorName,
  isFlag,
  isLatex,
  isOfFormula,
  isSentenceEnd,
  isSymbol,
  numberAt,
  quoteEnd,
} from './punctuation.ts';
import type { QuestionText } from './question.ts';
import { matchAt } from './trie.ts';

/** What words count that are shown and not asked: after a colon, in quotes. */
const SHOWN = 0.15;
/** What they count at the end of a long text whose beginning says what to do with it. */
const AFTER_TEXT = 0.3;
/** From this weight on a word can be a verb that leads, or what shall be made. */
const ASKED = 0.4;

/** Verbs that name a task. The first one leads; one after it is mostly about what it shall be done to. */
const LEADS: ReadonlySet<number> = new Set([
  SIGN.translate,
  SIGN.summarize,
  SIGN.extract,
  SIGN.classify,
  SIGN.edit,
  SIGN.solve,
]);
/** Those that are done to a text, which follows. */
const ON_TEXT: ReadonlySet<number> = new Set([SIGN.translate, SIGN.summarize, SIGN.extract, SIGN.classify, SIGN.edit]);
const OBJECTS: ReadonlySet<number> = new Set([SIGN.prose, SIGN.piece, SIGN.code, SIGN.program]);
/** Those and others that a document speaks of as well. */
const THINGS: ReadonlySet<number> = new Set([...OBJECTS, SIGN.tongue, SIGN.fields, SIGN.labels, SIGN.given]);
/** How far a word may stand behind the verb that it is the object of, characters; half of it before one. */
const REACH = 80;
/** A sign opens a sentence that stands before its word of this number. */
const OPEN = 4;
/** How near to the beginning "and" goes on with what was said before, and to either end thanks are thanks. */
const OPENING = 6;
const THANKS = 14;

/** What the words of a question tell. Weights: 1 for a word that asks. */
export class QuestionReading {
  /** How much was seen of each sign, in the order of `SIGNS`. */
  readonly signs = new Float64Array(SIGNS.length);
  /** Signs that a sentence begins with, or nearly so: 1 for each. */
  readonly openings = new Uint8Array(SIGNS.length);
  /** How much was seen of each natural language, in the order of `NATURAL`. */
  readonly votes: Float64Array;
  /** Programming languages by name, and names that are everyday words too. */
  readonly languages: string[] = [];
  readonly homographs: string[] = [];
  /** Topics of tools, as these are named in English. */
  readonly topics: string[] = [];
  /** How sure it is that a programming language is named, 0..1. */
  named = 0;
  words = 0;
  /** Words that say nothing by themselves: articles, pronouns, question words. */
  known = 0;
  /** Quantities, and those among them that arithmetic is done with. */
  numbers = 0;
  formulas = 0;
  latex = 0;
  /** Marks of code: operators, options of commands, backticks. */
  symbols = 0;
  flags = 0;
  ticks = 0;
  quotes = 0;
  asksMark = false;
  /** Whether something stands behind a colon, and whether it is a text to do something with. */
  colon = false;
  hasText = false;
  /** The first verb that names a task, and the sign of the noun that is to be made; -1 for none. */
  lead = -1;
  object = -1;
  /** Stems of the words, as figures; the first two words stand once more as such. */
  readonly stems: number[] = [];
  /** How long the answer shall be. */
  readonly length = new AnswerLength();

  readonly #text: string;
  readonly #start: number;
  readonly #end: number;
  readonly #ballot = new Ballot();
  #weight = 1;
  #made = -1;
  #placed = 0;
  #noun = -1;
  #nounAt = -1;
  #number = 0;
  #numberFrom = -1;
  #numberEnd = -1;
  /** Where the last homograph stands. */
  #homographAt = -1;
  /** Words since the sentence began. */
  #place = 0;

  constructor({ text, lines, length, head, tail }: QuestionText) {
    this.#text = text;
    this.votes = this.#ballot.votes;
    this.#start = lines[0]?.from ?? 0;
    this.#end = lines.at(-1)?.to ?? 0;
    // Nothing but code: its names and comments tell the natural language at least.
    let weight = length === 0 ? SHOWN : 1;
    let passed = 0;
    let isTail = false;
    for (const { from, to } of lines) {
      if (from < head) this.#line(from, Math.min(to, head), this.hasText ? SHOWN : weight);
      passed += to - from;
      if (length - passed > 30 && ON_TEXT.has(this.lead)) this.hasText = true;
      if (to <= tail) continue;
      if (!isTail) {
        isTail = true;
        if (this.hasText) weight = AFTER_TEXT;
        else this.#forget();
      }
      this.#line(Math.max(from, tail), to, weight);
    }
  }

  /** A long text asks at its end, where its beginning does not. */
  #forget(): void {
    if (this.lead < 0) for (const sign of THINGS) this.signs[sign]! *= 0.4;
    this.lead = -1;
  }

  #line(from: number, to: number, weight: number): void {
    const text = this.#text;
    const { lead } = this;
    this.#ballot.fade();
    this.#weight = weight;
    this.#place = 0;
    let quoted = 0;
    for (let at = from; at < to; ) {
      if (quoted > 0 && at >= quoted) {
        quoted = 0;
        this.#weight = this.hasText ? Math.min(weight, SHOWN) : weight;
      }
      const code = text.charCodeAt(at);
      const letter = FOLDED[code]!;
      if (letter > DIGIT) at = this.#word(at, to, code);
      else if (letter === DIGIT) at = this.#digits(at, to);
      else {
        if (code !== 0x20) {
          const end = this.#mark(at, to, code);
          if (end > 0 && quoted === 0) {
            quoted = end;
            this.#weight = Math.min(weight, SHOWN);
          }
        }
        at++;
      }
    }
    // A line that names the task asks in its own language, whatever that of the text is.
    if (this.lead >= 0 && lead < 0) this.votes[this.#ballot.leader]! += 3;
  }

  /** Reads a word; gives the place behind it. */
  #word(from: number, to: number, first: number): number {
    const text = this.#text;
    matchAt(LEXICON, text, from, to, this);
    if (isUnspaced(first)) {
      this.words += 0.5;
      this.#place += 0.5;
      this.#vote(first);
      return from + 1;
    }
    this.words++;
    this.#place++;
    let at = from;
    let stem = 0;
    let letters = 0;
    for (let code = first; ; code = text.charCodeAt(at)) {
      const folded = FOLDED[code]!;
      if (letters < STEM_LETTERS && folded !== MARK) {
        stem = stemOn(stem, folded);
        letters++;
      }
      if (code >= 0x80) {
        this.#vote(code);
        // Arabic glues articles and prepositions before a word.
        if (code >= 0x0600 && code < 0x0700 && at > from && at <= from + 3) matchAt(LEXICON, text, at, to, this);
      }
      if (++at >= to) break;
      const letter = FOLDED[text.charCodeAt(at)]!;
      if (letter === GAP || letter === DIGIT || isUnspaced(letter)) break;
    }
    this.#stem(stem);
    if (at - from > 6 && isErrorName(text, from, at)) this.symbols += 2;
    return at;
  }

  #stem(stem: number): void {
    const place = STEM_PLACES[this.#placed];
    if (place !== undefined) {
      this.stems.push(stem ^ place);
      this.#placed++;
    }
    this.stems.push(stem);
  }

  #vote(code: number): void {
    this.#ballot.letter(code, this.#weight);
  }

  #digits(from: number, to: number): number {
    const { value, to: end, isQuantity, isOperand } = numberAt(this.#text, from, to);
    if (isQuantity) this.numbers += this.#weight;
    if (isOperand) this.formulas += this.#weight;
    // "2 000" is one number.
    const isGroup = end - from === 3 && from - this.#numberEnd === 1 && this.#number > 0 && this.#number < 1_000;
    this.#number = isGroup ? this.#number * 1_000 + value : value;
    if (!isGroup) this.#numberFrom = from;
    this.#numberEnd = end;
    return end;
  }

  /** Takes note of what is neither letter nor digit; gives the end of what is quoted from here, 0 for nothing. */
  #mark(at: number, to: number, code: number): number {
    const text = this.#text;
    if (code >= 0x80) this.#vote(code);
    if (isSentenceEnd(text, at)) this.#place = 0;
    if (code === 0x3f || code === 0xff1f || code === 0x061f) this.asksMark = true;
    else if (code === 0x60) this.ticks++;
    else if (code === 0x3a || code === 0xff1a) this.#colon(at, to);
    else if (code === 0x22 || code === 0x27 || code === 0xab || code === 0xbb || code >= 0x2018) {
      const end = quoteEnd(text, at, to);
      if (end > 0) {
        if (this.#weight === 1) this.quotes++;
        return end;
      }
    }
    if (isDefinition(text, at)) this.symbols += 2 * this.#weight;
    else if (isSymbol(text, at)) this.symbols += this.#weight;
    else if (isFlag(text, at)) this.flags++;
    else if (isLatex(text, at)) this.latex += (code < 0x80 ? 0.5 : 1) * this.#weight;
    return 0;
  }

  /** What stands behind a colon is what the task is to be done to. */
  #colon(at: number, to: number): void {
    // "Quiz:", "Q:" and "A:" are names of what follows.
    if (this.#weight < 1 || (this.#place <= 1 && this.lead < 0)) return;
    if (at - this.#start < 120) this.colon = true;
    if (at + 8 > to || !ON_TEXT.has(this.lead)) return;
    this.hasText = true;
    this.#weight = SHOWN;
  }

  /** Takes the meanings of a word that belong to the language of late, or to English, whose nouns are everywhere. */
  found(values: readonly Meaning[], from: number, to: number): void {
    if (!isOfFormula(this.#text, from, to)) this.#ballot.word(values, from, this.#weight);
    const { leader, recent } = this.#ballot;
    let isOwn = false;
    for (let at = 0; at < values.length; at++) if (values[at]!.language === leader) isOwn = true;
    for (let at = 0; at < values.length; at++) {
      const value = values[at]!;
      const { language } = value;
      if (language < 0) this.#programming(value, from, to);
      else if (language === leader || (!isOwn && (value.isLoan || recent[language]! >= 0.75 * recent[leader]!))) {
        this.#meaning(value, from);
      }
    }
  }

  #meaning({ sign }: Meaning, from: number): void {
    if (sign === SIGN.words) this.known++;
    else if (sign === SIGN.also) {
      if (from - this.#start < OPENING) this.signs[sign] = 1;
    } else if (sign >= SIGN.word_unit) {
      const isNumbered = this.#numberEnd >= 0 && from - this.#numberEnd <= 10;
      if (this.#weight < ASKED) return;
      this.length.note(sign, isNumbered ? this.#number : 0, isNumbered ? wordBefore(this.#text, this.#numberFrom) : '');
    } else {
      if (sign === SIGN.fact) this.known++;
      this.#sign(sign, from);
    }
  }

  #sign(sign: number, at: number): void {
    let weight = this.#weight;
    if (weight >= ASKED) {
      if (this.#place < OPEN) this.openings[sign] = 1;
      if (OBJECTS.has(sign)) {
        if (this.#made >= 0 && at - this.#made <= REACH) this.#make(sign);
        this.#noun = sign;
        this.#nounAt = at;
      } else if ((sign === SIGN.make || sign === SIGN.write) && this.#made < 0) {
        this.#made = at;
        // Where verbs stand last: what was named before is to be made.
        if (this.#noun >= 0 && at - this.#nounAt <= REACH / 2) this.#make(this.#noun);
      } else if (LEADS.has(sign)) {
        if (this.lead < 0) this.lead = sign;
        else if (this.lead !== sign) weight *= 0.4;
      }
    }
    if (sign === SIGN.thanks && at - this.#start > THANKS && this.#end - at > THANKS) return;
    if (sign === SIGN.tongue) {
      const before = wordBefore(this.#text, at);
      // "Under German law" is about Germany.
      if (before === 'under') return;
      if (!isPreposition(before, this.#text.charCodeAt(at))) weight *= 0.3;
    }
    this.signs[sign]! += weight;
  }

  /** The noun is what shall be made, unless another task was named before. */
  #make(noun: number): void {
    if (this.lead >= 0) return;
    this.lead = SIGN.make;
    this.object = noun;
  }

  #programming({ sign, name }: Meaning, from: number, to: number): void {
    if (this.#weight < ASKED) return;
    const text = this.#text;
    const code = text.charCodeAt(from);
    const isCapital = code > 0x40 && code < 0x5b;
    if (sign === TOPIC) this.topics.push(name);
    else if (sign === NUMERAL) {
      this.#number = Number(name);
      this.#numberFrom = from;
      this.#numberEnd = to;
    } else if (sign === EXTENSION) {
      if (text.charCodeAt(from - 1) === 0x2e && text.charCodeAt(from - 2) > 0x20) this.#name(name);
    } else if (sign === NAME && text.charCodeAt(from - 1) !== 0x2e) {
      // Where words are not parted by blanks, the beginning of a longer name is none: 자바 in 자바스크립트.
      if (from === this.#homographAt) this.homographs.pop();
      this.#name(name);
      // The snake, too, is a python.
      this.named = Math.max(this.named, isCapital || name !== 'python' || code >= 0x80 ? 1 : 0.4);
    } else if (sign === HOMOGRAPH) this.#homograph(name, from, to, isCapital);
  }

  /** `c++` and `c#` are sure; "go", "c" and "r" have to stand as names do: as capitals, and not where a sentence begins. */
  #homograph(name: string, from: number, to: number, isCapital: boolean): void {
    const text = this.#text;
    const next = text.charCodeAt(to);
    if (name === 'c' && (next === 0x23 || (next === 0x2b && text.charCodeAt(to + 1) === 0x2b))) {
      this.named = 1;
      this.#name(next === 0x23 ? 'csharp' : 'cpp');
      return;
    }
    if (name === 'fsharp') {
      // "F#" is a key of music, too.
      if (next === 0x23 && isCapital && !this.homographs.includes(name)) this.homographs.push(name);
      return;
    }
    // Korean writes JavaScript as one word, which begins as Java does.
    if (text.startsWith('스크립트', to)) return;
    if (name.length <= 2 && (!isCapital || from === this.#start || "'’.".includes(text.charAt(to)))) return;
    if (this.homographs.includes(name)) return;
    this.homographs.push(name);
    this.#homographAt = from;
  }

  #name(name: string): void {
    if (!this.languages.includes(name)) this.languages.push(name);
  }
}

/** No word that is asked about here is longer. */
const WORD_LENGTH = 24;

function wordBefore(text: string, at: number): string {
  let end = at - 1;
  while (end >= 0 && FOLDED[text.charCodeAt(end)] === GAP) end--;
  let from = end;
  while (from >= 0 && end - from < WORD_LENGTH && FOLDED[text.charCodeAt(from)]! > MARK) from--;
  return text.slice(from + 1, end + 1).toLowerCase();
}

const NO_PREPOSITIONS: ReadonlySet<string> = new Set(['the', 'from', 'word', 'which', 'what', 'any']);

/** Whether it is a short word that stands before: "in", "auf", "en" do before the language to translate into; "called" does not. */
function isPreposition(before: string, next: number): boolean {
  if (next >= 0x250) return true;
  return before.length > 0 && before.length <= 5 && !NO_PREPOSITIONS.has(before);
}
