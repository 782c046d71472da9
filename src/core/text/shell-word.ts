/** Writes a word of a command line so that a shell reads it as one word. */
export function shellWord(text: string): string {
  if (/^[\w./@%+:,=-]+$/.test(text)) return text;
  return /["$`\\!]/.test(text) ? `'${text.replaceAll("'", "'\\''")}'` : `"${text}"`;
}
