import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { countFound, type FoundSecrets } from '../support/found-secrets.ts';
import { KEY_GROUPS } from '../support/made-secrets.ts';
import { markdownTable } from './table.ts';

export const GUARDS_PAGE = 'docs/policies/guards.md';
/** The seed and number of the made secrets on the page. */
const SEED = 103;
const EACH = 400;

/** The page of guards with the share of made secrets that `secrets` finds. */
export function foundSecretsPage(): string {
  const groups = [...countFound(SEED, EACH)];
  const keys = groups.filter(([name]) => KEY_GROUPS.includes(name)).map(([, counts]) => counts);
  const others = groups.filter(([name]) => !KEY_GROUPS.includes(name));
  const sum = (member: 'made' | 'found') => keys.reduce((total, counts) => total + counts[member], 0);
  const row = (name: string, { made, found }: Pick<FoundSecrets, 'made' | 'found'>) => [
    name,
    `${found.toLocaleString('en-US')} of ${made.toLocaleString('en-US')}`,
  ];
  const table = markdownTable(
    ['made secrets', 'found'],
    [
      row(`keys and tokens of ${KEY_GROUPS.length} services and formats`, { made: sum('made'), found: sum('found') }),
      ...others.map(([name, counts]) => row(name, counts)),
    ],
  );
  return readFileSync(join(import.meta.dir, '../..', GUARDS_PAGE), 'utf8').replace(
    /(<!-- made: found secrets -->\n\n)[\s\S]*?(\n\n<!-- end -->)/,
    (_, begin: string, end: string) => `${begin}${table}\n\nThe keys are of ${KEY_GROUPS.join(', ')}.${end}`,
  );
}
