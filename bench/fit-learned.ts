import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'bun';
import { FORM_FEATURE_NAMES, writeFormFeatures } from '../plugins/estimators/learned/dense.ts';
import { Scanner } from '../plugins/estimators/learned/scanner.ts';

/**
 * `bun bench/fit-learned.ts --data <folder>`: mean and standard deviation of each figure of a text's form over the
 * prompts of `train.jsonl.gz` there, as the table to paste into `plugins/estimators/learned/dense.ts`. No prompt of
 * another file is looked at. A line has `prompt`; what else it has is not read.
 */
const folder = process.argv[process.argv.indexOf('--data') + 1];
if (!process.argv.includes('--data') || folder === undefined) throw new Error('--data <folder> is needed');

const lines = new TextDecoder()
  .decode(gunzipSync(readFileSync(join(folder, 'train.jsonl.gz'))))
  .trim()
  .split('\n');

const scanner = new Scanner([0, 0]);
const figures = new Float64Array(FORM_FEATURE_NAMES.length);
const sums = new Float64Array(FORM_FEATURE_NAMES.length);
const squares = new Float64Array(FORM_FEATURE_NAMES.length);
for (const line of lines) {
  const { prompt }: { prompt: string } = JSON.parse(line);
  scanner.scan(prompt);
  writeFormFeatures(scanner, figures);
  figures.forEach((figure, at) => {
    sums[at]! += figure;
    squares[at]! += figure ** 2;
  });
}

console.log(`// ${lines.length} prompts`);
FORM_FEATURE_NAMES.forEach((name, at) => {
  const mean = sums[at]! / lines.length;
  const deviation = Math.sqrt(Math.max(0, squares[at]! / lines.length - mean ** 2));
  console.log(`  ['${name}', ${round(mean)}, ${round(deviation)}],`);
});

/** Four digits that count. */
function round(value: number): string {
  return String(Number(value.toPrecision(4)));
}
