import { afterEach, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { audit } from '../../crash/audit.ts';
import { DISKS, type Disk } from '../../crash/disks.ts';
import { readBeside } from '../../crash/journal.ts';
import { newSent, type Sent, send } from '../../crash/load.ts';
import { startUpstreams, type Upstreams } from '../../crash/upstreams.ts';
import { orDeeply } from '../../deep/deeply.ts';
import { answerOf, eventsOf, waitFor } from '../../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { type Signalbox, startSignalbox, temporaryFolder } from '../../support/signalbox.ts';

/** The time limit for refusals of requests, ends of streams and pending writes, ms. */
const PATIENCE_MS = 8_000;
/** Pause between two chunks of answers that run while the disk is full, ms. */
const SLOW_MS = 80;

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function start(disk?: Disk): Promise<{ box: Signalbox; upstreams: Upstreams }> {
  const data = temporaryFolder();
  cleanUps.push(() => rmSync(data, { recursive: true, force: true }));
  if (disk) {
    disk.mount(data);
    cleanUps.push(() => disk.unmount(data));
  }
  const upstreams = startUpstreams();
  cleanUps.push(() => upstreams.stop());
  const policy = testPolicy(upstreams.urls, { best: { endpoints: ['first', 'second'] } });
  const box = await startSignalbox({ isProcess: true, data, policy, env: UPSTREAM_ENV });
  cleanUps.push(() => box.stop());
  return { box, upstreams };
}

/** Requests that do not fail over. */
const ofNumbers = (from: number, count: number): Sent[] =>
  Array.from({ length: 2 * count }, (_, at) => from + at)
    .filter((request) => request % 4 !== 0)
    .slice(0, count)
    .map(newSent);

const sendAll = (box: Signalbox, all: readonly Sent[]): Promise<unknown> =>
  Promise.all(all.map((one) => send(box.url, box.key, one)));

const failures = ({ lines }: Signalbox): string[] => lines.filter((line) => line.includes('the database failed'));

describe('a full disk', () => {
  for (const { name, disk, possible } of orDeeply(DISKS.slice(0, 1), DISKS.slice(1))) {
    test.skipIf(!possible)(
      `the server refuses requests that cost money, ends and books running ones, and recovers without a restart: ${name}`,
      async () => {
        const { box, upstreams } = await start(disk);
        upstreams.pace(SLOW_MS);
        const running = ofNumbers(1, 9);
        // These requests fail over while the disk is full, and the cost of the second provider cannot be reserved.
        const stumbling = [newSent(12), newSent(24)];
        const all = [...running, ...stumbling];
        const ended = sendAll(box, all);
        await waitFor(() => upstreams.calls === all.length, PATIENCE_MS);
        disk.fill(box);
        const calls = upstreams.calls;
        for (let round = 0; round < 4; round++) await expectRefused(box);
        expect(upstreams.calls).toBe(calls);
        await ended;
        // Send one more request while settlements wait to be written.
        await expectRefused(box);
        // If not even the spool can be written, the answer comes without a price.
        const isTold = disk.takesOwnBlocks;
        expect(running.map(({ status, told }) => [status, told !== null])).toEqual(running.map(() => [200, isTold]));
        expect(stumbling.map(({ status, told }) => [status, told])).toEqual(
          stumbling.map(({ request }) => [502, isTold ? upstreams.billed(request) : null]),
        );
        expect(readBeside(box.data).open.length).toBe(all.length);
        expect(upstreams.calls).toBe(calls);
        expect(await waitFor(() => failures(box).length)).toBe(1);

        disk.free(box);
        upstreams.pace(0);
        const later = ofNumbers(100, 6);
        await sendAll(box, later);
        expect(later.map(({ status }) => status)).toEqual(later.map(() => 200));
        await waitFor(() => readBeside(box.data).open.length === 0, PATIENCE_MS);
        const { problems } = audit([...all, ...later], readBeside(box.data), new Set(), upstreams);
        expect(problems).toEqual([]);
        expect(failures(box).length).toBe(1);
      },
    );
  }

  /** Checks that the server refuses requests that cost money for now, and answers all others. */
  async function expectRefused(box: Signalbox): Promise<void> {
    const messages = [{ role: 'user', content: 'This is request 999.' }];
    for (const stream of [false, true]) {
      const refused = await box.post('/v1/chat/completions', { model: 'auto', messages, stream });
      expect(refused.status).toBe(503);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await answerOf(refused)).error.code).toBe('overloaded');
    }
    expect((await box.post('/v1/route', { task_type: 'coding' })).status).toBe(200);
    expect((await box.get('/healthz')).status).toBe(200);
  }
});

