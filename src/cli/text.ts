import type { Microcredits } from '../core/credits.ts';

/** `2026-11-20`, UTC. */
export const day = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** `2026-11-20 09:30`, UTC. */
export const minute = (time: number): string => new Date(time).toISOString().slice(0, 16).replace('T', ' ');

/** The output of `--json`. */
export const jsonText = (body: unknown): string => `${JSON.stringify(body, null, 2)}\n`;

/** Digits and at most six decimals. */
const CREDITS = /^(-?)(\d{1,9})(?:\.(\d{1,6}))?$/;

/** Reads Credits as a person writes them, exactly; null for anything else. */
export function parseCredits(text: string): Microcredits | null {
  const [, sign, whole = '', fraction = ''] = CREDITS.exec(text) ?? [];
  if (sign === undefined) return null;
  const amount = Number(whole + fraction.padEnd(6, '0'));
  return sign === '-' ? -amount : amount;
}
