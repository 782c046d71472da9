import type { Difficulty, Facts } from '../../core/facts.ts';
import { isHard } from './hard.ts';
import { expressionsOf, figuresOf } from './lexicon/data.ts';
import file from './lexicon/easy.json' with { type: 'json' };
import { SIGN } from './lexicon/signs.ts';
import { type QuestionView, sum } from './question-view.ts';
import { TASKS } from './tasks.ts';

/**
 * Finds requests that are plainly easy or plainly hard. All others are `usual`.
 *
 * A request is `easy` where one of these holds (words and bounds: `lexicon/easy.json`):
 *
 * - **small talk**: a greeting or thanks in few words, with no other question;
 * - **a small sum**: one line of few numbers and words for arithmetic, such as "17 * 23" or "what is 15% of 80";
 * - **a label**: one of a few that are named, for a short text, without reasons;
 * - **a line to translate**: few words, into a language of the lexicon, no verse and no play on words;
 * - **a fact of primary school**: a capital, the days of a week, an opposite.
 *
 * A short question is not easy for being short: "Is P = NP?" is none of these. Multiple choice, code, images, documents, tools
 * and an uncertain task are never easy.
 *
 * A request is `hard` where one of these holds (`hard.ts`; words and bounds: `lexicon/hard.json`):
 *
 * - **a proof** beyond school: of a subject of higher mathematics, or of a formal statement with several signs of formulas or
 *   quantifiers; of a named open problem in however few words;
 * - **a competition's problem**: all functions, polynomials or pairs that satisfy a condition, or all of anything under a system prompt
 *   of olympiads; bounds such as "n <= 10^5";
 * - **an expert's code to be made**: lock-free, consensus, a compiler, type inference, cryptography, numerics;
 * - **a large change**: a migration or rewrite of a whole code base;
 * - **a hunt**: a failure in code of several threads, or in a long text of code, logs or traces; a deadlock or race of a program
 *   that the request describes;
 * - **a puzzle** of several clues;
 * - **law**: a contract to be drafted, a clause to be reviewed, compared or translated;
 * - **verse** to be translated, and **a paper or an argument** to be reviewed critically;
 * - **an agent that is stuck**: many calls of tools since the user spoke, the last of which failed.
 *
 * Naming a subject, as in "what is a deadlock?", is not hard.
 */
export function difficultyOf(view: QuestionView, { task, mix }: Pick<Facts, 'task' | 'mix'>): Difficulty {
  if (isHard(view, task)) return 'hard';
  const isSure = mix.length === 0 || mix[0]!.share >= BOUND.sure_share;
  const rule = isSure && isBare(view) ? RULES[task] : undefined;
  return rule?.(view, askedText(view)) ? 'easy' : 'usual';
}

const BOUND = figuresOf(file);
const WORDS = expressionsOf(file);
/** A question for a fact, and nothing else. */
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

/** Whether the request is only a few words. */
function isBare({ question, reading, shape, tools }: QuestionView): boolean {
  if (question.length > BOUND.chars_max || question.documents + question.codeFences + question.codeLines > 0)
    return false;
  if (reading.symbols + reading.latex > 0 || shape.choices > 2 || shape.items > 2) return false;
  return tools?.amid !== true;
}

/** Whether neither an earlier question nor the system prompt gives it another meaning. */
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
  // "how are you?" asks nothing; another question does.
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

/** Whether one of a few labels is to be given to a short text. */
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

/** Whether one line is to be translated: quoted, behind a colon, or under a system prompt that binds. */
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
