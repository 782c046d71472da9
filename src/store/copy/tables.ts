import type { SqlReader, SqlValue } from '../sql/statement.ts';
import { sql } from '../sql/statement.ts';

/** A row, by its columns. */
export type CopiedRow = Record<string, SqlValue>;

/** A table, as SQLite describes it. */
export interface CopiedTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** Its primary key, by which it is read in pages. */
  readonly key: readonly string[];
}

/** Takes rows, in one transaction with all others. */
export interface CopyTarget {
  insert(table: string, rows: readonly CopiedRow[]): Promise<void>;
}

/** Rows that are in memory at once: some have long texts. */
const PAGE_ROWS = 500;

/** What a copy makes of the rows of a table. */
export interface TableChange {
  /** Columns that it leaves out. */
  readonly without?: readonly string[];
  /** @returns null for a row that it leaves out */
  readonly rowOf?: (row: CopiedRow) => CopiedRow | null;
}

/** Tables that the two databases have each in its own way, or that are of servers which run. All others are copied as they are. */
const APART: ReadonlySet<string> = new Set([
  ...['accounts', 'adjustments', 'balances', 'budgets', 'checkpoint', 'funds', 'journal', 'spend', 'tariffs'],
  ...['decisions', 'fence', 'instance_reports', 'instances', 'migrations', 'record_index', 'record_indexing'],
  'traffic_counting',
]);

const quoted = (name: string): string => `"${name}"`;

/** The tables of a SQLite database, by name. */
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

/** Copies the tables that both databases have, as they are or with the change that is stated. */
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
