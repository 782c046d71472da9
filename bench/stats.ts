export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** A quantile of ascending values. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

export const fixed = (value: number, digits = 1): string => value.toFixed(digits);

/** A Markdown table, of figures unless it says otherwise. */
export function table(rows: readonly (readonly string[])[], cells: 'figures' | 'words' = 'figures'): string {
  const [head, ...body] = rows;
  const line = (row: readonly string[]) => `| ${row.join(' | ')} |`;
  return [
    line(head!),
    line(head!.map((_, i) => (i === 0 || cells === 'words' ? '---' : '---:'))),
    ...body.map(line),
  ].join('\n');
}
