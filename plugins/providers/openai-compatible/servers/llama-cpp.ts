import type { Capability, ModelServerAdapter, ServedModel } from 'signalbox/plugin';
import { listOf, objectOf, textOf, tokensOf } from '../../json.ts';
import { listIn, membersIn, OPENAI_LIST, type OperationWords, operationIn, stated } from './shared.ts';

/**
 * Reads llama.cpp’s `llama-server`: ggml-org/llama.cpp tools/server/README.md, and answers of llama-server in llama-cpp-python 0.3.36.
 * `/props` describes the loaded model. The Python server of llama-cpp-python has the same list without `meta`, and no `/props`.
 */
export const llamaCpp: ModelServerAdapter = {
  requests: [OPENAI_LIST, { path: '/props', below: 'origin' }],
  read([list, props]) {
    const models = listIn(list, 'data');
    if (models === null) return null;
    // The list in Ollama's form has the words for what the model can do.
    const words = new Map((listIn(list, 'models') ?? []).map((one) => [textOf(one.name), listOf(one.capabilities)]));
    // A router serves several models, and `/props` describes none of them.
    const own = models.length === 1 ? membersIn(props) : {};
    const slot = tokensOf(objectOf(own.default_generation_settings).n_ctx);
    return {
      models: models.flatMap((one): ServedModel[] => {
        const upstream = textOf(one.id);
        if (upstream === '') return [];
        const meta = objectOf(one.meta);
        const contexts = [slot, tokensOf(meta.n_ctx)].filter((tokens) => tokens !== undefined);
        const facts = stated<ServedModel>({
          upstream,
          contextWindow: contexts.length > 0 ? Math.min(...contexts) : undefined,
          contextMax: tokensOf(meta.n_ctx_train),
          parameters: tokensOf(meta.n_params),
          operation: operationIn(words.get(upstream) ?? [], OPERATIONS),
          dimensions: tokensOf(meta.n_embd),
          capabilities: capabilitiesOf(own),
        });
        return [{ ...facts, upstream }];
      }),
      // A server with one model answers requests for any name with this model.
      isComplete: models.length > 1,
    };
  },
};

/** A model with the word `embedding` makes vectors, whatever other words it has. */
const OPERATIONS: OperationWords = { embed: ['embedding'], chat: ['completion'] };

/** llama.cpp holds every answer to a JSON schema. The properties of the server state the other capabilities of its model. */
function capabilitiesOf({ modalities, chat_template_caps }: Readonly<Record<string, unknown>>): readonly Capability[] {
  if (modalities === undefined && chat_template_caps === undefined) return [];
  const { vision, audio } = objectOf(modalities);
  const { supports_tools } = objectOf(chat_template_caps);
  const stated: readonly (readonly [unknown, Capability])[] = [
    [supports_tools, 'tools'],
    [vision, 'vision'],
    [audio, 'audio_input'],
    [true, 'json_schema'],
  ];
  return stated.flatMap(([has, capability]) => (has === true ? [capability] : []));
}
