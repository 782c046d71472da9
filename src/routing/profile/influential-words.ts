import type { Turn } from '../../core/request/conversation.ts';
import type { ProfileInput } from './input.ts';
import { lastView, systemPromptView } from './intent.ts';
import type { PromptReader } from './prompt-reader.ts';
import type { QuestionView } from './question-view.ts';
import { taskLogits } from './task-logits.ts';
import { TASKS } from './tasks.ts';

/** A word, or several words in a row, that made a task more likely. */
export interface InfluentialWord {
  /** The words as written in the request. */
  readonly text: string;
  readonly of: 'question' | 'system prompt' | 'question before';
  /** The log odds that the task loses without these words. */
  readonly adds: number;
}

/** The number of words tried at the start and at the end of each text. */
const HEAD = 120;
const TAIL = 40;
/** The maximum number of words returned: the strongest ones. A word that occurs several times is returned once. */
const MOST = 6;
/** The minimum effect of a word: in log odds, and as a share of the strongest effect. */
const LEAST = 0.25;
const LEAST_SHARE = 0.12;
/** The number of user messages tried, including the last one. */
const TURNS = 4;
/**
 * The number of texts tried at the start and at the end of a request. Each tried text costs one reading of the whole request, and each
 * tried word costs another reading.
 */
const TEXTS = 16;

/**
 * Finds the words that made a task more likely, in the order of the request, by reading the request once without each word. Finding
 * influential words takes milliseconds, so only explanations use it. The generator yields after each reading. `influentialWords` is pure.
 *
 * @param task a task that does not depend on words, such as `vision`, has no influential words
 */
export function* influentialWords(
  request: ProfileInput,
  task: string,
  reader: PromptReader,
): Generator<undefined, InfluentialWord[]> {
  const at = TASKS.indexOf(task);
  const oddsIn = (view: QuestionView | null): number | null => oddsOf(view, at, reader);
  const whole = at < 0 ? null : oddsIn(lastView(request, reader));
  if (whole === null) return [];
  const words: InfluentialWord[] = [];
  for (const place of ends(readTexts(request.conversation.turns), TEXTS)) {
    const rest = oddsIn(lastView(without(request, place, 0, place.text.length), reader));
    yield;
    if (rest !== null && whole - rest < LEAST) continue;
    // An earlier text is read by itself, because it affects the question only as a whole, and many of its words matter.
    const read = READERS[place.of];
    const odds = oddsIn(read(request, place, reader)) ?? whole;
    const tried: TriedWord[] = [];
    for (const word of wordsIn(place.text)) {
      const left = oddsIn(read(without(request, place, word.from, word.to), place, reader));
      tried.push({ ...word, of: place.of, adds: odds - (left ?? 0) });
      yield;
    }
    words.push(...joined(place.text, tried));
  }
  const most = Math.max(LEAST, LEAST_SHARE * Math.max(0, ...words.map(({ adds }) => adds)));
  const strongest = words.filter(({ adds }) => adds >= most).sort((a, b) => b.adds - a.adds);
  const returned = new Map<string, InfluentialWord>();
  for (const word of strongest) {
    if (returned.size === MOST) break;
    const name = `${word.of} ${word.text.toLowerCase()}`;
    if (!returned.has(name)) returned.set(name, word);
  }
  return words.filter((word) => returned.get(`${word.of} ${word.text.toLowerCase()}`) === word);
}

/** Returns the first and the last members of a list, or the whole list if it is short. */
const ends = <Member>(list: readonly Member[], most: number): readonly Member[] =>
  list.length <= most ? list : [...list.slice(0, most / 2), ...list.slice(-most / 2)];

/** The function that reads a text, by the position of the text. */
const READERS: Readonly<
  Record<
    InfluentialWord['of'],
    (request: ProfileInput, place: RequestText, reader: PromptReader) => QuestionView | null
  >
