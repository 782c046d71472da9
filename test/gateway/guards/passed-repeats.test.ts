import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { isObject } from '../../../src/core/json/object.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';

/** Responses that are passed through as their provider sends them, with guards on answers. */

const upstream = useUpstream();
let box: Signalbox;
beforeAll(async () => {
  const guards = `guards:
  - { name: falcon, guard: words, settings: { deny: [falcon] }, on: [output], on_match: block, when: request.metadata.guard == "block" }
  - { name: pii, guard: personal-data, settings: { kinds: [email] }, on: [output], on_match: mask, when: request.metadata.guard == "mask" }
`;
  const policy = testPolicy(
    { passed: { url: upstream.url, adapter: 'openai' } },
    { best: { endpoints: ['passed'], price: { input: 4, output: 16 } } },
    guards,
  );
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
});
afterAll(() => box.stop());

const ask = async (guard: string, stream: boolean, more: object = {}) => {
  const response = await box.post('/v1/responses', {
    model: 'best',
    input: 'Hi.',
    metadata: { guard },
    stream,
    ...more,
  });
  return await response.text();
};

type Event = { readonly type: string; readonly [name: string]: unknown };

const TEXT = 'Write to ada@example.com about it.';
const PROBABILITIES = [{ token: 'ada@example.com', logprob: -0.1, bytes: [], top_logprobs: [] }];
const partOf = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: PROBABILITIES });
const itemOf = (text: string) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [partOf(text)],
});
const PLACE = { item_id: 'msg_1', output_index: 0, content_index: 0 };
const USAGE = { input_tokens: 10, output_tokens: 20, total_tokens: 30 };
const responseOf = (output: readonly object[], status: string) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'm',
  status,
  output,
});

/** The events of an answer. @param told the text in each event that repeats it, by its type */
const eventsOf = (text: string, told: Readonly<Record<string, string>> = {}): readonly Event[] => {
  const repeatIn = (type: string) => told[type] ?? text;
  return [
    { type: 'response.created', response: responseOf([], 'in_progress') },
    { type: 'response.output_item.added', output_index: 0, item: { ...itemOf(''), content: [] } },
    { type: 'response.content_part.added', ...PLACE, part: partOf('') },
    { type: 'response.output_text.delta', ...PLACE, delta: text, logprobs: PROBABILITIES },
    {
      type: 'response.output_text.done',
      ...PLACE,
      text: repeatIn('response.output_text.done'),
      logprobs: PROBABILITIES,
    },
    { type: 'response.content_part.done', ...PLACE, part: partOf(repeatIn('response.content_part.done')) },
    { type: 'response.output_item.done', output_index: 0, item: itemOf(repeatIn('response.output_item.done')) },
    {
      type: 'response.completed',
      response: { ...responseOf([itemOf(repeatIn('response.completed'))], 'completed'), usage: USAGE },
    },
  ];
};

const send = (events: readonly Event[]) =>
  upstream.next({
    raw: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
    contentType: 'text/event-stream',
  });

describe('a denied word', () => {
  test.each([
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ])('that stands only in `%s` is not shown, and the caller gets the text of the pieces', async (type) => {
    send(eventsOf('All is well.', { [type]: 'The falcon flies.' }));
    const shown = await ask('block', true);
    expect(shown).not.toContain('falcon');
    const texts = [...shown.matchAll(/"(?:text|delta)":"([^"]+)"/g)].map(([, text]) => text);
    expect(texts).toEqual(texts.map(() => 'All is well.'));
    expect(texts.length).toBe(5);
  });

  test('blocks an answer whose item comes without pieces', async () => {
    send(eventsOf('The falcon flies.').filter(({ type }) => type !== 'response.output_text.delta'));
    const shown = await ask('block', true);
    expect([shown.includes('flies'), shown.includes('content_blocked')]).toEqual([false, true]);
  });

  test('without a guard, all events stay as their provider wrote them', async () => {
    send(eventsOf('All is well.', { 'response.output_text.done': 'The falcon flies.' }));
    expect(await ask('none', true)).toContain('falcon');
  });
});

