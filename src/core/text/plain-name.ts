/** Between the parts of a name: `gpt-4o`, `meta-llama/Llama-3.3-70B-Instruct-Turbo`, `claude-opus-4@20250514`. */
const SEPARATORS = /[-_./:@+,()[\] ]+/;
const LETTERS = String.raw`\p{Lu}{0,8}[\p{Ll}\p{Lo}\p{M}]{0,15}(?:\p{Lu}[\p{Ll}\p{M}]{2,15}){0,4}\p{Lu}{0,4}\p{Ll}?`;
/** Letters with a version (`DeepSeek`, `qwen3p7`, `chatCompletion`), a number with a unit or a date, or a few letters and digits. */
const PART = new RegExp(
  String.raw`^(?:${LETTERS}(?:\d{1,2}(?:p\d{1,2})?)?\p{L}?|\d{1,8}\p{L}{0,2}|[\p{L}\d]{0,5})$`,
  'u',
);
/** A user with a password in an address, or an address. The search takes time proportional to the square of the length. */
const ADDRESS = /:[^@/]*@|:\/\//;

/** The most characters of a name. */
const NAME_MAX = 256;

/**
 * Whether a text looks like the name of a model or a field, which consists of words, versions and sizes. A text with a longer mix of letters
 * and digits, or with other signs, may be a password instead. A password that consists of words is not recognized.
 */
export const isPlainName = (text: string): boolean =>
  text.length <= NAME_MAX && !ADDRESS.test(text) && text.split(SEPARATORS).every((part) => PART.test(part));
