/** A vocabulary, imported as a file: the path where it can be read. */
declare module 'gpt-tokenizer/data/*.tiktoken' {
  const path: string;
  export default path;
}
