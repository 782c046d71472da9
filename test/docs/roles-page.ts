import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROLES } from '../../src/core/role.ts';
import { ACTION_NAMES, reachOf } from '../../src/operate/roles.ts';
import { markdownTable } from './table.ts';

const PAGE = join(import.meta.dir, '../../docs/operate/roles.md');
const [BEGIN, END] = ['<!-- made: actions -->', '<!-- end -->'];

/** The page of roles with the table that decides. */
export function rolesPage(): string {
  const text = readFileSync(PAGE, 'utf8');
  const rows = ACTION_NAMES.map((action) => [`\`${action}\``, ...ROLES.map((role) => reachOf(role, action) ?? '')]);
  const table = markdownTable(['action', ...ROLES], rows);
  const [before, after] = [text.slice(0, text.indexOf(BEGIN)), text.slice(text.indexOf(END))];
  return `${before}${BEGIN}\n\n${table.trimEnd()}\n\n${after}`;
}
