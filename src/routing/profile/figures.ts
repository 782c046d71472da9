import { SIGN, SIGNS, type Sign } from './lexicon/signs.ts';
import type { QuestionView } from './question-view.ts';
import { TASKS } from './tasks.ts';

/** The figures of a question that features use in addition to its signs. 1 means yes and 0 means no. */
const OWN = [
  'one',
  // Figures of the context.
  'follows',
  'toolNamed',
  'amidTools',
  'binds',
  // Figures of the material that the question brings.
  'shown',
  'material',
  'quotes',
  'colon',
  'quotesOrColon',
  'hasText',
  'documents',
  // Figures of code.
  'codeDocuments',
  'onlyCode',
  'codeFences',
  'codeLines',
  'named',
  'homographs',
  'programmingNames',
  'homographAmidCode',
  'ofCode',
  'loneOfCode',
  'factOfCode',
  'symbols',
  'ticks',
  'flags',
  // Figures of numbers and formulas.
  'numbers',
  'formulas',
  'latex',
  'figures',
  // Figures of length and form.
  'asksMark',
  'words',
  'otherWords',
  'smallWords',
  'lead',
  'object',
  'slashes',
  'listed',
  'exam',
  'commas',
  'sentences',
  'capitals',
  'lines',
  'paragraphs',
  'items',
  'ats',
  'length',
] as const;
type OwnFigure = (typeof OWN)[number];

/** Offsets in the array of figures: first the weights of the signs, then `OPENING`, `BEFORE`, `UNDER`, `FIGURE` and the sums. */
export const OPENING = SIGNS.length;
/** The offset of the task probabilities of the question before. */
export const BEFORE = OPENING + SIGNS.length;
/** The offset of the task probabilities of the system prompt. */
export const UNDER = BEFORE + TASKS.length;
const FIRST_OWN = UNDER + TASKS.length;
const FIRST_SUM = FIRST_OWN + OWN.length;
const SUMS_MAX = 32;
export const FIGURE = Object.fromEntries(OWN.map((name, at) => [name, FIRST_OWN + at])) as Record<OwnFigure, number>;

/** The signs that each sum adds up. */
const SUMS: (readonly number[])[] = [];

/**
 * Returns the index of the sum of the weights of several signs. After a call of `sumOf`, the sum of these signs is computed for every
 * question.
 */
export function sumOf(...signs: readonly Sign[]): number {
  const all = signs.map((sign) => SIGN[sign]);
  const known = SUMS.findIndex((one) => one.join() === all.join());
  const nth = known < 0 ? SUMS.push(all) - 1 : known;
  if (nth >= SUMS_MAX) throw new RangeError(`more than ${SUMS_MAX} sums`);
  return FIRST_SUM + nth;
}

/** The number of figures of a question. */
export const FIGURES = FIRST_SUM + SUMS_MAX;

/** Writes the figures of a question. Without a context, the task probabilities of an earlier question remain in the figures. */
export function readFigures(view: QuestionView, figures: Float64Array): void {
  const { signs, openings } = view.reading;
  for (let sign = 0; sign < SIGNS.length; sign++) {
    figures[sign] = signs[sign]!;
    figures[OPENING + sign] = openings[sign]!;
  }
  for (let nth = 0; nth < SUMS.length; nth++) {
    const all = SUMS[nth]!;
    let sum = 0;
    for (let at = 0; at < all.length; at++) sum += signs[all[at]!]!;
    figures[FIRST_SUM + nth] = sum;
  }
  addContext(view, figures);
  addText(view, figures);
  addCode(view, figures);
  addForm(view, figures);
}

function addContext({ before, system, tools }: QuestionView, figures: Float64Array): void {
  if (before !== null) for (let task = 0; task < TASKS.length; task++) figures[BEFORE + task] = before[task]!;
  if (system !== null) for (let task = 0; task < TASKS.length; task++) figures[UNDER + task] = system.tasks[task]!;
  figures[FIGURE.one] = 1;
  figures[FIGURE.follows] = before !== null ? 1 : 0;
  figures[FIGURE.binds] = system?.binds ? 1 : 0;
  figures[FIGURE.toolNamed] = tools?.named ? 1 : 0;
  figures[FIGURE.amidTools] = tools?.amid ? 1 : 0;
}

