import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { objectOf } from '../../plugins/providers/json.ts';
import { tries } from '../deep/effort.ts';
import { type CallerSurface, isServedBy, requestIn, SURFACES } from '../fault/surfaces.ts';
import { adviceOf } from '../support/answers.ts';
import { testPolicy, withCompletions } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** LiteLLM's clients send their tags as a list in `metadata.tags`. */
const [chats, claude, responds] = [useUpstream(), useUpstream({ dialect: 'anthropic' }), useUpstream()];
const gemini = useUpstream({ dialect: 'gemini' });
const ADAPTERS = { chats: 'openai-compatible', claude: 'anthropic', responds: 'openai', gemini: 'gemini' } as const;
type ModelName = keyof typeof ADAPTERS;
const UPSTREAMS = { chats, claude, responds, gemini };
const urlOf = (model: ModelName) => ({ url: UPSTREAMS[model].url, adapter: ADAPTERS[model] });
const box = useSignalbox(() => ({
  policy: withCompletions(
    testPolicy(
      { chats: urlOf('chats'), claude: urlOf('claude'), responds: urlOf('responds'), gemini: urlOf('gemini') },
      {
        chats: { endpoints: ['chats'] },
        claude: { endpoints: ['claude'] },
        responds: { endpoints: ['responds'] },
        gemini: { endpoints: ['gemini'] },
      },
      `constraints:
  - { name: not-nightly, when: 'request.metadata.tags.contains("nightly")', require: 'false' }
`,
    ),
  ),
}));

const isServed = (surface: CallerSurface, model: ModelName) => isServedBy(surface, ADAPTERS[model]);

function send(surface: CallerSurface, model: ModelName, metadata: object): Promise<Response> {
  const { path, body } = requestIn(surface, model, false, { ...surface.body(50, null), metadata });
  return box.post(path, body);
}

/** The metadata that the provider of the model received last. */
const received = (model: ModelName): Readonly<Record<string, unknown>> =>
  objectOf(objectOf(UPSTREAMS[model].requests.at(-1)!.body).metadata ?? {});

test('a list of tags reaches the rules as one text and the provider not as a list, in every dialect with metadata', async () => {
  const tags = fc.array(fc.constantFrom('eval', 'team a', '', 'ü'), { maxLength: 3 });
  const models = fc.constantFrom<ModelName>('chats', 'claude', 'responds', 'gemini');
  expect(SURFACES.length).toBeGreaterThan(4);
  await fc.assert(
    fc.asyncProperty(tags, models, async (list, model) => {
      for (const surface of SURFACES.filter((one) => isServed(one, model))) {
        const answer = await send(surface, model, { tags: list, user_id: 'u', plain: 'p', none: null });
        expect([surface.name, answer.status, await answer.text()]).toEqual([surface.name, 200, expect.any(String)]);
        const { tags: sent = list.join(','), ...others } = received(model);
        expect(sent).toBe(list.join(','));
        for (const value of Object.values(others)) expect(value).toBeString();
        const refused = await send(surface, model, { tags: [...list, 'nightly'] });
        expect([surface.name, refused.status]).toEqual([surface.name, 422]);
      }
    }),
    tries('a list of tags is one text for the rules', 6, 100),
  );
});

test('embeddings, token counts and route queries accept a list of tags', async () => {
  const messages = [{ role: 'user', content: 'Hi' }];
  const metadata = { tags: ['a', 'nightly'] };
  const counted = await box.post('/v1/messages/count_tokens', { model: 'chats', messages, metadata });
  expect(counted.status).toBe(200);
  const embedded = await box.post('/v1/embeddings', { model: 'chats', input: 'x', metadata });
  // No model of this policy embeds: the request is refused for its model, and not for its metadata.
  expect(objectOf(objectOf(await embedded.json()).error).param).not.toStartWith('metadata');
  for (const body of [{ metadata }, { messages, metadata }]) {
    expect((await adviceOf(await box.post('/v1/route', { model: 'auto', ...body }))).error).toBeDefined();
    const plain = { model: 'auto', ...body, metadata: { tags: ['a'] } };
    expect((await adviceOf(await box.post('/v1/route', plain))).error).toBeUndefined();
  }
});

test.each([[{ tags: [1] }], [{ tags: [['a']] }], [{ tags: { a: 1 } }], [{ tags: 5 }]])(
  'metadata is refused unless its members are texts or lists of texts: %j',
  async (metadata) => {
    for (const surface of SURFACES) {
      const answer = await send(surface, 'chats', metadata);
      expect([surface.name, answer.status, await answer.text()]).toEqual([
        surface.name,
        400,
        expect.stringContaining('metadata.tags'),
      ]);
    }
  },
);
