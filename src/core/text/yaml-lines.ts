import { LineCounter } from 'yaml';

/** Counts the lines of a text. The YAML library's own counter misses some lines of invalid texts. */
export function linesOf(text: string): LineCounter {
  const lines = new LineCounter();
  let start = 0;
  for (const line of text.split('\n')) {
    lines.addNewLine(start);
    start += line.length + 1;
  }
  return lines;
}
