import { BATCHES_MAX, openEmbeddings } from '../../providers/embeddings.ts';
import type { KindOfCall } from './kind.ts';

export const embed: KindOfCall = {
  open(target, call, { embedding }, open) {
    if (!embedding) throw new Error('a model without vectors was chosen');
    return openEmbeddings(target, call, embedding, open);
  },
  calls: ({ embedding }, { texts }) =>
    embedding && texts ? Math.max(1, Math.ceil(texts.inputs / embedding.batchInputs)) : 1,
  callsAtOnce: BATCHES_MAX,
  isCachedByInput: true,
};
