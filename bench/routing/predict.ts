import { loweredBy } from './baselines/difficulty.ts';
import { keywordScore } from './baselines/keywords.ts';
import { lengthOf } from './baselines/length.ts';
import { foreignDifficulty, ngramPredictions } from './baselines/ngrams.ts';
import { chanceOf, gaussOf } from './chance.ts';
import { CONSTANT, LENGTH, NGRAMS, type Prediction } from './measure.ts';
import { OUTCOMES, type Trial } from './trials.ts';

/** Returns the numbers of outcomes at which to measure, as far as the pool has enough rows. */
export function outcomesOf(trials: readonly Trial[]): number[] {
  const most = trials[0]!.teach.rows.length;
  return OUTCOMES.filter((count) => count <= most);
}

/** Returns the predictions of the baselines, computed on the given rows. */
export function baselines(trials: readonly Trial[]): Prediction[] {
  const hasForeign = trials[0]!.foreign.length > 0;
  // Learning from other sources does not depend on the split, so one head reads all rows of the pool.
  const foreign = hasForeign
    ? foreignDifficulty(trials[0]!.foreign, trials[0]!.pool.test.rows, trials[0]!.seed)
    : new Float64Array();
  const byDifficulty = (router: string, difficulty: (trial: Trial) => Float64Array): Prediction =>
    prediction(router, null, true, trials, (trial) => loweredBy(difficulty(trial), trial.declared));
  return [
    prediction('oracle', null, false, trials, ({ test }) => test.labels),
    prediction(CONSTANT, null, true, trials, ({ test, declared }) =>
      Float64Array.from(test.labels, (_, at) => declared[at % declared.length]!),
    ),
    byDifficulty('random', ({ test, seed }) => {
      const chance = chanceOf(seed + 7);
      return Float64Array.from(test.rows, () => gaussOf(chance));
    }),
    byDifficulty(LENGTH, ({ test }) => Float64Array.from(test.rows, ({ prompt }) => lengthOf(prompt))),
    byDifficulty('keywords', ({ test }) => Float64Array.from(test.rows, ({ prompt }) => keywordScore(prompt))),
    ...(hasForeign
      ? [
          byDifficulty('n-grams of other sources', ({ testRows }) =>
            Float64Array.from(testRows, (row) => foreign[row]!),
          ),
        ]
      : []),
    ...outcomesOf(trials).map((count) =>
      prediction(NGRAMS, count, true, trials, ({ teach, test, declared, seed }) =>
        ngramPredictions(teach, count, test, declared, seed),
      ),
    ),
  ];
}

function prediction(
  router: string,
  outcomes: number | null,
  isCalibrated: boolean,
  trials: readonly Trial[],
  predict: (trial: Trial) => Float64Array,
): Prediction {
  return { router, outcomes, isFixedReference: false, isCalibrated, predicted: trials.map(predict) };
}
