import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mergedPage } from '../../../src/server/processes/metrics-page.ts';
import { effort, isDeep } from '../../deep/effort.ts';
import { eventsOf, waitFor } from '../../support/answers.ts';
import { freePort } from '../../support/ports.ts';
import { connect } from '../../support/raw-http.ts';
import { runHere } from '../../support/run-here.ts';
import { runCommand, type Signalbox, temporaryFolder } from '../../support/signalbox.ts';
import { ask, bookedWell, COST, chat, isReady, type MadeKey, type Stage, startStage } from './stage.ts';
import { type Ending, send } from './storm.ts';
import { evidenceOf, problemsOf } from './verdict.ts';

/** A server with two processes, as its operator runs it. `npm run test:deep -- rolling` replaces them more often, under more load. */
const { runs, proved } = effort('rolling', 1, 10);
const CALLERS = isDeep ? 24 : 6;
/** The pause of a caller between two requests, ms. */
const PAUSE_MS = isDeep ? 0 : 20;
const data = temporaryFolder();
const secret = join(data, 'upstream-key');
const metricsPort = freePort();
let stage: Stage;
let box: Signalbox;

async function start(): Promise<void> {
  const args = ['--processes', '2', '--metrics-port', `${metricsPort}`];
  box = await stage.fleet.start({ data, isProcess: true, args });
  await waitFor(() => box.lines.some((line) => line.includes('"all processes serve"')), 60_000);
}

/** Returns the status of the metrics page for a request with this Host. */
async function metricsBy(host: string): Promise<number> {
  const connection = await connect(`http://127.0.0.1:${metricsPort}`);
  await connection.write(`GET /metrics HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  const { status } = await connection.response();
  connection.close();
  return status;
}
const metrics = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
/** Returns the value of a gauge for each process, by its number. */
const atEach = (page: string, gauge: string) =>
  [...page.matchAll(new RegExp(`^${gauge}\\{instance="(\\d+)"\\} (\\d+)`, 'gm'))].map(
    ([, number, value]) => [Number(number), Number(value)] as const,
  );
const processes = async () => atEach(await metrics(), 'signalbox_instance_slot').map(([number]) => number);
const restart = () => runHere(['restart', '--data', data]);
const query = (text: string) => stage.fleet.database.run(text, stage.fleet.url.split('/').at(-1));
/** A new connection for each request, so that the system may give it to another process. */
const FRESH = { connection: 'close' };

async function keyOf(team: string): Promise<MadeKey> {
  const key = await box.makeKey('--label', `team=${team}`);
  return { id: key.split('_')[2] ?? '', key };
}

beforeAll(async () => {
  writeFileSync(secret, 'the first');
  const env = { TEST_UPSTREAM_KEY_FILE: secret };
  stage = await startStage(0, { limit: 100_000, own: isDeep, env });
  await start();
});
afterEach(() => {
  delete stage.answers.text;
  delete stage.answers.pace;
  stage.gate.open();
});
afterAll(async () => {
  await stage[Symbol.asyncDispose]();
  rmSync(data, { recursive: true, force: true });
});

test('a restart fails no request and cuts no stream, even with tables of a newer version, and reported prices are booked', async () => {
  const key = await keyOf('blue');
  Object.assign(stage.answers, { text: Array.from({ length: 20 }, () => 'piece '), pace: () => Bun.sleep(20) });
  const endings: Ending[] = [];
  let isOver = false;
  let most = 0;
  const caller = async (at: number) => {
    for (; !isOver; await Bun.sleep(PAUSE_MS))
      endings.push(await send(box, key.key, { maxTokens: 5, isStream: at % 3 > 0 }));
  };
  const watch = async () => {
    for (; !isOver; await Bun.sleep(100)) most = Math.max(most, (await processes()).length);
  };
  const load = Promise.all([watch(), ...Array.from({ length: CALLERS }, (_, at) => caller(at))]);
  expect(await processes()).toEqual([1, 2]);
  const listening = box.lines.filter((line) => line.includes('"message":"listening"')).sort();
  expect(listening.map((line) => /"instance":"(\d)"/.exec(line)?.[1]).sort()).toEqual(['1', '2']);
  expect(listening[0]).toMatch(/"database":"postgres:\/\/127\.0\.0\.1:\d+/);
  expect(await (await box.get('/metrics')).text()).toContain('at the --metrics-port of its processes');
  expect(await metricsBy('[::1')).toBe(421);
  for (let run = 0; run < runs; run++) {
    // The tables look as if a newer version had migrated them, which this version may still use.
    if (run === Math.floor(runs / 2))
      await query("INSERT INTO signalbox_schema SELECT max(version) + 1, max(version), '99.0.0' FROM signalbox_schema");
    const { code, out, err } = await restart();
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.split('\n').at(-2)).toBe('All 2 processes are replaced.');
  }
  isOver = true;
  await load;
  // New processes serve before the processes that they replace end.
  expect(most).toBe(3);
  expect(endings.filter(({ status, isCut, told }) => status !== 200 || isCut || told === null)).toEqual([]);
  const told = endings.flatMap((ending) => (ending.told === null ? [] : [ending.told]));
  const problems = problemsOf(await evidenceOf(box, key.id, 'blue', told));
  expect(problems.filter((problem) => !problem.startsWith('only '))).toEqual([]);
  proved(
    `\`signalbox restart\` ${runs} times of 2 processes under load, forth and back: of ${endings.length} requests and streams none failed, each booked as told`,
  );
});