describe('all texts of the output in one member `output_text`', () => {
  const ANSWERS = { mask: TEXT, block: 'All is well.' };
  test.each((['mask', 'block'] as const).flatMap((guard) => [true, false].map((stream) => [guard, stream] as const)))(
    'repeat what the caller got (guard: %p, stream: %p)',
    async (guard, stream) => {
      const text = ANSWERS[guard];
      const told = `${text} The falcon flies.`;
      const events = eventsOf(text).map((event) =>
        isObject(event.response) ? { ...event, response: { ...event.response, output_text: told } } : event,
      );
      if (stream) send(events);
      else upstream.next({ raw: [JSON.stringify(events.at(-1)?.response)] });
      const shown = await ask(guard, stream);
      expect([shown.includes('falcon flies'), shown.includes('ada@example.com')]).toEqual([false, false]);
      const repeats = [...shown.matchAll(/"output_text":"([^"]*)"/g)].map(([, repeat]) => repeat);
      const texts = [...shown.matchAll(/"text":"([^"]+)"/g)].map(([, one]) => one);
      expect(repeats).toEqual(stream ? ['', texts.at(-1)] : texts);
    },
  );

  test('stay without a guard', async () => {
    upstream.next({
      raw: [JSON.stringify({ ...responseOf([itemOf(TEXT)], 'completed'), usage: USAGE, output_text: 'Other.' })],
    });
    expect(await ask('none', false)).toContain('"output_text":"Other."');
  });
});

test('the last events of a blocked stream name the guard', async () => {
  upstream.next({ text: 'The falcon flies.' });
  const shown = await ask('block', true);
  const details = { guard: 'falcon', side: 'output' };
  const events = [...shown.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json!) as Event);
  const [error, failed] = events.slice(-2);
  expect(error).toMatchObject({ type: 'error', code: 'content_blocked', details, error: { details } });
  expect(failed).toMatchObject({ type: 'response.failed', response: { error: { code: 'content_blocked', details } } });
});

describe('log probabilities that the request does not want', () => {
  test.each([true, false])('are emptied if a guard masks the answer (stream: %p)', async (stream) => {
    if (stream) send(eventsOf(TEXT));
    else upstream.next({ raw: [JSON.stringify({ ...responseOf([itemOf(TEXT)], 'completed'), usage: USAGE })] });
    const shown = await ask('mask', stream);
    expect(shown).not.toContain('ada@example.com');
    expect(shown).toContain('Write to [email:');
    expect(shown).toContain('"logprobs":[]');
  });

  test('stay without a guard', async () => {
    send(eventsOf(TEXT));
    expect(await ask('none', true)).toContain('"token":"ada@example.com"');
  });

  test.each([true, false])('are left out of chat completions (stream: %p)', async (stream) => {
    const message = { role: 'assistant', content: TEXT };
    const choice = { index: 0, finish_reason: 'stop', logprobs: { content: PROBABILITIES, refusal: null } };
    const head = { id: 'x', created: 1, model: 'm', usage: { prompt_tokens: 1, completion_tokens: 2 } };
    if (stream) {
      const chunk = { ...head, object: 'chat.completion.chunk', choices: [{ ...choice, delta: message }] };
      upstream.next({ raw: [`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`], contentType: 'text/event-stream' });
    } else
      upstream.next({
        raw: [JSON.stringify({ ...head, object: 'chat.completion', choices: [{ ...choice, message }] })],
      });
    const messages = [{ role: 'user', content: 'Hi.' }];
    const body = { model: 'best', messages, metadata: { guard: 'mask' }, stream };
    const shown = await (await box.post('/v1/chat/completions', body)).text();
    expect(shown).not.toContain('ada@example.com');
    expect(shown).toContain('Write to [email:');
  });
});
