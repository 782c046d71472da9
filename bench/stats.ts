export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Returns the lower quartile of values in any order, because other work on a busy machine only ever adds time. */
export const lowerQuartile = (values: readonly number[]): number =>
  quantile(
    values.toSorted((a, b) => a - b),
    0.25,
  );

/** Returns a quantile of ascending values. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

export const fixed = (value: number, digits = 1): string => value.toFixed(digits);

/** Returns a Markdown table, of figures unless `cells` says otherwise. */
export function table(rows: readonly (readonly string[])[], cells: 'figures' | 'words' = 'figures'): string {
  const [head, ...body] = rows;
  const widths = head!.map((_, at) => Math.max(4, ...rows.map((row) => row[at]!.length)));
  const isText = (at: number): boolean => at === 0 || cells === 'words';
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, at) => (isText(at) ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join(' | ')} |`;
  const rule = widths.map((width, at) => (isText(at) ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(head!), `| ${rule.join(' | ')} |`, ...body.map(line)].join('\n');
}

/**
 * Times tasks that take turns in blocks, so that a slow moment affects all of them.
 * @returns the times of each task in µs, in ascending order.
 */
export function timedInBlocks(
  works: readonly ((turn: number) => void)[],
  { samples, warmUp, block }: { readonly samples: number; readonly warmUp: number; readonly block: number },
): Float64Array[] {
  const times = works.map(() => new Float64Array(samples));
  for (let from = -warmUp; from < samples; from += block) {
    works.forEach((work, at) => {
      for (let turn = from; turn < from + block; turn++) {
        const begun = Bun.nanoseconds();
        work(Math.abs(turn));
        if (turn >= 0) times[at]![turn] = (Bun.nanoseconds() - begun) / 1_000;
      }
    });
  }
  return times.map((one) => one.sort());
}
