import type { SqlParam, SqlValue, Statement } from '../sql/statement.ts';
import { arrayOf, literalOf } from './connection.ts';

/** A statement of a repository, translated for PostgreSQL. */
interface PostgresStatement {
  readonly text: string;
  /** The names of the parameters in their order. The list is null if the parameters are positional. */
  readonly names: readonly string[] | null;
  /** True if each parameter takes an array, so that the statement writes many rows. */
  readonly takesRows: boolean;
}

/** The number of translated texts that are cached. */
const TEXTS_MAX = 2_000;
/**
 * Matches string literals, quoted names and comments, which stay unchanged; parameters; and names with a capital letter, which need quotes
 * because PostgreSQL would lower their case.
 */
const WORDS = /'(?:[^']|'')*'|"[^"]*"|--[^\n]*|\?(\d*)|\$([A-Za-z]\w*)|\b[a-z]\w*[A-Z]\w*\b/g;

/** Translates statements for PostgreSQL and caches the results. */
export class PostgresDialect {
  readonly #known = new Map<string, PostgresStatement>();

  translate({ sql, inPostgres = sql, takesRows = false }: Statement): PostgresStatement {
    const known = this.#known.get(inPostgres);
    if (known) return known;
    const translated = { ...inItsWords(inPostgres), takesRows };
    // Queries for lists have a different text for each combination of filters, so there are many texts, but a limited number.
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

/**
 * @returns the values of a statement in the order of its parameters. For a statement that writes many rows, each value is an array of the
 * values of a column.
 */
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

/** Matches string literals, quoted names and comments, which stay unchanged, and numbered parameters. */
const VALUES = /'(?:[^']|'')*'|"[^"]*"|--[^\n]*|\$(\d+)/g;

/** @returns the text of the statement with its values as literals, for a database function that executes it */
export function withValues(statement: PostgresStatement, params: readonly SqlParam[]): string {
  const values = valuesOf(statement, params);
  return statement.text.replace(VALUES, (word, place: string | undefined) =>
    place === undefined ? word : literalOf(values[Number(place) - 1] ?? null),
  );
}
