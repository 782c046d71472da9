import { BEFORE, FIGURE, OPENING, sumOf, UNDER } from './figures.ts';
import { SIGN, SIGNS, type Sign } from './lexicon/signs.ts';
import { TASKS } from './tasks.ts';

/** A condition that most questions do not meet. A feature that requires it is 0 without it. */
export type FeatureCondition = Sign | 'before' | 'tools' | 'system prompt' | 'system prompt itself';

/** Whether a figure is above `low`, and at most `high`. */
export interface FigureTest {
  /** Place among the figures. */
  readonly figure: number;
  readonly low: number;
  readonly high: number;
}

/** A figure of a question, up to `most`; 0 unless all of `tests` hold. */
export interface Feature {
  readonly name: string;
  /** Place among the figures. */
  readonly figure: number;
  readonly most: number;
  readonly requires: FeatureCondition | undefined;
  readonly tests: readonly FigureTest[];
}

const above = (figure: number, low: number): FigureTest => ({ figure, low, high: Number.POSITIVE_INFINITY });
const atLeast = (figure: number, least: number): FigureTest => above(figure, below(least));
const atMost = (figure: number, high: number): FigureTest => ({ figure, low: Number.NEGATIVE_INFINITY, high });
const lessThan = (figure: number, most: number): FigureTest => atMost(figure, below(most));
/** For whole figures. */
const is = (figure: number, value: number): FigureTest => ({ figure, low: value - 0.5, high: value });
const no = (figure: number): FigureTest => is(figure, 0);

/** The next number below a positive one. */
function below(value: number): number {
  const bits = new BigInt64Array(new Float64Array([value]).buffer);
  bits[0]! -= 1n;
  return new Float64Array(bits.buffer)[0]!;
}

/*
 * The bounds are set by hand where they part the prompts that may be tuned on (`TUNED` in `accuracy.test.ts`); what each feature
 * weighs is fitted to these prompts (`bench/fit-profile.ts`). A sign has the weight 1 for each word that asks, 0.4 behind the verb
 * of another task, and 0.15 within the material.
 */
/** Above it something is asked: more than the material and one word behind another task's verb. */
const ASKED = 0.4;
/** Asked by two words, or by three; half a word is left for the material. */
const TWICE = 1.5;
const THRICE = 2.5;
/** Of mentions that count only together with something else, more than these say nothing new. */
const MENTIONS_MOST = 1.5;
/** By itself a sign counts up to two words, as do formulas, quotes and documents: a long text has many by chance. */
const COUNTED_MOST = 2;
/** Words of a bare reply ("yes, please"), of a greeting or a follow-up, and of one usual sentence. */
const BARE_WORDS = 4;
const FEW_WORDS = 8;
const SENTENCE_WORDS = 12;

const ALWAYS: readonly FigureTest[] = [];
const { words, numbers, lead, asksMark } = FIGURE;

/** A figure, up to `most`. */
const figure = (
  name: string,
  place: number,
  most = Number.POSITIVE_INFINITY,
  requires?: FeatureCondition,
  tests = ALWAYS,
): Feature => ({ name, figure: place, most, requires, tests });

/** 1 where all tests hold. */
const flag = (name: string, tests: readonly FigureTest[], requires?: FeatureCondition): Feature =>
  figure(name, FIGURE.one, 1, requires, tests);

/** 1 where a figure is above 0. */
const any = (name: string, place: number, requires?: FeatureCondition): Feature =>
  flag(name, [above(place, 0)], requires);

/** Signs that weigh differently where all tests hold. */
const together = (name: string, tests: readonly FigureTest[], signs: readonly Sign[]): Feature[] =>
  signs.map((sign) => figure(`${sign} ${name}`, SIGN[sign], MENTIONS_MOST, sign, tests));

const oneOf = (name: string, signs: readonly Sign[], place: number, requires?: FeatureCondition): Feature[] =>
  signs.map((sign) => flag(`${name} ${sign}`, [is(place, SIGN[sign])], requires));

