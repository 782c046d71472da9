import { beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox } from '../support/use.ts';
import listed from './billed/members.json' with { type: 'json' };
import { sdkMembers, type TypeMembers } from './billed/sdk-members.ts';

const SAYS_HI = { role: 'user', content: 'Hi' };
const NAMESPACE = { type: 'namespace', name: 'n', description: 'd' };
const HOUR = { cache_control: { type: 'ephemeral', ttl: '1h' } };
/** Returns a message with one block. */
const saying = (block: object) => ({ messages: [{ role: 'user', content: [block] }] });
const adds = (definition: object) => ({ type: 'tool_addition', tool: { type: 'tool_definition', definition } });
const page = { type: 'text', text: 'A page.' };
/** OpenAI's mark for a prefix that it keeps for 12 hours, which costs more than a prefix for 30 minutes. */
const BREAKPOINT = { prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } };
const READS_IMAGES = { model: 'sim-large' };
const IMAGE = 'data:image/png;base64,iVBORw0KGgo=';
const CALL = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
/** Returns a chat with a content part. */
const chatOf = (part: object) => ({ messages: [{ role: 'user', content: [{ ...part, ...BREAKPOINT }] }] });
/** Returns Responses with the output of a tool. */
const outputOf = (output: unknown, kind = 'function_call') => ({
  input: [
    { type: kind, call_id: 'c', name: 'f', arguments: '{}', input: '' },
    { type: `${kind}_output`, call_id: 'c', output },
  ],
});
const tool = (type: string) => ({ tools: [{ type, name: 'x' }] });

