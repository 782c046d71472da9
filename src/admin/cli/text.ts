import { relative } from 'node:path';

/** A path as a command typed here names it. */
export function pathText(path: string): string {
  const near = relative('', path) || '.';
  return near.startsWith('..') ? path : near;
}

/** `2026-11-20`, UTC. */
export const day = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** `2026-11-20 09:30`, UTC. */
export const minute = (time: number): string => new Date(time).toISOString().slice(0, 16).replace('T', ' ');

/** The output of `--json`. */
export const jsonText = (body: unknown): string => `${JSON.stringify(body, null, 2)}\n`;

/** `1,203 outcomes`. */
export const count = (number: number, one: string, many = `${one}s`): string =>
  `${number.toLocaleString('en', { maximumFractionDigits: 1 })} ${number === 1 ? one : many}`;

/** A line for each name with its value. */
export const fieldLines = (fields: readonly (readonly [name: string, value: string])[], width: number): string =>
  fields.map(([name, value]) => `${name.padEnd(width)}${value}\n`).join('');

/** `team=search` for each label. */
export const labelTexts = (labels: Readonly<Record<string, string>>): string[] =>
  Object.entries(labels).map(([name, value]) => `${name}=${value}`);
