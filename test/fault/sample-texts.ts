import type { Tokens } from './dialect.ts';

/** Marks text of an upstream that no caller may see. */
export const JUNK = 'upstream-junk';

/** The usual answer: four tokens as the gateway counts. */
export const WORDS = ['aaaa', ' bbbb', ' cccc', ' dddd'] as const;
export const TEXT = WORDS.join('');
/** The usage that every upstream in these tests reports for the usual answer. */
export const USAGE: Tokens = { prompt: 11, output: 6 };