/** Task probabilities of the question before, where all tests hold. */
const after = (name: string, tests = ALWAYS): Feature[] =>
  TASKS.map((task, at) => figure(`after ${task}${name}`, BEFORE + at, 1, 'before', tests));

/** Task probabilities of the system prompt, where all tests hold. */
const under = (name: string, tests = ALWAYS): Feature[] =>
  TASKS.map((task, at) => figure(`under ${task}${name}`, UNDER + at, 1, 'system prompt', tests));

/** Signs with a weight of their own; the others tell only a language or a length. */
const WEIGHTED_SIGNS = SIGNS.slice(SIGNS.indexOf('words') + 1, SIGNS.indexOf('word_unit'));

/** Combinations that tell more than their parts. */
const COMBINATIONS: readonly Feature[] = [
  any('a word that may be a programming language among others of code', FIGURE.homographAmidCode),
  any('something of code to be mended', FIGURE.ofCode, 'mend'),
  any('code alone', FIGURE.loneOfCode, 'code'),
  any('program alone', FIGURE.loneOfCode, 'program'),
  flag('program alone, of a fact', [above(FIGURE.loneOfCode, 0), above(sumOf('fact', 'self'), ASKED)], 'program'),
  any('a fact about one word of code', FIGURE.factOfCode, 'fact'),
  flag('two programming languages', [above(FIGURE.programmingNames, 1)]),
  ...together(
    'of a programming language',
    [above(FIGURE.named, 0.5)],
    ['translate', 'edit', 'extract', 'make', 'given', 'prose'],
  ),
  flag('code and program', [above(SIGN.code, ASKED)], 'program'),
  flag('maths alone', [no(FIGURE.figures), lessThan(sumOf('maths', 'solve', 'count'), TWICE)], 'maths'),
  ...(['translate', 'summarize', 'extract', 'classify', 'edit', 'labels'] as const).map((sign) =>
    flag(`${sign} without material`, [no(FIGURE.material), lessThan(sumOf('tongue', 'given'), ASKED)], sign),
  ),
  ...(['translate', 'summarize', 'extract', 'classify', 'prose', 'piece'] as const).map((sign) =>
    flag(`${sign} behind a fact`, [is(OPENING + SIGN.fact, 1), no(OPENING + SIGN[sign])], sign),
  ),
  flag('a word of code twice', [above(SIGN.code, TWICE)], 'code'),
  flag('maths with figures', [above(FIGURE.figures, 0), above(sumOf('maths', 'solve'), ASKED)]),
  flag('a count of what is numbered', [atLeast(numbers, 2), above(SIGN.count, ASKED)], 'count'),
  flag('a story with numbers', [
    atLeast(numbers, 3),
    above(asksMark, 0),
    no(FIGURE.hasText),
    above(words, SENTENCE_WORDS),
  ]),
  flag('prose of several names', [atMost(lead, -1), atLeast(SIGN.prose, 2)], 'prose'),
  flag('a fact about prose', [above(sumOf('prose', 'piece'), ASKED)], 'fact'),
  flag(
    'something rendered as prose',
    [above(SIGN.translate, ASKED), no(SIGN.tongue), above(sumOf('prose', 'piece'), ASKED)],
    'translate',
  ),
  flag('a saying in a tongue', [above(SIGN.say, ASKED), above(SIGN.tongue, ASKED)], 'say'),
  flag(
    'a quotation and a tongue',
    [above(FIGURE.quotesOrColon, 0), above(SIGN.tongue, 0.2), atMost(words, 14)],
    'tongue',
  ),
  flag('fields of what is given', [above(SIGN.fields, ASKED), above(sumOf('given', 'extract'), ASKED)], 'fields'),
  flag('labels for what is given', [above(SIGN.labels, ASKED), above(SIGN.given, ASKED)], 'labels'),
  flag('three labels', [atLeast(SIGN.labels, THRICE)], 'labels'),
  flag('either, of what is given', [above(SIGN.given, ASKED)], 'either'),
  flag('either, to be weighed', [above(sumOf('weigh', 'puzzle'), ASKED)], 'either'),
  flag('words of a puzzle twice', [above(SIGN.puzzle, TWICE)], 'puzzle'),
  flag('words of a puzzle three times', [above(SIGN.puzzle, THRICE)], 'puzzle'),
  flag('words of weighing twice', [above(SIGN.weigh, TWICE)], 'weigh'),
  flag(
    'nothing but thanks',
    [above(SIGN.thanks, ASKED), atMost(words, SENTENCE_WORDS), no(asksMark), no(sumOf('make', 'mend'))],
    'thanks',
  ),
];

