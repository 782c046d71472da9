import { TIERS } from '../../core/request/tiers.ts';
import type { NamedItem } from '../check/section-checks.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { valueAt } from '../yaml/tree.ts';
import type { SelectorText } from './schema.ts';

/** Checks the names in the stated tiers. */
export function checkTiers(
  selectors: readonly NamedItem<SelectorText>[],
  ids: ReadonlyMap<string, SourceSpan>,
  report: Report,
): void {
  const names = new Set(selectors.map(({ name }) => name));
  for (const { path, tree, data } of selectors) {
    const tiers = valueAt(tree, 'tiers');
    if (!tiers || !data || data.tiers === undefined) continue;
    if (data.vector_space !== undefined) {
      report.add('conflicting-keys', tiers.place, `\`${path}\` has \`tiers\`, but it chooses models for embeddings`, {
        expected: '`tiers` only in a selector without `vector_space`',
      });
    }
    for (const name of TIERS) checkTier(`${path}.tiers.${name}`, valueAt(tiers, name), { names, ids }, report);
  }
}

function checkTier(
  path: string,
  list: ReturnType<typeof valueAt>,
  { names, ids }: { readonly names: ReadonlySet<string>; readonly ids: ReadonlyMap<string, SourceSpan> },
  report: Report,
): void {
  if (list?.kind !== 'list') return;
  const places = new Map<string, SourceSpan>();
  for (const item of list.items) {
    if (item.kind !== 'scalar' || typeof item.value !== 'string') continue;
    const { value: id, place } = item;
    const first = places.get(id);
    const expected = 'the IDs of models, each once';
    if (names.has(id)) report.add('bad-tier', place, `\`${path}\` has the selector \`${id}\``, { expected });
    else if (first) {
      const related = { place: first, message: 'the first time' };
      report.add('bad-tier', place, `\`${path}\` has \`${id}\` twice`, { expected, related });
    } else if (!ids.has(id)) report.addUnknown('model', id, ids.keys(), place);
    places.set(id, place);
  }
}
