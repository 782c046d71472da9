import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'bun';
import { lengthFeature } from '../plugins/estimators/learned/features.ts';
import { countTokens } from '../plugins/estimators/learned/scanner.ts';

/**
 * `bun bench/fit-learned.ts --data <folder>`: mean and standard deviation of the length of the prompts of
 * `train.jsonl.gz` there, for `plugins/estimators/learned/features.ts`. No prompt of another file is looked at. A line
 * has `prompt`; what else it has is not read.
 */
const folder = process.argv[process.argv.indexOf('--data') + 1];
if (!process.argv.includes('--data') || folder === undefined) throw new Error('--data <folder> is needed');

const lines = new TextDecoder()
  .decode(gunzipSync(readFileSync(join(folder, 'train.jsonl.gz'))))
  .trim()
  .split('\n');

const lengths = lines.map((line) => {
  const { prompt }: { prompt: string } = JSON.parse(line);
  return lengthFeature(countTokens(prompt));
});
const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
const variance = lengths.reduce((sum, length) => sum + (length - mean) ** 2, 0) / lengths.length;
console.log(`// ${lines.length} prompts`);
console.log(`const LENGTH_MEAN = ${round(mean)};`);
console.log(`const LENGTH_DEVIATION = ${round(Math.sqrt(variance))};`);

/** Four digits that count. */
function round(value: number): string {
  return String(Number(value.toPrecision(4)));
}
