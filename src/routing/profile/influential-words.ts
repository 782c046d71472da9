import { PLACE, type Place } from './features.ts';
import type { ProfileInput } from './input.ts';
import type { PromptReader } from './prompt-reader.ts';
import { readQuestion, systemPromptText } from './question.ts';
import { BEFORE, systemText, WEIGHT } from './reading.ts';
import { likelihoods } from './shares.ts';
import { TABLE, TASKS } from './table.ts';

/** A word, or several words in a row, that made a task more likely. */
export interface InfluentialWord {
  /** The words as written in the request. */
  readonly text: string;
  readonly of: 'question' | 'system prompt' | 'question before';
  /** The log odds that the words add to the task, compared with the other likely tasks. */
  readonly adds: number;
}

/** The maximum number of words returned: the strongest ones. A word that occurs several times is returned once. */
const MOST = 6;
/** The minimum effect of a word: in log odds, and as a share of the strongest effect. */
const LEAST = 0.1;
const LEAST_SHARE = 0.12;

/**
 * Returns the words that made a task more likely, in the order of the request. A word, its stem and its pairs have figures in the table,
 * whose sum is its effect; a pair counts half for each of its words.
 * @param task a task that does not depend on words, such as `vision`, has no influential words
 */
export function influentialWords(
  { conversation }: ProfileInput,
  task: string,
  reader: PromptReader,
): InfluentialWord[] {
  const column = TASKS.indexOf(task);
  const { asked, odds } = readQuestion(conversation, reader);
  const [last, ...earlier] = asked;
  if (column < 0 || last === undefined) return [];
  const others = odds.slice(0, TASKS.length);
  others[column] = Number.NEGATIVE_INFINITY;
  const { words, features } = reader.texts;
  const rivals = likelihoods(others);
  /** Returns what a feature adds to the task, compared with the mean of the other tasks. */
  const effectOf = (hash: number): number =>
    rivals.reduce((sum, share, at) => sum - share * TABLE.figure(hash, at), TABLE.figure(hash, column));
  const wordsOf = (text: string, of: InfluentialWord['of'], place: Place, weight: number): InfluentialWord[] => {
    words.read(text);
    features.addWords(words, 0, words.size, place, weight);
    const effects = new Float64Array(words.size);
    for (let at = 0; at < features.size; at++) {
      const { first, last } = features.wordsAt(at);
      const effect = features.values[at]! * effectOf(features.hashes[at]!);
      for (let word = first; word <= last; word++) effects[word]! += effect / (last - first + 1);
    }
    features.clear();
    const found: InfluentialWord[] = [];
    for (let at = 0; at < effects.length; at++) {
      if (effects[at]! < LEAST) continue;
      const from = at;
      let adds = effects[at]!;
      while (at + 1 < effects.length && effects[at + 1]! >= LEAST) adds += effects[++at]!;
      found.push({ text: text.slice(words.from[from], words.to[at]), of, adds });
    }
    return found;
  };
  const system = systemText(systemPromptText(conversation.turns));
  const all = [
    ...wordsOf(system, 'system prompt', PLACE.system, WEIGHT.system),
    ...earlier
      .toReversed()
      .flatMap(({ message: { text } }) =>
        wordsOf(text.question.slice(-BEFORE), 'question before', PLACE.before, WEIGHT.before),
      ),
    ...wordsOf(last.message.text.question, 'question', PLACE.question, 1),
  ];
  const least = Math.max(LEAST, LEAST_SHARE * Math.max(0, ...all.map(({ adds }) => adds)));
  const nameOf = ({ of, text }: InfluentialWord): string => `${of} ${text.toLowerCase()}`;
  const strongest = new Map<string, InfluentialWord>();
  for (const word of all.filter(({ adds }) => adds >= least).sort((a, b) => b.adds - a.adds))
    if (strongest.size < MOST && !strongest.has(nameOf(word))) strongest.set(nameOf(word), word);
  return all.filter((word) => strongest.get(nameOf(word)) === word);
}
