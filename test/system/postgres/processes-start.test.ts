import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { waitFor } from '../../support/answers.ts';
import { freePort } from '../../support/ports.ts';
import { runHere } from '../../support/run-here.ts';
import { type Signalbox, temporaryFolder } from '../../support/signalbox.ts';
import { type Stage, startStage } from './stage.ts';

/**
 * A server with two processes. The tests leave one free slot for servers in the database, so the second process cannot start. This shows
 * what happens during a start.
 */
let stage: Stage;
let data: string;
let box: Signalbox;
const metricsPort = freePort();

/** The number of servers that one database allows. */
const PLACES = 128;
/** The first slot that the test takes, far from the slots of the processes. */
const FIRST_TAKEN = 1;

const query = (text: string) => stage.fleet.database.run(text, stage.fleet.url.split('/').at(-1));
const takeAllPlacesButOne = () =>
  query(`INSERT INTO instances (slot, epoch, until, ids_through, is_released)
    SELECT slot, 1, ${Date.now() + 3_600_000}, 0, 0 FROM generate_series(${FIRST_TAKEN}, ${PLACES - 1}) AS slot`);
const freePlaces = () => query(`DELETE FROM instances WHERE epoch = 1 AND slot >= ${FIRST_TAKEN}`);
/** Returns the processes that the server has started; none once it has ended. */
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
/** Returns the failed starts of process 2. */
const failures = () => linesWith('"a process could not start and is tried again"').map((line) => JSON.parse(line));
const restart = () => runHere(['restart', '--data', data]);

/** Lets the second process fail to start while the database is away. Returns the process that serves. */
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
  await waitFor(() => linesWith('this server waits for a free slot').length > 0);
});
afterEach(async () => {
  const left = children();
  await stage.fleet.stop(box);
  // Processes that still drain would take the slot of the next test's processes.
  for (const pid of left.filter(isRunning)) process.kill(pid, 'SIGKILL');
  await waitFor(() => !left.some(isRunning), 60_000);
  rmSync(data, { recursive: true, force: true });
});

test('a restart of the database ends no serving process, and a process that could not start is tried again until all serve', async () => {
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

test('a killed process is started again at once while another serves', async () => {
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

test('`signalbox restart` also starts a process that waits for its next try', async () => {
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

test('SIGTERM while a process waits for its next try ends all processes', async () => {
  const first = await failSecondProcess(2);
  const started = linesWith('"a process could not start').length;
  box.signal('SIGTERM');
  expect(await box.exited).toBe(0);
  expect(isRunning(first)).toBe(false);
  expect(linesWith('"a process could not start')).toHaveLength(started);
  await expect(fetch(`${box.url}/healthz`)).rejects.toThrow();
});

test('the end of the parent ends a process that is still starting', async () => {
  const both = children();
  expect(both).toHaveLength(2);
  box.signal('SIGKILL');
  await waitFor(() => !both.some(isRunning), 60_000);
});
