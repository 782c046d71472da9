import type { ModelServerAdapter, ServedModel } from 'signalbox/plugin';
import { textOf, tokensOf } from '../../json.ts';
import { listIn, OPENAI_LIST, stated } from './shared.ts';

/**
 * Reads vLLM’s list: `ModelCard` in vllm-project/vllm vllm/entrypoints/openai/protocol.py. The form is taken from its source; no vLLM was
 * at hand. `root` is the path or the public name of the weights, which a server can serve under several names. vLLM states neither capabilities nor the number of parameters, and holds every answer to a JSON schema (its structured outputs).
 */
export const vllm: ModelServerAdapter = {
  requests: [OPENAI_LIST],
  read([list]) {
    const models = listIn(list, 'data');
    if (models === null) return null;
    return {
      models: models.flatMap((one): ServedModel[] => {
        const upstream = textOf(one.id);
        if (upstream === '') return [];
        const contextWindow = tokensOf(one.max_model_len);
        const facts = stated<ServedModel>({
          upstream,
          digest: textOf(one.root) || undefined,
          contextWindow,
          operation: 'chat',
          capabilities: ['json_schema'],
        });
        return [{ ...facts, upstream }];
      }),
      isComplete: true,
    };
  },
};
