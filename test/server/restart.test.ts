import { afterAll, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openDoor, restartAt } from '../../src/server/processes/control.ts';
import { Fleet } from '../../src/server/processes/fleet.ts';
import type { MessageToChild, MessageToParent } from '../../src/server/processes/messages.ts';
import { processTimers } from '../../src/telemetry/process-timers.ts';
import { waitFor } from '../support/answers.ts';
import { temporaryFolder } from '../support/signalbox.ts';

/** A process as its parent sees it: it says what a test has it say, and ends when it is asked to leave. */
class FakeProcess {
  readonly pid: number;
  readonly exited: Promise<number>;
  readonly say: (message: MessageToParent) => void;
  #end!: (code: number) => void;

  constructor(number: number, say: (message: MessageToParent) => void) {
    this.pid = 1000 + number;
    this.say = say;
    this.exited = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  readonly serve = () => this.say({ kind: 'serving', address: 'http://127.0.0.1:1' });
  readonly send = ({ kind }: MessageToChild) => {
    if (kind === 'leave' || kind === 'stop') this.#end(0);
  };
  readonly kill = () => this.#end(137);
}

const home = temporaryFolder();
mkdirSync(join(home, 'processes'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** A fleet, and what its next processes do when they begin. */
async function startFleet(parts: Partial<ConstructorParameters<typeof Fleet>[0]> = {}) {
  const started: FakeProcess[] = [];
  let begin = (process: FakeProcess) => process.serve();
  const fleet = new Fleet({
    ...{ count: 1, drainMs: 0, waiting: async () => [], isTaken: () => false, clock: () => 0, timers: processTimers },
    log: { info() {}, warn() {}, error() {} },
    start(number, onMessage) {
      const process = new FakeProcess(number, onMessage);
      started.push(process);
      queueMicrotask(() => begin(process));
      return process;
    },
    ...parts,
  });
  await fleet.start();
  return { fleet, started, next: (does: typeof begin) => (begin = does) };
}

test('A restart says at once that its new process waits for a place at the database, and replaces once it has one', async () => {
  const { fleet, started, next } = await startFleet();
  const close = await openDoor(home, () => fleet.restart());
  next((process) => process.say({ kind: 'waiting' }));
  const told = restartAt(home);
  expect((await told.next()).value).toBe(
    'All places for servers at the database are taken: process 2 waits until one is free.',
  );
  const rest = Array.fromAsync(told);
  started[1]?.serve();
  expect(await rest).toEqual(['Process 1 is replaced by process 2.', 'All 1 processes are replaced.']);
  close();
});

test('A process that waits for a place ends with the command that waits for it, and the next restart begins anew', async () => {
  const { fleet, started, next } = await startFleet();
  const close = await openDoor(home, (left) => fleet.restart(left));
  next((process) => process.say({ kind: 'waiting' }));
  const { port, token } = JSON.parse(readFileSync(join(home, 'processes', 'parent.json'), 'utf8'));
  const command = new AbortController();
  const answer = await fetch(`http://127.0.0.1:${port}/restart`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    signal: command.signal,
  });
  await answer.body?.getReader().read();
  command.abort();
  expect(await started[1]?.exited).toBe(137);
  next((process) => process.serve());
  await waitFor(async () => (await Array.fromAsync(restartAt(home)).catch(() => [])).length === 2);
  expect(await started[0]?.exited).toBe(0);
  close();
});

test('Processes leave out the folders that others have, which a killed parent has left behind', async () => {
  const { started } = await startFleet({ count: 2, waiting: async () => [2, 3], isTaken: (number) => number < 3 });
  expect(started.map(({ pid }) => pid)).toEqual([1003, 1004]);
});
