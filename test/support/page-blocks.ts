import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '../..');

/** A fenced code block of a page. */
export interface PageBlock {
  /** The first word of the block's first line, such as `python`. */
  readonly language: string;
  /** The other words of the fence's line. */
  readonly words: readonly string[];
  readonly text: string;
}

/** Returns the fenced code blocks of a page, in order. @param page the path from the root of the repository */
export const blocksOf = (page: string): readonly PageBlock[] =>
  [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```(\w+)([^\n]*)\n([\s\S]*?)^```$/gm)].map(
    ([, language = '', words = '', text = '']) => ({ language, words: words.split(' ').filter(Boolean), text }),
  );
