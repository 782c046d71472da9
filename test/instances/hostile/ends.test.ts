import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Timers } from '../../../src/core/time/timers.ts';
import { processTimers } from '../../../src/host/telemetry/process-timers.ts';
import { realClock, type WorldClock } from '../../store/hostile/clock.ts';
import { type HostileStore, World } from '../../store/hostile/world.ts';
import { answerOf, eventsOf, waitFor } from '../../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';

/** Answers whose instance loses its lease or its store while they are being written. */
const upstream = useUpstream();
/** How many times faster the time of the server and its store runs. */
const FASTER = 10;
const timers: Timers = {
  after: (ms, run) => processTimers.after(ms / FASTER, run),
  every: (ms, run) => processTimers.every(ms / FASTER, run),
};
const start = Date.now();
const clock: WorldClock = {
  now: () => start + (Date.now() - start) * FASTER,
  after: (ms, run) => realClock.after(ms / FASTER, run),
};
const world = new World({ clock });
let store: HostileStore;
let box: Signalbox;

beforeAll(async () => {
  const policy = testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } });
  const openStore = async () => {
    store = await world.open('a');
    return store;
  };
  box = await startSignalbox({ policy, env: UPSTREAM_ENV, timers, openStore });
});
afterAll(() => box.stop());

const body = { model: 'best', messages: [{ role: 'user', content: 'Hello?' }], max_tokens: 100 };

/** Sends a request. Before the provider answers, `happens` does something to the server. */
async function asked(stream: boolean, happens: () => void): Promise<Response> {
  // The server refuses requests until it has noticed that its store is back.
  await waitFor(async () => (await box.get('/v1/models')).ok);
  upstream.behave({ headersAfterMs: 100 });
  const before = upstream.requests.length;
  const answering = box.post('/v1/chat/completions', { ...body, stream });
  await waitFor(() => upstream.requests.length > before);
  happens();
  return answering;
}

for (const stream of [false, true])
  test(`if the store becomes unavailable, an answer is complete but reports no price, stream: ${stream}`, async () => {
    const before = await world.books.charged();
    const answer = await asked(stream, () => store.connection.loseStore(15_000));
    expect(answer.status).toBe(200);
    const ends = stream ? (await eventsOf(answer)).chunks : [await answerOf(answer)];
    const told = ends.find(({ platform }) => platform !== undefined);
    expect(told?.platform).toMatchObject({ routed_model: 'best', credits_consumed: null, cost_saved_credits: null });
    // The answer is charged nevertheless once the store is back.
    await waitFor(async () => (await world.books.charged()) > before && world.books.open().count === 0);
  });

test('if an instance loses its lease during an answer, the answer reports its price once the instance has a new lease', async () => {
  const { slot, epoch } = store.instance;
  const answer = await asked(false, () => world.leases.revoke(slot));
  const { credits_consumed } = (await answerOf(answer)).platform;
  expect(credits_consumed).toBeGreaterThan(0);
  expect([store.instance.slot, store.instance.epoch]).not.toEqual([slot, epoch]);
});
