import { describe, expect, test } from 'bun:test';
import { waitFor } from '../../support/answers.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { useGateways, useUpstream } from '../../support/use.ts';
import { contentOf, guardedPolicy, send, WAYS } from './support.ts';

const upstream = useUpstream();
const gatewayWith = useGateways();

const guard = (more: string) => `  - { name: forms, guard: json-schema, on: [output], ${more} }`;
const CITY = 'settings: { schema: { type: object, required: [city], properties: { city: { type: string } } } }';
const BROKEN = ['{"ci', 'ty": "Os', 'lo",', '}'];

const boxWith = (more: string): Promise<Signalbox> => gatewayWith(guardedPolicy(upstream.url, guard(more)));

/** Returns what the record of an answer says about guards. */
async function verdictsOf(box: Signalbox, response: Response): Promise<unknown> {
  const id = response.headers.get('x-signalbox-decision-id')!;
  const record = await waitFor(async () => {
    const found = (await (await box.get(`/v1/decisions/${id}`)).json()) as { outcome: { guards: unknown } | null };
    return found.outcome ?? undefined;
  });
  return record.guards;
}

/** The figures of the guard in the list of guards. */
async function countsOf(box: Signalbox) {
  const { data } = (await (await box.get('/admin/guards')).json()) as {
    data: readonly [Readonly<Record<'repaired' | 'blocked' | 'matched', number>>];
  };
  return data[0];
}

const verdict = (action: string, matches: Record<string, number>) =>
  expect.objectContaining({ guard: 'forms', side: 'output', action, matches });

describe('a guard with a schema in the policy', () => {
  test.each(WAYS)('passes an answer that fits unchanged: %s', async (_, way) => {
    const box = await boxWith(`${CITY}, on_match: block`);
    const fitting = [' { "city" :', ' "Oslo" } '];
    upstream.next({ text: fitting });
    const response = await send(way, box, 'Where?');
    expect((await contentOf(way, response)).text).toBe(fitting.join(''));
    expect(await verdictsOf(box, response)).toEqual([]);
  });

  test.each(WAYS)('repairs a slip, and the record says so: %s', async (_, way) => {
    const box = await boxWith(`${CITY}, on_match: block`);
    const before = await countsOf(box);
    upstream.next({ text: BROKEN });
    const response = await send(way, box, 'Where?');
    const { text, platform } = await contentOf(way, response);
    expect(JSON.parse(text)).toEqual({ city: 'Oslo' });
    expect(platform?.credits_consumed).toBeGreaterThan(0);
    expect(await verdictsOf(box, response)).toEqual([verdict('repair', { 'invalid-json': 1 })]);
    const after = await countsOf(box);
    expect([after.repaired - before.repaired, after.matched - before.matched]).toEqual([1, 1]);
    expect(after.blocked).toBe(before.blocked);
  });

  test.each(WAYS)('blocks an answer that no repair fits, and shows nothing of it: %s', async (_, way) => {
    const box = await boxWith(`${CITY}, on_match: block`);
    upstream.next({ text: ['{"town": ', '"Bergen"}'] });
    const response = await send(way, box, 'Where?');
    const body = await response.text();
    expect(/content_blocked/i.test(body)).toBeTrue();
    expect(body).not.toContain('Bergen');
    expect(response.status).toBe(way.isStream ? 200 : 400);
    if (!way.isStream) expect(Number(response.headers.get('x-signalbox-credits'))).toBeGreaterThan(0);
    expect(await verdictsOf(box, response)).toEqual([verdict('block', { 'schema-mismatch': 1 })]);
  });

  test.each(WAYS)('with `flag` changes nothing, and counts: %s', async (_, way) => {
    const box = await boxWith(`${CITY}, on_match: flag`);
    upstream.next({ text: BROKEN });
    const response = await send(way, box, 'Where?');
    expect((await contentOf(way, response)).text).toBe(BROKEN.join(''));
    expect(await verdictsOf(box, response)).toEqual([verdict('flag', { 'invalid-json': 1 })]);
  });

  test.each(WAYS)('does not complete an answer that ended at its output limit: %s', async (_, way) => {
    const box = await boxWith(`${CITY}, on_match: block`);
    upstream.next({ text: ['{"city": "Tromsø"'], finish: 'length' });
    const body = await (await send(way, box, 'Where?')).text();
    expect(/content_blocked/i.test(body)).toBeTrue();
    expect(body).not.toContain('Troms');
  });

  test.each(WAYS.filter(([, { isStream }]) => isStream))(
    'shows nothing of a stream that breaks off, and keeps its error: %s',
    async (_, way) => {
      const box = await boxWith(`${CITY}, on_match: block`);
      upstream.next({ text: ['{"city": ', '"Tromsø', '", "more": "'], cutAfter: 3 });
      const body = await (await send(way, box, 'Where?')).text();
      expect(body).not.toContain('Troms');
      expect(/content_blocked/i.test(body)).toBeFalse();
    },
  );

  test('makes no JSON of prose, and blocks an empty answer', async () => {
    const box = await boxWith('settings: { schema: {} }, on_match: block');
    for (const text of ['Sure, here it is.', 'Oslo', '']) {
      upstream.next({ text });
      const response = await send(WAYS[0]![1], box, 'Where?');
      expect(await response.text()).toContain('content_blocked');
    }
  });

  test('with `repair: false` only blocks', async () => {
    const box = await boxWith('settings: { schema: {}, repair: false }, on_match: block');
    upstream.next({ text: BROKEN });
    expect((await send(WAYS[0]![1], box, 'Where?')).status).toBe(400);
  });
});

