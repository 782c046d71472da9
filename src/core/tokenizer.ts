/** Tokenizers that Signalbox can count with exactly. This list is the only place to add a name. */
export const TOKENIZERS = ['o200k_base', 'cl100k_base'] as const;
export type Tokenizer = (typeof TOKENIZERS)[number];
