/** Tokenizers with which Signalbox can count exactly. To add a tokenizer's name, add it to `TOKENIZERS` and nowhere else. */
export const TOKENIZERS = ['o200k_base', 'cl100k_base'] as const;
/** Bytes of the longest token of any tokenizer: a text of `n` bytes never has fewer than `n / TOKEN_BYTES_MAX` tokens. */
export const TOKEN_BYTES_MAX = 128;
export type Tokenizer = (typeof TOKENIZERS)[number];
