import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { OPERATOR } from '../../src/core/people/caller.ts';
import { listModels } from '../../src/dialects/openai-chat/models.ts';
import { directoryOf } from '../../src/http/model-list.ts';
import { model, snapshot } from '../routing/build.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useLivePolicy, useUpstream } from '../support/use.ts';

interface List {
  readonly data: readonly {
    readonly id: string;
    readonly display_name: string;
    readonly abilities: readonly string[];
  }[];
  readonly has_more: boolean;
  readonly first_id: string | null;
  readonly last_id: string | null;
}

const upstream = useUpstream();
const policyOf = (more = '') =>
  testPolicy(
    { fake: upstream.url },
    { best: { endpoints: ['fake'], more: `    aliases: [claude-best]\n${more}` }, plain: { endpoints: ['fake'] } },
    'default_aliases: none\nselectors: { auto: { strategy: auto, aliases: [claude-auto] } }\n',
  );
const live = useLivePolicy(() => ({ 'p.yaml': policyOf() }));

const listed = async (path = '/v1/models', init: RequestInit = withKey(live.box.key)): Promise<List> => {
  const response = await fetch(live.box.url + path, init);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
  return (await response.json()) as List;
};
const idsOf = ({ data }: List) => data.map(({ id }) => id);

describe('the list of models', () => {
  test('contains what clients of OpenAI’s, Anthropic’s and Codex’s lists need', async () => {
    const all = await listed();
    expect(idsOf(all)).toEqual(['auto', 'claude-auto', 'auto-fast', 'auto-cheap', 'best', 'claude-best', 'plain']);
    expect(all).toMatchObject({ object: 'list', has_more: false, first_id: 'auto', last_id: 'plain', models: [] });
    expect(all.data[4]).toEqual({
      id: 'best',
      object: 'model',
      created: 0,
      owned_by: 'fake',
      type: 'model',
      display_name: 'best',
      created_at: '1970-01-01T00:00:00Z',
      lifecycle: 'active',
      deprecated_at: null,
      retires_at: null,
      line: null,
      capabilities: null,
      max_input_tokens: 32_768,
      max_tokens: 8192,
      operations: ['chat'],
      abilities: ['tools', 'json_schema', 'json_mode'],
    } as never);
    expect(all.data[1]).toEqual({ ...all.data[0]!, id: 'claude-auto', display_name: 'auto' });
  });

  test('says which models the policy marks as deprecated, and since when', async () => {
    const { revision } = await live.status();
    live.replace('p.yaml', policyOf('    deprecated: 2026-11-01\n'));
    await live.changedFrom(revision);
    const { data } = await listed();
    const read = data.map((one) => [one.id, Reflect.get(one, 'lifecycle'), Reflect.get(one, 'deprecated_at')]);
    expect(read).toContainEqual(['best', 'deprecated', '2026-11-01T00:00:00Z']);
    expect(read).toContainEqual(['claude-best', 'deprecated', '2026-11-01T00:00:00Z']);
    expect(read).toContainEqual(['plain', 'active', null]);
    const edited = await live.status();
    live.replace('p.yaml', policyOf());
    await live.changedFrom(edited.revision);
  });

  test('can be read by Claude Code and by Codex with the requests that they send', async () => {
    const asked = await listed('/v1/models?limit=1000', { headers: { 'x-api-key': live.box.key } });
    expect(idsOf(asked).filter((id) => /^(claude|anthropic)/.test(id))).toEqual(['claude-auto', 'claude-best']);
    expect(await listed('/v1/models?client_version=0.169.0')).toEqual(await listed());
  });

  test('contains only the models that a key may use, with their abilities', async () => {
    const plain = await live.box.makeKey('--model', 'plain');
    const own = await listed('/v1/models', withKey(plain));
    expect(idsOf(own)).toEqual(['auto', 'claude-auto', 'auto-fast', 'auto-cheap', 'plain']);
    await expectError(await live.box.get('/v1/models/claude-best', withKey(plain)), 'model_not_found', 'model');
    expect(((await (await live.box.get('/v1/models/claude-best')).json()) as { id: string }).id).toBe('claude-best');
  });

  test('follows the active policy', async () => {
    expect((await listed()).data[4]!.abilities).not.toContain('vision');
    const { revision } = await live.status();
    live.replace('p.yaml', policyOf().replace('[tools, json_schema]', '[tools, json_schema, vision]'));
    await live.changedFrom(revision);
    expect((await listed()).data[4]!.abilities).toContain('vision');
  });

  test.each(['limit=0', 'limit=1001', 'limit=x'])('refuses ?%s', async (query) => {
    await expectError(await live.box.get(`/v1/models?${query}`), 'out_of_range', 'limit');
  });

  test('refuses a page after a model that is not in the list', async () => {
    await expectError(await live.box.get('/v1/models?after_id=none'), 'invalid_value', 'after_id');
  });

  test('is complete when it is read in pages, forwards or backwards', () => {
    const all = directoryOf(snapshot(Array.from({ length: 40 }, (_, at) => model(`m${at}`))), OPERATOR, listModels);
    const pageOf = (query: Parameters<typeof all.page>[0]) => JSON.parse(all.page(query)) as List;
    const whole = idsOf(JSON.parse(all.whole) as List);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), (limit) => {
        const forwards: string[] = [];
        const backwards: string[] = [];
        for (let page = pageOf({ limit, after: null, before: null }); ; ) {
          forwards.push(...idsOf(page));
          if (!page.has_more) break;
          page = pageOf({ limit, after: page.last_id, before: null });
        }
        for (let page = pageOf({ limit, after: null, before: whole.at(-1)! }); ; ) {
          backwards.unshift(...idsOf(page));
          if (!page.has_more) break;
          page = pageOf({ limit, after: null, before: page.first_id });
        }
        expect([forwards, backwards]).toEqual([whole, whole.slice(0, -1)]);
      }),
    );
  });
});

test('a client that checks with HEAD whether a server is there gets an answer without a key', async () => {
  const answer = await fetch(`${live.box.url}/`, { method: 'HEAD', redirect: 'manual' });
  expect([answer.status, await answer.text()]).toEqual([200, '']);
});
