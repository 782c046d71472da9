import type { ChatMessage } from '../../core/chat-request.ts';
import type { QuestionView } from './features.ts';
import { lastView, systemPromptView } from './intent.ts';
import type { ProfileInput } from './profile.ts';
import { taskLogits } from './task-logits.ts';
import { TASKS } from './tasks.ts';

/** A word, or several in a row, that made a task likelier. */
export interface InfluentialWord {
  /** As it stands in the request. */
  readonly text: string;
  readonly of: 'question' | 'system prompt' | 'question before';
  /** The log odds of the task that it adds: what they lose without it. */
  readonly adds: number;
}

/** Words looked at of a text: its first and its last. */
const HEAD = 120;
const TAIL = 40;
/** Most words that are told of, those that add least left out. */
const MOST = 6;
/** A word that adds less than this, or than this share of the strongest, made nothing. */
const LEAST = 0.25;
const LEAST_SHARE = 0.12;
/** Messages of the user that may count, the last one included. */
const TURNS = 4;

/**
 * The words that made a task likelier, in the order of the request: each is left out in turn, and the request is read again.
 * That takes milliseconds, so it is for explanations alone. Pure.
 *
 * @param task The task that was read; one that words do not tell, such as `vision`, has none.
 */
export function influentialWords(request: ProfileInput, task: string): InfluentialWord[] {
  const at = TASKS.indexOf(task);
  const whole = at < 0 ? null : oddsOf(lastView(request), at);
  if (whole === null) return [];
  const seen = placesOf(request.messages).flatMap((place) => {
    const rest = oddsOf(lastView(without(request, place, 0, place.text.length)), at);
    if (rest !== null && whole - rest < LEAST) return [];
    // A text that stands before the question is certain by many words: each tells of it, and it of the question.
    const read = READERS[place.of];
    const odds = oddsOf(read(request, place), at) ?? whole;
    return joined(
      place.text,
      wordsOf(place.text).map((word) => {
        const left = oddsOf(read(without(request, place, word.from, word.to), place), at);
        return { ...word, of: place.of, adds: odds - (left ?? 0) };
      }),
    );
  });
  const most = Math.max(LEAST, LEAST_SHARE * Math.max(0, ...seen.map(({ adds }) => adds)));
  const strongest = seen.filter(({ adds }) => adds >= most).sort((a, b) => b.adds - a.adds);
  return seen.filter((one) => strongest.indexOf(one) >= 0 && strongest.indexOf(one) < MOST);
}

/** What is read of a text, by where it stands. */
const READERS: Readonly<Record<InfluentialWord['of'], (request: ProfileInput, place: Place) => QuestionView | null>> = {
  question: (request) => lastView(request),
  'system prompt': (request) => systemPromptView(request),
  'question before': (request, { message }) =>
    lastView({ ...request, messages: request.messages.slice(0, message + 1) }),
};

/** How likely a task is, in logits; null where nothing asks. */
function oddsOf(view: QuestionView | null, task: number): number | null {
  if (view === null) return null;
  const evidence = taskLogits(view);
  const others = evidence.filter((_, at) => at !== task);
  const most = Math.max(...others);
  return evidence[task]! - most - Math.log(others.reduce((sum, one) => sum + Math.exp(one - most), 0));
}

/** A text of a request: of a message, or of a part of one. */
interface Place {
  readonly message: number;
  readonly part: number | null;
  readonly text: string;
  readonly of: InfluentialWord['of'];
}

/** The texts that may tell: system prompts, the last questions. */
function placesOf(messages: readonly ChatMessage[]): Place[] {
  const first = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const users = messages.flatMap(({ role }, at) => (role === 'user' ? [at] : [])).slice(-TURNS);
  const of = (at: number): InfluentialWord['of'] | null => {
    if (at < first || first < 0) return 'system prompt';
    return users.includes(at) ? (at === users.at(-1) ? 'question' : 'question before') : null;
  };
  return messages.flatMap(({ content }, message): Place[] => {
    const which = of(message);
    if (which === null) return [];
    if (typeof content === 'string') return [{ message, part: null, text: content, of: which }];
    return (content ?? []).flatMap((one, part) =>
      one.type === 'text' ? [{ message, part, text: one.text, of: which }] : [],
    );
  });
}

/** The request without a stretch of one of its texts. */
function without(request: ProfileInput, { message, part, text }: Place, from: number, to: number): ProfileInput {
  const rest = text.slice(0, from) + text.slice(to);
  const messages = request.messages.map((one, at) => {
    if (at !== message) return one;
    if (part === null || typeof one.content === 'string') return { ...one, content: rest };
    return {
      ...one,
      content: (one.content ?? []).map((each, i) =>
        i === part && each.type === 'text' ? { ...each, text: rest } : each,
      ),
    };
  });
  return { ...request, messages };
}

interface Word {
  readonly from: number;
  readonly to: number;
}

const SEGMENTER = new Intl.Segmenter('en', { granularity: 'word' });

/** The words of a text, of a long one the first and the last. */
function wordsOf(text: string): Word[] {
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
/** UTF-16 code units that a word has at most, on the average. */
const WORD = 12;

/** Words that stand next to each other and all tell are one. */
function joined(text: string, words: readonly (Word & Pick<InfluentialWord, 'of' | 'adds'>)[]): InfluentialWord[] {
  const all: (Word & Pick<InfluentialWord, 'of' | 'adds'>)[] = [];
  for (const word of words) {
    const last = all.at(-1);
    const isNext = last !== undefined && /^ ?$/.test(text.slice(last.to, word.from));
    if (isNext && Math.min(last.adds, word.adds) >= LEAST) {
      all[all.length - 1] = { ...last, to: word.to, adds: Math.max(last.adds, word.adds) };
    } else all.push(word);
  }
  return all.map(({ from, to, of, adds }) => ({ text: text.slice(from, to), of, adds }));
}
