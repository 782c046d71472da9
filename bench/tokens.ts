import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { countTokens as cl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base';
import { tokenWeight } from '../src/core/request/tokens.ts';
import { median, quantile, table } from './stats.ts';

/**
 * `bun bench/tokens.ts`: measures the error of the token estimate, by kind of text and family of tokenizers. Every text has two halves: the
 * weights were fitted to the first half, and are measured on pieces of the second.
 */
const TEXTS = join(import.meta.dir, 'texts');
const FAMILIES = { o200k_base: o200k, cl100k_base: cl100k };
/** The length of a piece in characters. */
const PIECE = 100;

const percent = (share: number) => `${share <= -0.005 ? '−' : ''}${Math.abs(share * 100).toFixed(0)} %`;

function piecesOf(text: string): string[] {
  const count = Math.max(1, Math.round(text.length / PIECE));
  const size = text.length / count;
  return Array.from({ length: count }, (_, i) => text.slice(Math.round(i * size), Math.round((i + 1) * size)));
}

function errors(kind: string): string[] {
  const [, unseen = ''] = readFileSync(join(TEXTS, kind), 'utf8').split('\n----\n');
  const cells = Object.values(FAMILIES).flatMap((count) => {
    const found = piecesOf(unseen).map((piece) => tokenWeight(piece) / count(piece) - 1);
    const mean = tokenWeight(unseen) / count(unseen) - 1;
    return [
      percent(mean),
      percent(
        quantile(
          found.map(Math.abs).sort((a, b) => a - b),
          0.9,
        ),
      ),
    ];
  });
  return [kind.replace('.txt', ''), ...cells];
}

/** Returns the time of a call in ns, the median of many rounds. */
function timeOf(act: () => unknown): number {
  const rounds = Array.from({ length: 50 }, () => {
    const start = Bun.nanoseconds();
    for (let i = 0; i < 500; i++) act();
    return (Bun.nanoseconds() - start) / 500;
  });
  return median(rounds.slice(10));
}

const kinds = readdirSync(TEXTS).sort();
const head = Object.keys(FAMILIES).flatMap((name) => [`${name}, mean`, 'p90']);
console.log(table([['text', ...head], ...kinds.map(errors)]));

const prose = Buffer.from(readFileSync(join(TEXTS, 'english.txt')).toString().repeat(2).slice(0, 2_000)).toString();
console.log(`\nestimate of 2,000 characters: ${(timeOf(() => tokenWeight(prose)) / 1_000).toFixed(1)} µs`);
