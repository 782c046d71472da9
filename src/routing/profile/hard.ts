import { expressionsOf, figuresOf } from './lexicon/data.ts';
import file from './lexicon/hard.json' with { type: 'json' };
import { SIGN } from './lexicon/signs.ts';
import type { QuestionRange } from './question.ts';
import { type QuestionView, sum } from './question-view.ts';
import { Expressions, type SearchText } from './search-text.ts';
import { TASKS } from './tasks.ts';

/** The input of a rule. `wording` is the beginning and end of the question's text in lower case, without code. */
interface RuleInput {
  readonly view: QuestionView;
  readonly task: string;
  readonly wording: SearchText;
}

const BOUND = figuresOf(file);
/** The rules search these expressions in texts other than the question. */
const { concurrent, locks, of_contests, ...OF_QUESTIONS } = expressionsOf(file);
/** The expressions that the rules search in a question. */
export const EXPRESSIONS = new Expressions(Object.values(OF_QUESTIONS), wordingOf);
/** The index of each expression. */
const IS = Object.fromEntries(Object.keys(OF_QUESTIONS).map((name, at) => [name, at])) as Record<
  keyof typeof OF_QUESTIONS,
  number
>;

const OF_MATHS = ['math', 'reasoning', 'general', 'coding', 'extraction'];
const OF_CODE = ['coding', 'reasoning', 'math', 'general', 'tool_use', 'writing'];
const OF_LAW = ['writing', 'translation', 'reasoning', 'general', 'extraction'];

/** A rule for some tasks. `isNear` is a cheap test that must be true before the rule runs. */
interface Rule {
  readonly tasks: readonly string[];
  readonly holds: (input: RuleInput) => boolean;
  readonly isNear?: (view: QuestionView, task: string) => boolean;
}

const RULES: readonly Rule[] = [
  { tasks: OF_MATHS, holds: isProof, isNear: (view, task) => task !== 'coding' || isNearMaths(view) },
  { tasks: OF_MATHS, holds: isCompetition, isNear: (view, task) => task === 'math' || isNearMaths(view) },
  { tasks: OF_CODE, holds: isExpertCode, isNear: isNearCode },
  { tasks: OF_CODE, holds: isLargeChange, isNear: isNearCode },
  { tasks: OF_CODE, holds: isHunt, isNear: isNearCode },
  { tasks: ['coding'], holds: isDeadlock },
  { tasks: ['reasoning', 'math', 'general'], holds: isPuzzle },
  { tasks: OF_LAW, holds: isLaw },
  { tasks: ['translation', 'writing'], holds: isVerse },
  { tasks: ['writing', 'reasoning', 'general', 'extraction'], holds: isCritique },
];
const rulesOf = (task: string) => ({
  isOfMaths: OF_MATHS.includes(task),
  rules: RULES.filter(({ tasks }) => tasks.includes(task)),
});
const RULES_OF = new Map(TASKS.map((task) => [task, rulesOf(task)]));
const NO_RULES = rulesOf('');

/** Returns whether a request is clearly hard, as defined in `difficulty.ts`. */
export function isHard(view: QuestionView, task: string): boolean {
  const { question, reading, shape } = view;
  // A multiple-choice question requires no proof, code or draft.
  if (shape.choices > BOUND.choices_max) return false;
  let input: RuleInput | null = null;
  const { isOfMaths, rules } = RULES_OF.get(task) ?? NO_RULES;
  if (isOfMaths && question.length <= BOUND.edge_chars) {
    input = { view, task, wording: askedText(view) };
    if (isOpenProblem(input)) return true;
  }
  if (reading.words < BOUND.words_min && question.codeFences + question.codeLines + question.documents === 0)
    return false;
  for (let at = 0; at < rules.length; at++) {
    const { holds, isNear } = rules[at]!;
    if (isNear?.(view, task) === false) continue;
    input ??= { view, task, wording: askedText(view) };
    if (holds(input)) return true;
  }
  return false;
}

function isNearMaths(view: QuestionView): boolean {
  const { formulas, latex, symbols, signs } = view.reading;
  if (formulas + latex + symbols > 0) return true;
  return signs[SIGN.solve]! + signs[SIGN.maths]! + signs[SIGN.puzzle]! + signs[SIGN.logic]! > 0;
}

/** Whether a request is about coding, contains code, names a programming language, or has a verb for making things. */
function isNearCode(view: QuestionView, task: string): boolean {
  const { codeFences, codeLines, documents } = view.question;
  if (task === 'coding' || codeFences + codeLines + documents > 0 || isOfCode(view)) return true;
  return sum(view, 'make', 'write', 'mend', 'code', 'program') > 0;
}

/**
 * Returns the lines of the question. Of a long question, `askedText` returns the beginning and the end, which usually contain the
 * instructions.
 */
function askedText({ question: { text, lines, head, tail } }: QuestionView): SearchText {
  const ranges = head >= text.length ? lines : edgesOf(lines, head, tail);
  return EXPRESSIONS.read(text, ranges);
}

function edgesOf(lines: readonly QuestionRange[], head: number, tail: number): QuestionRange[] {
  const edges: QuestionRange[] = [];
  for (const { from, to } of lines) {
    if (from < head) edges.push({ from, to: Math.min(to, head) });
    if (to > tail) edges.push({ from: Math.max(from, tail, head), to });
  }
  return edges;
}

