import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UNIT_NAMES, UNITS, type Unit } from '../../src/core/money/units.ts';
import { markdownTable } from './table.ts';

/** Generates the table of units from `src/core/money/units.ts`. */
export const UNITS_PAGE = 'docs/spend/reports.md';

export const unitsPage = (): string =>
  readFileSync(join(import.meta.dir, '../..', UNITS_PAGE), 'utf8').replace(
    /^(<!-- made: units -->\n)[\s\S]*?^(<!-- end -->)$/gm,
    (_, begin: string, end: string) => `${begin}\n${table()}\n\n${end}`,
  );

const table = () =>
  markdownTable(
    ['unit', 'counts', 'part of', '`kind` in metrics'],
    UNIT_NAMES.map((unit) => {
      const { label, metric } = UNITS[unit];
      return [`\`${unit}\``, label, wholeOf(unit), metric === undefined ? '' : `\`${metric}\``];
    }),
  );

const wholeOf = (unit: Unit): string =>
  UNITS[unit].side === 'beside' || UNITS[unit].side === unit ? '' : `\`${UNITS[unit].side}\``;
