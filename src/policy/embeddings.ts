import type { EmbeddingModel } from '../core/embedding.ts';
import { bothBits, emptyBits, setBit } from '../core/rules.ts';
import type { Endpoint, Model } from '../core/snapshot.ts';
import { checkAtMost } from './check.ts';
import type { SourceSpan } from './diagnostics.ts';
import type { ProviderSetup } from './providers.ts';
import type { Report } from './report.ts';
import type { SelectorText } from './schema.ts';
import { EmbeddingModelText, ModelText } from './schema-model.ts';
import type { CheckContext, NamedItem } from './section-checks.ts';
import { placeAt, type Tree, valueAt } from './tree.ts';

/** The schema of a model: one that answers no conversations needs no figures of its answers. */
export function modelSchemaOf(model: Tree): typeof ModelText | typeof EmbeddingModelText {
  const operations = valueAt(model, 'operations');
  if (operations?.kind !== 'list' || operations.items.length === 0) return ModelText;
  const isChat = operations.items.some((item) => item.kind !== 'scalar' || item.value !== 'embed');
  return isChat ? ModelText : EmbeddingModelText;
}

/** Reads the vectors of a model; null for a model without. */
export function readEmbedding(
  { name, path, tree, place }: NamedItem<ModelText>,
  { embedding, operations }: ModelText,
  report: Report,
): EmbeddingModel | null {
  const isEmbedder = operations.includes('embed');
  if (isEmbedder && !embedding) {
    report.add('missing-key', place, `\`${path}\` needs the key \`embedding\``, {
      hint: 'write `embedding: { dimensions: … }`',
    });
  }
  if (!embedding) return null;
  if (!isEmbedder) {
    const message = `\`${path}\` has \`embedding\`, but not the operation \`embed\``;
    report.add('conflicting-keys', placeAt(tree, 'embedding'), message, { expected: '`operations: [embed]`' });
  }
  const { dimensions, shortest = dimensions, batch_inputs: batchInputs, batch_tokens: batchTokens } = embedding;
  checkAtMost({ path, tree, place }, ['embedding', 'shortest'], shortest, ['dimensions', dimensions], { report });
  return {
    vectorSpace: embedding.vector_space ?? name,
    dimensions,
    dimensionsMin: shortest,
    batchInputs,
    batchTokens: batchTokens ?? Number.POSITIVE_INFINITY,
  };
}

/** A model with its vectors, and the place of their length. */
export interface EmbeddingDraft {
  readonly id: string;
  readonly embedding: EmbeddingModel;
  readonly place: SourceSpan;
}

/** Reports models of one vector space with vectors of different lengths: they cannot be compared. */
export function checkVectorSpaces(drafts: readonly EmbeddingDraft[], { report }: CheckContext): void {
  const firsts = new Map<string, EmbeddingDraft>();
  for (const draft of drafts) {
    const { vectorSpace, dimensions } = draft.embedding;
    const first = firsts.get(vectorSpace) ?? draft;
    firsts.set(vectorSpace, first);
    if (first.embedding.dimensions === dimensions) continue;
    const message = `\`${draft.id}\` has vectors of ${dimensions} numbers, and \`${first.id}\` of the same vector space has ${first.embedding.dimensions}`;
    report.add('vector-space-differs', draft.place, message, {
      hint: 'vectors of different lengths cannot be compared: give one of them another `vector_space`',
      related: { place: first.place, message: `the vectors of \`${first.id}\`` },
    });
  }
}

/** The models that a selector may choose: those that pass its filter, and of its vector space if it names one. */
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

/** Reports selectors whose vector space no model of the catalog has, or none that can be served here. */
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
      const message = `selector \`${name}\` has no candidates here: no provider can serve a model of its vector space`;
      report.add('selector-idle', place, message, { hint: 'set the variable of a provider that serves such a model' });
    }
  }
}

/** A model of the catalog with the places of its endpoints. */
interface PlacedModel {
  readonly model: Pick<Model, 'id' | 'embedding'>;
  readonly endpoints: readonly { readonly endpoint: Pick<Endpoint, 'provider'>; readonly place: SourceSpan }[];
}

/** Reports embedding models at providers whose adapter cannot embed. */
export function checkAdapters(
  models: readonly PlacedModel[],
  providers: ReadonlyMap<string, Pick<ProviderSetup, 'embeds'>>,
  report: Report,
): void {
  for (const { model, endpoints } of models) {
    if (model.embedding === null) continue;
    for (const { endpoint, place } of endpoints) {
      if (providers.get(endpoint.provider)?.embeds !== false) continue;
      const message = `the adapter of \`${endpoint.provider}\` has no embeddings, which \`${model.id}\` is for`;
      report.add('provider-without-embeddings', place, message);
    }
  }
}
