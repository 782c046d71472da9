import { afterAll, beforeAll, expect, test } from 'bun:test';
import { answerOf, waitFor } from '../../support/answers.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { ask, audit, COST, chat, makeKey, type Stage, startStage } from './stage.ts';

/** The test pauses one of two processes, which continues long after its lease has ended. */
const AT_ONCE_MS = 4_000;
let stage: Stage;
let going: Signalbox;
let stopped: Signalbox;
beforeAll(async () => {
  stage = await startStage(1, { limit: 1_000 });
  [going] = stage.fleet.servers as [Signalbox];
  stopped = await stage.fleet.start({ isProcess: true });
});
afterAll(async () => {
  process.kill(stopped.pid, 'SIGCONT');
  await stage[Symbol.asyncDispose]();
});

test('while a process is paused, the other process continues; the paused process then works under a new instance name, and reported prices are booked', async () => {
  const { fleet, gate } = stage;
  const key = await makeKey(stage, 'blue');
  gate.close();
  const under = chat(stopped, key);
  await waitFor(() => gate.inside === 1);
  process.kill(stopped.pid, 'SIGSTOP');
  gate.open();
  for (let i = 0; i < 5; i++) {
    const told = await ask(going, key);
    expect(told).toMatchObject({ status: 200, micro: COST });
    expect(told.ms).toBeLessThan(AT_ONCE_MS);
  }
  await fleet.database.run('UPDATE instances SET until = 0 WHERE slot = 1', fleet.url.split('/').at(-1));
  process.kill(stopped.pid, 'SIGCONT');
  const { platform } = await answerOf(await under);
  const spent = async () => {
    const { out } = await going.run('ledger', 'status', '--offline', '--json', '--name', 'team');
    return Math.round((JSON.parse(out) as { funds: { spent_credits: number }[] }).funds[0]!.spent_credits * 1e6);
  };
  const fresh = await waitFor(async () => {
    const told = await ask(stopped, key);
    return told.status === 200 ? told : null;
  }, 30_000);
  expect(fresh.micro).toBe(COST);
  // The price of a running request is in the spool until the new instance books it.
  const late = Math.round((platform?.credits_consumed ?? 0) * 1e6);
  await waitFor(async () => (await spent()) === 6 * COST + late);
  const [lease] = await fleet.database.run('SELECT epoch FROM instances WHERE slot = 1', fleet.url.split('/').at(-1));
  expect(Number(lease?.epoch)).toBe(2);
  expect(await audit(going)).toBe('nothing wrong');
});
