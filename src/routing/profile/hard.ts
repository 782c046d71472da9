import type { QuestionView } from './features.ts';
import {
  ABOUT_CODE,
  ADVANCED_MATHS,
  CLAUSE,
  CLUES,
  CODE_BASE,
  COMPETITION,
  CONCURRENCY,
  CONTRACT,
  CRITICAL,
  DEEP_CODE,
  DRAFT,
  ERRORS,
  EXPERT_CODE,
  FAILS,
  FINDS_ALL,
  FORMAL,
  LIMITS,
  LOCKS,
  MAKES,
  MOVES,
  NO_ERRORS,
  OF_CONTESTS,
  OPEN_PROBLEM,
  PAPER,
  POEM,
  PROVE,
  QUANTIFIED,
  SCHOOL,
  SETTLES,
  SMALL_PIECE,
  SOLE_QUESTION,
  TRANSLATE,
  WEIGHS_CLAUSE,
} from './lexicon/expert.ts';
import { SIGN } from './lexicon/lexicon.ts';
import type { Sign } from './lexicon/signs.ts';

/** Fewer words ask for nothing that is plainly hard; a Chinese or Japanese character is half a word. */
const WORDS_MIN = 5;
/** Characters of the question that are looked at, of its head and of its tail. */
const EDGE = 700;
/** Signs of formal mathematics, and characters, from which a proof is hard whatever it is about. */
const FORMAL_MIN = 3;
const FORMAL_CHARS_MIN = 60;
/** Lines of code in which two threads may meet; a long file, log or trace, in UTF-16 code units. */
const SHOWN_LINES_MIN = 12;
const LONG_CHARS_MIN = 4_000;
/** Words that ask for code which laymen speak of, too, and those of a contest's problem. */
const DEEP_WORDS_MIN = 9;
const CONTEST_WORDS_MIN = 15;
const CLUES_MIN = 5;
/** Words of a clue, on average: a story has more between them. */
const CLUE_WORDS_MAX = 16;
const CLUE_KINDS_MIN = 3;
const CHOICES_MAX = 2;
const SENTENCES_MIN = 5;
/** Words of a paper or an argument, with what is asked of it. */
const PAPER_WORDS_MIN = 15;
const ASKING_CHARS = 160;
const VERSES_MIN = 2;
/** Calls of tools since the user spoke. */
const CALLS_MIN = 8;

/** A request as the rules below see it. `said` is in lower case, without code, and cut. */
interface Ask {
  readonly view: QuestionView;
  readonly task: string;
  readonly said: string;
}

const OF_MATHS = ['math', 'reasoning', 'general', 'coding', 'extraction'];
const OF_CODE = ['coding', 'reasoning', 'math', 'general', 'tool_use', 'writing'];
const OF_LAW = ['writing', 'translation', 'reasoning', 'general', 'extraction'];

/** A rule for the requests of some tasks; `isNear`, where there is one, is a cheap look at what was read before. */
type Rule = readonly [
  tasks: readonly string[],
  holds: (ask: Ask) => boolean,
  isNear?: (ask: Omit<Ask, 'said'>) => boolean,
];

/** A request for which a rule of its task holds is hard. */
const RULES: readonly Rule[] = [
  [OF_MATHS, isProof, ({ view, task }) => task !== 'coding' || isNearMaths(view)],
  [OF_MATHS, isCompetition, ({ view, task }) => task === 'math' || isNearMaths(view)],
  [OF_CODE, isExpertCode, isNearCode],
  [OF_CODE, isLargeChange, isNearCode],
  [OF_CODE, isHunt, isNearCode],
  [['reasoning', 'math', 'general'], isPuzzle],
  [OF_LAW, isLaw],
  [['translation', 'writing'], isVerse],
  [['writing', 'reasoning', 'general', 'extraction'], isCritique],
];

/** Whether a request is plainly hard, by the rule that stands in `difficulty.ts`. */
export function isHard(view: QuestionView, task: string): boolean {
  const { question, reading, shape, tools } = view;
  if (tools?.amid) return tools.calls >= CALLS_MIN && isFailure(tools.result);
  // Answers to choose from leave little to prove, make or draft.
  if (shape.choices > CHOICES_MAX) return false;
  if (isOpenProblem(view, task)) return true;
  if (reading.words < WORDS_MIN && question.codeFences + question.codeLines + question.documents === 0) return false;
  let ask: Ask | null = null;
  for (const [tasks, holds, isNear] of RULES) {
    if (!tasks.includes(task) || isNear?.({ view, task }) === false) continue;
    ask ??= { view, task, said: saidIn(view) };
    if (holds(ask)) return true;
  }
  return false;
}

function hasSign({ reading }: QuestionView, ...signs: readonly Sign[]): boolean {
  return signs.some((sign) => reading.signs[SIGN[sign]]! > 0);
}

function isNearMaths(view: QuestionView): boolean {
  const { formulas, latex, symbols } = view.reading;
  return formulas + latex + symbols > 0 || hasSign(view, 'solve', 'maths', 'puzzle', 'logic');
}

/** Requests that are read as code are; of others, those with code, a language's name or a word for making things. */
function isNearCode({ view, task }: Omit<Ask, 'said'>): boolean {
  const { codeFences, codeLines, documents } = view.question;
  if (task === 'coding' || codeFences + codeLines + documents > 0 || isOfCode(view)) return true;
  return hasSign(view, 'make', 'write', 'mend', 'code', 'program');
}

