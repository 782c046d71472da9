import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import Anthropic, { APIError } from '@anthropic-ai/sdk';

const FIXTURES = join(import.meta.dir, 'fixtures', 'anthropic');
const file = (name: string) => Bun.file(join(FIXTURES, name));
const ASKED = { model: 'claude-opus-4-8', max_tokens: 10, messages: [{ role: 'user' as const, content: 'Hi' }] };

/** Returns Anthropic's client, which receives this answer to every request. */
function answered(body: string, status = 200, type = 'application/json'): Anthropic {
  const answer = async () => new Response(body, { status, headers: { 'content-type': type } });
  return new Anthropic({ apiKey: 'k', maxRetries: 0, fetch: answer });
}

test.each(readdirSync(FIXTURES).filter((name) => name.endsWith('.sse')))('Anthropic’s SDK reads %s', async (name) => {
  const stream = answered(await file(name).text(), 200, 'text/event-stream').messages.stream(ASKED);
  if (name === 'overloaded.sse') return expect(stream.finalMessage()).rejects.toThrow('Overloaded');
  const message = await stream.finalMessage();
  expect(message.stop_reason).not.toBeNull();
  expect(message.content.length).toBeGreaterThan(0);
});

test('Anthropic’s SDK reads the errors as errors of their status', async () => {
  for (const { status, body } of await file('errors.json').json()) {
    const error = await answered(JSON.stringify(body), status)
      .messages.create(ASKED)
      .catch((thrown: unknown) => thrown);
    if (!(error instanceof APIError)) throw new Error(`no error for ${status}`);
    expect(error).toMatchObject({ status, type: body.error.type, apiMessage: body.error.message });
  }
});
