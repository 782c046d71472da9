import { basename, join } from 'node:path';
import { statedPrices } from '../src/admin/use-cases/catalog/price-edits.ts';
import { reviewFigures } from '../src/policy/compile.ts';
import { type FactsTable, isOldPrice, loadFacts, sourceText } from '../src/policy/models/facts.ts';
import { Report } from '../src/policy/report/report.ts';
import { parseFiles } from '../src/policy/runtime/parse-files.ts';
import { readBundle } from '../src/policy/runtime/source.ts';

/**
 * Lists the figures of the shipped policy for which `signalbox policy check` and `signalbox doctor` would warn because of their age.
 * @param root the folder of the sources
 * @param day such as `2026-11-28`
 */
export async function staleFigures(root: string, day: string): Promise<readonly string[]> {
  const { files } = await readBundle(join(root, 'policies'));
  const { policy } = await parseFiles(files, null);
  const { drafts: models, wildcards } = policy.drafts.models;
  const report = new Report();
  reviewFigures({ models, wildcards }, { today: day, facts: await loadFacts() }, report);
  return report.found.filter(({ code }) => code === 'stale-figure').map(({ message }) => message);
}

/**
 * Lists the shipped prices that are too old for a release. A price with `basis: own` does not age.
 * @param root the folder of the sources
 * @param day such as `2026-11-28`
 */
export async function oldPrices(root: string, day: string): Promise<readonly string[]> {
  const isOld = (asOf: string) => isOldPrice(asOf, day);
  const { files } = await readBundle(join(root, 'policies'));
  const stated = files.flatMap(({ path, text = '' }) =>
    statedPrices(text).flatMap(({ model, line, asOf, basis }) =>
      basis === 'own' || (asOf !== null && !isOld(asOf))
        ? []
        : [`policies/${basename(path)}:${line}: ${model}, ${asOf ?? 'without a date'}`],
    ),
  );
  return [...new Set(stated), ...oldRows(await loadFacts(), isOld)];
}

/** Counts the old rows of the public table, by provider and list. */
function oldRows({ file: { sources, models } }: FactsTable, isOld: (asOf: string) => boolean): readonly string[] {
  return Object.entries(models).flatMap(([preset, rows]) => {
    const bySource = Map.groupBy(Object.values(rows), ({ source = 0 }) => sources[source]);
    return [...bySource].flatMap(([source, own]) =>
      source && isOld(source.as_of)
        ? [`facts.json: ${own.length} of ${preset}, ${source.as_of} (${sourceText(source)})`]
        : [],
    );
  });
}
