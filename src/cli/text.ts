import { relative } from 'node:path';

/** Writes a path relative to the current folder, as the user would type it. */
export function pathText(path: string): string {
  const near = relative('', path) || '.';
  return near.startsWith('..') ? path : near;
}

/** Writes the day, such as `2026-11-20`, in UTC. */
export const day = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** Writes the minute, such as `2026-11-20 09:30`, in UTC. */
export const minute = (time: number): string => new Date(time).toISOString().slice(0, 16).replace('T', ' ');

/** Writes the output of `--json`. */
export const jsonText = (body: unknown): string => `${JSON.stringify(body, null, 2)}\n`;

/** Writes a count with its noun, such as `1,203 outcomes`. */
export const count = (number: number, one: string, many = `${one}s`): string =>
  `${number.toLocaleString('en', { maximumFractionDigits: 1 })} ${number === 1 ? one : many}`;

/** Writes a line for each name, with its value. */
export const fieldLines = (fields: readonly (readonly [name: string, value: string])[], width: number): string =>
  fields.map(([name, value]) => `${name.padEnd(width)}${value}\n`).join('');

/** Writes each label as `team=search`. */
export const labelTexts = (labels: Readonly<Record<string, string>>): string[] =>
  Object.entries(labels).map(([name, value]) => `${name}=${value}`);
