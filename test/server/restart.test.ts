import { afterAll, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { openDoor, restartAt } from '../../src/server/processes/control.ts';
import { Fleet } from '../../src/server/processes/fleet.ts';
import type { MessageToChild, MessageToParent } from '../../src/server/processes/messages.ts';
import { waitFor } from '../support/answers.ts';
import { HandTimers } from '../support/hand-timers.ts';
import { temporaryFolder } from '../support/signalbox.ts';

/**
 * A process as its parent sees it. The process sends the messages that a test chooses, and ends when it is told to leave, unless it drains.
 */
class FakeProcess {
  readonly pid: number;
  readonly exited: Promise<number>;
  isDraining = false;
  hasEnded = false;
  readonly say: (message: MessageToParent) => void;
  #end!: (code: number) => void;

  constructor(number: number, say: (message: MessageToParent) => void) {
    this.pid = 1000 + number;
    this.say = say;
    this.exited = new Promise((resolve) => {
      this.#end = (code) => {
        this.hasEnded = true;
        resolve(code);
      };
    });
  }

  readonly serve = () => this.say({ kind: 'serving', address: 'http://127.0.0.1:1' });
  readonly send = ({ kind }: MessageToChild) => {
    if ((kind === 'leave' || kind === 'stop') && !this.isDraining) this.#end(0);
  };
  readonly kill = () => this.fail(137);
  readonly problem = () => 'It cannot reach its database.';
  readonly fail = (code = 1) => this.#end(code);
}

