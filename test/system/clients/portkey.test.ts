import { expect, test } from 'bun:test';
import OpenAI from 'openai';
import { useSignalbox } from '../../support/use.ts';

/** These tests follow `docs/clients/portkey.md`: a client moves from Portkey and keeps its headers. */
const box = useSignalbox();

const CONFIG = JSON.stringify({
  strategy: { mode: 'fallback' },
  targets: [{ override_params: { model: 'sim-large' } }],
});
const PORTKEY = {
  'x-portkey-api-key': 'pk-nobody-knows',
  'x-portkey-provider': 'openai',
  'x-portkey-virtual-key': 'openai-prod',
  'x-portkey-config': CONFIG,
  'x-portkey-metadata': '{"_user":"ada"}',
  'x-portkey-cache-force-refresh': 'true',
};
const messages = [{ role: 'user' as const, content: 'Hello!' }];

test('x-portkey headers do not change the answer', async () => {
  const client = new OpenAI({ baseURL: `${box.url}/v1`, apiKey: box.key, defaultHeaders: PORTKEY });
  const answer = await client.chat.completions.create({ model: 'sim-small', messages });
  expect(answer.model).toBe('sim-small');
  expect(answer.choices[0]?.message.content).not.toBe('');
});

test('Signalbox does not accept x-portkey-api-key as a key', async () => {
  const answer = await fetch(`${box.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-portkey-api-key': box.key },
    body: JSON.stringify({ model: 'sim-small', messages }),
  });
  expect(answer.status).toBe(401);
});

test('a name of Portkey’s catalog selects the model of the same name', async () => {
  const client = new OpenAI({ baseURL: `${box.url}/v1`, apiKey: box.key, maxRetries: 0 });
  const asked = client.chat.completions.create({ model: '@openai-prod/sim-small', messages });
  expect(await asked.then(null, String)).toContain('Did you mean `sim-small`?');
});
