/** A vocabulary imported as a file: its path. */
declare module 'gpt-tokenizer/data/*.tiktoken' {
  const path: string;
  export default path;
}
