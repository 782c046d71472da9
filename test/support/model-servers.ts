/** A model that a fake server has. */
export interface FakeModel {
  readonly name: string;
  /** Tokens that the loaded model uses now; absent for a model that is not loaded. */
  readonly inUse?: number;
  /** Ollama's `num_ctx` in the settings of the model. */
  readonly numCtx?: number;
  readonly contextMax?: number;
  /** In Ollama's form, such as `134.52M`. */
  readonly size?: string;
  readonly parameters?: number;
  readonly capabilities?: readonly string[];
  /** The identity of the weights: Ollama’s digest, or vLLM’s `root`. */
  readonly digest?: string;
  /** Whether Ollama’s list lacks the capabilities, as in its earlier versions. */
  readonly isBrief?: true;
  readonly remoteHost?: string;
  readonly dimensions?: number;
}

export type ServerKind = 'ollama' | 'llama-cpp' | 'lm-studio' | 'vllm' | 'python';

interface ChatCall {
  readonly model: string;
  readonly stream?: boolean;
}

const digestOf = (name: string): string => new Bun.CryptoHasher('sha256').update(name).digest('hex');

/** The settings of a request that a fake may answer in a way of its own. */
type Override = (path: string) => Response | Promise<Response> | null;

/**
 * A fake model server in the documented form of its program, which also answers chats. It has no secret path before its own paths, because
 * Signalbox calls the origin of its address.
 */
export class FakeModelServer {
  models: readonly FakeModel[];
  /** Answers a path in another way; returns null to leave the answer to the fake. */
  override: Override = () => null;
  /** `METHOD PATH` of every request. */
  readonly calls: string[] = [];
  readonly kind: ServerKind;
  readonly #server: Bun.Server<undefined>;

  constructor(kind: ServerKind, models: readonly FakeModel[]) {
    this.kind = kind;
    this.models = models;
    this.#server = Bun.serve({
      ...{ hostname: '127.0.0.1', port: 0, development: false },
      fetch: async (request) => {
        const { pathname } = new URL(request.url);
        this.calls.push(`${request.method} ${pathname}`);
        return (await this.override(pathname)) ?? this.#answer(pathname, request);
      },
    });
  }

  /** The address without a path, as people write it. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }

  /** Returns the body of an answer about models; undefined for a path that the program does not have. */
  body(path: string, asked = ''): object | undefined {
    const { kind, models } = this;
    if (path === '/v1/models') return openAiList(kind, models);
    if (kind === 'ollama') {
      if (path === '/api/tags') return { models: models.map(tagOf) };
      if (path === '/api/ps') return { models: models.filter(({ inUse }) => inUse).map(runningOf) };
      const shown = models.find(({ name }) => name === asked);
      if (path === '/api/show' && shown) return shownOf(shown);
    }
    if (kind === 'llama-cpp' && path === '/props' && models[0]) return propsOf(models[0]);
    if (kind === 'lm-studio' && path === '/api/v0/models') return { object: 'list', data: models.map(studioOf) };
    return undefined;
  }

  async #answer(path: string, request: Request): Promise<Response> {
    const text = await request.text();
    // Only Signalbox calls the fake.
    const sent: ChatCall = text === '' ? { model: '' } : JSON.parse(text);
    if (path === '/v1/chat/completions') return this.#chat(sent);
    const found = this.body(path, sent.model);
    return found ? Response.json(found) : new Response('404 page not found', { status: 404 });
  }

  #chat({ model, stream }: ChatCall): Response {
    const isSingle = this.kind === 'llama-cpp' || this.kind === 'python';
    const known = this.models.some(({ name }) => name.replace(/:latest$/, '') === model.replace(/:latest$/, ''));
    if (!known && !isSingle) {
      const message = `model "${model}" not found, try pulling it first`;
      return Response.json({ error: { message, type: 'not_found_error', param: null, code: null } }, { status: 404 });
    }
    const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
    const head = { id: 'chatcmpl-1', created: 1_800_000_000, model };
    const text = `I am ${model}.`;
    if (!stream) {
      const message = { role: 'assistant', content: text };
      return Response.json({
        ...{ ...head, object: 'chat.completion', usage },
        choices: [{ index: 0, message, finish_reason: 'stop' }],
      });
    }
    const chunk = (choices: readonly object[], more = {}) =>
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
    const events = [
      chunk([{ index: 0, delta: { role: 'assistant', content: text }, finish_reason: null }]),
      chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
      chunk([], { usage }),
      'data: [DONE]\n\n',
    ];
    return new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } });
  }
}

