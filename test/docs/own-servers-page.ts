import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { QUALITY_BY_SIZE, QUALITY_OF_UNKNOWN_SIZE } from '../../src/policy/compiled/found.ts';
import { markdownTable } from './table.ts';

export const OWN_SERVERS = 'docs/policies/own-servers.md';

const billions = (count: number): string => `${count / 1e9} billion`;

/** The page with the table of guessed qualities. */
export function ownServersPage(): string {
  const rows = QUALITY_BY_SIZE.map(({ below, quality }, at) => [
    Number.isFinite(below) ? `fewer than ${billions(below)}` : `${billions(QUALITY_BY_SIZE[at - 1]!.below)} or more`,
    String(quality),
  ]);
  const table = markdownTable(['parameters', 'quality'], [...rows, ['not stated', String(QUALITY_OF_UNKNOWN_SIZE)]]);
  return readFileSync(join(import.meta.dir, '../..', OWN_SERVERS), 'utf8').replace(
    /(<!-- made: sizes -->\n)[\s\S]*?(<!-- end -->)/,
    (_, begin: string, end: string) => `${begin}\n${table}\n\n${end}`,
  );
}
