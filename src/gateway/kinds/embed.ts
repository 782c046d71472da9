import { BATCHES_MAX, openEmbeddings } from '../../providers/embeddings.ts';
import type { KindOfCall } from './kind.ts';

export const embed: KindOfCall = {
  open(target, call, { embedding }, open) {
    if (!embedding) throw new Error('a model without vectors was chosen');
    return openEmbeddings(target, call, embedding, open);
  },
  calls: ({ embedding: model }, { embedding }) =>
    model && embedding ? Math.max(1, Math.ceil(embedding.inputs / model.batchInputs)) : 1,
  callsAtOnce: BATCHES_MAX,
  isCachedByInput: true,
};