const home = temporaryFolder();
mkdirSync(join(home, 'processes'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/**
 * Makes a fleet of processes, and records what it logs and what its next processes do when they start. @param begin what the first
 * processes do
 */
function makeFleet(parts: Partial<ConstructorParameters<typeof Fleet>[0]> = {}) {
  const started: FakeProcess[] = [];
  const logged: object[] = [];
  const log = {
    info() {},
    warn() {},
    error: (message: string, fields: object = {}) => logged.push({ message, ...fields }),
  };
  let begin = (process: FakeProcess) => process.serve();
  let canStart = (_number: number) => true;
  const fleet = new Fleet({
    ...{
      count: 1,
      drainMs: 0,
      waiting: async () => [],
      isTaken: () => false,
      clock: () => 0,
      timers: processTimers,
      log,
    },
    start(number, onMessage) {
      if (!canStart(number)) throw new Error('there is no memory for it');
      const process = new FakeProcess(number, onMessage);
      started.push(process);
      queueMicrotask(() => begin(process));
      return process;
    },
    ...parts,
  });
  /** The numbers of the running processes, in the order of their starts. */
  const running = () => started.filter(({ hasEnded }) => !hasEnded).map(({ pid }) => pid - 1000);
  return {
    ...{ fleet, started, logged, running },
    next: (does: typeof begin) => (begin = does),
    allow: (can: typeof canStart) => (canStart = can),
  };
}

async function startFleet(parts: Parameters<typeof makeFleet>[0] = {}) {
  const made = makeFleet(parts);
  await made.fleet.start();
  return made;
}

/** Starts a fleet of two whose second process cannot start, with timers that the test fires. */
async function startHalf() {
  const timers = new HandTimers();
  const made = makeFleet({ count: 2, timers });
  made.next((process) => (process.pid === 1001 ? process.serve() : process.fail()));
  await made.fleet.start();
  await waitFor(() => made.logged.length === 1);
  return { ...made, timers };
}

test('a restart reports at once that its new process waits for a place at the database, and replaces the old process once it has one', async () => {
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

test('a process that waits for a place ends together with its restart command, and the next restart starts from the beginning', async () => {
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

test('processes do not use data folders that processes of a killed parent still use', async () => {
  const { started } = await startFleet({ count: 2, waiting: async () => [2, 3], isTaken: (number) => number < 3 });
  expect(started.map(({ pid }) => pid)).toEqual([1003, 1004]);
});

test('a process that cannot start is tried again while another serves, with pauses that double up to 30 s', async () => {
  const { timers, logged, running, next, fleet } = await startHalf();
  for (let tries = 2; tries <= 7; tries++) {
    timers.fire();
    await waitFor(() => logged.length === tries);
  }
  expect(logged.map((line) => Reflect.get(line, 'pause_ms'))).toEqual([1, 2, 4, 8, 16, 30, 30].map((s) => s * 1_000));
  expect(logged[0]).toMatchObject({
    message: 'a process could not start and is tried again',
    ...{ process: 2, pid: 1002, code: 1, error: 'It cannot reach its database.' },
  });
  next((process) => process.serve());
  timers.fire();
  await fleet.allServe;
  expect(running()).toEqual([1, 2]);
});

test('the server ends if its first process cannot start', async () => {
  const { fleet, started, next, running } = makeFleet({ count: 2 });
  next((process) => process.fail());
  await expect(fleet.start()).rejects.toThrow('A process could not start.');
  expect([started.length, running()]).toEqual([1, []]);
});

test('a process that the operating system refuses to start counts as a process that could not start', async () => {
  const { fleet, logged, allow } = makeFleet({ count: 2, timers: new HandTimers() });
  allow(() => false);
  await expect(fleet.start()).rejects.toThrow('A process could not start: there is no memory for it.');
  allow((number) => number === 1);
  await fleet.start();
  await waitFor(() => logged.length === 1);
  expect(logged[0]).toMatchObject({ process: 2, pid: null, error: 'there is no memory for it', pause_ms: 1_000 });
});

test('a stop during a pause does not wait for the pause, and starts no more processes', async () => {
  const { fleet, timers, started } = await startHalf();
  expect(await fleet.stop()).toBe(0);
  timers.fire();
  expect(started.length).toBe(2);
});

test('a restart during a pause starts the process at once, instead of waiting for its next try', async () => {
  const { fleet, timers, next, running } = await startHalf();
  next((process) => process.serve());
  expect(await Array.fromAsync(fleet.restart())).toEqual([
    'Process 2 had ended and serves again.',
    'Process 1 is replaced by process 3.',
    'All 2 processes are replaced.',
  ]);
  timers.fire();
  await fleet.allServe;
  expect(running()).toEqual([2, 3]);
});

test('if a restarted process fails again during a pause, the restart says why, and the pauses keep growing', async () => {
  const { fleet, logged, running } = await startHalf();
  await expect(Array.fromAsync(fleet.restart())).rejects.toThrow(
    'The new process could not start: It cannot reach its database. The other processes keep running.',
  );
  await waitFor(() => logged.length === 2);
  expect(logged[1]).toMatchObject({ process: 2, pause_ms: 2_000 });
  expect(running()).toEqual([1]);
});

test('if a process ends while its successor starts, there is no process too many', async () => {
  const { fleet, started, next, running } = await startFleet();
  next((process) => process.pid === 1001 && process.serve());
  const told = Array.fromAsync(fleet.restart());
  await waitFor(() => started.length === 2);
  started[0]?.fail();
  await waitFor(() => started.length === 3);
  started[1]?.serve();
  expect(await told).toEqual(['Process 1 is replaced by process 2.', 'All 1 processes are replaced.']);
  expect(running()).toEqual([2]);
});

test('a stop while a replaced process drains starts no more successors', async () => {
  const { fleet, started, running } = await startFleet({ count: 2 });
  await fleet.allServe;
  const [old] = started;
  if (old) old.isDraining = true;
  const told = Array.fromAsync(fleet.restart()).catch((error: Error) => error.message);
  await waitFor(() => running().includes(3));
  const stopped = fleet.stop();
  old?.fail(0);
  expect([await stopped, await told]).toEqual([0, 'The server is stopping.']);
  expect([running(), started.length]).toEqual([[], 3]);
});
