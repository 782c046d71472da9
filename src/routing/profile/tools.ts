import type { Conversation, Turn } from '../../core/request/conversation.ts';
import { DIGIT, FOLDED, GAP, MARK, stemOn } from './letters.ts';
import { patternsOf } from './lexicon/data.ts';
import words from './lexicon/small-words.json' with { type: 'json' };
import topics from './lexicon/tool-topics.json' with { type: 'json' };
import type { QuestionText } from './question.ts';
import type { QuestionReading } from './reading.ts';

/** The topic that each English word stands for. */
const TOPIC_OF: ReadonlyMap<string, string> = new Map(
  Object.keys(topics.lists).flatMap((key) => key.split(' ').map((name) => [name, key] as const)),
);

/** Words of function names that belong to no topic. */
const GENERIC: ReadonlySet<string> = new Set(patternsOf(words.lists.of_functions));
/** The maximum numbers of functions, and of characters of the question, that are compared. */
const TOOLS_MAX = 64;
const TEXT_MAX = 400;
const STEM = 5;

/** Returns whether the question contains a word of an offered function's name, such as `weather` for `get_weather`. */
export function namesTool(offered: OfferedNames, { text }: QuestionText, { topics }: QuestionReading): boolean {
  for (const topic of topics) if (offered.topics.has(topic)) return true;
  const said = new Set<number>();
  const end = Math.min(text.length, TEXT_MAX);
  let stem = 0;
  let letters = 0;
  for (let at = 0; at <= end; at++) {
    const unit = at < end ? FOLDED[text.charCodeAt(at)]! : GAP;
    if (unit === MARK) continue;
    if (unit !== GAP && unit !== DIGIT) {
      if (letters++ < STEM) stem = stemOn(stem, unit);
      continue;
    }
    if (offered.tellingStems.has(stem)) return true;
    said.add(stem);
    stem = 0;
    letters = 0;
  }
  for (const stems of offered.generic) if (areAllIn(stems, said)) return true;
  return false;
}

function areAllIn(stems: readonly number[], said: ReadonlySet<number>): boolean {
  for (const stem of stems) if (!said.has(stem)) return false;
  return true;
}

/** The names of the functions that a request offers, ready for the comparison with a question. */
export type OfferedNames = ReturnType<typeof offeredNames>;

/** Prepares the names of the offered functions. @param names one per line */
export function offeredNames(names: string) {
  const all = names.split('\n').slice(0, TOOLS_MAX).map(nameWords);
  const words = all.flat();
  return {
    topics: new Set(words.flatMap(({ topic }) => (topic === '' ? [] : topic))),
    /** The stems of the words that say what a function is for. */
    tellingStems: new Set(words.flatMap(({ stem, isTelling }) => (isTelling ? stem : []))),
    /**
     * For each name of several words that do not say what the function is for: the stems of all its words. Only all stems of such a name
     * together name the function.
     */
    generic: all
      .filter((name) => name.length > 1 && !name.some(({ isTelling }) => isTelling))
      .map((name) => name.map(({ stem }) => stem)),
  };
}

/** Splits a function's name into words. A telling word says what the function is for. */
const nameWords = (name: string) =>
  name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .map((word) => ({
      stem: stemOf(word),
      topic: TOPIC_OF.get(word) ?? TOPIC_OF.get(word.replace(/s$/, '')) ?? '',
      isTelling: word.length > 2 && !GENERIC.has(word),
    }));

/** Returns a hash of the first letters of a word, so that `remind` and `reminder` have the same stem. */
function stemOf(word: string): number {
  let stem = 0;
  for (let at = 0; at < word.length && at < STEM; at++) stem = stemOn(stem, word.charCodeAt(at));
  return stem;
}

/** Returns whether the conversation ends in tool calls or tool results. */
export function isAmidTools(turns: readonly Turn[]): boolean {
  const last = turns.at(-1);
  return last?.role === 'tool' || last?.parts.at(-1)?.type === 'tool-call';
}

/** Returns whether the model must call one of its tools. */
export function forcesTool({ toolChoice: choice }: Conversation): boolean {
  return choice === 'required' || typeof choice === 'object';
}
