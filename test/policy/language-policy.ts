import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const SECTIONS =
  'smallest providers models selectors constraints preferences budgets rate-limits payments sign-in cases'.split(' ');

/** A valid policy that uses every section of the language, in one file for each. The first is a policy of its own. */
export const LANGUAGE_POLICY: readonly { readonly path: string; readonly text: string }[] = SECTIONS.map((name) => ({
  path: `${name}.yaml`,
  text: readFileSync(join(import.meta.dir, 'language', `${name}.yaml`), 'utf8'),
}));
