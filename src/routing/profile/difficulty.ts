import type { Difficulty, Facts } from '../../core/facts.ts';
import type { QuestionView } from './features.ts';
import { isHard } from './hard.ts';
import { SIGN } from './lexicon/lexicon.ts';
import type { Sign } from './lexicon/signs.ts';
import { TASKS } from './tasks.ts';

/**
 * Which requests are plainly easy, and which plainly hard; all else, and what is in doubt, is `usual`.
 *
 * A request is `easy` where one of these holds:
 *
 * - **small talk**: a greeting or thanks of at most 8 words, with no other question;
 * - **a small sum**: one line of at most 3 numbers and words for arithmetic, such as "17 * 23" or "what is 15% of 80";
 * - **a label**: one of a few that are named, for a text of at most 300 characters, where nobody asks for reasons;
 * - **a line to translate**: at most 12 words, into a language that the lexicon knows, which is no verse and no play on words;
 * - **a fact of the primary school**: a capital, the days of a week, an opposite, and no other.
 *
 * A short question is not easy for being short: "Is P = NP?" is none of these. Neither is a question with answers to choose from,
 * nor one with code, an image, a document or tools, nor one whose task is uncertain.
 *
 * A request is `hard` where one of these holds (`hard.ts`, words in `lexicon/expert.ts`):
 *
 * - **a proof** beyond school: of a subject of higher mathematics, or of a formal statement (3 signs of formulas or quantifiers); of a
 *   named open problem in however few words;
 * - **a competition's problem**: all functions, polynomials or pairs that satisfy a condition, or all of anything under a system prompt
 *   of olympiads; bounds such as "n <= 10^5";
 * - **an expert's code to be made**: lock-free, consensus, a compiler, type inference, cryptography, numerics;
 * - **a large change**: a migration or rewrite of a whole code base;
 * - **a hunt**: a failure in code of several threads (12 lines or more), or in 4,000 characters of code, logs or traces;
 * - **a puzzle** of 5 clues or more;
 * - **law**: a contract to be drafted, a clause to be reviewed, compared or translated;
 * - **verse** to be translated, and **a paper or an argument** to be reviewed critically;
 * - **an agent that is stuck**: 8 calls of tools or more since the user spoke, the last of which failed.
 *
 * A question that only names a subject, such as "what is a deadlock?", is not hard.
 */
export function difficultyOf(view: QuestionView, { task, mix }: Pick<Facts, 'task' | 'mix'>): Difficulty {
  if (isHard(view, task)) return 'hard';
  const isSure = mix.length === 0 || mix[0]!.share >= SURE;
  const rule = isSure && isBare(view) ? RULES[task] : undefined;
  return rule?.(view, saidIn(view)) ? 'easy' : 'usual';
}

/** Share of the task from which it is certain enough. */
const SURE = 0.75;
/** Nothing that is asked in more UTF-16 code units than this is easy. */
const EASY_CHARS_MAX = 300;
/** A longer system prompt says more than what to do: it has rules, and cases. */
const SYSTEM_CHARS_MAX = 500;
const TALK_WORDS_MAX = 8;
/** Words of small talk that are neither a greeting nor thanks nor say nothing: names, "helped", "today". */
const TALK_OTHERS_MAX = 2;
const LINE_WORDS_MAX = 12;
/** Words around a line to translate: "how do you say … in …", "translate … into …, please". */
const FRAME_WORDS_MAX = 7;
/** "what's … in Polish": so few words need no verb. */
const SHORT_WORDS_MAX = 9;

const saidIn = ({ question: { text, lines } }: QuestionView): string =>
  lines.map(({ from, to }) => text.slice(from, to)).join('\n');

type Rule = (view: QuestionView, said: string) => boolean;

const RULES: Readonly<Record<string, Rule>> = {
  chat: isSmallTalk,
  math: (view, said) => isFree(view) && (isSmallSum(said) || FACT.test(said.trim())),
  classification: isLabel,
  translation: isLine,
  general: (view, said) => isFree(view) && FACT.test(said.trim()),
};

const seen = ({ reading }: QuestionView, ...signs: readonly Sign[]): number =>
  signs.reduce((sum, sign) => sum + reading.signs[SIGN[sign]]!, 0);

