import { hasVectors, TEXT_OPERATIONS } from '../../core/kinds/operations.ts';
import type { EmbeddingModel } from '../../core/request/embedding.ts';
import { checkAtMost } from '../check/check.ts';
import type { CheckContext, NamedItem } from '../check/section-checks.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { EmbeddingModelText, ModelText } from '../schema/model.ts';
import { placeAt, type Tree, valueAt } from '../yaml/tree.ts';

/** Returns the schema of a model. A model that answers no conversations needs no figures about its answers. */
export function modelSchemaOf(model: Tree): typeof ModelText | typeof EmbeddingModelText {
  const operations = valueAt(model, 'operations');
  if (operations?.kind !== 'list' || operations.items.length === 0) return ModelText;
  const known: readonly unknown[] = TEXT_OPERATIONS;
  const isChat = operations.items.some((item) => item.kind !== 'scalar' || !known.includes(item.value));
  return isChat ? ModelText : EmbeddingModelText;
}

/** Reads the embedding properties of a model; null for a model without them. */
export function readEmbedding(
  { name, path, tree, place }: NamedItem<ModelText>,
  { embedding, operations }: ModelText,
  report: Report,
): EmbeddingModel | null {
  const isEmbedder = operations.some(hasVectors);
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

/** A model with its embedding properties, and the location of its vector length. */
export interface EmbeddingDraft {
  readonly id: string;
  readonly embedding: EmbeddingModel;
  readonly place: SourceSpan;
}

/** Reports models of one vector space whose vectors have different lengths, because such vectors cannot be compared. */
export function checkVectorSpaces(drafts: readonly EmbeddingDraft[], { report }: CheckContext): void {
  const firsts = new Map<string, EmbeddingDraft>();
  for (const draft of drafts) {
    const { vectorSpace, dimensions } = draft.embedding;
    const first = firsts.get(vectorSpace) ?? draft;
    firsts.set(vectorSpace, first);
    if (first.embedding.dimensions === dimensions) continue;
    const message = `\`${draft.id}\` has vectors of length ${dimensions}, but \`${first.id}\` in the same vector space has length ${first.embedding.dimensions}`;
    report.add('vector-space-differs', draft.place, message, {
      hint: 'vectors of different lengths cannot be compared: give one of the models another `vector_space`',
      related: { place: first.place, message: `the vectors of \`${first.id}\`` },
    });
  }
}

/** Returns the vectors of the models that have embeddings. */
export const vectorsOf = (drafts: readonly { readonly vectors: EmbeddingDraft | null }[]): readonly EmbeddingDraft[] =>
  drafts.flatMap(({ vectors }) => vectors ?? []);