describe('with `repairs: 1`', () => {
  const ASKS = `${CITY.replace('settings: {', 'settings: { repairs: 1,')}, on_match: block`;
  const UNFIT = '{"town": "Bergen"}';
  const FIT = '{"city": "Oslo"}';

  test.each(WAYS)(
    'asks the model again, shows only the second answer, and the caller pays for both: %s',
    async (_, way) => {
      const box = await boxWith(ASKS);
      const usage = { prompt_tokens: 10, completion_tokens: 5 };
      upstream.next({ text: UNFIT, usage }, { text: FIT, usage });
      const response = await send(way, box, 'Where?');
      const { text, platform } = await contentOf(way, response);
      expect(text).toBe(FIT);
      expect(platform?.attempts).toMatchObject([
        { model: 'best', failure: 'broken_schema', credits_consumed: 0.12 },
        { model: 'best', failure: null, after: 'broken_schema', credits_consumed: 0.12 },
      ]);
      expect(platform?.credits_consumed).toBeCloseTo(0.24, 6);
      expect(await verdictsOf(box, response)).toEqual([]);
    },
  );

  test.each(WAYS)('blocks if the second answer does not fit either: %s', async (_, way) => {
    const box = await boxWith(ASKS);
    upstream.requests.splice(0);
    upstream.next({ text: UNFIT }, { text: UNFIT });
    const response = await send(way, box, 'Where?');
    const body = await response.text();
    expect(body).toMatch(/content_blocked/i);
    expect(body).not.toContain('Bergen');
    expect(upstream.requests).toHaveLength(2);
    expect(await verdictsOf(box, response)).toEqual([verdict('block', { 'schema-mismatch': 1 })]);
  });

  test('does not ask again for a slip, for an answer that fits, and with `flag`', async () => {
    const [, way] = WAYS[0]!;
    for (const [settings, text] of [
      [ASKS, BROKEN.join('')],
      [ASKS, FIT],
      [ASKS.replace('block', 'flag'), UNFIT],
    ] as const) {
      const box = await boxWith(settings);
      upstream.requests.splice(0);
      upstream.next({ text });
      expect((await send(way, box, 'Where?')).status).toBe(200);
      expect(upstream.requests).toHaveLength(1);
    }
  });

  test('does not ask again for an answer that was cut at its output limit', async () => {
    const box = await boxWith(ASKS);
    upstream.requests.splice(0);
    upstream.next({ text: '{"city": "Os', finish: 'length' });
    expect((await send(WAYS[0]![1], box, 'Where?')).status).toBe(400);
    expect(upstream.requests).toHaveLength(1);
  });

  test('does not ask again without money for a second attempt', async () => {
    const box = await boxWith(ASKS);
    upstream.requests.splice(0);
    upstream.next({ text: UNFIT });
    const body = {
      model: 'best',
      messages: [{ role: 'user', content: 'Where?' }],
      max_tokens: 20,
      budget_limit: 0.5,
    };
    expect((await box.post('/v1/chat/completions', body)).status).toBe(400);
    expect(upstream.requests).toHaveLength(1);
  });
});

const SCHEMA = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } };

/** Bodies that want JSON, by the path of their dialect. */
const WANTED: readonly (readonly [string, string, Record<string, unknown>])[] = [
  [
    'OpenAI Chat',
    '/v1/chat/completions',
    {
      messages: [{ role: 'user', content: 'How many?' }],
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema: SCHEMA } },
    },
  ],
  [
    'Responses',
    '/v1/responses',
    { input: 'How many?', text: { format: { type: 'json_schema', name: 'n', schema: SCHEMA } } },
  ],
];

describe('a guard without a schema', () => {
  test.each(WANTED)('checks and repairs the form that the request wants: %s', async (_, path, body) => {
    const box = await boxWith('on_match: block');
    upstream.next({ text: "{'n': 7}" }, { text: '{"n": "seven"}' });
    const good = await box.post(path, { model: 'best', ...body });
    expect(await good.text()).toContain('\\"n\\": 7');
    const bad = await box.post(path, { model: 'best', ...body });
    expect([bad.status, await bad.text()]).toEqual([400, expect.stringContaining('content_blocked')]);
  });

  test('lets an answer without a wanted form pass', async () => {
    const box = await boxWith('on_match: block');
    upstream.next({ text: 'Oslo.' });
    expect((await contentOf(WAYS[0]![1], await send(WAYS[0]![1], box, 'Where?'))).text).toBe('Oslo.');
  });
});

describe('arguments of a tool call', () => {
  const chat = {
    model: 'best',
    messages: [{ role: 'user', content: 'How many?' }],
    tools: [{ type: 'function', function: { name: 'count', parameters: SCHEMA } }],
  };
  const calling = (args: string) =>
    upstream.next({ toolCalls: [{ name: 'count', arguments: args, id: 'c1' }], text: '' });

  test.each([false, true])('are repaired, or block the answer (stream: %p)', async (stream) => {
    const box = await boxWith('on_match: block');
    calling('{"n": 7,}');
    const repaired = await (await box.post('/v1/chat/completions', { ...chat, stream })).text();
    expect(repaired).toContain('{\\"n\\": 7}');
    calling('{"n": "seven"}');
    const blocked = await (await box.post('/v1/chat/completions', { ...chat, stream })).text();
    expect(blocked).toContain('content_blocked');
    expect(blocked).not.toContain('seven');
  });

  test('are not checked with `tools: false`', async () => {
    const box = await boxWith('settings: { tools: false }, on_match: block');
    calling('{"n": "seven"}');
    expect((await box.post('/v1/chat/completions', chat)).status).toBe(200);
  });
});
