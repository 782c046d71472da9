import type { Difficulty, Facts } from '../../core/facts.ts';
import { isHard } from './hard.ts';
import { expressionsOf, figuresOf } from './lexicon/data.ts';
import file from './lexicon/easy.json' with { type: 'json' };
import { SIGN } from './lexicon/signs.ts';
import { type QuestionView, sum } from './question-view.ts';
import { TASKS } from './tasks.ts';

/**
 * Finds requests that are clearly easy or clearly hard. All requests that are neither clearly easy nor clearly hard are `usual`.
 *
 * A request is `easy` if one of these applies (words and bounds: `lexicon/easy.json`):
 *
 * - **small talk**: a greeting or thanks in few words, with no other question;
 * - **a small sum**: one line with few numbers and words, such as "17 * 23" or "what is 15% of 80";
 * - **a label**: the user names a few labels and wants one of them for a short text, without reasons;
 * - **a line to translate**: few words, into a language of the lexicon, without verse or wordplay;
 * - **a primary school fact**: a capital, the days of a week, an opposite.
 *
 * A short question is not automatically easy: "Is P = NP?" satisfies none of these conditions. Multiple choice, code, images, documents,
 * tools and an uncertain task are never easy.
 *
 * A request is `hard` if one of these applies (`hard.ts`; words and bounds: `lexicon/hard.json`):
 *
 * - **a proof** beyond school level: about higher mathematics, or about a formal statement with several signs of formulas or quantifiers;
 * also any request about a named open problem;
 * - **a competition problem**: all functions, polynomials or pairs that satisfy a condition; any request for all objects of a kind if the
 * system prompt is about olympiads; bounds such as "n <= 10^5";
 * - **writing code that needs an expert**: lock-free code, consensus, a compiler, type inference, cryptography, numerics;
 * - **a large change**: a migration or rewrite of a whole code base;
 * - **a hunt for a fault**: a failure in multithreaded code or in a long text of code, logs or traces; a deadlock or race in a program that
 * the request describes;
 * - **a puzzle** with several clues;
 * - **legal work**: drafting a contract; reviewing, comparing or translating a clause;
 * - translating **verse**, or a critical review of **a paper or an argument**.
 *
 * An agent keeps the difficulty of its question while it calls tools. If it is stuck, its request is hard, whatever it is about
 * (`progress.ts`).
 *
 * A request that only names a subject, such as "what is a deadlock?", is not hard.
 */
export function difficultyOf(view: QuestionView, { task, mix }: Pick<Facts, 'task' | 'mix'>): Difficulty {
  if (isHard(view, task)) return 'hard';
  const isSure = mix.length === 0 || mix[0]!.share >= BOUND.sure_share;
  const rule = isSure && isBare(view) ? RULES[task] : undefined;
  return rule?.(view, askedText(view)) ? 'easy' : 'usual';
}

const BOUND = figuresOf(file);
const WORDS = expressionsOf(file);
/** Matches a text that consists only of a question for a fact. */
const FACT = new RegExp(`^(?:${WORDS.fact.source})[?.!？]*$`, WORDS.fact.flags);
const askedText = ({ question: { text, lines } }: QuestionView): string =>
  lines.map(({ from, to }) => text.slice(from, to)).join('\n');

type Rule = (view: QuestionView, wording: string) => boolean;

const RULES: Readonly<Record<string, Rule>> = {
  chat: isSmallTalk,
  math: (view, wording) => isFree(view) && (isSmallSum(wording) || FACT.test(wording.trim())),
  classification: isLabel,
  translation: isLine,
  general: (view, wording) => isFree(view) && FACT.test(wording.trim()),
};

/** Whether the request consists of only a few words. */
function isBare({ question, reading, shape, tools }: QuestionView): boolean {
  if (question.length > BOUND.chars_max || question.documents + question.codeFences + question.codeLines > 0)
    return false;
  if (reading.symbols + reading.latex > 0 || shape.choices > 2 || shape.items > 2) return false;
  return tools?.amid !== true;
}

/** Whether neither an earlier question nor the system prompt changes the meaning of the question. */
const isFree = ({ before, system }: QuestionView): boolean => before === null && system?.binds !== true;

function isSmallTalk(view: QuestionView): boolean {
  const { words, functionWords, numbers, asksMark, languages, homographs } = view.reading;
  if (languages.length + homographs.length > 0) return false;
  const phrases = sum(view, 'greet') + sum(view, 'thanks');
  if (
    words > BOUND.talk_words_max ||
    phrases < 0.5 ||
    numbers > 0 ||
    words - functionWords - phrases > BOUND.talk_others_max
  )
    return false;
  if (sum(view, 'make', 'mend', 'write', 'weigh', 'puzzle', 'solve', 'act', 'also', 'code', 'program', 'feel') > 0)
    return false;
  // "How are you?" requests nothing, but another question mark does.
  return !asksMark || sum(view, 'greet') > 0.5;
}

const NUMBER = /\d+(?:[.,]\d{1,2})?/g;

function isSmallSum(wording: string): boolean {
  if (wording.length > BOUND.sum_chars_max || wording.includes('\n')) return false;
  const numbers = wording.match(NUMBER) ?? [];
  if (numbers.length < 2 || numbers.length > BOUND.numbers_max) return false;
  const digits = numbers.join('').replace(/\D/g, '').length;
  if (digits > (WORDS.times.test(wording) ? BOUND.multiplied_digits_max : BOUND.added_digits_max)) return false;
  const between = wording.slice(wording.search(/\d/), wording.search(/\d\D*$/)).replace(NUMBER, '');
  const left = wording
    .replace(NUMBER, ' ')
    .replace(WORDS.sum_words, ' ')
    .replace(/[\s+\-*/×÷·−x()=?？%.!,]/giu, '');
  return left === '' && /[+\-*/×÷·−x%]|\p{L}/iu.test(between);
}

/** Whether the request wants one of a few labels for a short text. */
function isLabel(view: QuestionView, wording: string): boolean {
  const { system, reading, shape, question } = view;
  if (sum(view, 'weigh', 'puzzle', 'maths', 'code', 'program', 'logic') > 1 || WORDS.why.test(wording)) return false;
  if (system && system.tasks[LABELLING]! >= BOUND.sure_share)
    return system.text.length <= BOUND.system_chars_max && !isJudgement(system.text);
  const isNamed = sum(view, 'labels') > 0.4 && (shape.slashes + shape.listed > 0 || sum(view, 'either', 'labels') > 1);
  const hasText = reading.quotes > 0 || reading.colon || reading.hasText || question.lines.length > 1;
  return isNamed && hasText && !isJudgement(wording);
}

const isJudgement = (text: string): boolean => WORDS.judgement.test(text);

/** Whether the request wants a translation of one line that is in quotes, after a colon, or under a binding system prompt. */
function isLine(view: QuestionView, wording: string): boolean {
  const { system, reading, question } = view;
  const { words } = reading;
  if (question.lines.length > 1 || sum(view, 'piece', 'code', 'program') > 0 || WORDS.play.test(wording)) return false;
  if (system?.binds && reading.signs[SIGN.tongue]! === 0)
    return words <= BOUND.line_words_max && system.text.length <= BOUND.system_chars_max;
  const hasLine = reading.quotes === 1 || reading.colon;
  const isAsked = sum(view, 'translate', 'say') > 0.4 || reading.colon || words <= BOUND.short_words_max;
  return hasLine && isAsked && sum(view, 'tongue') > 0.2 && words <= BOUND.line_words_max + BOUND.around_words_max;
}

const LABELLING = TASKS.indexOf('classification');