function wordingOf(text: string, ranges: readonly QuestionRange[]): string {
  let wording = '';
  for (const { from, to } of ranges) wording += `${text.slice(from, to)}\n`;
  const cut =
    wording.length > 2 * BOUND.edge_chars
      ? `${wording.slice(0, BOUND.edge_chars)}\n${wording.slice(-BOUND.edge_chars)}`
      : wording;
  return cut.toLowerCase().trim();
}

/** Whether the question names an open problem, regardless of its length. */
function isOpenProblem({ wording }: RuleInput): boolean {
  if (!wording.has(IS.prove) && !wording.has(IS.settles)) return false;
  return wording.has(IS.open_problem) && !wording.has(IS.sole_question);
}

function isProof({ task, wording }: RuleInput): boolean {
  if (!wording.has(IS.prove) || wording.has(IS.school) || wording.has(IS.sole_question)) return false;
  if (task !== 'coding' && wording.has(IS.advanced_maths)) return true;
  return wording.text.length >= BOUND.formal_chars_min && wording.matches(IS.formal).length >= BOUND.formal_min;
}

function isCompetition({ view: { system }, wording }: RuleInput): boolean {
  const isOfContests = system !== null && wording.has(IS.finds_all) && of_contests.test(system.text);
  return (isOfContests || wording.has(IS.competition)) && wording.has(IS.quantified) && !wording.has(IS.school);
}

/**
 * Whether the question requests code that needs an expert, a competition problem, or the cause of a threading fault in the code that it
 * shows.
 */
function isExpertCode({ view, task, wording }: RuleInput): boolean {
  if (view.reading.words >= BOUND.contest_words_min && wording.has(IS.limits) && wording.has(IS.queries)) return true;
  const { text } = view.question;
  if (isShown(view) && wording.has(IS.fails)) return wording.has(IS.concurrency) || locks.test(text);
  if (!wording.mayHave(IS.makes)) return false;
  const mayBeDeep = view.reading.words >= BOUND.deep_words_min && (task === 'coding' || isOfCode(view));
  if (!wording.has(IS.expert_code) && !(mayBeDeep && wording.has(IS.deep_code))) return false;
  return wording.has(IS.makes) && !wording.has(IS.about_code) && !wording.has(IS.sole_question);
}
function isOfCode({ reading }: QuestionView): boolean {
  return reading.languages.length + reading.homographs.length > 0;
}

function isShown({ question: { text, codeFences, codeLines } }: QuestionView): boolean {
  if (codeFences + codeLines === 0) return false;
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0 && lines < BOUND.shown_lines_min + BLANK; at = text.indexOf('\n', at + 1))
    lines++;
  return lines >= BOUND.shown_lines_min + BLANK;
}
/** The number of newlines around a question's text. */
const BLANK = 6;

function isLargeChange({ wording }: RuleInput): boolean {
  return wording.has(IS.moves) && wording.has(IS.code_base) && !wording.has(IS.sole_question);
}

/** Whether the question is about a failure in a long file, log or trace. */
function isHunt({ view: { question }, wording }: RuleInput): boolean {
  return (
    question.size >= BOUND.long_chars_min &&
    question.codeFences + question.codeLines + question.documents > 0 &&
    wording.has(IS.fails)
  );
}

/**
 * Whether the question wants a threading fault found or fixed in a program that it describes. A question that merely names a threading
 * fault is not hard.
 */
function isDeadlock({ view, wording }: RuleInput): boolean {
  if (view.reading.words < BOUND.deep_words_min || !wording.has(IS.deadlock)) return false;
  if (wording.has(IS.about_code) || wording.has(IS.sole_question)) return false;
  return isOfCode(view) || concurrent.test(wording.text);
}

function isPuzzle({ view: { shape, reading }, wording }: RuleInput): boolean {
  if (Math.max(shape.sentences, shape.items, shape.lines) < BOUND.clues_min) return false;
  const clues = wording.matches(IS.clues);
  if (clues.length < BOUND.clues_min || reading.words > clues.length * BOUND.clue_words_max) return false;
  return new Set(clues).size >= BOUND.clue_kinds_min;
}

function isLaw({ wording }: RuleInput): boolean {
  const isDraft = wording.has(IS.contract) && wording.has(IS.draft);
  if (!isDraft && !(wording.has(IS.clause) && (wording.has(IS.weighs_clause) || wording.has(IS.translate))))
    return false;
  return !wording.has(IS.small_piece) && !wording.has(IS.sole_question);
}

function isVerse({ view: { question }, wording }: RuleInput): boolean {
  return (
    wording.has(IS.translate) && wording.has(IS.poem) && question.lines.length + question.documents > BOUND.verses_min
  );
}

/**
 * The test for a critique reads only the ends of the text, which contain the instruction. The middle of the text may mention arguments and
 * flaws too.
 */
function isCritique({ view: { reading }, wording }: RuleInput): boolean {
  if (reading.words < BOUND.paper_words_min || !wording.mayHave(IS.critical) || !wording.mayHave(IS.paper))
    return false;
  const { text } = wording;
  const isCritical = (end: string): boolean => OF_QUESTIONS.critical.test(end) && OF_QUESTIONS.paper.test(end);
  return isCritical(text.slice(0, BOUND.asking_chars)) || isCritical(text.slice(-BOUND.asking_chars));
}
