import type { Tokens } from './dialect.ts';

/** Marks upstream text that no caller may see. */
export const JUNK = 'upstream-junk';

/** The usual answer: four tokens by our own count. */
export const WORDS = ['aaaa', ' bbbb', ' cccc', ' dddd'] as const;
export const TEXT = WORDS.join('');
/** The usage that every upstream of the matrix reports for it. */
export const USAGE: Tokens = { prompt: 11, output: 6 };
