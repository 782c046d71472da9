import type { SqlParam, SqlValue, Statement } from '../sql/statement.ts';
import { arrayOf, literalOf } from './connection.ts';

/** A statement of a repository in the words of PostgreSQL. */
interface PostgresStatement {
  readonly text: string;
  /** The names of its values, in their order; null where they go by their places. */
  readonly names: readonly string[] | null;
  /** Whether it takes an array for each value. */
  readonly takesRows: boolean;
}

/** Texts that are kept translated, at most. */
const TEXTS_MAX = 2_000;
/** Texts and comments, which stay; places of values; names with a capital letter, which PostgreSQL would fold. */
const WORDS = /'(?:[^']|'')*'|"[^"]*"|--[^\n]*|\?(\d*)|\$([A-Za-z]\w*)|\b[a-z]\w*[A-Z]\w*\b/g;

/** Translates statements; of each text once. */
export class PostgresDialect {
  readonly #known = new Map<string, PostgresStatement>();

  translate({ sql, inPostgres = sql, takesRows = false }: Statement): PostgresStatement {
    const known = this.#known.get(inPostgres);
    if (known) return known;
    const translated = { ...inItsWords(inPostgres), takesRows };
    // Lists make texts of their filters: there are many, and not without end.
    if (this.#known.size < TEXTS_MAX) this.#known.set(inPostgres, translated);
    return translated;
  }
}

function inItsWords(sql: string): Omit<PostgresStatement, 'takesRows'> {
  const names: string[] = [];
  let places = 0;
  const text = sql.replace(WORDS, (word, place: string | undefined, name: string | undefined) => {
    if (name !== undefined) {
      if (!names.includes(name)) names.push(name);
      return `$${names.indexOf(name) + 1}`;
    }
    if (word.startsWith('?')) return `$${place || ++places}`;
    return /^['"-]/.test(word) ? word : `"${word}"`;
  });
  return { text, names: names.length > 0 ? names : null };
}

/** The values of a statement in their order, or the columns of its rows. */
export function valuesOf(
  statement: PostgresStatement,
  params: readonly SqlParam[],
  ...more: readonly (readonly SqlParam[])[]
): readonly SqlValue[] {
  const first = valuesOfRow(statement, params);
  if (!statement.takesRows) return first;
  const rows = [first, ...more.map((row) => valuesOfRow(statement, row))];
  return first.map((_, column) => arrayOf(rows.map((row) => row[column] ?? null)));
}

function valuesOfRow({ names }: PostgresStatement, params: readonly SqlParam[]): readonly SqlValue[] {
  const [row] = params;
  if (names === null || !isRow(row)) return params.flatMap((param) => (isRow(param) ? [] : [param]));
  return names.map((name) => row[name] ?? null);
}

const isRow = (param: SqlParam | undefined): param is { readonly [name: string]: SqlValue } =>
  typeof param === 'object' && param !== null && !ArrayBuffer.isView(param);

/** Parts of texts between their values. */
const VALUES = /'(?:[^']|'')*'|"[^"]*"|--[^\n]*|\$(\d+)/g;

/** @returns the statement with its values in its text, for a function that runs it */
export function withValues(statement: PostgresStatement, params: readonly SqlParam[]): string {
  const values = valuesOf(statement, params);
  return statement.text.replace(VALUES, (word, place: string | undefined) =>
    place === undefined ? word : literalOf(values[Number(place) - 1] ?? null),
  );
}