function addText({ question, reading }: QuestionView, figures: Float64Array): void {
  const { quotes, colon, hasText, numbers, formulas, latex } = reading;
  const isShown = question.documents > 0 || hasText || question.length > 600;
  const isQuoted = quotes > 0 || colon;
  figures[FIGURE.shown] = isShown ? 1 : 0;
  // The question brings the material for its task: as a block, in quotes or after a colon.
  figures[FIGURE.material] = isShown || isQuoted ? 1 : 0;
  figures[FIGURE.quotes] = quotes;
  figures[FIGURE.colon] = colon ? 1 : 0;
  figures[FIGURE.quotesOrColon] = isQuoted ? 1 : 0;
  figures[FIGURE.hasText] = hasText ? 1 : 0;
  figures[FIGURE.documents] = question.documents;
  figures[FIGURE.numbers] = numbers;
  figures[FIGURE.formulas] = formulas;
  figures[FIGURE.latex] = latex;
  figures[FIGURE.figures] = numbers + formulas + latex > 0 ? 1 : 0;
}

function addCode({ question, reading }: QuestionView, figures: Float64Array): void {
  const { signs, openings, named, symbols, ticks, flags, words, functionWords } = reading;
  const { codeFences, codeLines } = question;
  const homographs = reading.homographs.length;
  const isCode = codeFences > 0 || codeLines > 1;
  const ofPrograms = signs[SIGN.code]! + signs[SIGN.program]!;
  const ofCode = ofPrograms + signs[SIGN.mend]!;
  // A single word is the only sign of code.
  const isLone = named + symbols + ticks + homographs + codeFences + codeLines === 0 && ofCode < 1.5;
  const isFact = openings[SIGN.fact] === 1 && codeLines === 0 && words - functionWords <= 1;
  figures[FIGURE.codeDocuments] = question.codeDocuments;
  figures[FIGURE.onlyCode] = codeLines > 0 && question.length === 0 ? 1 : 0;
  figures[FIGURE.codeFences] = codeFences;
  figures[FIGURE.codeLines] = codeLines;
  figures[FIGURE.named] = named;
  figures[FIGURE.homographs] = homographs;
  figures[FIGURE.programmingNames] = reading.languages.length + homographs;
  figures[FIGURE.homographAmidCode] = homographs > 0 && (isCode || ofCode > 0.4) ? 1 : 0;
  figures[FIGURE.ofCode] = isCode || ofPrograms + named > 0 ? 1 : 0;
  figures[FIGURE.loneOfCode] = isLone ? 1 : 0;
  figures[FIGURE.factOfCode] = isFact && named + homographs + ofPrograms > 0 ? 1 : 0;
  figures[FIGURE.symbols] = symbols;
  figures[FIGURE.ticks] = ticks;
  figures[FIGURE.flags] = flags;
}

function addForm({ reading, shape }: QuestionView, figures: Float64Array): void {
  const { words, functionWords } = reading;
  figures[FIGURE.asksMark] = reading.asksMark ? 1 : 0;
  figures[FIGURE.words] = words;
  figures[FIGURE.otherWords] = words - functionWords;
  figures[FIGURE.smallWords] = words > 0 ? functionWords / words : 0;
  figures[FIGURE.lead] = reading.lead;
  figures[FIGURE.object] = reading.object;
  figures[FIGURE.slashes] = shape.slashes;
  figures[FIGURE.listed] = shape.listed;
  figures[FIGURE.exam] = shape.choices > 2 ? 1 : 0;
  figures[FIGURE.commas] = shape.commas;
  figures[FIGURE.sentences] = shape.sentences;
  figures[FIGURE.capitals] = shape.capitals / 6;
  figures[FIGURE.lines] = shape.lines;
  figures[FIGURE.paragraphs] = shape.paragraphs;
  figures[FIGURE.items] = shape.items;
  figures[FIGURE.ats] = shape.ats;
  figures[FIGURE.length] = lengthOf(shape.length);
}

/** The logarithms of common lengths, because reading an array is faster than computing a logarithm. */
const LENGTHS = Float64Array.from({ length: 2_048 }, (_, chars) => logarithmOf(chars));
const lengthOf = (chars: number): number => LENGTHS[chars] ?? logarithmOf(chars);

function logarithmOf(chars: number): number {
  return Math.log2(chars + 1) / 10;
}
