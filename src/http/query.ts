import { t } from 'elysia';

/** What the document says of a parameter's text. The handler refuses other texts, with what would be right. */
interface TextForm {
  readonly minLength?: number;
  readonly pattern?: string;
}
export const NOT_EMPTY: TextForm = { minLength: 1 };

const textSchema = (form: TextForm | undefined) => form && { allOf: [form] };

/** A parameter of a query. */
export const queryText = (description: string, form?: TextForm) =>
  t.Optional(t.String({ description, ...textSchema(form) }));

/** The number of items of a page. The handler reads it, and refuses others. */
export const queryLimit = (
  usual: number,
  maximum: number,
  description = `How many at most; ${usual} unless given. A page also ends at 1 MiB.`,
) => t.Optional(t.Any({ type: 'integer', minimum: 1, maximum, description }));
