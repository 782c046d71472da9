import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withPart } from '../../bench/page.ts';
import { CHECKS } from '../../src/admin/use-cases/doctor/checks.ts';
import { CHECK_STATE_NAMES, CHECK_STATES } from '../../src/admin/use-cases/doctor/states.ts';
import { code } from './schema-words.ts';

const PAGE = join(import.meta.dir, '../../docs/operate/doctor.md');

/** What a check needs, in words for the reader. */
const NEEDS = {
  server: ' Needs a running server.',
  database: ' Needs a database.',
  policy: ' Needs a policy without mistakes.',
} as const;

/** Makes the parts of the page on `signalbox doctor` that list the states of findings and the checks. */
export function doctorPage(): string {
  const states = CHECK_STATE_NAMES.map((state) => `- ${code(state)}: ${CHECK_STATES[state]}`);
  const checks = CHECKS.map(
    ({ id, title, examines, needs }) =>
      `- **${title}** (${code(id)}): ${examines}${needs === null ? '' : NEEDS[needs]}`,
  );
  return withPart(withPart(readFileSync(PAGE, 'utf8'), 'states', states.join('\n')), 'checks', checks.join('\n'));
}
