import { bothBits, emptyBits, setBit } from '../../core/policy/rules.ts';
import type { Model } from '../../core/policy/snapshot.ts';
import type { NamedItem } from '../check/section-checks.ts';
import type { EmbeddingDraft } from '../models/embeddings.ts';
import type { Report } from '../report/report.ts';
import { placeAt } from '../yaml/tree.ts';
import type { SelectorText } from './schema.ts';

/** Returns the models that a selector may choose: the models that pass its filter and, if it names a vector space, belong to that space. */
export function allowedBySpace(
  vectorSpace: string | null,
  filter: Uint32Array | null,
  models: readonly Model[],
): Uint32Array | null {
  if (vectorSpace === null) return filter;
  const bits = emptyBits(models.length);
  for (const [at, { embedding }] of models.entries()) if (embedding?.vectorSpace === vectorSpace) setBit(bits, at);
  return bothBits(filter, bits);
}

/** Reports selectors whose vector space has no model in the catalog, or no model that can be served. */
export function checkSelectorSpaces(
  selectors: readonly NamedItem<SelectorText>[],
  catalog: readonly EmbeddingDraft[],
  served: readonly Model[] | null,
  report: Report,
): void {
  const known = new Set(catalog.map(({ embedding }) => embedding.vectorSpace));
  for (const { name, tree, data } of selectors) {
    const space = data?.vector_space;
    if (space === undefined) continue;
    const place = placeAt(tree, 'vector_space');
    if (!known.has(space)) report.addUnknown('vector space', space, known, place);
    else if (served && !served.some(({ embedding }) => embedding?.vectorSpace === space)) {
      const message = `selector \`${name}\` has no candidates in this environment: no provider can serve a model of its vector space`;
      report.add('selector-idle', place, message, {
        hint: 'set the environment variable of a provider that serves such a model',
      });
    }
  }
}