/** Whether nothing stands in the request but some words. */
function isBare({ question, reading, shape, tools }: QuestionView): boolean {
  if (question.length > EASY_CHARS_MAX || question.documents + question.codeFences + question.codeLines > 0)
    return false;
  if (reading.symbols + reading.latex > 0 || shape.choices > 2 || shape.items > 2) return false;
  return tools?.amid !== true;
}

/** Whether it leans on no question before, and no system prompt says what to do with it. */
const isFree = ({ before, standing }: QuestionView): boolean => before === null && standing?.binds !== true;

function isSmallTalk(view: QuestionView): boolean {
  const { words, known, numbers, asksMark, languages, homographs } = view.reading;
  if (languages.length + homographs.length > 0) return false;
  const phrases = seen(view, 'greet') + seen(view, 'thanks');
  if (words > TALK_WORDS_MAX || phrases < 0.5 || numbers > 0 || words - known - phrases > TALK_OTHERS_MAX) return false;
  if (seen(view, 'make', 'mend', 'write', 'weigh', 'puzzle', 'solve', 'act', 'also', 'code', 'program', 'feel') > 0)
    return false;
  // "how are you?" asks nothing; another question does.
  return !asksMark || seen(view, 'greet') > 0.5;
}

/** Words for arithmetic, and those around a sum. Whatever else stands in a line, it is no small sum. */
const SUM_WORDS =
  /what(?:'s|’s| is| are)?|how much is|calculate|compute|evaluate|please|pls|times|plus|minus|multiplied by|divided by|percent|of|the|is|equals?|wie ?viel (?:ist|sind|macht|ergibt)|was (?:ist|sind|ergibt)|berechne|rechne|mal|geteilt durch|prozent|von|bitte|cu[aá]nto (?:es|son)|calcula|por|m[aá]s|menos|entre|dividido|por ciento|de|combien (?:font|fait)|calcule|fois|moins|divis[ée] par|pour cent|quanto (?:fa|[eé])|per|pi[uù]|meno|diviso|per cento|di|mais|vezes|ile (?:to|jest)|razy|odj[aą][cć]|doda[cć]|сколько будет|умножить на|плюс|минус|разделить на|процентов от|hoeveel is|keer|plus|kaç eder|çarpı|artı|eksi|是多少|等于多少|计算|乘以|加|减|除以|はいくつ|いくつですか|計算して|かける|たす|ひく|わる|얼마|계산해줘|곱하기|더하기|빼기|나누기|는|은/giu;
const NUMBER = /\d+(?:[.,]\d{1,2})?/g;
const NUMBERS_MAX = 3;
/** Digits of all numbers: of what is added, and of what is multiplied, which takes more. */
const ADDED_DIGITS_MAX = 10;
const MULTIPLIED_DIGITS_MAX = 5;
const SUM_CHARS_MAX = 70;
const TIMES =
  /[*×·x/÷%]|times|multipl|mal|fois|por|per|razy|keer|vezes|умнож|раздел|乘|除|かける|わる|곱|나누|divi|geteilt|percent|prozent|cent/iu;

function isSmallSum(said: string): boolean {
  if (said.length > SUM_CHARS_MAX || said.includes('\n')) return false;
  const numbers = said.match(NUMBER) ?? [];
  if (numbers.length < 2 || numbers.length > NUMBERS_MAX) return false;
  const digits = numbers.join('').replace(/\D/g, '').length;
  if (digits > (TIMES.test(said) ? MULTIPLIED_DIGITS_MAX : ADDED_DIGITS_MAX)) return false;
  const between = said.slice(said.search(/\d/), said.search(/\d\D*$/)).replace(NUMBER, '');
  const left = said
    .replace(NUMBER, ' ')
    .replace(SUM_WORDS, ' ')
    .replace(/[\s+\-*/×÷·−x()=?？%.!,]/giu, '');
  return left === '' && /[+\-*/×÷·−x%]|\p{L}/iu.test(between);
}

/** Whether a label of a few is asked for, which a short text shows. */
function isLabel(view: QuestionView, said: string): boolean {
  const { standing, reading, shape, question } = view;
  if (seen(view, 'weigh', 'puzzle', 'maths', 'code', 'program', 'logic') > 1 || WHY.test(said)) return false;
  if (standing && standing.tasks[LABELLING]! >= SURE)
    return standing.text.length <= SYSTEM_CHARS_MAX && !isJudgement(standing.text);
  const isNamed =
    seen(view, 'labels') > 0.4 && (shape.slashes + shape.listed > 0 || seen(view, 'either', 'labels') > 1);
  const hasText = reading.quotes > 0 || reading.colon || reading.hasText || question.lines.length > 1;
  return isNamed && hasText && !isJudgement(said);
}

/** Asks for reasons, or for more than a label. */
const WHY =
  /\b(?:why|explain|reasons?|justify|because|warum|begründe|pourquoi|justifie|por qu[eé]|explica|perch[eé])\b|почему|为什么|なぜ|이유/iu;

/** Labels that take a judge: of truth, law, health, of who wrote a text, of irony. */
const JUDGEMENT =
  /sarcas|ir[oóô]ni|opini|toxic|against|attack|violat|polic|triage|emergenc|patient|valid|fallac|true or false|factual|legal|liab|diagnos|medical|machine|injection|plagiar|bias|proof|entail|contradict|guilt|score|scale|rate|hate/iu;
const isJudgement = (text: string): boolean => JUDGEMENT.test(text);

/** Whether a line is to be translated: quoted, behind a colon, or whatever the system prompt says so of. */
function isLine(view: QuestionView, said: string): boolean {
  const { standing, reading, question } = view;
  const { words } = reading;
  if (question.lines.length > 1 || seen(view, 'piece', 'code', 'program') > 0 || PLAY.test(said)) return false;
  if (standing?.binds && reading.signs[SIGN.tongue]! === 0)
    return words <= LINE_WORDS_MAX && standing.text.length <= SYSTEM_CHARS_MAX;
  const hasLine = reading.quotes === 1 || reading.colon;
  const isAsked = seen(view, 'translate', 'say') > 0.4 || reading.colon || words <= SHORT_WORDS_MAX;
  return hasLine && isAsked && seen(view, 'tongue') > 0.2 && words <= LINE_WORDS_MAX + FRAME_WORDS_MAX;
}

const PLAY = /idiom|pun\b|proverb|slang|rhym|joke|sprichwort|redewendung|proverbe|modismo|文言|谚语|成语/iu;

const UNIT = '(?:seconds?|minutes?|hours?|days?|weeks?|months?)';
/** The facts of a primary school, by the forms that they are asked in. A name of more than two words is no country's. */
const FACT = new RegExp(
  [
    "(?:what(?:'s|’s| is) )?(?:the )?capital(?: city)? of (?:the )?[\\p{L}-]+(?: \\p{Lu}[\\p{L}-]+)?",
    '(?:was|wie) (?:ist|heißt) die hauptstadt von [\\p{L}-]+',
    '(?:quelle est )?la capitale (?:de la |de l.|du |de |d.|des )[\\p{L}-]+',
    '¿?(?:cuál es )?la capital de [\\p{L}-]+',
    '(?:qual è )?la capitale (?:della |dell.|del |di )[\\p{L}-]+',
    'qual é a capital (?:da |do |de )[\\p{L}-]+',
    '(?:wat is )?de hoofdstad van [\\p{L}-]+',
    '(?:jaka jest |co jest )?stolic[aą] [\\p{L}-]+',
    '(?:какая )?столица [\\p{L}-]+',
    '\\p{L}{2,8}の首都(?:は(?:どこ|何|なん)(?:です|でしょう)?か?)?',
    '\\p{L}{2,8}首都(?:是哪里|是哪儿|在哪里|是什么)',
    '\\p{L}{2,10}의 수도는? ?어디(?:야|예요|에요|인가요|입니까)?',
    `how many ${UNIT} (?:are (?:there )?in|does|has|have|in|make) an? ${UNIT}(?: have)?`,
    "(?:what(?:’s|'s| is) )?the (?:opposite|plural) of [\"“‘']?[\\p{L}]+[\"”’']?",
  ]
    .map((one) => `^(?:${one})[?.!？]*$`)
    .join('|'),
  'iu',
);
const LABELLING = TASKS.indexOf('classification');