/**
 * Every field of the three dialects that can add charges beyond the tokens of the conversation, according to the references of OpenAI and
 * Anthropic of November 2026, with a value that does so. If a fund pays and no price covers the field, the request is refused with the
 * field's name. Add each new field to this list and to the `billing.ts` of its surface.
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
      ['prompt_cache_options', { prompt_cache_options: { ttl: '12h' } }],
      ['prompt_cache_options', { prompt_cache_options: { ttl: '7d' } }],
      ['messages[0].content[0].prompt_cache_breakpoint', chatOf({ type: 'text', text: 'Hi' })],
      [
        'messages[0].content[0].prompt_cache_breakpoint',
        { ...READS_IMAGES, ...chatOf({ type: 'image_url', image_url: { url: IMAGE } }) },
      ],
      [
        'messages[2].content[0].prompt_cache_breakpoint',
        {
          messages: [
            SAYS_HI,
            { role: 'assistant', tool_calls: [CALL] },
            { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: 'It rains.', ...BREAKPOINT }] },
          ],
        },
      ],
    ],
  },
  '/v1/responses': {
    body: { input: 'Hi' },
    fields: [
      ['service_tier', { service_tier: 'flex' }],
      ['context_management', { context_management: [{ type: 'compaction', compact_threshold: 1_000 }] }],
      ['prompt_cache_options', { prompt_cache_options: { ttl: '12h' } }],
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
      ['input[1].tools[0]', { input: [SAYS_HI, { type: 'additional_tools', tools: [{ type: 'image_generation' }] }] }],
      [
        'input[1].tools[0].tools[0]',
        { input: [SAYS_HI, { type: 'tool_search_output', tools: [{ ...NAMESPACE, tools: [{ type: 'mcp' }] }] }] },
      ],
      ['tools', { input: [SAYS_HI, { type: 'additional_tools', tools: [{ type: 'web_search' }] }] }],
      ['input[1]', { input: [SAYS_HI, { type: 'compaction_trigger' }] }],
      ['input[1]', { input: [SAYS_HI, { type: 'item_reference', id: 'msg_1' }] }],
      ['background_options', { background_options: { completion_window: '2h' } }],
      ['multi_agent', { multi_agent: { enabled: true } }],
      ['tools', tool('web_search_2025_08_26')],
      ['tools', tool('web_search_preview')],
      ['tools', tool('web_search_preview_2025_03_11')],
      ['tools[0]', tool('programmatic_tool_calling')],
      ['tools[0]', tool('tool_search')],
      [
        'input[0].content[0].prompt_cache_breakpoint',
        { input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi', ...BREAKPOINT }] }] },
      ],
      [
        'input[0].content[0].prompt_cache_breakpoint',
        {
          ...READS_IMAGES,
          input: [{ role: 'user', content: [{ type: 'input_image', image_url: IMAGE, ...BREAKPOINT }] }],
        },
      ],
      ['input[1].output[0].prompt_cache_breakpoint', outputOf([{ type: 'input_text', text: 'Rain.', ...BREAKPOINT }])],
      [
        'input[1].output[0].prompt_cache_breakpoint',
        outputOf([{ type: 'input_text', text: 'Rain.', ...BREAKPOINT }], 'custom_tool_call'),
      ],
      // A part within an item that only OpenAI can read.
      [
        'input[1]',
        {
          ...READS_IMAGES,
          ...outputOf({ type: 'computer_screenshot', image_url: IMAGE, ...BREAKPOINT }, 'computer_call'),
        },
      ],
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
      ['messages[0].content[0].tool.definition', saying(adds({ type: 'code_execution_20250825' }))],
      ['tools', saying(adds({ type: 'web_search_20250305', max_uses: -9 }))],
      [
        'messages[0].content[0].tool_changes[0].tool.definition',
        saying({ type: 'compaction', content: 'Short.', tool_changes: [adds({ type: 'advisor_20260301' })] }),
      ],
      ['cache_control', saying({ type: 'search_result', source: 's', title: 't', content: [page], ...HOUR })],
      ['cache_control', saying({ type: 'search_result', source: 's', title: 't', content: [{ ...page, ...HOUR }] })],
      ['cache_control', saying({ type: 'document', source: { type: 'content', content: [page] }, ...HOUR })],
      ['cache_control', { tools: [{ type: 'bash_20250124', name: 'bash', ...HOUR }] }],
      ...[
        'web_search_20260209',
        'web_search_20260318',
        'web_fetch_20260209',
        'web_fetch_20260309',
        'web_fetch_20260318',
      ].map((kind) => ['tools', tool(kind)] as const),
      ...[
        'code_execution_20250522',
        'code_execution_20260120',
        'code_execution_20260521',
        'advisor_20260301',
        'mcp_toolset',
      ].map((kind) => ['tools[0]', tool(kind)] as const),
      ...['', '_20251119']
        .flatMap((date) => [`tool_search_tool_bm25${date}`, `tool_search_tool_regex${date}`])
        .map((kind) => ['tools[0]', tool(kind)] as const),
      // The client runs these tools, but Signalbox does not know them.
      ...['browser_toolset_20260801', 'computer_toolset_20260801'].map((kind) => ['tools[0]', tool(kind)] as const),
    ],
  },
};

/** Media whose size in bytes is no bound on their tokens, and which only their own dialect can express. */
const UNBOUNDED: readonly (readonly [what: string, path: string, body: object])[] = [
  [
    'an earlier spoken answer',
    '/v1/chat/completions',
    { messages: [SAYS_HI, { role: 'assistant', content: 'Hi', audio: { id: 'audio_1' } }, SAYS_HI] },
  ],
  ...[
    { type: 'message', role: 'user', content: [{ type: 'input_file', file_url: 'https://a.example/long.pdf' }] },
    { type: 'message', role: 'user', content: [{ type: 'input_image', file_id: 'file_1' }] },
    { type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot', file_id: 'file_1' } },
    { type: 'image_generation_call', id: 'ig_1' },
  ].map((item) => [JSON.stringify(item), '/v1/responses', { input: [SAYS_HI, item] }] as const),
  ...[
    { type: 'document', source: { type: 'url', url: 'https://a.example/long.pdf' } },
    {
      type: 'web_fetch_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: {
        type: 'web_fetch_result',
        content: { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
      },
    },
  ].map((block) => [JSON.stringify(block), '/v1/messages', { max_tokens: 100, ...saying(block) }] as const),
];

const box = useSignalbox();
let key: string;
beforeAll(async () => {
  key = await box.makeKey('--budget', '500/month');
});

describe.each(Object.entries(BILLED))(
  '%s: a field that can add charges is refused if a fund pays and it has no price',
  (path, { body, fields }) => {
    const ask = async (more: object) => {
      const answer = await box.post(path, { model: 'sim-flash', ...body, ...more }, withKey(key));
      const { error } = Object(await answer.json());
      return [answer.status, error?.param ?? error?.details?.param, error?.code ?? error?.details?.error_code];
    };

    test('a request without such fields is served', async () => {
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

test.each([
  ['/v1/chat/completions', chatOf({ type: 'text', text: 'Hi' }), { prompt_cache_options: { mode: 'explicit' } }],
  ['/v1/responses', outputOf([{ type: 'input_text', text: 'Rain.', ...BREAKPOINT }]), {}],
] as const)('%s: a mark for the 30 minutes that `cache_write` prices is served', async (path, body, more) => {
  for (const ttl of ['30m', undefined]) {
    const text = JSON.stringify({ model: 'sim-flash', ...body, ...more }).replaceAll(
      '"12h"',
      JSON.stringify(ttl ?? null),
    );
    const answer = await box.post(path, JSON.parse(text), withKey(key));
    expect([answer.status, ttl]).toEqual([200, ttl]);
  }
});

test.each(UNBOUNDED)('%s has no upper bound, so no fund pays for it', async (_, path, body) => {
  const answer = await box.post(path, { model: 'sim-flash', ...body }, withKey(key));
  expect([answer.status, await answer.text()]).toEqual([422, expect.stringContaining('have no upper bound')]);
});

test.each([
  ['/v1/messages', 'tools[0].max_uses', (most: number) => ({ max_tokens: 9, ...saying(page), tools: [limited(most)] })],
  ['/v1/responses', 'max_tool_calls', (most: number) => ({ input: 'Hi', max_tool_calls: most })],
] as const)('%s: a limit of tool uses that is not a count is refused', async (path, field, bodyOf) => {
  for (const most of [-1, 0.5, 1e300]) {
    const answer = await box.post(path, { model: 'sim-flash', ...bodyOf(most) }, withKey(key));
    const { error } = Object(await answer.json());
    expect([answer.status, error.param ?? error.details.param]).toEqual([400, field]);
  }
});

const limited = (max_uses: number) => ({ type: 'web_search_20250305', name: 'web_search', max_uses });

const OPENAI = 'openai/resources';
const ANTHROPIC = '@anthropic-ai/sdk/resources';
/** The types of requests in the clients of OpenAI and Anthropic, in their files of declarations. */
const REQUESTS: Readonly<Record<keyof typeof listed, readonly (readonly [file: string, type: string])[]>> = {
  '/v1/chat/completions': [[`${OPENAI}/chat/completions/completions`, 'ChatCompletionCreateParams']],
  '/v1/completions': [[`${OPENAI}/completions`, 'CompletionCreateParams']],
  '/v1/embeddings': [[`${OPENAI}/embeddings`, 'EmbeddingCreateParams']],
  '/v1/responses': [
    [`${OPENAI}/responses/responses`, 'ResponseCreateParams'],
    [`${OPENAI}/beta/responses/responses`, 'ResponseCreateParams'],
  ],
  '/v1/messages': [
    [`${ANTHROPIC}/messages/messages`, 'MessageCreateParams'],
    [`${ANTHROPIC}/beta/messages/messages`, 'MessageCreateParams'],
  ],
};
const MODULES = join(import.meta.dir, '../../node_modules');
const BILLED_MARK = '$';

type Listed = Readonly<Record<string, string>>;
const entriesOf = (types: Listed) =>
  Object.entries(types).flatMap(([type, members]) => members.split(' ').map((member) => ({ type, member })));
const without$ = (member: string) => member.replace(BILLED_MARK, '');

/** Returns what the list and the types of a client do not have in common. */
function differences(types: Listed, members: TypeMembers): string[] {
  const has = new Set(entriesOf(types).map(({ type, member }) => `${type}.${without$(member)}`));
  const real = new Set([...members].flatMap(([type, names]) => [...names].map((name) => `${type}.${name}`)));
  return [...has.symmetricDifference(real)];
}

/** The members of a body at any depth; a `type` has its kind: `type=image`. */
function membersOf(value: unknown, names = new Set<string>()): ReadonlySet<string> {
  if (typeof value !== 'object' || value === null) return names;
  for (const [name, inner] of Object.entries(value)) {
    names.add(name === 'type' ? `type=${inner}` : name);
    membersOf(inner, names);
  }
  return names;
}

/**
 * `billed/members.json` lists the members of the clients' request types at any depth. A member with `$` can add charges. To add a new
 * member, decide whether it is free; a member that is not needs `$`, a row in `BILLED` or `UNBOUNDED`, and the `billing.ts` of its surface.
 */
describe.each(Object.entries(REQUESTS) as [keyof typeof listed, (typeof REQUESTS)[keyof typeof listed]][])(
  '%s: the request types of the newest clients',
  (path, files) => {
    const read = sdkMembers(files.map(([file, type]) => [join(MODULES, `${file}.d.ts`), type]));

    test('have no member that is not listed as free or billed', async () => {
      expect(differences(listed[path], await read)).toEqual([]);
    });

    test('a list without a member differs, at any depth', async () => {
      const types: Listed = listed[path];
      const last = Object.keys(types).at(-1)!;
      const { [last]: members = '', ...rest } = types;
      const [member = '', ...others] = members.split(' ');
      const short = others.length > 0 ? { ...rest, [last]: others.join(' ') } : rest;
      expect(differences(short, await read)).toEqual([`${last}.${without$(member)}`]);
    });

    test('each billed member is refused in a row of this file', () => {
      const bodies = [...Object.values(BILLED).flatMap(({ fields }) => fields.map(([, more]) => more)), ...UNBOUNDED];
      const refused = membersOf(bodies);
      const billed = entriesOf(listed[path]).filter(({ member }) => member.startsWith(BILLED_MARK));
      expect(billed.filter(({ member }) => !refused.has(without$(member)))).toEqual([]);
    });
  },
);
