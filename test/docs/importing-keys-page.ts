import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CSV_COLUMNS } from '../../src/admin/use-cases/key-import/csv-keys.ts';
import { markdownTable } from './table.ts';

/** Generates the table of the columns of a CSV of keys. */
export const IMPORTING_KEYS = 'docs/spend/importing-keys.md';

export const importingKeysPage = (): string =>
  readFileSync(join(import.meta.dir, '../..', IMPORTING_KEYS), 'utf8').replace(
    /^(<!-- made: columns -->\n)[\s\S]*?^(<!-- end -->)$/gm,
    (_, begin: string, end: string) => `${begin}\n${table()}\n\n${end}`,
  );

const table = () =>
  markdownTable(
    ['column', 'content'],
    Object.entries(CSV_COLUMNS).map(([name, content]) => [`\`${name}\``, content]),
  );
