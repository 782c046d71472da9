import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Answer, answerOf, waitFor } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** A server whose policy lists no model. */
let upstream: FakeUpstream;
let box: Signalbox;

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  const policy = `version: 1
providers:
  a: { preset: openai, base_url: "${upstream.url}", api_key_env: TEST_UPSTREAM_KEY, serves: "*" }
  own: { adapter: openai-compatible, base_url: "${upstream.url}", api_key_env: TEST_UPSTREAM_KEY }
models:
  "any/*": { provider: own, unknown_price: { as: { input: 1, output: 2, basis: own, as_of: 2026-11-01 } } }
constraints:
  - { name: good, when: 'request.metadata.rule == "good"', require: 'model.quality["coding"] >= 0.1' }
  - { name: modern, when: 'request.metadata.rule == "modern"', require: '!("cobol" in model.languages)' }
`;
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
});
afterAll(async () => {
  await box.stop();
  await upstream.stop();
});

const body = (model: string, more: object = {}) => ({ model, messages: [{ role: 'user', content: 'Hello' }], ...more });

describe('a server whose policy has only wildcards', () => {
  test('a server with only wildcards says at its start what it serves, and has no warnings', async () => {
    const line = await waitFor(() => box.lines.find((text) => text.includes('"listening"')));
    expect(JSON.parse(line)).toMatchObject({ providers: 'a (1 wildcard), own (1 wildcard)' });
    expect(box.lines.filter((text) => text.includes('without a model'))).toEqual([]);
  });

  test('a caller that uses a selector gets an error that says to name a model', async () => {
    const response = await box.post('/v1/chat/completions', body('auto'));
    const { error } = (await response.json()) as Answer;
    expect([response.status, error?.code, error?.param]).toEqual([422, 'no_eligible_model', 'model']);
    expect(error?.message).toBe(
      '`auto` chooses from the models that the policy lists, but this server can serve none of them. Name a model instead: `any/…`, `a/…`.',
    );
  });

  test('the list of models shows a model under every name that a chat accepts', async () => {
    for (const id of ['a/gpt-4o-mini', 'gpt-4o-mini']) {
      const response = await box.get(`/v1/models/${id}`);
      expect([response.status, await response.json()]).toMatchObject([200, { id, display_name: 'a/gpt-4o-mini' }]);
    }
    const unknown = await box.get('/v1/models/gpt-4o-minii');
    expect(unknown.status).toBe(404);
    expect(await unknown.text()).toContain('Did you mean `a/gpt-4o-mini`?');
  });

  test('no share of good answers is shown if its quality is unknown', async () => {
    const response = await box.post('/v1/route', body('any/thing'));
    const { reasoning, decision_id: id } = (await response.json()) as { reasoning: string; decision_id: string };
    expect(reasoning).toContain('any/thing was requested by name: unknown quality, ');
    expect(reasoning).not.toContain('%');
    const found = await (await box.get(`/v1/decisions/${id}`)).json();
    expect(found).toMatchObject({ quality: {}, replay: { matches: true } });
    expect(JSON.stringify(found)).toContain('"quality":null');
    expect(JSON.stringify(found)).not.toContain('expected quality');
  });

  test('a rule that reads unknown quality or languages rejects the model', async () => {
    for (const rule of ['good', 'modern']) {
      const response = await box.post('/v1/chat/completions', body('any/thing', { metadata: { rule } }));
      expect([rule, response.status]).toEqual([rule, 422]);
    }
    const { platform } = await answerOf(await box.post('/v1/chat/completions', body('any/thing')));
    expect(platform.routed_model).toBe('any/thing');
  });
});
