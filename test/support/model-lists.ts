import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startOwnServer } from './own-server.ts';

/** A fake of each service's list of models, with the paths, headers, pages and errors of the real service. */
export interface ModelLists {
  /** `http://127.0.0.1:PORT`. Each service is under a path with its name; Ollama is at the root. */
  readonly url: string;
  /** Method and path of every request. */
  readonly requests: string[];
  stop(): Promise<void>;
}

export const KEY = 'sk-test-0123456789';
const OPENROUTER = readFileSync(join(import.meta.dir, '../cli/fixtures/openrouter-models.json'), 'utf8');

const openAi = (id: string, owner = 'openai', more: object = {}) => ({
  ...{ id, object: 'model', created: 1_721_172_717, owned_by: owner },
  ...more,
});
const list = (...data: object[]) => ({ object: 'list', data });
const can = (supported: boolean) => ({ supported });

/** As in the types of @anthropic-ai/sdk 1.14.0; older servers send null. */
const claude = (id: string, more: object = {}) => ({
  ...{ type: 'model', id, display_name: id, created_at: '2025-09-29T00:00:00Z', lifecycle: 'active' },
  ...{ max_input_tokens: null, max_tokens: null, capabilities: null, deprecated_at: null, retires_at: null },
  ...more,
});
const NEW_CLAUDE = claude('claude-new-9', {
  created_at: '2026-11-01T00:00:00Z',
  max_input_tokens: 500_000,
  max_tokens: 64_000,
  capabilities: {
    ...{ image_input: can(true), pdf_input: can(false), structured_outputs: can(true), thinking: can(true) },
    batch: can(true),
  },
});

const gemini = (name: string, methods: readonly string[]) => ({
  ...{ name: `models/${name}`, version: '001', displayName: name, supportedGenerationMethods: methods },
  ...{ inputTokenLimit: 1_048_576, outputTokenLimit: 65_536 },
});

const refused = (status: number, body: unknown) => Response.json(body, { status });

/** @param own the path of the server */
function answer(request: Request, own: string): Response {
  const { pathname, searchParams } = new URL(request.url);
  const bearer = request.headers.get('authorization');
  const noKey = refused(401, { error: { message: `Incorrect API key provided: ${bearer}`, code: 'invalid_api_key' } });
  switch (pathname) {
    case '/openai/v1/models': {
      if (bearer !== `Bearer ${KEY}`) return noKey;
      const names = [
        'gpt-4.1-mini',
        'gpt-4.1-mini-2025-04-14',
        'gpt-4o-mini-2024-07-18',
        'gpt-mine',
        'gpt-nova-9',
        'text-embedding-3-small',
        'tts-1',
        'ft:gpt-4o:acme::1',
      ];
      return Response.json(list(...names.map((id) => openAi(id)), openAi('bad\n# name')));
    }
    case '/anthropic/v1/models': {
      if (request.headers.get('x-api-key') !== KEY) {
        return refused(401, { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } });
      }
      if (request.headers.get('anthropic-version') !== '2023-06-01') return refused(400, { type: 'error' });
      if (searchParams.get('after_id') === null) {
        const data = [NEW_CLAUDE, claude('claude-dated-1-20260901'), claude('claude-sonnet-4-5')];
        return Response.json({ data, has_more: true, first_id: data[0]?.id, last_id: 'claude-sonnet-4-5' });
      }
      if (searchParams.get('after_id') !== 'claude-sonnet-4-5') return refused(400, { type: 'error' });
      const data = [claude('claude-old-1', { lifecycle: 'retired' })];
      return Response.json({ data, has_more: false, first_id: 'claude-old-1', last_id: 'claude-old-1' });
    }
    case '/gemini/v1beta/models': {
      if (request.headers.get('x-goog-api-key') !== KEY)
        return refused(400, { error: { code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT' } });
      if (searchParams.get('pageToken') === null)
        return Response.json({
          models: [gemini('gemini-2.5-pro', ['generateContent', 'countTokens'])],
          nextPageToken: 'p 2',
        });
      return Response.json({ models: [gemini('gemini-embedding-001', ['embedContent'])] });
    }
    case '/openrouter/api/v1/models':
      return new Response(OPENROUTER, { headers: { 'content-type': 'application/json' } });
    case '/v1/models':
      return Response.json(
        list(
          openAi('qwen3:8b', 'library'),
          openAi('gpt-oss:120b-cloud', 'library'),
          openAi('nomic-embed-text:latest', 'library'),
        ),
      );
    case '/vllm/v1/models':
      return Response.json(
        list(openAi('Qwen/Qwen3-8B', 'vllm', { root: 'Qwen/Qwen3-8B', parent: null, max_model_len: 40_960 })),
      );
    case '/page/v1/models':
      return new Response('<html>Sign in</html>', { headers: { 'content-type': 'text/html' } });
    case '/moved/v1/models':
      return new Response(null, { status: 302, headers: { location: `${own}/openai/v1/models` } });
    default:
      return refused(404, { error: { message: 'Not found' } });
  }
}

export function serveModelLists(): ModelLists {
  const requests: string[] = [];
  const server = startOwnServer((request) => {
    const { pathname, search } = new URL(request.url);
    requests.push(`${request.method} ${pathname}${search}`);
    return answer(request, server.prefix);
  });
  return { url: server.url, requests, stop: server.stop };
}