const detailsOf = ({ size }: FakeModel) => ({
  ...{ parent_model: '', format: 'gguf', family: 'llama', families: ['llama'] },
  ...{ parameter_size: size ?? '134.52M', quantization_level: 'Q4_1' },
});

const tagOf = (one: FakeModel) => ({
  ...{ name: one.name, model: one.name, modified_at: '2026-11-20T10:00:00Z', size: 91_700_000 },
  ...{ digest: one.digest ?? digestOf(one.name), details: detailsOf(one) },
  ...(one.capabilities && !one.isBrief && { capabilities: one.capabilities }),
  ...(one.remoteHost !== undefined && { remote_host: one.remoteHost, remote_model: one.name }),
});

const runningOf = (one: FakeModel) => ({
  ...{ name: one.name, model: one.name, size: 120_000_000, digest: one.digest ?? digestOf(one.name) },
  ...{ details: detailsOf(one), expires_at: '2026-11-20T10:05:00Z', size_vram: 0, context_length: one.inUse },
});

const shownOf = (one: FakeModel) => ({
  ...{ modelfile: '# Modelfile', template: '{{ .Prompt }}', details: detailsOf(one) },
  parameters: `stop                           "<|im_end|>"${one.numCtx ? `\nnum_ctx                        ${one.numCtx}` : ''}`,
  model_info: {
    'general.architecture': 'llama',
    'general.parameter_count': one.parameters ?? 134_515_008,
    'llama.context_length': one.contextMax ?? 8_192,
    'llama.embedding_length': one.dimensions ?? 576,
  },
  capabilities: one.capabilities ?? ['completion'],
  modified_at: '2026-11-20T10:00:00Z',
});

const studioOf = (one: FakeModel) => ({
  ...{ id: one.name, object: 'model', publisher: 'someone', arch: 'llama', compatibility_type: 'gguf' },
  ...{
    type: one.dimensions ? 'embeddings' : 'llm',
    quantization: 'Q4_K_M',
    max_context_length: one.contextMax ?? 8_192,
  },
  ...(one.inUse ? { state: 'loaded', loaded_context_length: one.inUse } : { state: 'not-loaded' }),
  ...(one.capabilities && { capabilities: one.capabilities }),
});

const propsOf = (one: FakeModel) => ({
  default_generation_settings: { id: 0, n_ctx: one.inUse ?? 4_096, params: { temperature: 0.8 } },
  ...{ total_slots: 2, model_path: one.name, modalities: { vision: false, audio: false }, chat_template: '{{ x }}' },
  chat_template_caps: { supports_tools: one.capabilities?.includes('tools') ?? false },
  build_info: 'b7000-0000000',
});

function openAiList(kind: ServerKind, models: readonly FakeModel[]): object {
  const data = models.map((one) => ({
    ...{ id: one.name, object: 'model', created: 1_800_000_000, owned_by: kind },
    ...(kind === 'vllm' && { root: one.digest ?? one.name, parent: null, max_model_len: one.inUse, permission: [] }),
    ...(kind === 'llama-cpp' && {
      meta: {
        ...{ vocab_type: 2, n_vocab: 49_152, n_ctx_train: one.contextMax ?? 8_192, n_embd: 576 },
        ...{ n_params: one.parameters ?? 134_515_008, size: 91_700_000 },
      },
    }),
  }));
  const list = { object: 'list', data };
  if (kind !== 'llama-cpp') return list;
  return { models: models.map(({ name }) => ({ name, model: name, capabilities: ['completion'] })), ...list };
}
