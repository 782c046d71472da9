import { SIGN } from './lexicon/lexicon.ts';
import { SIGNS, type Sign } from './lexicon/signs.ts';
import type { QuestionText } from './question.ts';
import type { QuestionShape } from './question-shape.ts';
import type { QuestionReading } from './reading.ts';
import { TASKS } from './tasks.ts';

/** A question with its context: the input of the task's features. */
export interface QuestionView {
  readonly question: QuestionText;
  readonly reading: QuestionReading;
  readonly shape: QuestionShape;
  readonly tools: ToolContext | null;
  /** Task probabilities of the question before, where this one may follow it up. */
  readonly before: Float64Array | null;
  readonly system: SystemInstruction | null;
  /** Whether the question is itself the system prompt. */
  readonly isSystemPrompt: boolean;
}

/** The instruction of a system prompt for all messages of the user. */
export interface SystemInstruction {
  /** Probability of each task. */
  readonly tasks: Float64Array;
  /** Whether it binds every answer: "translate everything", "the label only". */
  readonly binds: boolean;
  /** Index in `TASKS` of the one task that it orders, where it says little else; else -1. */
  readonly order: number;
  readonly text: string;
}

/** The relation of a question to the tools that are offered. */
export interface ToolContext {
  /** Whether the question has a word of a tool's name. */
  readonly named: boolean;
  /** Whether the conversation ends in calls or results of tools. */
  readonly amid: boolean;
  /** Results since the last user message, and the end of the last one; 0 and '' where `amid` is false. */
  readonly calls: number;
  readonly result: string;
}

/** A condition that most questions do not meet. A feature that requires it is 0 without it. */
export type FeatureCondition = Sign | 'before' | 'tools' | 'system prompt' | 'system prompt itself';

export type Holds = (view: QuestionView) => boolean;

/**
 * `of` is called only where the condition holds, and `holds` is true, which is asked once for neighbours with the same one;
 * else the feature is 0.
 */
export type Feature = readonly [
  name: string,
  of: (view: QuestionView) => number,
  requires?: FeatureCondition,
  holds?: Holds | undefined,
];

/** Signs with a weight of their own; the others tell only a language or a length. */
const WEIGHTED_SIGNS = SIGNS.slice(SIGNS.indexOf('words') + 1, SIGNS.indexOf('word_unit'));

const isShown = ({ question, reading }: QuestionView): boolean =>
  question.documents > 0 || reading.hasText || question.length > 600;
/** Whether the question brings the material for its task: shown, quoted or behind a colon. */
const hasMaterial = (view: QuestionView): boolean => isShown(view) || view.reading.quotes > 0 || view.reading.colon;

/** The weight of a sign, capped at `most`. */
const upTo = (most: number, sign: Sign): ((view: QuestionView) => number) => {
  const at = SIGN[sign];
  return ({ reading }) => Math.min(most, reading.signs[at]!);
};

/** Signs that weigh differently where `holds` is true. */
const together = (name: string, holds: Holds, signs: readonly Sign[]): Feature[] =>
  signs.map((sign) => [`${sign} ${name}`, upTo(1.5, sign), sign, holds]);

const one = (): number => 1;
const flag = (name: string, holds: Holds, requires?: FeatureCondition): Feature => [name, one, requires, holds];
const oneOf = (
  name: string,
  signs: readonly Sign[],
  of: (reading: QuestionReading) => number,
  requires?: FeatureCondition,
): Feature[] => signs.map((sign) => flag(`${name} ${sign}`, ({ reading }) => of(reading) === SIGN[sign], requires));

export function sum({ reading }: QuestionView, ...signs: readonly Sign[]): number {
  let all = 0;
  for (let i = 0; i < signs.length; i++) all += reading.signs[SIGN[signs[i]!]]!;
  return all;
}
const hasCode = ({ question }: QuestionView): boolean => question.codeFences > 0 || question.codeLines > 1;
const hasFigures = ({ reading }: QuestionView): boolean => reading.numbers + reading.formulas + reading.latex > 0;

/** Whether it is a multiple-choice question. */
const isExam = ({ shape }: QuestionView): boolean => shape.choices > 2;
/** Whether a single word is the only sign of code. */
const isLoneOfCode = (view: QuestionView): boolean => {
  const { named, symbols, ticks, homographs } = view.reading;
  const others = named + symbols + ticks + homographs.length + view.question.codeFences + view.question.codeLines;
  return others === 0 && sum(view, 'code', 'program', 'mend') < 1.5;
};

