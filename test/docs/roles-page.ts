import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROLES } from '../../src/core/role.ts';
import { ACTION_NAMES, reachOf } from '../../src/operate/roles.ts';
import { code } from './schema-words.ts';
import { markdownTable } from './table.ts';

const PAGE = join(import.meta.dir, '../../docs/operate/roles.md');
const [BEGIN, END] = ['<!-- made: actions -->', '<!-- end -->'];

/** The page of roles with the table that decides, a row for the actions that the same roles may take. */
export function rolesPage(): string {
  const text = readFileSync(PAGE, 'utf8');
  const reaches = ACTION_NAMES.map((action) => ROLES.map((role) => reachOf(role, action) ?? ''));
  const alike = Map.groupBy(ACTION_NAMES, (_, at) => reaches[at]!.join());
  const rows = [...alike].map(([reach, actions]) => [actions.map(code).join(', '), ...reach.split(',')]);
  const table = markdownTable(['actions', ...ROLES], rows);
  const [before, after] = [text.slice(0, text.indexOf(BEGIN)), text.slice(text.indexOf(END))];
  return `${before}${BEGIN}\n\n${table.trimEnd()}\n\n${after}`;
}
