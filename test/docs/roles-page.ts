import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ACTION_NAMES, reachOf } from '../../src/admin/use-cases/roles.ts';
import { ROLES } from '../../src/core/people/role.ts';
import { code } from './schema-words.ts';

const PAGE = join(import.meta.dir, '../../docs/operate/roles.md');
const [BEGIN, END] = ['<!-- made: actions -->', '<!-- end -->'];

/** Makes the page of roles from the rules in code: one line for all actions that the same roles may take. */
export function rolesPage(): string {
  const text = readFileSync(PAGE, 'utf8');
  const alike = Map.groupBy(ACTION_NAMES, reachesOf);
  const lines = [...alike].map(([reaches, actions]) => `- ${actions.map(code).join(', ')}: ${reaches}`);
  const [before, after] = [text.slice(0, text.indexOf(BEGIN)), text.slice(text.indexOf(END))];
  return `${before}${BEGIN}\n\n${lines.join('\n')}\n\n${after}`;
}

/** Lists the roles by reach, such as `**all** owner, admin; **team** lead`. */
function reachesOf(action: (typeof ACTION_NAMES)[number]): string {
  const reaches = Map.groupBy(ROLES, (role) => reachOf(role, action) ?? '');
  reaches.delete('');
  return [...reaches].map(([reach, roles]) => `**${reach}** ${roles.join(', ')}`).join('; ');
}
