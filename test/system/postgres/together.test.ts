import { afterAll, beforeAll, expect, test } from 'bun:test';
import { processTimers } from '../../../src/host/telemetry/process-timers.ts';
import { PLACE_WAIT_MS } from '../../../src/store/lease-keeper.ts';
import { waitFor } from '../../support/answers.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { ask, audit, booked, COST, chat, makeKey, models, type Stage, startStage } from './stage.ts';

/** Servers that share one PostgreSQL database with clocks that differ by twenty minutes, used by one caller. */
const MINUTES_10 = 600_000;
let stage: Stage;
let late: Signalbox;
let early: Signalbox;
beforeAll(async () => {
  stage = await startStage(0, { limit: 20 });
  late = await stage.fleet.start({ now: () => Date.now() - MINUTES_10 });
  early = await stage.fleet.start({ now: () => Date.now() + MINUTES_10 });
});
afterAll(() => stage[Symbol.asyncDispose]());

test('a request with the same Idempotency-Key on both servers at once causes one call and one charge, and both servers return the same answer', async () => {
  const key = await makeKey(stage, 'once');
  const before = stage.gate.requests.length;
  const id = { 'idempotency-key': crypto.randomUUID() };
  const told = async (box: Signalbox) =>
    await waitFor(async () => {
      const answer = await chat(box, key, {}, id);
      const text = await answer.text();
      return answer.status === 409 ? null : [answer.status, text];
    });
  const [one, other] = await Promise.all([told(late), told(early)]);
  expect(one).toEqual(other);
  expect(one[0]).toBe(200);
  expect(stage.gate.requests.length - before).toBe(1);
  expect(await booked(late, 'once')).toBe(COST);
});

test('if a server revokes a key, the other server refuses the key', async () => {
  const key = await makeKey(stage, 'gone');
  expect((await late.post(`/admin/keys/${key.id}/revoke`, {})).status).toBe(200);
  await waitFor(async () => (await models(early, key)).status === 401, 8_000);
});

test('servers with different clocks never share an ID, use one window of a budget, and report their offset', async () => {
  const key = await makeKey(stage, 'clocks');
  const answers = await Promise.all(
    Array.from({ length: 60 }, async (_, at) => {
      const answer = await chat(at % 2 === 0 ? late : early, key);
      return { status: answer.status, id: ((await answer.json()) as { id?: string }).id };
    }),
  );
  const ids = answers.flatMap(({ status, id }) => (status === 200 ? [id] : []));
  expect(new Set(ids).size).toBe(ids.length);
  // 45 requests of 0.442 Credits fit into 20.
  expect(ids.length).toBe(45);
  expect(await booked(early, 'clocks')).toBe(45 * COST);
  const offsets = await waitFor(async () => {
    const shown = await (await late.get('/admin/cluster')).json();
    const found = (shown as { data: { clock_offset_ms: number }[] }).data.map((one) => one.clock_offset_ms);
    return found.length === 2 ? found.sort((a, b) => a - b) : null;
  });
  // The database uses this machine's clock.
  for (const [at, due] of [-MINUTES_10, MINUTES_10].entries())
    expect(Math.abs(offsets[at]! - due)).toBeLessThan(60_000);
  expect(await audit(late)).toBe('nothing wrong');
});

test('the 129th server waits and reports that all slots are taken, and a clean stop frees a slot at once', async () => {
  const { fleet } = stage;
  const third = await fleet.start();
  const until = Date.now() + 10 * MINUTES_10;
  await fleet.database.run(
    `INSERT INTO instances (slot, epoch, until, ids_through, is_released)
       SELECT slot, 1, ${until}, 0, 0 FROM generate_series(0, 127) AS slot ON CONFLICT (slot) DO NOTHING`,
    fleet.url.split('/').at(-1),
  );
  let looks = 0;
  const started = fleet.start({
    timers: {
      ...processTimers,
      after(ms, work) {
        looks += ms === PLACE_WAIT_MS ? 1 : 0;
        return processTimers.after(ms, work);
      },
    },
  });
  await waitFor(() => looks > 1);
  await fleet.stop(third);
  const fourth = await started;
  expect(fourth.lines.filter((line) => line.includes('this server waits for a free slot'))).toHaveLength(1);
  const key = await makeKey(stage, 'fourth');
  expect(await ask(fourth, key)).toMatchObject({ status: 200, micro: COST });
});
