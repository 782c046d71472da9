import type { LastWeek } from '../../admin/use-cases/catalog/last-week.ts';
import {
  type CatalogUpdate,
  type FigureChange,
  type ModelUpdate,
  OWN_PRICE,
} from '../../admin/use-cases/catalog/update.ts';
import { creditsText, plural } from '../../core/text/text.ts';
import { visible } from '../../core/text/visible.ts';
import { sourceText } from '../../policy/models/facts.ts';
import { grid, paragraphs } from '../terminal.ts';

/** Whether an operator has to act: a price differs, or the service ends the model. */
export const isFinding = ({ changes, kept, ending }: ModelUpdate): boolean =>
  (changes.length > 0 && kept === null) || ending.length > 0;

/** Writes the comparison as paragraphs and tables. */
export function updateText(
  { witnesses, models, table, proposals }: CatalogUpdate,
  week: LastWeek | null,
  terminal: boolean,
): string {
  const lists = witnesses.map((one) => `${sourceText(one)} of ${one.asOf}`).join(', ');
  const changed = models.filter(({ changes, kept }) => changes.length > 0 && kept === null);
  const head = `Lists, the newest first: ${lists}. ${plural(models.length, 'price')} of the policy, ${changed.length} changed.`;
  const parts = [
    paragraphs([head], terminal),
    section(
      'Changed prices, USD per 1M tokens',
      ['price', 'model', 'field', 'policy', 'list', 'source'],
      changed.flatMap(changeRows),
      terminal,
    ),
    section(
      'Limits above those of the provider',
      ['price', 'model', 'field', 'policy', 'list'],
      models.flatMap(limitRows),
      terminal,
    ),
    section('Models that end', ['price', 'model', 'provider', 'end'], models.flatMap(endRows), terminal),
    section('Lists disagree', ['price', 'model', 'field', 'values'], models.flatMap(disagreementRows), terminal),
    section('Not compared', ['price', 'model', 'reason'], models.flatMap(keptRows), terminal),
    section(
      'New models',
      ['provider', 'models'],
      proposals.map(({ provider, added }) => [provider, added.map(({ id }) => id).join(', ')]),
      terminal,
    ),
    paragraphs([tableText(table)], terminal),
    ...(week ? [weekText(week, terminal)] : []),
  ];
  return parts.filter((part) => part !== '').join('\n');
}

function section(
  title: string,
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  terminal: boolean,
): string {
  if (rows.length === 0) return '';
  const safe = rows.map((row) => row.map(visible));
  return `${title}:\n${grid([columns, ...safe], terminal).join('\n')}\n`;
}

const figure = (value: number | null): string => (value === null ? 'not stated' : String(value));

const changeRows = ({ place, model, changes, source }: ModelUpdate) =>
  changes.filter(isShown).map((one) => [place, model, one.field, figure(one.old), figure(one.new), source ?? '']);

/** Of hours, service tiers and later prices that the policy does not state, input and output are enough; JSON has all figures. */
const isShown = ({ field, old }: FigureChange): boolean =>
  old !== null ||
  !/\b(?:hours|service_tiers|later)\./.test(field) ||
  /^(?!.*\.tiers\.).*\.(?:input|output)$/.test(field);

const limitRows = ({ place, model, limits }: ModelUpdate) =>
  limits.map((one) => [place, model, one.field, figure(one.old), figure(one.new)]);

const endRows = ({ place, model, ending }: ModelUpdate) =>
  ending.map(({ provider, ends }) => [place, model, provider, ends ?? 'deprecated, without a day']);

const disagreementRows = ({ place, model, disagreements }: ModelUpdate) =>
  disagreements.map(({ field, values }) => [
    ...[place, model, field],
    Object.entries(values)
      .map(([source, value]) => `${value} (${source})`)
      .join(', '),
  ]);

const keptRows = ({ place, model, kept }: ModelUpdate) =>
  kept === null || kept === OWN_PRICE ? [] : [[place, model, kept]];

function tableText({ changes, added, left, disagreements }: CatalogUpdate['table']): string {
  const changed = new Set(changes.map(({ model }) => model)).size;
  const counts = `${changed} changed prices, ${added.length} new, ${left.length} that leave, ${disagreements} about which lists disagree.`;
  const gone = left.map(({ model, reason }) => `${model} (${reason})`).join(', ');
  return `The table of public models: ${counts}${gone === '' ? '' : ` They leave: ${gone}.`}`;
}

function weekText({ requests, charged, wouldCost, models }: LastWeek, terminal: boolean): string {
  const head = `Charges of the last seven days: ${plural(requests, 'attempt')}, ${creditsText(charged)}. At the new prices: ${creditsText(wouldCost)}.`;
  const rows = models.map((one) => [
    String(one.requests),
    one.model,
    creditsText(one.charged),
    creditsText(one.wouldCost),
  ]);
  return (
    paragraphs([head], terminal) +
    section('By model', ['attempts', 'model', 'charged', 'at new prices'], rows, terminal)
  );
}

/** Writes the comparison for `--json`. */
export function updateBody(
  { witnesses, models, table, proposals, diff }: CatalogUpdate,
  week: LastWeek | null,
): object {
  return {
    lists: witnesses.map((one) => ({ name: one.name, revision: one.revision, as_of: one.asOf })),
    models: models.map(({ asOf, ...one }) => ({ ...one, as_of: asOf })),
    new_models: proposals.map(({ provider, added }) => ({ provider, models: added.map(({ id }) => id) })),
    table: { changes: table.changes, added: table.added, left: table.left },
    last_week: week && {
      attempts: week.requests,
      charged_microcredits: week.charged,
      new_microcredits: week.wouldCost,
      models: week.models.map((one) => ({
        model: one.model,
        attempts: one.requests,
        charged_microcredits: one.charged,
        new_microcredits: one.wouldCost,
      })),
    },
    diff,
  };
}
