import { afterAll, beforeAll, expect, test } from 'bun:test';
import { peek } from 'bun';
import { waitFor } from '../../support/answers.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { forget, kill, startSweeper } from './ageing.ts';
import { ask, audit, booked, COST, chat, makeKey, type Stage, startStage } from './stage.ts';

/** A process is killed with work in progress, and another server ends this work once the process cannot come back. */
const HELD = 10;
let stage: Stage;
let sweeper: Signalbox;
beforeAll(async () => {
  stage = await startStage(0, { limit: (HELD * COST) / 1e6, onCrash: 'release' });
  sweeper = await startSweeper(stage.fleet);
});
afterAll(() => stage[Symbol.asyncDispose]());

const slots = async (): Promise<number[]> => {
  const { out } = await sweeper.run('instances', '--json');
  return (JSON.parse(out) as { data: { slot: number }[] }).data.map(({ slot }) => slot);
};

test('another server ends the holds of a dead process by on_crash after its lease, once, and frees its slot and idempotency keys', async () => {
  const { fleet, gate } = stage;
  const mortal = await fleet.start({ isProcess: true });
  const key = await makeKey(stage, 'blue');
  const name = { 'idempotency-key': crypto.randomUUID() };
  gate.close();
  const dying = Array.from({ length: HELD }, (_, at) => chat(mortal, key, {}, at === 0 ? name : {}).catch(() => null));
  await waitFor(() => gate.inside === HELD);
  expect(await slots()).toEqual([0, 1]);
  await kill(mortal);
  gate.open();
  expect(await Promise.all(dying)).toEqual(Array(HELD).fill(null));
  // While the lease of the dead server lasts, the server keeps the whole budget and the idempotency key, and is in the list.
  expect(await ask(sweeper, key)).toMatchObject({ status: 429 });
  const repeat = ask(sweeper, key, {}, name);
  expect(await slots()).toEqual([0, 1]);
  expect(peek.status(repeat)).toBe('pending');
  await forget(fleet, mortal);
  await fleet.stop(mortal);
  const closed = () =>
    sweeper.lines.flatMap((line) => /"message":"closed reservations.*"count":(\d+)/.exec(line)?.[1] ?? []);
  await waitFor(() => closed().length > 0);
  expect(await slots()).toEqual([0]);
  expect(await repeat).toMatchObject({ status: 200, micro: COST });
  for (let spent = 1; spent < HELD; spent++)
    expect(await ask(sweeper, key)).toMatchObject({ status: 200, micro: COST });
  expect(await ask(sweeper, key)).toMatchObject({ status: 402 });
  expect(await booked(sweeper, 'blue')).toBe(HELD * COST);
  expect(closed()).toEqual([`${HELD}`]);
  const heir = await fleet.start();
  expect(await slots()).toEqual([0, 1]);
  expect(await audit(heir)).toBe('nothing wrong');
});