test.if(isDeep)(
  'if a new process cannot start, the restart command says so and the old processes continue',
  async () => {
    await query(
      "INSERT INTO signalbox_schema SELECT max(version) + 1, max(version) + 1, '100.0.0' FROM signalbox_schema",
    );
    const { code, err } = await restart();
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('The other processes keep running.') });
    await query("DELETE FROM signalbox_schema WHERE program = '100.0.0'");
    const key = await keyOf('others');
    for (let at = 0; at < 4; at++) expect(await ask(box, key, {}, FRESH)).toMatchObject({ status: 200 });
    expect(await processes()).toHaveLength(2);
  },
);

test('a data folder has one server: a second server is refused, even next to processes', async () => {
  const env = { DATABASE_URL: stage.fleet.url };
  const [number] = await processes();
  for (const args of [
    ['--data', data],
    ['--data', data, '--processes', '2'],
    ['--data', join(data, 'processes', `${number}`)],
  ]) {
    const { code, err } = await runHere(['serve', '--port', '0', ...args], env);
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('is using the data folder') });
  }
});

test('SIGHUP makes every process read its policy and secrets again', async () => {
  const key = await keyOf('hung up');
  const reloads = () => box.lines.filter((line) => line.includes('"cause":"signal"')).length;
  expect(reloads()).toBe(0);
  box.signal('SIGHUP');
  await waitFor(() => reloads() === 2);
  writeFileSync(secret, 'the second');
  box.signal('SIGHUP');
  const { secrets } = stage.gate;
  await waitFor(async () => {
    const before = secrets.length;
    await Promise.all(Array.from({ length: 12 }, () => ask(box, key, {}, FRESH)));
    return secrets.slice(before).every((one) => one === 'Bearer the second');
  });
});

/** Streams at two processes of a server end while the database is away and report their prices. */
async function outage(key: MadeKey): Promise<number> {
  const { gate, fleet } = stage;
  gate.close();
  const streams: ReturnType<typeof chat>[] = [];
  await waitFor(async () => {
    streams.push(chat(box, key, { stream: true }, FRESH));
    await waitFor(() => gate.inside === streams.length);
    return atEach(await metrics(), 'signalbox_requests_open').every(([, open]) => open > 0);
  });
  await fleet.database.kill();
  await waitFor(async () => !(await isReady(box)));
  gate.open();
  for (const stream of streams) {
    const { chunks, done } = await eventsOf(await stream);
    expect([done, chunks.at(-1)?.platform.credits_consumed]).toEqual([true, COST / 1e6]);
  }
  return streams.length;
}