/** What is asked, from the edges of a long text, where it asks. */
function saidIn({ question: { text, lines, head, tail } }: QuestionView): string {
  let said = '';
  for (const { from, to } of lines) {
    if (from < head) said += `${text.slice(from, Math.min(to, head))}\n`;
    if (to > tail) said += `${text.slice(Math.max(from, tail, head), to)}\n`;
  }
  const cut = said.length > 2 * EDGE ? `${said.slice(0, EDGE)}\n${said.slice(-EDGE)}` : said;
  return cut.toLowerCase().trim();
}

const count = (said: string, sign: RegExp): number => said.match(sign)?.length ?? 0;

/** A named problem that is open: few words tell it. */
function isOpenProblem(view: QuestionView, task: string): boolean {
  if (!OF_MATHS.includes(task) || view.question.length > EDGE) return false;
  const said = saidIn(view);
  return OPEN_PROBLEM.test(said) && (PROVE.test(said) || SETTLES.test(said)) && !SOLE_QUESTION.test(said);
}

function isProof({ task, said }: Ask): boolean {
  if (!PROVE.test(said) || SCHOOL.test(said) || SOLE_QUESTION.test(said)) return false;
  if (task !== 'coding' && ADVANCED_MATHS.test(said)) return true;
  return said.length >= FORMAL_CHARS_MIN && count(said, FORMAL) >= FORMAL_MIN;
}

function isCompetition({ view: { standing }, said }: Ask): boolean {
  const isOfContests = standing !== null && OF_CONTESTS.test(standing.text) && FINDS_ALL.test(said);
  return (isOfContests || COMPETITION.test(said)) && QUANTIFIED.test(said) && !SCHOOL.test(said);
}

/** Code of an expert to be made, or two threads that fail in code that is shown. */
function isExpertCode({ view, task, said }: Ask): boolean {
  if (view.reading.words >= CONTEST_WORDS_MIN && LIMITS.test(said) && QUERIES.test(said)) return true;
  const { text } = view.question;
  if (isShown(view) && FAILS.test(said)) return CONCURRENCY.test(said) || LOCKS.test(text);
  if (SOLE_QUESTION.test(said) || ABOUT_CODE.test(said)) return false;
  if (!MAKES.test(said)) return false;
  if (EXPERT_CODE.test(said)) return true;
  return view.reading.words >= DEEP_WORDS_MIN && (task === 'coding' || isOfCode(view)) && DEEP_CODE.test(said);
}
function isOfCode({ reading }: QuestionView): boolean {
  return reading.languages.length + reading.homographs.length > 0;
}
const QUERIES = /quer|print|output|comput|answer|count|minim|maxim|time limit|code|solve|find/;

function isShown({ question: { text, codeFences, codeLines } }: QuestionView): boolean {
  if (codeFences + codeLines === 0) return false;
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0 && lines < SHOWN_LINES_MIN + BLANK; at = text.indexOf('\n', at + 1))
    lines++;
  return lines >= SHOWN_LINES_MIN + BLANK;
}
/** Newlines that stand around a question's text. */
const BLANK = 6;

function isLargeChange({ said }: Ask): boolean {
  return MOVES.test(said) && CODE_BASE.test(said) && !SOLE_QUESTION.test(said);
}

/** A failure to be found in a long file, log or trace. */
function isHunt({ view: { question }, said }: Ask): boolean {
  return (
    question.size >= LONG_CHARS_MIN &&
    question.codeFences + question.codeLines + question.documents > 0 &&
    FAILS.test(said)
  );
}

function isPuzzle({ view: { shape, reading }, said }: Ask): boolean {
  if (Math.max(shape.sentences, shape.items, shape.lines) < SENTENCES_MIN) return false;
  const clues = said.match(CLUES) ?? [];
  if (clues.length < CLUES_MIN || reading.words > clues.length * CLUE_WORDS_MAX) return false;
  return new Set(clues).size >= CLUE_KINDS_MIN;
}

function isLaw({ said }: Ask): boolean {
  if (SMALL_PIECE.test(said) || SOLE_QUESTION.test(said)) return false;
  if (DRAFT.test(said) && CONTRACT.test(said)) return true;
  return (WEIGHS_CLAUSE.test(said) || TRANSLATE.test(said)) && CLAUSE.test(said);
}

function isVerse({ view: { question }, said }: Ask): boolean {
  return TRANSLATE.test(said) && POEM.test(said) && question.lines.length + question.documents > VERSES_MIN;
}

/** A text speaks of arguments and flaws as well; what is asked of it stands at an end. */
function isCritique({ view: { reading }, said }: Ask): boolean {
  if (reading.words < PAPER_WORDS_MIN) return false;
  return [said.slice(0, ASKING_CHARS), said.slice(-ASKING_CHARS)].some((end) => CRITICAL.test(end) && PAPER.test(end));
}

/** Whether what the last tool gave tells of a failure, in its edges. */
function isFailure(result: string): boolean {
  const told = result.toLowerCase().replace(NO_ERRORS, ' ');
  return ERRORS.test(told);
}
