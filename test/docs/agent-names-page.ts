import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT_NAMES } from '../../src/core/policy/alias-names.ts';
import { code } from './schema-words.ts';
import { markdownTable } from './table.ts';

export const AGENT_NAMES_PAGE = 'docs/clients/claude-code.md';

/** The page of Claude Code with the table of default aliases. */
export function agentNamesPage(): string {
  const rows = Object.entries(AGENT_NAMES).map(([selector, names]) => [names.map(code).join(', '), code(selector)]);
  return readFileSync(join(import.meta.dir, '../..', AGENT_NAMES_PAGE), 'utf8').replace(
    /(<!-- made: names -->\n)[\s\S]*?(<!-- end -->)/,
    (_, begin: string, end: string) => `${begin}\n${markdownTable(['name', 'selector'], rows)}\n\n${end}`,
  );
}
