import type { Capability, ModelServerAdapter, ServedModel } from 'signalbox/plugin';
import { listOf, textOf, tokensOf } from '../../json.ts';
import { listIn, type OperationWords, operationIn, stated } from './shared.ts';

const OPERATIONS: OperationWords = { chat: ['llm', 'vlm'], embed: ['embeddings'] };

/**
 * Reads LM Studio’s own API: lmstudio-ai/docs 1_developer/2_rest/endpoints.mdx (REST API v0). The form is taken from its documentation; no
 * LM Studio was at hand. LM Studio loads a model at its first request, with a context of its settings, which the list does not state.
 */
export const lmStudio: ModelServerAdapter = {
  requests: [{ path: '/api/v0/models', below: 'origin' }],
  read([list]) {
    const models = listIn(list, 'data');
    if (models === null) return null;
    return {
      models: models.flatMap((one): ServedModel[] => {
        const upstream = textOf(one.id);
        if (upstream === '') return [];
        const isLoaded = one.state === 'loaded';
        const facts = stated<ServedModel>({
          upstream,
          contextInUse: isLoaded ? tokensOf(one.loaded_context_length) : undefined,
          contextMax: tokensOf(one.max_context_length),
          operation: operationIn([one.type], OPERATIONS),
          capabilities: [
            ...(listOf(one.capabilities).includes('tool_use') ? (['tools'] as const) : []),
            ...(one.type === 'vlm' ? (['vision'] as const) : []),
            ...JSON_SCHEMA,
          ],
        });
        return [{ ...facts, upstream }];
      }),
      isComplete: true,
    };
  },
};

/** LM Studio holds every answer to a JSON schema: lmstudio-ai/docs 1_developer/3_openai-compat/structured-output.md. */
const JSON_SCHEMA: readonly Capability[] = ['json_schema'];
