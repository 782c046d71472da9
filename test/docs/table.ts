/** A Markdown table, aligned like Biome's output, so that the formatter does not change it. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, at) => Math.max(3, ...[head, ...rows].map((cells) => Bun.stringWidth(cells[at] ?? ''))));
  const padded = (cell: string, at: number) => cell + ' '.repeat((widths[at] ?? 0) - Bun.stringWidth(cell));
  const line = (cells: readonly string[]) => `| ${cells.map(padded).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
