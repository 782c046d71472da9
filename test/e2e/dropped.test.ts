import { describe, expect, test } from 'bun:test';
import { answerOf } from '../support/answers.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { startSignalbox } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

test('if an adapter drops many fields of a long conversation, only a few names are reported', async () => {
  const upstream = startFakeUpstream({ dialect: 'gemini' });
  const policy = testPolicy({ fake: { url: upstream.url, adapter: 'gemini' } }, { best: { endpoints: ['fake'] } });
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  try {
    const messages = Array.from({ length: 1_000 }, () => ({ role: 'user', name: 'eve', content: 'x' }));
    const { platform } = await answerOf(await box.post('/v1/chat/completions', { model: 'best', messages }));
    expect(platform.dropped.slice(0, 2)).toEqual(['messages[0].name', 'messages[1].name']);
    expect(platform.dropped.slice(64)).toEqual(['and 936 more']);
  } finally {
    await Promise.all([box.stop(), upstream.stop()]);
  }
});

describe('a translation', () => {
  const upstream = useUpstream();
  const box = useSignalbox(() => {
    const providers = { plain: upstream.url, openai: { url: upstream.url, adapter: 'openai' } };
    return { policy: testPolicy(providers, { best: { endpoints: ['plain'] }, own: { endpoints: ['openai'] } }) };
  });
  const droppedOf = async (path: string, body: object) => (await answerOf(await box.post(path, body))).platform.dropped;
  const messages = [{ role: 'user', content: 'Hi' }];

  test('a translated request reports the members of settings that it loses', async () => {
    const thinking = { type: 'between_tools', display: 'omitted' };
    const output_config = { task_budget: { type: 'tokens', total: 9 } };
    expect(
      await droppedOf('/v1/messages', { model: 'best', max_tokens: 99, messages, thinking, output_config }),
    ).toEqual(['output_config.task_budget', 'thinking.display', 'thinking.type']);
    const reasoning = { summary: 'auto', context: 'all_turns' };
    expect(await droppedOf('/v1/responses', { model: 'best', input: 'Hi', reasoning, text: { stop: 'x' } })).toEqual([
      'text.stop',
      'reasoning.context',
    ]);
  });

  test('a request that wants no answer cannot be translated and is refused, because only its own provider supports it', async () => {
    const before = upstream.requests.length;
    const answer = await box.post('/v1/messages', { model: 'best', max_tokens: 0, messages });
    expect([answer.status, await answer.text()]).toEqual([422, expect.stringContaining('anthropic_messages')]);
    expect(upstream.requests.length).toBe(before);
  });

  test('a translated request reports a lost title and context of a document', async () => {
    const texts = { type: 'content', content: [{ type: 'text', text: 'A page.' }] };
    const document = { type: 'document', title: 'Page', context: 'A book.' };
    const content = [
      { ...document, source: { type: 'text', media_type: 'text/plain', data: 'A page.' } },
      { ...document, source: texts },
    ];
    expect(
      await droppedOf('/v1/messages', { model: 'best', max_tokens: 99, messages: [{ role: 'user', content }] }),
    ).toEqual([0, 1].flatMap((at) => ['title', 'context'].map((name) => `messages[0].content[${at}].${name}`)));
  });

  test('a request with an output limit that OpenAI’s Responses refuse reports what it loses, and loses no tool or item', async () => {
    const body = { model: 'own', input: 'Hi', max_output_tokens: 9, truncation: 'auto', text: { stop: 'x' } };
    expect(await droppedOf('/v1/responses', body)).toEqual(['truncation', 'text.stop']);
    const before = upstream.requests.length;
    const refused = await box.post('/v1/responses', { ...body, tools: [{ type: 'local_shell' }] });
    expect([refused.status, (await refused.json()) as object]).toMatchObject([
      400,
      { error: { param: 'max_output_tokens', message: expect.stringContaining('at least 16') } },
    ]);
    expect(upstream.requests.length).toBe(before);
  });
});
