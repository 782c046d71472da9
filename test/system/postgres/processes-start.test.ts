import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { waitFor } from '../../support/answers.ts';
import { freePort } from '../../support/ports.ts';
import { runHere } from '../../support/run-here.ts';
import { type Signalbox, temporaryFolder } from '../../support/signalbox.ts';
import { type Stage, startStage } from './stage.ts';

/**
 * A server of two processes. The second one cannot start while the tests leave one free place for a server at the database: what
 * happens then happens while it starts.
 */
let stage: Stage;
let data: string;
let box: Signalbox;
const metricsPort = freePort();

/** Servers that a database has places for. */
const PLACES = 128;
/** Far from the places that the processes get. */
const FIRST_TAKEN = 1;

const query = (text: string) => stage.fleet.database.run(text, stage.fleet.url.split('/').at(-1));
const takeAllPlacesButOne = () =>
  query(`INSERT INTO instances (slot, epoch, until, ids_through, is_released)
    SELECT slot, 1, ${Date.now() + 3_600_000}, 0, 0 FROM generate_series(${FIRST_TAKEN}, ${PLACES - 1}) AS slot`);
const freePlaces = () => query(`DELETE FROM instances WHERE epoch = 1 AND slot >= ${FIRST_TAKEN}`);
/** The processes that it has started; none once it has ended. */
function children(): number[] {
  const file = `/proc/${box.pid}/task/${box.pid}/children`;
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split(' ').filter(Boolean).map(Number) : [];
}

function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

const linesWith = (text: string) => box.lines.filter((line) => line.includes(text));
const allServe = () => waitFor(() => linesWith('"all processes serve"').length > 0, 60_000);
/** Tries to start process 2 that failed. */
const failures = () => linesWith('"a process could not start and is tried again"').map((line) => JSON.parse(line));
const restart = () => runHere(['restart', '--data', data]);

/** The process that serves, while another one fails to start at a database that is away. */
async function failSecondProcess(tries: number): Promise<number> {
  const [first = 0] = children();
  await stage.fleet.database.kill();
  await waitFor(() => failures().length >= tries, 60_000);
  return first;
}

beforeAll(async () => {
  stage = await startStage(0, { own: true });
  const { code, err } = await runHere(['db', 'migrate'], { DATABASE_URL: stage.fleet.url });
  expect({ code, err }).toMatchObject({ code: 0 });
});
afterAll(() => stage[Symbol.asyncDispose]());

beforeEach(async () => {
  await stage.fleet.database.start();
  await query('DELETE FROM instances');
  await takeAllPlacesButOne();
  data = temporaryFolder();
  const args = ['--processes', '2', '--metrics-port', `${metricsPort}`];
  box = await stage.fleet.start({ data, isProcess: true, args });
  await waitFor(() => linesWith('the start waits for one').length > 0);
});
afterEach(async () => {
  const left = children();
  await stage.fleet.stop(box);
  // They would take the place of the next test's while they drain.
  for (const pid of left.filter(isRunning)) process.kill(pid, 'SIGKILL');
  await waitFor(() => !left.some(isRunning), 60_000);
  rmSync(data, { recursive: true, force: true });
});

test('A restart of the database ends no process that serves: one that could not start because of it is tried again until all serve', async () => {
  const first = await failSecondProcess(2);
  expect(failures().slice(0, 2)).toMatchObject([
    { process: 2, code: 1, error: expect.stringContaining('Cannot reach the database'), pause_ms: 1_000 },
    { process: 2, code: 1, error: expect.stringContaining('Cannot reach the database'), pause_ms: 2_000 },
  ]);
  expect((await box.get('/healthz')).status).toBe(200);
  expect(await restart()).toMatchObject({ code: 1, err: expect.stringContaining('Cannot reach the database') });
  await stage.fleet.database.start();
  await freePlaces();
  await allServe();
  expect(children()).toHaveLength(2);
  expect(children()).toContain(first);
  expect(linesWith('"draining"')).toEqual([]);
});

test('A process that is killed while another serves is started again at once', async () => {
  await freePlaces();
  await allServe();
  const [first = 0, second = 0] = children();
  process.kill(first, 'SIGKILL');
  await waitFor(() => linesWith('"listening"').length === 3, 60_000);
  expect(JSON.parse(linesWith('"a process has ended and is started again"')[0] ?? '')).toMatchObject({
    ...{ pid: first, code: 137, pause_ms: 0 },
  });
  expect(children()).toContain(second);
  expect(children()).not.toContain(first);
});

test('`signalbox restart` starts a process that pauses with the others', async () => {
  const first = await failSecondProcess(2);
  await stage.fleet.database.start();
  await freePlaces();
  const { code, out } = await restart();
  expect({ code, last: out.split('\n').at(-2) }).toEqual({
    code: 0,
    last: expect.stringMatching(/^All [12] processes are replaced\.$/),
  });
  await allServe();
  await waitFor(() => children().length === 2);
  expect(children()).not.toContain(first);
});

test('SIGTERM while a process pauses ends all, and leaves no process', async () => {
  const first = await failSecondProcess(2);
  const started = linesWith('"a process could not start').length;
  box.signal('SIGTERM');
  expect(await box.exited).toBe(0);
  expect(isRunning(first)).toBe(false);
  expect(linesWith('"a process could not start')).toHaveLength(started);
  await expect(fetch(`${box.url}/healthz`)).rejects.toThrow();
});

test('The end of the parent ends a process that still starts', async () => {
  const both = children();
  expect(both).toHaveLength(2);
  box.signal('SIGKILL');
  await waitFor(() => !both.some(isRunning), 60_000);
});
