import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EVERY_VARIABLE, SERVICES, shippedSnapshot } from '../policy/shipped.ts';

const names = [...shippedSnapshot(EVERY_VARIABLE).providers.keys()];
/** The variables of each service, in the order of the shipped policy: its key and its address, if it needs them. */
const variables = SERVICES.toSorted((a, b) => names.indexOf(a.name) - names.indexOf(b.name)).map(
  ({ preset: { apiKeyEnv, baseUrlEnv } }) => ({
    needsKey: apiKeyEnv !== undefined,
    all: [apiKeyEnv, baseUrlEnv].filter((name) => name !== undefined),
  }),
);

/** Leaves out repeated lines, because several services can have the same variables. */
const different = (lines: readonly string[]): readonly string[] => [...new Set(lines)];

/** A file whose part between two marks is made from these variables. */
const pageOf = (path: string, part: RegExp, lines: readonly string[]) => () =>
  readFileSync(join(import.meta.dir, '../..', path), 'utf8').replace(
    part,
    (_, begin: string, end: string) => begin + lines.join('\n') + end,
  );

/** By path. */
export const VARIABLE_PAGES = {
  'compose.yaml': pageOf(
    'compose.yaml',
    /(# made: variables of providers\n)[\s\S]*?(\n *# end\n)/,
    different(variables.flatMap(({ all }) => all).map((name) => `      ${name}:`)),
  ),
  'docs/start.md': pageOf(
    'docs/start.md',
    /(<!-- made: variables -->\n\n)[\s\S]*?(\n\n<!-- end -->)/,
    different(
      variables
        .filter(({ needsKey }) => needsKey)
        .map(({ all }) => `- ${all.map((name) => `\`${name}\``).join(' and ')}`),
    ),
  ),
} as const;
