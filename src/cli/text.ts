/** `2026-11-20`, UTC. */
export const day = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** `2026-11-20 09:30`, UTC. */
export const minute = (time: number): string => new Date(time).toISOString().slice(0, 16).replace('T', ' ');

/** Columns as wide as their widest cell. The first row has the names. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return `${rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')}\n`;
}
