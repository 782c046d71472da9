import { beforeAll, describe, expect, test } from 'bun:test';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox } from '../support/use.ts';

/**
 * Every field of the three dialects that can add to the bill beyond the tokens of the conversation, as the references of OpenAI and
 * Anthropic have them in November 2026, with a value that does. Where a fund pays and no price covers it, each is refused by its
 * name. A new field belongs into this list, and into the `billing.ts` of its surface.
 */
const BILLED: Readonly<
  Record<string, { readonly body: object; readonly fields: readonly (readonly [string, object])[] }>
> = {
  '/v1/chat/completions': {
    body: { messages: [{ role: 'user', content: 'Hi' }] },
    fields: [
      ['service_tier', { service_tier: 'priority' }],
      ['web_search_options', { web_search_options: {} }],
      ['audio', { audio: { voice: 'v', format: 'wav' } }],
      ['modalities', { modalities: ['text', 'audio'] }],
      ['prediction', { prediction: { type: 'content', content: 'x' } }],
      ['best_of', { best_of: 3 }],
    ],
  },
  '/v1/responses': {
    body: { input: 'Hi' },
    fields: [
      ['service_tier', { service_tier: 'flex' }],
      ['context_management', { context_management: [{ type: 'compaction', compact_threshold: 1_000 }] }],
      ['prompt_cache_options', { prompt_cache_options: { mode: 'explicit' } }],
      ['prompt', { prompt: { id: 'pmpt_1' } }],
      ['image', { image: {} }],
      ['modalities', { modalities: ['audio'] }],
      ['audio', { audio: {} }],
      ['background', { background: true }],
      ['previous_response_id', { previous_response_id: 'resp_1' }],
      ['conversation', { conversation: 'conv_1' }],
      ['tools', { tools: [{ type: 'web_search' }] }],
      ['tools[0]', { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }],
      ['tools[0]', { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }],
      ['tools[0]', { tools: [{ type: 'image_generation' }] }],
      ['tools[0]', { tools: [{ type: 'mcp', server_label: 's', server_url: 'https://m.example' }] }],
      ['tools[0]', { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] }],
      ['tools[0]', { tools: [{ type: 'of_tomorrow' }] }],
    ],
  },
  '/v1/messages': {
    body: { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] },
    fields: [
      ['service_tier', { service_tier: 'priority' }],
      ['speed', { speed: 'fast' }],
      ['inference_geo', { inference_geo: 'us' }],
      ['container', { container: 'c_1' }],
      ['mcp_servers', { mcp_servers: [{ type: 'url', url: 'https://m.example', name: 'm' }] }],
      ['compaction', { compaction: {} }],
      ['context_management.edits[0].type', { context_management: { edits: [{ type: 'compact_20260112' }] } }],
      ['fallbacks', { fallbacks: 'default' }],
      ['fallback_credit_token', { fallback_credit_token: 'x' }],
      ['billing_policy', { billing_policy: {} }],
      ['cache_control', { cache_control: { type: 'ephemeral', ttl: '1h' } }],
      ['tools', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
      ['tools', { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] }],
      ['tools[0]', { tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] }],
      ['tools[0]', { tools: [{ type: 'of_tomorrow_20270101', name: 'new' }] }],
    ],
  },
};

const box = useSignalbox();
let key: string;
beforeAll(async () => {
  key = await box.makeKey('--budget', '500/month');
});

describe.each(Object.entries(BILLED))(
  '%s: what can add to the bill is refused where a fund pays and nothing prices it',
  (path, { body, fields }) => {
    const ask = async (more: object) => {
      const answer = await box.post(path, { model: 'sim-small', ...body, ...more }, withKey(key));
      const { error } = Object(await answer.json());
      return [answer.status, error?.param ?? error?.details?.param, error?.code ?? error?.details?.error_code];
    };

    test('as it is without', async () => {
      const [status] = await ask({});
      expect(status).toBe(200);
    });

    test.each(fields)('%s', async (field, more) => {
      const [status, param, code] = await ask(more);
      expect([status, param]).toEqual([400, field]);
      expect(code).toBe('unsupported_parameter');
    });
  },
);
