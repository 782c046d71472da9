import type { Estimate } from '../../core/estimate.ts';
import type { Facts } from '../../core/facts.ts';
import { emptyMemories, openLearningReader } from '../../learning/open.ts';
import type { StrongWords } from '../../routing/story-estimate.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { readStore, storeExists } from '../../store/open.ts';

/** Words that are listed for a model. */
const WORDS_MAX = 3;

/** The results of learning for one question. */
export interface LearntOfQuestion {
  readonly estimate: Estimate;
  /** Returns the words that count most for these models, by their IDs. */
  words(models: readonly string[]): StrongWords;
}

/** Estimates a request by the outcomes of the database, if it exists. Rejects with StoreError. */
export async function learntOf(
  facts: Facts,
  question: string | null,
  runtime: Runtime,
  database: string,
): Promise<LearntOfQuestion> {
  using reader = (await storeExists(database)) ? await readStore(database, ['learning']) : null;
  const memory = (reader && (await openLearningReader(reader))) ?? emptyMemories();
  const isSilent = question === null || runtime.snapshot.learning.mode === 'off';
  const wordsOf = (text: string, model: string) =>
    [model, memory.telling(runtime, { text, task: facts.task, model }, WORDS_MAX)] as const;
  return {
    estimate: memory.estimate(runtime, facts, memory.read(runtime, question)),
    words: (models) => new Map(isSilent ? [] : models.map((model) => wordsOf(question, model))),
  };
}