/** Signs with a separate weight in a system prompt, which mentions many topics. */
const SYSTEM_PROMPT_SIGNS: readonly Sign[] = [
  ...(['translate', 'tongue', 'summarize', 'extract', 'classify', 'labels', 'edit', 'make', 'write', 'prose'] as const),
  ...(['piece', 'fields', 'code', 'program', 'mend', 'maths', 'solve', 'given', 'fact', 'act', 'weigh'] as const),
  ...(['puzzle', 'feel', 'self', 'greet'] as const),
];

/** Verbs that can lead. */
const LEADS: readonly Sign[] = ['translate', 'summarize', 'extract', 'classify', 'edit', 'solve', 'make'];
/** Signs that weigh differently next to material. */
const ON_MATERIAL: readonly Sign[] = [
  ...(['classify', 'labels', 'extract', 'fields', 'summarize', 'translate', 'tongue', 'prose', 'piece'] as const),
  ...(['either', 'fact', 'given', 'say'] as const),
];

/** All features by name; `weights.ts` has a row for each that tells anything. */
export const FEATURES: readonly Feature[] = [
  figure('always', FIGURE.one),
  ...WEIGHTED_SIGNS.map((sign) => figure(sign, SIGN[sign], COUNTED_MOST, sign)),
  ...WEIGHTED_SIGNS.map((sign) => any(`${sign} opens`, OPENING + SIGN[sign], sign)),
  ...oneOf('first', LEADS, lead),
  ...oneOf('makes', ['prose', 'piece', 'code', 'program'], FIGURE.object),
  ...together('of material', [above(FIGURE.material, 0)], ON_MATERIAL),
  ...together('of a text', [above(FIGURE.shown, 0)], ON_MATERIAL),
  ...together(
    'asked',
    [above(asksMark, 0)],
    ['weigh', 'puzzle', 'count', 'tongue', 'either', 'amount', 'feel', 'labels', 'make', 'prose', 'code'],
  ),
  ...together('in few words', [atMost(words, FEW_WORDS)], ['greet', 'thanks', 'more', 'tongue', 'say', 'feel', 'also']),
  ...together('of numbers', [atLeast(numbers, 2)], ['amount', 'count', 'solve', 'maths']),
  ...COMBINATIONS,
  // Material.
  any('a text', FIGURE.shown),
  any('material', FIGURE.material),
  figure('quotes', FIGURE.quotes, COUNTED_MOST),
  any('a colon', FIGURE.colon),
  any('a text behind a verb', FIGURE.hasText),
  figure('documents', FIGURE.documents, COUNTED_MOST),
  // Code.
  any('a document of code', FIGURE.codeDocuments),
  ...together('of a document of code', [above(FIGURE.codeDocuments, 0)], ['mend', 'fact', 'program', 'prose']),
  any('nothing but code', FIGURE.onlyCode),
  any('code in a fence', FIGURE.codeFences),
  any('a line of code', FIGURE.codeLines),
  flag('lines of code', [above(FIGURE.codeLines, 1)]),
  figure('a programming language', FIGURE.named),
  any('a word that may be one', FIGURE.homographs),
  figure('signs of code', FIGURE.symbols, COUNTED_MOST),
  flag('backticks', [atLeast(FIGURE.ticks, 2)]),
  flag('options of commands', [atLeast(FIGURE.flags, 2)]),
  // Figures.
  flag('a number', [atLeast(numbers, 1)]),
  flag('two numbers', [atLeast(numbers, 2)]),
  flag('three numbers', [atLeast(numbers, 3)]),
  figure('formulas', FIGURE.formulas, COUNTED_MOST),
  figure('LaTeX', FIGURE.latex, COUNTED_MOST),
  // Length and form. Steps of about two: the fit finds which of them tells.
  any('a question mark', asksMark),
  ...[3, 6, 12].map((most) => flag(`at most ${most} words`, [atMost(words, most)])),
  flag('no verb for a task', [atMost(lead, -1)]),
  flag('a long question', [
    above(asksMark, 0),
    atMost(lead, -1),
    above(words, SENTENCE_WORDS),
    atMost(FIGURE.sentences, 1),
  ]),
  ...[25, 60].map((least) => flag(`more than ${least} words`, [above(words, least)])),
  figure('small words', FIGURE.smallWords),
  flag('hardly another word', [atMost(FIGURE.otherWords, 3)]),
  any('slashes', FIGURE.slashes),
  any('a list of choices', FIGURE.listed),
  flag('a long list of choices', [above(FIGURE.listed, 2)]),
  any('choices', FIGURE.exam),
  flag('choices, and figures', [above(FIGURE.exam, 0), above(FIGURE.figures, 0)]),
  ...together(
    'with choices',
    [above(FIGURE.exam, 0)],
    ['maths', 'solve', 'count', 'amount', 'puzzle', 'logic', 'given', 'fact', 'program', 'code'],
  ),
  flag('commas', [atLeast(FIGURE.commas, 3)]),
  ...[2, 3, 5].map((least) => flag(`${least} sentences`, [atLeast(FIGURE.sentences, least)])),
  figure('capitals', FIGURE.capitals, 1),
  any('lines', FIGURE.lines),
  any('paragraphs', FIGURE.paragraphs),
  any('items', FIGURE.items),
  any('an at sign', FIGURE.ats),
  figure('length', FIGURE.length),
  // The question before.
  figure('a question before', FIGURE.one, 1, 'before'),
  ...after(''),
  ...after(', in few words', [atMost(words, FEW_WORDS)]),
  ...after(', referring to it', [above(sumOf('more', 'also', 'edit'), 0)]),
  // The instruction of the system prompt, and signs that the user departs from it.
  figure('a system prompt', FIGURE.one, 1, 'system prompt'),
  ...under(''),
  ...under(', which binds', [above(FIGURE.binds, 0)]),
  ...under(', which binds, with a verb for a task', [above(FIGURE.binds, 0), above(lead, -1)]),
  ...under(', turned away from', [above(SIGN.away, ASKED)]),
  ...under(', in few words', [atMost(words, BARE_WORDS)]),
  ...under(', with a verb for a task', [above(lead, -1)]),
  ...under(', with a question mark', [above(asksMark, 0)]),
  ...under(', with thanks or a greeting', [above(sumOf('thanks', 'greet'), ASKED)]),
  ...under(', after another question', [above(FIGURE.follows, 0)]),
  // The system prompt itself.
  figure('says what to do', FIGURE.one, 1, 'system prompt itself'),
  flag('says what to do, and binds', [above(SIGN.bind, ASKED)], 'system prompt itself'),
  ...SYSTEM_PROMPT_SIGNS.map((sign) =>
    figure(`${sign} as what to do`, SIGN[sign], MENTIONS_MOST, 'system prompt itself'),
  ),
  ...oneOf('first, as what to do,', LEADS, lead, 'system prompt itself'),
  // Tools that are offered.
  figure('tools', FIGURE.one, 1, 'tools'),
  any('a tool that is named', FIGURE.toolNamed, 'tools'),
  any('tools at work', FIGURE.amidTools, 'tools'),
];

export const FEATURE_NAMES: readonly string[] = FEATURES.map(({ name }) => name);
