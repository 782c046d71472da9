import { logitOf, sigmoid } from '../logit.ts';

/** The log odds that one deviation of difficulty costs every model. Signalbox uses the same figure for length. */
const DIFFICULTY_WORTH = 0.25;

/** Returns declared qualities, lowered for difficult requests, by row and then by model. */
export function loweredBy(difficulty: Float64Array, declared: Float64Array): Float64Array {
  const m = declared.length;
  const mean = difficulty.reduce((sum, value) => sum + value, 0) / difficulty.length;
  const deviation = Math.sqrt(difficulty.reduce((sum, value) => sum + (value - mean) ** 2, 0) / difficulty.length) || 1;
  const predicted = new Float64Array(difficulty.length * m);
  difficulty.forEach((value, row) => {
    const by = (DIFFICULTY_WORTH * (value - mean)) / deviation;
    for (let i = 0; i < m; i++) predicted[row * m + i] = sigmoid(logitOf(declared[i]!) - by);
  });
  return predicted;
}
