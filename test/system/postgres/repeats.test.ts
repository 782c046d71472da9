import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { newKey } from '../../http/replay-support.ts';
import { waitFor } from '../../support/answers.ts';
import { readPage, total } from '../../support/prometheus.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { audit, booked, COST, chat, makeKey, type Stage, startStage } from './stage.ts';

/** Two servers sharing one PostgreSQL database, with a policy under which repeats wait. */
let stage: Stage;
let here: Signalbox;
let there: Signalbox;
let failing = 0;
beforeAll(async () => {
  stage = await startStage(0);
  stage.answers.fails = () => failing-- > 0;
  here = await stage.fleet.start();
  there = await stage.fleet.start();
  stage.gate.close();
});
afterEach(() => {
  failing = 0;
  stage.gate.close();
});
afterAll(() => stage[Symbol.asyncDispose]());

const until = (box: Signalbox, open: number) =>
  waitFor(async () => {
    const page = readPage(await (await fetch(`${box.url}/metrics`)).text());
    return total(page, 'signalbox_requests_open') === open;
  });

/** Sends a request to the first server, then equal requests to both servers, and resolves once the repeats wait. */
async function crowd(team: string) {
  const key = await makeKey(stage, team);
  const id = { 'idempotency-key': newKey() };
  const first = chat(here, key, {}, id);
  await waitFor(() => stage.gate.inside === 1);
  const repeats = [here, there, there].map((box) => chat(box, key, {}, id));
  await until(here, 2);
  await until(there, 2);
  return { first, repeats };
}

test('repeats of a request on both servers wait for its run on one server, and get the stored answer: one call, one charge', async () => {
  const { first, repeats } = await crowd('waits');
  stage.gate.release();
  const answers = await Promise.all([first, ...repeats]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(new Set(await Promise.all(answers.map((one) => one.text()))).size).toBe(1);
  expect(stage.gate.requests).toHaveLength(1);
  expect(await booked(there, 'waits')).toBe(COST);
});

test('after a run without a charge, one of the repeats on both servers runs and all other repeats get its answer', async () => {
  const { first, repeats } = await crowd('free');
  failing = 1;
  stage.gate.release();
  expect((await first).status).toBe(502);
  await waitFor(() => stage.gate.inside === 1);
  stage.gate.release();
  expect((await Promise.all(repeats)).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect([stage.gate.requests.length, stage.gate.most]).toEqual([2, 1]);
  expect(await booked(there, 'free')).toBe(COST);
  expect(await audit(here)).toBe('nothing wrong');
});

test('equal requests that reach both servers at once cause a single call, and both requests get its answer', async () => {
  const key = await makeKey(stage, 'once');
  const id = { 'idempotency-key': newKey() };
  const both = [here, there].map((box) => chat(box, key, {}, id));
  await waitFor(() => stage.gate.inside === 1);
  await until(here, 1);
  await until(there, 1);
  stage.gate.release();
  const answers = await Promise.all(both);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(new Set(await Promise.all(answers.map((one) => one.text()))).size).toBe(1);
  expect(stage.gate.requests).toHaveLength(1);
  expect(await booked(here, 'once')).toBe(COST);
});
