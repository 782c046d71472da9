import { describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { tokenPolicy } from '../../http/tokens-support.ts';
import { startIssuer } from '../../support/token-issuer.ts';
import { useSignalbox, useStarted } from '../../support/use.ts';

const issuer = useStarted(() => startIssuer());
const box = useSignalbox(() => ({ policy: tokenPolicy(issuer) }));

const client = async (claims = {}) =>
  new OpenAI({ baseURL: `${box.url}/v1`, apiKey: await issuer.sign(claims), maxRetries: 0 });
const messages = [{ role: 'user', content: 'Say hello.' }] as const;

describe('the openai client with a workload token as its key', () => {
  test('the client receives answers, streams and models', async () => {
    const openai = await client();
    const answer = await openai.chat.completions.create({ model: 'toy', messages: [...messages] });
    expect(answer.choices[0]?.message.content).toBeTruthy();
    const stream = await openai.chat.completions.create({ model: 'toy', messages: [...messages], stream: true });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? '';
    expect(text).not.toBe('');
    expect((await openai.models.list()).data.map(({ id }) => id)).toContain('toy');
    const { output_text } = await openai.responses.create({ model: 'toy', input: 'Say hello.' });
    expect(output_text).not.toBe('');
  });

  test('the first request may already stream while the server checks its token', async () => {
    const openai = await client({ sub: 'streamer' });
    const stream = await openai.chat.completions.create({ model: 'toy', messages: [...messages], stream: true });
    let chunks = 0;
    for await (const _ of stream) chunks++;
    expect(chunks).toBeGreaterThan(1);
  });

  test('the client raises an AuthenticationError for a refused token', async () => {
    const openai = await client({ org: 'other' });
    const asked = openai.chat.completions.create({ model: 'toy', messages: [...messages] });
    expect(await asked.catch((error: unknown) => error)).toBeInstanceOf(OpenAI.AuthenticationError);
  });
});