test.if(isDeep)(
  'prices reported while the database is away are booked once, from the spools of killed processes and of a stopped server',
  async () => {
    const { database, url } = stage.fleet;
    const key = await keyOf('red');
    const children = () => readFileSync(`/proc/${box.pid}/task/${box.pid}/children`, 'utf8').trim().split(' ');
    let told = await outage(key);
    const before = children();
    for (const child of before) process.kill(Number(child), 'SIGKILL');
    await database.start();
    await waitFor(
      async () => (await processes()).length === 2 && children().every((one) => !before.includes(one)),
      60_000,
    );
    expect(await bookedWell(box, 'red')).toBe(told * COST);

    told += await outage(key);
    const numbers = await processes();
    box.signal('SIGTERM');
    expect(await box.exited).toBe(0);
    await expect(fetch(`${box.url}/readyz`)).rejects.toThrow();
    await database.start();
    // Commands on the server's folder report settlements that its processes have left.
    const { err } = await runHere(['ledger', 'audit', '--data', data], { DATABASE_URL: url });
    for (const number of numbers) expect(err).toContain(join(data, 'processes', `${number}`, 'settlements.spool'));
    await stage.fleet.stop(box);
    await start();
    expect(await bookedWell(box, 'red')).toBe(told * COST);
  },
);

test.if(isDeep)(
  'a process waits if the database has no free server slot, and a stop of the server ends this process with all others',
  async () => {
    await query(`INSERT INTO instances (slot, epoch, until, ids_through, is_released)
    SELECT slot, 1, ${Date.now() + 3_600_000}, 0, 0 FROM generate_series(0, 127) AS slot ON CONFLICT (slot) DO NOTHING`);
    const listening = () => box.lines.filter((line) => line.includes('"listening"')).length;
    const before = listening();
    const restarted = restart();
    await waitFor(() => box.lines.some((line) => line.includes('this server waits for a free slot')));
    box.signal('SIGTERM');
    expect(await box.exited).toBe(0);
    expect(await restarted).toMatchObject({ code: 1, out: expect.stringContaining('waits until one is free.') });
    expect(listening()).toBe(before);
  },
);

test('a second signal ends the processes at once and frees their slots', async () => {
  const places = async () => {
    const [row] = await query('SELECT count(*)::int AS taken FROM instances WHERE is_released = 0');
    return row?.taken;
  };
  if (isDeep) {
    await stage.fleet.stop(box);
    await query('DELETE FROM instances WHERE is_released = 0');
    await start();
  }
  expect(await places()).toBe(2);
  box.signal('SIGTERM');
  // Before the parent has handled the first signal, the system merges the second signal into it. After a restart, the processes log that
  // they drain, too.
  await waitFor(() => box.lines.some((line) => line.includes('"draining","signal"')));
  box.signal('SIGTERM');
  expect(await box.exited).toBe(1);
  expect(await places()).toBe(0);
});

test('a metrics port that is in use is refused before any process starts, with the flag to choose another', async () => {
  using taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
  const args = ['--port', `${freePort()}`, '--processes', '2', '--metrics-port', `${taken.port}`];
  const { code, err, out } = await runCommand(['serve', ...args, '--data', join(data, 'other')], {
    DATABASE_URL: stage.fleet.url,
  });
  expect({ code, err, out }).toEqual({
    ...{ code: 1, out: '' },
    err: `signalbox: Cannot listen on 127.0.0.1:${taken.port}: the port is in use; choose another with --metrics-port.\n`,
  });
});

test('SQLite allows one server, and a restart needs a server with processes', async () => {
  const refused = await runHere(['serve', '--processes', '2', '--data', data]);
  expect(refused).toMatchObject({
    code: 1,
    err: expect.stringContaining('only one server can use a SQLite database.'),
  });
  const none = await runHere(['restart', '--data', join(data, 'none')]);
  expect(none).toMatchObject({ code: 1, err: expect.stringContaining('No server with --processes runs on') });
});

test('the metrics page of all processes has each family once, and families of funds from one process', () => {
  const page = (value: number) =>
    `# HELP a_total A.\n# TYPE a_total counter\na_total{x="1"} ${value}\n\n# HELP f F.\n# TYPE f gauge\nf ${value}\n`;
  const pages = [1, 2].map((value) => ({ instance: `${value}`, text: page(value) }));
  expect(mergedPage(pages, (name) => name === 'f')).toBe(
    '# HELP a_total A.\n# TYPE a_total counter\na_total{instance="1",x="1"} 1\na_total{instance="2",x="1"} 2\n\n# HELP f F.\n# TYPE f gauge\nf 1\n',
  );
});
