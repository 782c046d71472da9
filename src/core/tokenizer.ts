/** Tokenizers that Signalbox can count with exactly. This list is the only place to add a name. */
export const TOKENIZERS = ['o200k_base', 'cl100k_base'] as const;
/** Bytes of the longest token of any of them: a text of `n` bytes never makes fewer than `n / TOKEN_BYTES_MAX` tokens. */
export const TOKEN_BYTES_MAX = 128;
export type Tokenizer = (typeof TOKENIZERS)[number];
