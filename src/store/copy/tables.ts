import type { SqlReader, SqlValue } from '../sql/statement.ts';
import { sql } from '../sql/statement.ts';

/** The values of a row, by column name. */
export type CopiedRow = Record<string, SqlValue>;

/** The name, columns and primary key of a table, as SQLite describes them. */
export interface CopiedTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** The columns of the primary key. The copy reads the table in pages of this order. */
  readonly key: readonly string[];
}

/** Receives the rows of all tables in one transaction. */
export interface CopyTarget {
  insert(table: string, rows: readonly CopiedRow[]): Promise<void>;
}

/** The most rows in memory at once. The number is limited because some rows have long texts. */
const PAGE_ROWS = 500;

/** How the copy changes the rows of a table. */
export interface TableChange {
  /** Columns that are not copied. */
  readonly without?: readonly string[];
  /** @returns the row to write; null for a row that is not copied */
  readonly rowOf?: (row: CopiedRow) => CopiedRow | null;
}

/** The tables that are not copied unchanged: each database has its own form of these tables, or the tables describe running servers. */
const APART: ReadonlySet<string> = new Set([
  ...['accounts', 'adjustments', 'balances', 'budgets', 'checkpoint', 'funds', 'journal', 'spend', 'tariffs'],
  ...['fence', 'instance_reports', 'instances', 'migrations', 'record_indexing'],
]);

const quoted = (name: string): string => `"${name}"`;

/** Returns the tables of a SQLite database, by name. */
export async function tablesOf(sqlite: SqlReader): Promise<ReadonlyMap<string, CopiedTable>> {
  const rows = await sqlite.query<{ name: string; column: string; place: number }>(
    sql(`SELECT t.name, c.name AS "column", c.pk AS place FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
      WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name, c.cid`),
  );
  const byTable = Map.groupBy(rows, ({ name }) => name);
  return new Map(
    [...byTable].map(([name, columns]) => {
      const key = columns.filter(({ place }) => place > 0).toSorted((a, b) => a.place - b.place);
      return [name, { name, columns: columns.map(({ column }) => column), key: key.map(({ column }) => column) }];
    }),
  );
}

/** Reads a table in pages, in the order of its key. */
async function* rowsOf(db: SqlReader, { name, columns, key }: CopiedTable): AsyncGenerator<readonly CopiedRow[], void> {
  const keys = key.map(quoted).join(', ');
  const select = `SELECT ${columns.map(quoted).join(', ')} FROM ${name}`;
  const end = `ORDER BY ${keys} LIMIT ${PAGE_ROWS}`;
  const begin = sql(`${select} ${end}`);
  const next = sql(`${select} WHERE (${keys}) > (${key.map(() => '?').join(', ')}) ${end}`);
  for (let rows = await db.query<CopiedRow>(begin); ; ) {
    const last = rows.at(-1);
    if (!last) return;
    yield rows;
    rows = await db.query<CopiedRow>(
      next,
      key.map((column) => last[column] ?? null),
    );
  }
}

/** Copies the tables that both databases have, unchanged or with the given changes. */
export async function copyTables(
  tables: ReadonlyMap<string, CopiedTable>,
  from: SqlReader,
  to: CopyTarget,
  changes: Readonly<Record<string, TableChange>>,
): Promise<void> {
  for (const table of tables.values()) {
    const change = changes[table.name];
    if (!change && APART.has(table.name)) continue;
    const { without = [], rowOf = (row: CopiedRow) => row } = change ?? {};
    const columns = table.columns.filter((column) => !without.includes(column));
    for await (const rows of rowsOf(from, { ...table, columns }))
      await to.insert(
        table.name,
        rows.map(rowOf).filter((row) => row !== null),
      );
  }
}

export const idsIn = (funds: unknown): readonly number[] =>
  typeof funds === 'string' && funds !== '' ? funds.split(' ').map(Number) : [];
