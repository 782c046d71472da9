import { AnswerLength } from './answer-length.ts';
import type { Ballot } from './ballot.ts';
import { DIGIT, FOLDED, isUnspaced, MARK } from './letters.ts';
import { EXTENSION, HOMOGRAPH, LEXICON, NAME, NUMERAL, TOPIC } from './lexicon/lexicon.ts';
import { hasLanguage, isLoan, languageOf, nameOf, signOf } from './lexicon/meaning.ts';
import { hasRole, LEAD, OBJECT, ON_TEXT, SIGN, SIGNS, THING, WEIGHT } from './lexicon/signs.ts';
import { likeliest } from './natural.ts';
import {
  isDefinition,
  isErrorName,
  isFlag,
  isLatex,
  isOfFormula,
  isSentenceEnd,
  isSymbol,
  mayBeOfCode,
  numberAt,
  quoteEnd,
} from './punctuation.ts';
import type { QuestionText } from './question.ts';
import type { TextRange } from './text-range.ts';
import type { TextTables } from './text-tables.ts';
import { isPreposition, wordBefore } from './word-before.ts';

const { shown: SHOWN, after_text: AFTER_TEXT, asked: ASKED, second_verb: SECOND_VERB, no_target: NO_TARGET } = WEIGHT;

/**
 * The maximum distance from a verb to an object after it, in characters. For an object before the verb, the maximum distance is half of
 * `REACH`.
 */
const REACH = 80;
/** A sign among the first words of a sentence opens the sentence. */
const OPENING_WORDS = 4;
/** The number of characters from the start within which "and" continues the conversation. */
const ALSO_WITHIN = 6;
/** The number of characters from either end within which thanks count. */
const THANKS_WITHIN = 14;

/** Most questions name nothing, so they share this empty list. */
const NO_NAMES: readonly string[] = [];

/** The signs in the words of a question, read once. A word in a line that asks has weight 1. */
export class QuestionReading {
  /** The weights of the signs, in the order of `SIGNS`. */
  readonly signs = new Float64Array(SIGNS.length);
  /** The array has the value 1 for each sign that opens a sentence. */
  readonly openings = new Uint8Array(SIGNS.length);
  /** The natural language; null if no word indicates one. */
  readonly naturalLanguage: string | null;
  /** Programming languages by canonical name. */
  languages = NO_NAMES;
  /** Programming languages whose names are also everyday words. */
  homographs = NO_NAMES;
  /** Topics of tools, as named in `tool-topics.json`. */
  topics = NO_NAMES;
  /** The certainty that the question names a programming language, 0..1. */
  named = 0;
  words = 0;
  /** The number of words without a meaning of their own: articles, pronouns, question words. */
  functionWords = 0;
  /** The number of quantities in the question. */
  numbers = 0;
  /** The number of operands in the question. */
  formulas = 0;
  latex = 0;
  /** The numbers of code operators, of command options and of backticks. */
  symbols = 0;
  flags = 0;
  ticks = 0;
  quotes = 0;
  asksMark = false;
  /** Whether text follows a colon. */
  colon = false;
  /** Whether the text after the colon is the text to work on. */
  hasText = false;
  /** The sign of the first verb that names a task; -1 for none. */
  lead = -1;
  /** The sign of the noun for the thing to create; -1 for none. */
  object = -1;
  readonly length = new AnswerLength();

  readonly #text: string;
  readonly #ballot: Ballot;
  readonly #start: number;
  readonly #end: number;
  #isFrame = false;
  #weight = 1;
  #made = -1;
  #noun = -1;
  #nounAt = -1;
  #number = 0;
  #numberFrom = -1;
  #numberEnd = -1;
  #homographAt = -1;
  /** The number of words since the sentence began. */
  #position = 0;

