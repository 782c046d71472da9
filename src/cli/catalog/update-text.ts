import type { LastWeek } from '../../admin/use-cases/catalog/last-week.ts';
import { type CatalogUpdate, type ModelUpdate, OWN_PRICE } from '../../admin/use-cases/catalog/update.ts';
import { creditsText, plural } from '../../core/text/text.ts';
import { visible } from '../../core/text/visible.ts';
import { sourceText } from '../../policy/models/facts.ts';
import { grid, paragraphs } from '../terminal.ts';

/** Whether an operator has to act: a price differs, or the service ends the model. */
export const isFinding = ({ changes, kept, endsSoon, deprecated }: ModelUpdate): boolean =>
  (changes.length > 0 && kept === null) || endsSoon || deprecated;

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
      'Prices that will change',
      ['price', 'model', 'from', 'input', 'output'],
      models.flatMap(scheduledRows),
      terminal,
    ),
    section(
      'Limits above those of the provider',
      ['price', 'model', 'field', 'policy', 'list'],
      models.flatMap(limitRows),
      terminal,
    ),
    section('Models that end', ['price', 'model', 'end'], models.flatMap(endRows), terminal),
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
  changes.map((one) => [place, model, one.field, figure(one.old), figure(one.new), source ?? '']);

const scheduledRows = ({ place, model, scheduled, kept }: ModelUpdate) =>
  scheduled && kept !== OWN_PRICE
    ? [[place, model, scheduled.from, figure(scheduled.input), figure(scheduled.output)]]
    : [];

const limitRows = ({ place, model, limits }: ModelUpdate) =>
  limits.map((one) => [place, model, one.field, figure(one.old), figure(one.new)]);

const endRows = ({ place, model, ends, endsSoon, deprecated }: ModelUpdate) =>
  endsSoon || deprecated ? [[place, model, ends ?? 'deprecated, without a day']] : [];

const disagreementRows = ({ place, model, disagreements }: ModelUpdate) =>
  disagreements.map(({ field, values }) => [
    ...[place, model, field],
    Object.entries(values)
      .map(([source, value]) => `${value} (${source})`)
      .join(', '),
  ]);

const keptRows = ({ place, model, kept }: ModelUpdate) =>
  kept === null || kept === OWN_PRICE ? [] : [[place, model, kept]];

function tableText({ changes, added, ended, disagreements }: CatalogUpdate['table']): string {
  const changed = new Set(changes.map(({ model }) => model)).size;
  const counts = `${changed} changed prices, ${added.length} new, ${ended.length} of models that ended, ${disagreements} about which lists disagree.`;
  const gone = ended.map(({ model, reason }) => `${model} (${reason})`).join(', ');
  return `The table of public models: ${counts}${gone === '' ? '' : ` Ended: ${gone}.`}`;
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
    models: models.map(({ asOf, endsSoon: _, ...one }) => ({ ...one, as_of: asOf })),
    new_models: proposals.map(({ provider, added }) => ({ provider, models: added.map(({ id }) => id) })),
    table: { changes: table.changes, added: table.added, ended: table.ended },
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
