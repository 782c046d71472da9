import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Json } from '../../../plugins/providers/json.ts';
import { waitFor } from '../../support/answers.ts';
import { checkEvents } from '../../support/open-responses/schemas.ts';
import { openResponses } from '../../support/responses-socket.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { CACHE_HEADER, cachingServer } from './support.ts';

/** The cache with requests over a WebSocket, which are streams. */
const upstream = useUpstream();
let box: Signalbox;
beforeAll(async () => {
  box = await cachingServer(upstream.url, 'cache: {}\n');
});
afterAll(() => box.stop());

const responseOf = (events: readonly Json[]): Json => Object(Object(events.at(-1)).response);
const reasonOf = (events: readonly Json[]): unknown => Object(responseOf(events).platform).route_reason;

/** Repeats a request until the cache answers it, without a call of the model. */
const hitOf = (ask: () => Promise<readonly Json[]>) =>
  waitFor(async () => {
    const calls = upstream.requests.length;
    const events = await ask();
    return reasonOf(events) === 'cache:exact' && upstream.requests.length === calls ? events : null;
  });

/** The events without what differs in each answer: IDs, times and `platform`. */
const comparable = (events: readonly Json[]): unknown =>
  JSON.parse(
    JSON.stringify(events, (name, value: unknown) =>
      ['id', 'item_id', 'response_id', 'created_at', 'completed_at', 'platform'].includes(name) ? undefined : value,
    ),
  );

test('a frame that repeats a request gets the events of its answer from the cache, and no model is called', async () => {
  upstream.behave(({ body }) => ({ text: `Answer ${Bun.hash.xxHash32(JSON.stringify(body.messages))}.` }));
  const client = openResponses(box, box.key);
  const request = { input: 'Which bird?', temperature: 0 };
  const first = await client.ask(request);
  expect(reasonOf(first)).not.toBe('cache:exact');
  const again = await hitOf(() => client.ask(request));
  checkEvents(again);
  expect(comparable(again)).toEqual(comparable(first));
  expect(responseOf(again).id).not.toBe(responseOf(first).id);
  expect(Object(responseOf(again).platform)).toMatchObject({ credits_consumed: 0, routed_model: 'best' });
  expect(reasonOf(await client.ask({ ...request, input: 'Which other bird?' }))).not.toBe('cache:exact');
  client.socket.close();
});

test('a frame shares entries with a streamed POST of the same key, and with no other key', async () => {
  const client = openResponses(box, box.key);
  const request = { input: 'Where does it live?', temperature: 0 };
  await client.ask(request);
  await hitOf(() => client.ask(request));
  const posted = await box.post('/v1/responses', { model: 'best', stream: true, ...request });
  await posted.text();
  expect(posted.headers.get(CACHE_HEADER)).toBe('hit');
  const stranger = openResponses(box, await box.makeKey());
  expect(reasonOf(await stranger.ask(request))).not.toBe('cache:exact');
  for (const { socket } of [client, stranger]) socket.close();
});

test('a frame can continue from an answer of the cache on its connection', async () => {
  const client = openResponses(box, box.key);
  const request = { input: 'What does it eat?', temperature: 0 };
  upstream.behave({ text: 'It eats mice.' });
  await client.ask(request);
  const hit = await hitOf(() => client.ask(request));
  const next = await client.ask({ previous_response_id: responseOf(hit).id, input: 'And at night?', temperature: 0 });
  expect(responseOf(next).status).toBe('completed');
  expect(upstream.requests.at(-1)!.asked.turns.map(({ text }) => text)).toEqual([
    'What does it eat?',
    'It eats mice.',
    'And at night?',
  ]);
  client.socket.close();
});
