import { afterAll, beforeAll, expect, test } from 'bun:test';
import { waitFor } from '../../support/answers.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { ask, audit, COST, type MadeKey, makeKey, type Stage, startStage } from './stage.ts';

/** The test kills one process of two; both processes share a budget. */
const LIMIT = 20_000_000;
let stage: Stage;
let lasting: Signalbox;
beforeAll(async () => {
  stage = await startStage(0, { limit: LIMIT / 1e6 });
  lasting = await stage.fleet.start();
});
afterAll(() => stage[Symbol.asyncDispose]());

/** Returns the figures of the budget of a team, microcredits. */
async function standing(team: string): Promise<{ readonly spent: number; readonly held: number }> {
  const { out } = await lasting.run('ledger', 'status', '--offline', '--json', '--name', 'team');
  const { funds } = JSON.parse(out) as { funds: { subject: string; spent_credits: number; held_credits: number }[] };
  const fund = funds.find(({ subject }) => subject === team);
  return { spent: Math.round((fund?.spent_credits ?? 0) * 1e6), held: Math.round((fund?.held_credits ?? 0) * 1e6) };
}

/** Returns the reported prices of requests at both servers that were answered. */
const toldOf = async (key: MadeKey, boxes: readonly Signalbox[], count: number) =>
  (
    await Promise.all(Array.from({ length: count }, (_, at) => ask(boxes[at % boxes.length]!, key).catch(() => null)))
  ).flatMap((one) => (one === null ? [] : [one]));

test('kill -9 of one server under load: no budget is overspent, reported prices are booked, and open holds stay held', async () => {
  const { fleet, gate } = stage;
  const mortal = await fleet.start({ isProcess: true });
  const key = await makeKey(stage, 'killed');
  const first = await toldOf(key, [lasting, mortal], 10);
  gate.close();
  const dying = toldOf(key, [mortal], 20);
  await waitFor(() => gate.inside === 20);
  const rest = toldOf(key, [lasting, mortal], 30);
  await waitFor(() => gate.inside > 20);
  mortal.signal('SIGKILL');
  await mortal.exited;
  gate.open();
  const told = [...first, ...(await dying), ...(await rest)];
  for (const { status } of told) expect([200, 402, 429, 503]).toContain(status);
  const sum = told.reduce((all, { micro }) => all + micro, 0);
  await fleet.stop(mortal);
  const { spent, held } = await standing('killed');
  expect(spent).toBe(sum);
  // Holds of the killed server stay until its lease has been over for a minute, so no other server can spend them.
  expect(held).toBeGreaterThan(0);
  expect(held % COST).toBe(0);
  expect(spent + held).toBeLessThanOrEqual(LIMIT);
  const more = await toldOf(key, [lasting], 20);
  const after = await standing('killed');
  expect(after).toEqual({ spent: sum + more.reduce((all, { micro }) => all + micro, 0), held });
  expect(after.spent + held).toBeLessThanOrEqual(LIMIT);
  const again = await fleet.start();
  expect(await audit(again)).toBe('nothing wrong');
  await fleet.stop(again);
});
