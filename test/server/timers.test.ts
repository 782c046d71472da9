import { expect, test } from 'bun:test';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { HandTimers } from '../support/hand-timers.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type StartOptions, startSignalbox } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

const upstream = useUpstream();
/** Calls of the server are given up after this time, ms. */
const PATIENCE_MS = 200;
const more = `    deadlines: { first_token_ms: ${PATIENCE_MS}, idle_ms: ${PATIENCE_MS}, total_ms: ${PATIENCE_MS} }\n`;
const QUESTION = { model: 'best', messages: [{ role: 'user', content: 'Hi!' }], max_tokens: 10 };

const start = (options: StartOptions) =>
  startSignalbox({
    policy: testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'], more } }),
    env: UPSTREAM_ENV,
    ...options,
  });

test('a server does its regular work only through the timers of its host, at these intervals', async () => {
  const timers = new HandTimers();
  const box = await start({ timers });
  const work = {
    'the report about changes by commands': 100,
    'the news from other processes': 400,
    'measurements of endpoints, the ledger note, counts': 1_000,
    'the folder of the policy': 2_000,
    'payments of unknown outcome': 5_000,
    'checkpoints of sums, the sweep': 10_000,
    'alerts to people': 15_000,
    'learning, the system’s clock': 60_000,
    pruning: 3_600_000,
  };
  expect([...new Set(timers.intervals)]).toEqual(Object.values(work));
  // The waiting of the shutdown uses these timers, too.
  const stopped = box.stop();
  const firing = processTimers.every(20, () => timers.fire());
  await stopped;
  firing.close();
});

test('the timers of one application do not affect another application in the same process', async () => {
  upstream.behave(() => ({ hang: 'headers' }));
  const timers = new HandTimers();
  const [still, other] = [await start({ timers }), await start({})];
  let isEnded = false;
  const waiting = still.post('/v1/chat/completions', QUESTION).finally(() => {
    isEnded = true;
  });
  expect((await other.post('/v1/chat/completions', QUESTION)).status).toBeGreaterThanOrEqual(500);
  // The drain time of this server has passed for the other server only: its own timers have not fired.
  expect(isEnded).toBe(false);
  const firing = processTimers.every(20, () => timers.fire());
  expect((await waiting).status).toBeGreaterThanOrEqual(500);
  await Promise.all([still.stop(), other.stop()]);
  firing.close();
});
