import { t } from 'elysia';

/** What the document says of a parameter's text. The handler refuses other texts, with what would be right. */
interface TextForm {
  readonly minLength?: number;
  readonly pattern?: string;
}
export const NOT_EMPTY: TextForm = { minLength: 1 };
export const LABEL_FORM: TextForm = { pattern: '^[^=]+=' };
/** A day, or a moment that begins with one. */
export const MOMENT_FORM: TextForm = { pattern: '^\\d{4}-\\d{2}-\\d{2}' };

const textSchema = (form: TextForm | undefined) => form && { allOf: [form] };

/** A parameter of a query. */
export const queryText = (description: string, form?: TextForm) =>
  t.Optional(t.String({ description, ...textSchema(form) }));

/**
 * A parameter that is one of some words. The document lists them; the handler refuses others, since the check of the query ignores
 * `enum`.
 */
export const queryWord = (words: readonly string[], description: string) =>
  t.Optional(t.String({ description, enum: [...words] }));

/** A parameter that may be repeated. */
export const queryTexts = (description: string, form: TextForm) => {
  const text = t.String(textSchema(form));
  return t.Optional(t.Union([text, t.Array(text)], { description }));
};

/** The number of items of a page. The handler reads it, and refuses others. */
export const queryLimit = (
  usual: number,
  maximum: number,
  description = `How many at most; ${usual} unless given. A page also ends at 1 MiB.`,
) => t.Optional(t.Any({ type: 'integer', minimum: 1, maximum, description }));