describe.skipIf(!DISKS[0]!.possible)('on a disk where not even the spool can be written', () => {
  test('an answer is complete but without a price, and the stop reports that its settlement is not stored', async () => {
    const { disk } = DISKS[0]!;
    const { box, upstreams } = await start(disk);
    upstreams.pace(SLOW_MS);
    const ask = (number: number, stream: boolean) =>
      box.post('/v1/chat/completions', {
        model: 'auto',
        max_tokens: 60,
        stream,
        messages: [{ role: 'user', content: `This is request ${number}.` }],
      });
    const json = ask(1, false);
    const stream = ask(2, true);
    await waitFor(() => upstreams.calls === 2, PATIENCE_MS);
    disk.fill(box);
    const response = await json;
    const answer = await answerOf(response);
    expect(response.status).toBe(200);
    expect(answer.choices[0]!.message.content).toStartWith('word0 ');
    expect(answer.platform).toMatchObject({ credits_consumed: null, cost_saved_credits: null, estimated: false });
    expect(response.headers.has('x-signalbox-credits')).toBe(false);
    const { chunks, done } = await eventsOf(await stream);
    expect(done).toBe(true);
    expect(chunks.find(({ platform }) => platform)?.platform).toMatchObject({ credits_consumed: null });
    box.signal('SIGTERM');
    expect({ code: await box.exited, errors: await box.errors }).toEqual({ code: 1, errors: '' });
    const last = box.lines.filter((line) => line.includes('stopped, and some settlements are lost'));
    expect(last).toHaveLength(1);
    expect(last[0]).toContain('"writes_lost":');
  });
});

describe('a database that another process keeps locked', () => {
  const HOLD = `
    const { Database } = require('bun:sqlite');
    const db = new Database(process.argv[1]);
    db.run('PRAGMA busy_timeout = 5000');
    db.run('BEGIN IMMEDIATE');
    console.log('locked');
    await Bun.sleep(2500);
    db.run('ROLLBACK');
  `;

  test('requests wait or get 503, nothing else fails, and afterwards all works as before', async () => {
    const { box, upstreams } = await start();
    const file = join(box.data, 'signalbox.db');
    const holder = Bun.spawn([process.execPath, '-e', HOLD, file], { stdout: 'pipe', stderr: 'inherit' });
    cleanUps.push(() => holder.kill('SIGKILL'));
    const locked = await holder.stdout.getReader().read();
    expect(new TextDecoder().decode(locked.value)).toBe('locked\n');

    const all: Sent[] = [];
    const statuses = new Set<number | null>();
    while (holder.exitCode === null) {
      const some = ofNumbers(1 + all.length * 2, 4);
      all.push(...some);
      await sendAll(box, some);
      for (const { status, retryAfter } of some) {
        statuses.add(status);
        if (status === 503) expect(Number(retryAfter)).toBeGreaterThan(0);
      }
    }
    expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    expect(statuses.has(503)).toBe(true);

    const later = ofNumbers(10_000, 6);
    await sendAll(box, later);
    expect(later.map(({ status }) => status)).toEqual(later.map(() => 200));
    await waitFor(() => readBeside(box.data).open.length === 0, PATIENCE_MS);
    expect(audit([...all, ...later], readBeside(box.data), new Set(), upstreams).problems).toEqual([]);
  });
});
