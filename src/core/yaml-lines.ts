import { LineCounter } from 'yaml';

/** The lines of a text. The library's own count misses some of those of broken texts. */
export function linesOf(text: string): LineCounter {
  const lines = new LineCounter();
  let start = 0;
  for (const line of text.split('\n')) {
    lines.addNewLine(start);
    start += line.length + 1;
  }
  return lines;
}