/** Task probabilities of the question before, where `holds` is true of this one. */
const after = (name: string, holds?: Holds): Feature[] =>
  TASKS.map((task, at) => [`after ${task}${name}`, ({ before }) => before![at]!, 'before', holds]);

/** Task probabilities of the system prompt, where `holds` is true of the question. */
const under = (name: string, holds?: Holds): Feature[] =>
  TASKS.map((task, at) => [`under ${task}${name}`, ({ system }) => system!.tasks[at]!, 'system prompt', holds]);

/** Combinations that tell more than their parts. */
const COMBINATIONS: readonly Feature[] = [
  flag(
    'a word that may be a programming language among others of code',
    (view) => view.reading.homographs.length > 0 && (hasCode(view) || sum(view, 'code', 'program', 'mend') > 0.4),
  ),
  flag(
    'something of code to be mended',
    (view) => hasCode(view) || sum(view, 'code', 'program') + view.reading.named > 0,
    'mend',
  ),
  flag('code alone', isLoneOfCode, 'code'),
  flag('program alone', isLoneOfCode, 'program'),
  flag('program alone, of a fact', (view) => isLoneOfCode(view) && sum(view, 'fact', 'self') > 0.4, 'program'),
  flag(
    'a fact about one word of code',
    (view) => {
      const { reading } = view;
      const others = reading.words - reading.functionWords;
      const isOfCode = reading.named + reading.homographs.length + sum(view, 'code', 'program') > 0;
      return isOfCode && others <= 1 && reading.openings[SIGN.fact] === 1 && view.question.codeLines === 0;
    },
    'fact',
  ),
  flag('two programming languages', ({ reading }) => reading.languages.length + reading.homographs.length > 1),
  ...together('of a programming language', ({ reading }) => reading.named > 0.5, [
    ...(['translate', 'edit', 'extract', 'make', 'given', 'prose'] as const),
  ]),
  flag('code and program', (view) => sum(view, 'code') > 0.4, 'program'),
  flag('maths alone', (view) => !hasFigures(view) && sum(view, 'maths', 'solve', 'count') < 1.5, 'maths'),
  ...(['translate', 'summarize', 'extract', 'classify', 'edit', 'labels'] as const).map((sign) =>
    flag(`${sign} without material`, (view) => !hasMaterial(view) && sum(view, 'tongue', 'given') < 0.4, sign),
  ),
  ...(['translate', 'summarize', 'extract', 'classify', 'prose', 'piece'] as const).map((sign) =>
    flag(
      `${sign} behind a fact`,
      ({ reading }) => reading.openings[SIGN.fact] === 1 && reading.openings[SIGN[sign]] === 0,
      sign,
    ),
  ),
  flag('a word of code twice', (view) => sum(view, 'code') > 1.5, 'code'),
  flag('maths with figures', (view) => hasFigures(view) && sum(view, 'maths', 'solve') > 0.4),
  flag('a count of what is numbered', (view) => view.reading.numbers >= 2 && sum(view, 'count') > 0.4, 'count'),
  flag(
    'a story with numbers',
    ({ reading }) => reading.numbers >= 3 && reading.asksMark && !reading.hasText && reading.words > 12,
  ),
  flag('prose of several names', (view) => view.reading.lead < 0 && sum(view, 'prose') >= 2, 'prose'),
  flag('a fact about prose', (view) => sum(view, 'prose', 'piece') > 0.4, 'fact'),
  flag(
    'something rendered as prose',
    (view) => sum(view, 'translate') > 0.4 && sum(view, 'tongue') === 0 && sum(view, 'prose', 'piece') > 0.4,
    'translate',
  ),
  flag('a saying in a tongue', (view) => sum(view, 'say') > 0.4 && sum(view, 'tongue') > 0.4, 'say'),
  flag(
    'a quotation and a tongue',
    (view) => {
      const { quotes, colon, words } = view.reading;
      return (quotes > 0 || colon) && sum(view, 'tongue') > 0.2 && words <= 14;
    },
    'tongue',
  ),
  flag('fields of what is given', (view) => sum(view, 'fields') > 0.4 && sum(view, 'given', 'extract') > 0.4, 'fields'),
  flag('labels for what is given', (view) => sum(view, 'labels') > 0.4 && sum(view, 'given') > 0.4, 'labels'),
  flag('three labels', (view) => sum(view, 'labels') >= 2.5, 'labels'),
  flag('either, of what is given', (view) => sum(view, 'given') > 0.4, 'either'),
  flag('either, to be weighed', (view) => sum(view, 'weigh', 'puzzle') > 0.4, 'either'),
  flag('words of a puzzle twice', (view) => sum(view, 'puzzle') > 1.5, 'puzzle'),
  flag('words of a puzzle three times', (view) => sum(view, 'puzzle') > 2.5, 'puzzle'),
  flag('words of weighing twice', (view) => sum(view, 'weigh') > 1.5, 'weigh'),
  flag(
    'nothing but thanks',
    (view) => {
      const { words, asksMark } = view.reading;
      return sum(view, 'thanks') > 0.4 && words <= 12 && !asksMark && sum(view, 'make', 'mend') === 0;
    },
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

/** All features by name; `weights.ts` and `weights-system-prompt.ts` have a row for each. */
export const FEATURES: readonly Feature[] = [
  ['always', one],
  ...WEIGHTED_SIGNS.map((sign): Feature => [sign, upTo(2, sign), sign]),
  ...WEIGHTED_SIGNS.map(
    (sign): Feature => [`${sign} at all`, ({ reading }) => (reading.signs[SIGN[sign]]! > 0.4 ? 1 : 0), sign],
  ),
  ...WEIGHTED_SIGNS.map((sign) => flag(`${sign} opens`, ({ reading }) => reading.openings[SIGN[sign]] === 1, sign)),
  ...oneOf('first', LEADS, ({ lead }) => lead),
  ...oneOf('makes', ['prose', 'piece', 'code', 'program'], ({ object }) => object),
  ...together('of material', hasMaterial, ON_MATERIAL),
  ...together('of a text', isShown, ON_MATERIAL),
  ...together('asked', ({ reading }) => reading.asksMark, [
    ...(['weigh', 'puzzle', 'count', 'tongue', 'either', 'amount', 'feel', 'labels', 'make', 'prose', 'code'] as const),
  ]),
  ...together('in few words', ({ reading }) => reading.words <= 8, [
    ...(['greet', 'thanks', 'more', 'tongue', 'say', 'feel', 'also'] as const),
  ]),
  ...together('of numbers', ({ reading }) => reading.numbers >= 2, ['amount', 'count', 'solve', 'maths']),
  ...COMBINATIONS,
  // Material.
  flag('a text', isShown),
  flag('material', hasMaterial),
  ['quotes', ({ reading }) => Math.min(2, reading.quotes)],
  flag('a colon', ({ reading }) => reading.colon),
  flag('a text behind a verb', ({ reading }) => reading.hasText),
  ['documents', ({ question }) => Math.min(2, question.documents)],
  // Code.
  flag('a document of code', ({ question }) => question.codeDocuments > 0),
  ...together('of a document of code', ({ question }) => question.codeDocuments > 0, [
    'mend',
    'fact',
    'program',
    'prose',
  ]),
  flag('nothing but code', ({ question }) => question.codeLines > 0 && question.length === 0),
  flag('code in a fence', ({ question }) => question.codeFences > 0),
  flag('a line of code', ({ question }) => question.codeLines > 0),
  flag('lines of code', ({ question }) => question.codeLines > 1),
  ['a programming language', ({ reading }) => reading.named],
  flag('a word that may be one', ({ reading }) => reading.homographs.length > 0),
  ['signs of code', ({ reading }) => Math.min(2, reading.symbols)],
  flag('backticks', ({ reading }) => reading.ticks >= 2),
  flag('options of commands', ({ reading }) => reading.flags >= 2),
  // Figures.
  flag('a number', ({ reading }) => reading.numbers >= 1),
  flag('two numbers', ({ reading }) => reading.numbers >= 2),
  flag('three numbers', ({ reading }) => reading.numbers >= 3),
  ['formulas', ({ reading }) => Math.min(2, reading.formulas)],
  ['LaTeX', ({ reading }) => Math.min(2, reading.latex)],
  // Length and form.
  flag('a question mark', ({ reading }) => reading.asksMark),
  ...[3, 6, 12].map((most) => flag(`at most ${most} words`, ({ reading }) => reading.words <= most)),
  flag('no verb for a task', ({ reading }) => reading.lead < 0),
  flag(
    'a long question',
    ({ reading, shape }) => reading.asksMark && reading.lead < 0 && reading.words > 12 && shape.sentences <= 1,
  ),
  ...[25, 60].map((least) => flag(`more than ${least} words`, ({ reading }) => reading.words > least)),
  ['small words', ({ reading }) => (reading.words > 0 ? reading.functionWords / reading.words : 0)],
  flag('hardly another word', ({ reading }) => reading.words - reading.functionWords <= 3),
  flag('slashes', ({ shape }) => shape.slashes > 0),
  flag('a list of choices', ({ shape }) => shape.listed > 0),
  flag('a long list of choices', ({ shape }) => shape.listed > 2),
  flag('choices', isExam),
  flag('choices, and figures', (view) => isExam(view) && hasFigures(view)),
  ...together('with choices', isExam, [
    'maths',
    'solve',
    'count',
    'amount',
    'puzzle',
    'logic',
    'given',
    'fact',
    'program',
    'code',
  ]),
  flag('commas', ({ shape }) => shape.commas >= 3),
  ...[2, 3, 5].map((least) => flag(`${least} sentences`, ({ shape }) => shape.sentences >= least)),
  ['capitals', ({ shape }) => Math.min(1, shape.capitals / 6)],
  flag('lines', ({ shape }) => shape.lines > 0),
  flag('paragraphs', ({ shape }) => shape.paragraphs > 0),
  flag('items', ({ shape }) => shape.items > 0),
  flag('an at sign', ({ shape }) => shape.ats > 0),
  ['length', ({ shape }) => Math.log2(shape.length + 1) / 10],
  // The question before.
  flag('a question before', () => true, 'before'),
  ...after(''),
  ...after(', in few words', ({ reading }) => reading.words <= 8),
  ...after(', referring to it', (view) => sum(view, 'more', 'also', 'edit') > 0),
  // The instruction of the system prompt, and signs that the user departs from it.
  flag('a system prompt', () => true, 'system prompt'),
  ...under(''),
  ...under(', which binds', ({ system }) => system!.binds),
  ...under(', which binds, with a verb for a task', ({ reading, system }) => system!.binds && reading.lead >= 0),
  ...under(', turned away from', (view) => sum(view, 'away') > 0.4),
  ...under(', in few words', ({ reading }) => reading.words <= 4),
  ...under(', with a verb for a task', ({ reading }) => reading.lead >= 0),
  ...under(', with a question mark', ({ reading }) => reading.asksMark),
  ...under(', with thanks or a greeting', (view) => sum(view, 'thanks', 'greet') > 0.4),
  ...under(', after another question', ({ before }) => before !== null),
  // The system prompt itself.
  flag('says what to do', () => true, 'system prompt itself'),
  flag('says what to do, and binds', (view) => sum(view, 'bind') > 0.4, 'system prompt itself'),
  ...SYSTEM_PROMPT_SIGNS.map((sign): Feature => [`${sign} as what to do`, upTo(1.5, sign), 'system prompt itself']),
  ...oneOf('first, as what to do,', LEADS, ({ lead }) => lead, 'system prompt itself'),
  // Tools that are offered.
  flag('tools', () => true, 'tools'),
  flag('a tool that is named', ({ tools }) => tools!.named, 'tools'),
  flag('tools at work', ({ tools }) => tools!.amid, 'tools'),
  flag('tools, and a question mark', ({ reading }) => reading.asksMark, 'tools'),
  flag('tools, and few words', ({ reading }) => reading.words <= 14, 'tools'),
  flag('tools, and a number', ({ reading }) => reading.numbers >= 1, 'tools'),
  flag('tools, and no verb for a task', ({ reading }) => reading.lead < 0, 'tools'),
  ...together('with tools', ({ tools }) => tools !== null, [
    ...(['fact', 'code', 'program', 'mend', 'maths', 'count', 'weigh', 'puzzle', 'greet', 'prose', 'feel'] as const),
    'act',
  ]),
  flag('tools, none of them named', ({ tools }) => !tools!.named, 'tools'),
  flag('tools, and signs of code', ({ reading: { symbols, ticks, flags } }) => symbols + ticks + flags > 0, 'tools'),
  ...together('with tools, none of them named', ({ tools }) => tools?.named === false, [
    'fact',
    'count',
    'act',
    'self',
    'make',
    'mend',
  ]),
];

export const FEATURE_NAMES: readonly string[] = FEATURES.map(([name]) => name);