  constructor({ text, lines, length, head, tail, frame }: QuestionText, { ballot }: TextTables) {
    this.#text = text;
    this.#ballot = ballot;
    ballot.clear();
    this.#start = lines[0]?.from ?? 0;
    this.#end = lines.at(-1)?.to ?? 0;
    // If the message is nothing but code, its names and comments still indicate the natural language.
    let weight = length === 0 ? SHOWN : 1;
    let passed = 0;
    let isTail = false;
    for (const { from, to } of lines) {
      if (from < head) this.#line(from, Math.min(to, head), this.hasText ? SHOWN : weight);
      passed += to - from;
      if (length - passed > 30 && hasRole(this.lead, ON_TEXT)) this.hasText = true;
      if (to <= tail) continue;
      if (!isTail) {
        isTail = true;
        if (this.hasText) weight = AFTER_TEXT;
        else this.#forget();
      }
      this.#line(Math.max(from, tail), to, weight);
    }
    this.naturalLanguage = likeliest(ballot.votes);
    if (frame.length > 0) this.#frame(frame);
  }

  /** Reads the frame around the question, which only says how long the answer is to be. */
  #frame(frame: readonly TextRange[]): void {
    const { words, functionWords, symbols } = this;
    this.#isFrame = true;
    for (const { from, to } of frame) this.#line(from, to, 1);
    Object.assign(this, { words, functionWords, symbols });
  }

  /** Resets the signs that were read at the start of a long text whose start asks nothing, because such a text asks at its end. */
  #forget(): void {
    if (this.lead < 0)
      for (let sign = 0; sign < SIGNS.length; sign++) if (hasRole(sign, THING)) this.signs[sign]! *= 0.4;
    this.lead = -1;
  }

  #line(from: number, to: number, weight: number): void {
    const text = this.#text;
    const { lead } = this;
    this.#ballot.fade();
    this.#weight = weight;
    this.#position = 0;
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
    // The line that names the task is in the user's language; the text to work on may be in another language.
    const { votes, leader } = this.#ballot;
    if (this.lead >= 0 && lead < 0) votes[leader]! += 3;
  }

  /** Reads a word and returns the offset after it. */
  #word(from: number, to: number, first: number): number {
    const text = this.#text;
    if (isUnspaced(first)) {
      this.#find(from, to);
      this.words += 0.5;
      this.#position += 0.5;
      this.#vote(first);
      return from + 1;
    }
    let at = from;
    let node = 0;
    let letters = 0;
    let capitals = 0;
    let codes = 0;
    let code = first;
    let folded = FOLDED[code]!;
    do {
      at++;
      if (folded !== MARK) {
        node = letters === 0 ? LEXICON.begin(folded, at) : node === 0 ? 0 : LEXICON.step(node, folded, at);
        letters++;
      }
      codes |= code;
      if (code < 0x5b) capitals++;
      if (at >= to) break;
      code = text.charCodeAt(at);
      folded = FOLDED[code]!;
    } while (folded === MARK || (folded > DIGIT && !isUnspaced(folded)));
    if (node !== 0) LEXICON.finish(node, true, text, at, to);
    this.#matches(from);
    this.words++;
    this.#position++;
    if (codes >= 0x80) this.#foreign(from, at, to);
    // The name of an error has a capital letter within it.
    if (at - from > 6 && (capitals > 1 || (capitals === 1 && first >= 0x5b)) && isErrorName(text, from, at))
      this.symbols += 2;
    return at;
  }

  /** Counts the letters of a word that only some languages have. */
  #foreign(from: number, end: number, to: number): void {
    for (let at = from; at < end; at++) {
      const code = this.#text.charCodeAt(at);
      if (code < 0x80) continue;
      this.#vote(code);
      // Arabic joins articles and prepositions to a word, so a word of the lexicon can begin a few letters later.
      if (code >= 0x0600 && code < 0x0700 && at > from && at <= from + 3) this.#find(at, to);
    }
  }

  #vote(code: number): void {
    this.#ballot.letter(code, this.#weight);
  }

  #digits(from: number, to: number): number {
    const { value, to: end, isQuantity, isOperand } = numberAt(this.#text, from, to);
    if (isQuantity && !this.#isFrame) this.numbers += this.#weight;
    if (isOperand && !this.#isFrame) this.formulas += this.#weight;
    // "2 000" is a single number.
    const isGroup = end - from === 3 && from - this.#numberEnd === 1 && this.#number > 0 && this.#number < 1_000;
    this.#number = isGroup ? this.#number * 1_000 + value : value;
    if (!isGroup) this.#numberFrom = from;
    this.#numberEnd = end;
    return end;
  }

  /** Reads punctuation and returns the end of the quotation that begins at a position, or 0 for none. */
  #mark(at: number, to: number, code: number): number {
    if (this.#isFrame) return 0;
    const text = this.#text;
    if (code >= 0x80) this.#vote(code);
    if (isSentenceEnd(text, at)) this.#position = 0;
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
    if (!mayBeOfCode(code)) return 0;
    if (isDefinition(text, at)) this.symbols += 2 * this.#weight;
    else if (isSymbol(text, at)) this.symbols += this.#weight;
    else if (isFlag(text, at)) this.flags++;
    else if (isLatex(text, at)) this.latex += (code < 0x80 ? 0.5 : 1) * this.#weight;
    return 0;
  }

  /** Reads a colon of the question. The text after a colon is the object of the task. */
  #colon(at: number, to: number): void {
    // "Quiz:", "Q:" and "A:" are labels, so no text to work on follows them.
    if (this.#weight < 1 || (this.#position <= 1 && this.lead < 0)) return;
    if (at - this.#start < 120) this.colon = true;
    if (at + 8 > to || !hasRole(this.lead, ON_TEXT)) return;
    this.hasText = true;
    this.#weight = SHOWN;
  }

  /** Records the meanings of all words and phrases that begin at `from`. */
  #find(from: number, to: number): void {
    LEXICON.matchAt(this.#text, from, to);
    this.#matches(from);
  }

  #matches(from: number): void {
    for (let nth = 0; nth < LEXICON.found; nth++) this.#match(LEXICON.groups[nth]!, from, LEXICON.ends[nth]!);
  }

  /** Records the meanings of a word in the recent language, and in English, because other languages borrow English nouns. */
  #match(group: number, from: number, to: number): void {
    const { values } = LEXICON;
    const ballot = this.#ballot;
    const begin = group + 1;
    const end = begin + values[group]!;
    if (!isOfFormula(this.#text, from, to)) ballot.word(values, begin, end, from, this.#weight);
    const { leader, recent } = ballot;
    const isOwn = hasLanguage(values, begin, end, leader);
    for (let at = begin; at < end; at++) {
      const meaning = values[at]!;
      const language = languageOf(meaning);
      if (language === leader) this.#meaning(signOf(meaning), from);
      else if (language < 0) this.#programming(signOf(meaning), nameOf(meaning), from, to);
      else if (!isOwn && (isLoan(meaning) || recent[language]! >= 0.75 * recent[leader]!)) {
        this.#meaning(signOf(meaning), from);
      }
    }
  }

  #meaning(sign: number, from: number): void {
    if (this.#isFrame && sign < SIGN.word_unit) return;
    if (sign === SIGN.words) this.functionWords++;
    else if (sign === SIGN.also) {
      if (from - this.#start < ALSO_WITHIN) this.signs[sign] = 1;
    } else if (sign >= SIGN.word_unit) {
      const isNumbered = this.#numberEnd >= 0 && from - this.#numberEnd <= 10;
      if (this.#weight < ASKED) return;
      this.length.note(sign, isNumbered ? this.#number : 0, isNumbered ? wordBefore(this.#text, this.#numberFrom) : '');
    } else {
      if (sign === SIGN.fact) this.functionWords++;
      this.#sign(sign, from);
    }
  }

  #sign(sign: number, at: number): void {
    let weight = this.#weight;
    if (weight >= ASKED) {
      if (this.#position < OPENING_WORDS) this.openings[sign] = 1;
      if (hasRole(sign, OBJECT)) {
        if (this.#made >= 0 && at - this.#made <= REACH) this.#make(sign);
        this.#noun = sign;
        this.#nounAt = at;
      } else if ((sign === SIGN.make || sign === SIGN.write) && this.#made < 0) {
        this.#made = at;
        // In languages that put the verb last, its object comes before the verb.
        if (this.#noun >= 0 && at - this.#nounAt <= REACH / 2) this.#make(this.#noun);
      } else if (hasRole(sign, LEAD)) {
        if (this.lead < 0) this.lead = sign;
        else if (this.lead !== sign) weight *= SECOND_VERB;
      }
    }
    if (sign === SIGN.thanks && at - this.#start > THANKS_WITHIN && this.#end - at > THANKS_WITHIN) return;
    if (sign === SIGN.tongue) {
      const before = wordBefore(this.#text, at);
      // In "under German law", German names a country and not a language.
      if (before === 'under') return;
      if (!isPreposition(before, this.#text.charCodeAt(at))) weight *= NO_TARGET;
    }
    this.signs[sign]! += weight;
  }

  /** Makes the noun the object, unless the text named another task before. */
  #make(noun: number): void {
    if (this.lead >= 0) return;
    this.lead = SIGN.make;
    this.object = noun;
  }

  #programming(sign: number, name: string, from: number, to: number): void {
    if (this.#weight < ASKED || (this.#isFrame && sign !== NUMERAL)) return;
    const text = this.#text;
    const code = text.charCodeAt(from);
    const isCapital = code > 0x40 && code < 0x5b;
    if (sign === TOPIC) this.topics = [...this.topics, name];
    else if (sign === NUMERAL) {
      this.#number = Number(name);
      this.#numberFrom = from;
      this.#numberEnd = to;
    } else if (sign === EXTENSION) {
      if (text.charCodeAt(from - 1) === 0x2e && text.charCodeAt(from - 2) > 0x20) this.#name(name);
    } else if (sign === NAME && text.charCodeAt(from - 1) !== 0x2e) {
      // In scripts without spaces, the start of a longer name is not a name: 자바 (Java) in 자바스크립트 (JavaScript).
      if (from === this.#homographAt) this.homographs = this.homographs.slice(0, -1);
      this.#name(name);
      // "Python" may also mean the snake, so the name in lower case is less certain.
      this.named = Math.max(this.named, isCapital || name !== 'python' || code >= 0x80 ? 1 : 0.4);
    } else if (sign === HOMOGRAPH) this.#homograph(name, from, to, isCapital);
  }

  /**
   * Reads a name that is also an everyday word. `c++` and `c#` are certain names; "go", "c" and "r" must be capitalized and not at the
   * start of the text.
   */
  #homograph(name: string, from: number, to: number, isCapital: boolean): void {
    const text = this.#text;
    const next = text.charCodeAt(to);
    if (name === 'c' && (next === 0x23 || (next === 0x2b && text.charCodeAt(to + 1) === 0x2b))) {
      this.named = 1;
      this.#name(next === 0x23 ? 'csharp' : 'cpp');
      return;
    }
    if (name === 'fsharp') {
      // "F#" may also be a key in music.
      if (next === 0x23 && isCapital && !this.homographs.includes(name)) this.homographs = [...this.homographs, name];
      return;
    }
    // Korean writes JavaScript as one word that begins like Java.
    if (text.startsWith('스크립트', to)) return;
    if (name.length <= 2 && (!isCapital || from === this.#start || "'’.".includes(text.charAt(to)))) return;
    if (this.homographs.includes(name)) return;
    this.homographs = [...this.homographs, name];
    this.#homographAt = from;
  }

  #name(name: string): void {
    if (!this.languages.includes(name)) this.languages = [...this.languages, name];
  }
}