> = {
  question: (request, _, reader) => lastView(request, reader),
  'system prompt': (request, _, reader) => systemPromptView(request, reader),
  'question before': (request, { turn }, reader) =>
    lastView(withTurns(request, request.conversation.turns.slice(0, turn + 1)), reader),
};

/** Returns the log odds of a task; null without a question. */
function oddsOf(view: QuestionView | null, task: number, { tables }: PromptReader): number | null {
  if (view === null) return null;
  const logits = taskLogits(view, tables);
  const others = logits.filter((_, at) => at !== task);
  const most = Math.max(...others);
  return logits[task]! - most - Math.log(others.reduce((sum, one) => sum + Math.exp(one - most), 0));
}

/** The text of a part of a turn, identified by the indexes of the turn and the part. */
interface RequestText {
  readonly turn: number;
  readonly part: number;
  readonly text: string;
  readonly of: InfluentialWord['of'];
}

/** Returns the texts of system prompts and of the last questions. */
function readTexts(turns: readonly Turn[]): RequestText[] {
  const first = turns.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const users = turns.flatMap(({ role }, at) => (role === 'user' ? [at] : [])).slice(-TURNS);
  const of = (at: number): InfluentialWord['of'] | null => {
    if (at < first || first < 0) return 'system prompt';
    return users.includes(at) ? (at === users.at(-1) ? 'question' : 'question before') : null;
  };
  return turns.flatMap(({ parts }, turn): RequestText[] => {
    const which = of(turn);
    if (which === null) return [];
    return parts.flatMap((one, part) => (one.type === 'text' ? [{ turn, part, text: one.text, of: which }] : []));
  });
}

/** Returns the request without a range of one of its texts. */
function without(request: ProfileInput, { turn, part, text }: RequestText, from: number, to: number): ProfileInput {
  const rest = text.slice(0, from) + text.slice(to);
  const { turns } = request.conversation;
  const one = turns[turn]!;
  const parts = one.parts.map((each, at) => (at === part && each.type === 'text' ? { ...each, text: rest } : each));
  return withTurns(request, turns.with(turn, { ...one, parts }));
}

const withTurns = (request: ProfileInput, turns: readonly Turn[]): ProfileInput => ({
  settings: request.settings,
  conversation: { ...request.conversation, turns },
  originalAt: (path) => request.originalAt(path),
});

interface Word {
  readonly from: number;
  readonly to: number;
}
type TriedWord = Word & Pick<InfluentialWord, 'of' | 'adds'>;

const SEGMENTER = new Intl.Segmenter('en', { granularity: 'word' });

/** Returns the first and last words of a text. */
function wordsIn(text: string): Word[] {
  const words: Word[] = [];
  const scan = (from: number, to: number, most: number) => {
    for (const { segment, index, isWordLike } of SEGMENTER.segment(text.slice(from, to))) {
      if (!isWordLike) continue;
      words.push({ from: from + index, to: from + index + segment.length });
      if (words.length >= most) return;
    }
  };
  scan(0, Math.min(text.length, HEAD * WORD), HEAD);
  const end = words.at(-1)?.to ?? text.length;
  const tail = Math.max(end, text.length - TAIL * WORD);
  scan(tail, text.length, HEAD + TAIL);
  return words;
}
/** The number of UTF-16 code units scanned for each word. */
const WORD = 12;

/** Joins neighbouring words that all have an effect. */
function joined(text: string, words: readonly TriedWord[]): InfluentialWord[] {
  const all: TriedWord[] = [];
  for (const word of words) {
    const last = all.at(-1);
    const isNext = last !== undefined && /^ ?$/.test(text.slice(last.to, word.from));
    if (isNext && Math.min(last.adds, word.adds) >= LEAST) {
      all[all.length - 1] = { ...last, to: word.to, adds: Math.max(last.adds, word.adds) };
    } else all.push(word);
  }
  return all.map(({ from, to, of, adds }) => ({ text: text.slice(from, to), of, adds }));
}
