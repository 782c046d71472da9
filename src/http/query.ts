import { t } from 'elysia';
import { refuseValue } from './terms.ts';

/** A parameter of a query. */
export const queryText = (description: string) => t.Optional(t.String({ description }));

/**
 * A parameter that is one of some words. The document lists them; the handler refuses others, since the check of the query ignores
 * `enum`.
 */
export const queryWord = (words: readonly string[], description: string) =>
  t.Optional(t.String({ description, enum: [...words] }));

/** A parameter that may be repeated. */
export const queryTexts = (description: string) =>
  t.Optional(t.Union([t.String(), t.Array(t.String())], { description }));

/** The number of items of a page. The handler reads it, and refuses others. */
export const queryLimit = (
  usual: number,
  maximum: number,
  description = `How many at most; ${usual} unless given. A page also ends at 1 MiB.`,
) => t.Optional(t.Any({ type: 'integer', minimum: 1, maximum, description }));

/** Reads a filter by a label, `name=value`. @throws SignalboxError */
export function labelIn(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at >= 1) return [text.slice(0, at), text.slice(at + 1)];
  return refuseValue('label', `\`label\` must have the form name=value, not \`${text.slice(0, 64)}\`.`);
}
