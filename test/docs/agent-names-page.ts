import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT_NAMES } from '../../src/core/policy/alias-names.ts';
import { code } from './schema-words.ts';
import { markdownTable } from './table.ts';

/** The page of each agent, with its names. */
const NAMES_OF_PAGES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'docs/clients/claude-code.md': AGENT_NAMES['claude-code'],
  'docs/clients/gemini.md': AGENT_NAMES['gemini-cli'],
};

/** The pages of agents with the tables of their default aliases. */
export const AGENT_PAGES = Object.fromEntries(
  Object.entries(NAMES_OF_PAGES).map(([page, names]) => [page, () => agentPage(page, names)]),
);

function agentPage(page: string, names: Readonly<Record<string, readonly string[]>>): string {
  const rows = Object.entries(names).map(([selector, own]) => [own.map(code).join(', '), code(selector)]);
  return readFileSync(join(import.meta.dir, '../..', page), 'utf8').replace(
    /(<!-- made: names -->\n)[\s\S]*?(<!-- end -->)/,
    (_, begin: string, end: string) => `${begin}\n${markdownTable(['name', 'selector'], rows)}\n\n${end}`,
  );
}
