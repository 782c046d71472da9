import { t } from 'elysia';

/** A parameter of a query. */
export const queryText = (description: string) => t.Optional(t.String({ description }));

/** A parameter that may be repeated. */
export const queryTexts = (description: string) =>
  t.Optional(t.Union([t.String(), t.Array(t.String())], { description }));

/** The number of items of a page. The handler reads it, and refuses others. */
export const queryLimit = (usual: number, maximum: number) =>
  t.Optional(t.Any({ type: 'integer', minimum: 1, maximum, description: `How many at most; ${usual} unless said.` }));
