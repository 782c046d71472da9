import { afterEach, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { byMount, mayMount } from '../../crash/disks.ts';
import { bookedBy, makeSmallDisk, type SmallDisk } from '../../crash/full-disk.ts';
import { readBeside } from '../../crash/journal.ts';
import { newSent, send } from '../../crash/load.ts';
import { orDeeply } from '../../deep/deeply.ts';
import { answerOf, quietFor, waitFor } from '../../support/answers.ts';
import { PROGRAM, runToEnd, type Signalbox } from '../../support/signalbox.ts';

const PATIENCE_MS = 8_000;
/** Without every fourth request, which would fail over: on a full disk, the second provider cannot be paid. */
const REQUESTS = [1, 2, 3, 5, 6, 7, 9, 10];

const disks: SmallDisk[] = [];

afterEach(async () => {
  for (const disk of disks.splice(0)) await disk.stop();
});

function makeDisk(): SmallDisk {
  const disk = makeSmallDisk();
  disks.push(disk);
  return disk;
}

const spoolIn = ({ data }: SmallDisk): string => join(data, 'settlements.spool');
/** Remove the time of the report, which differs. */
const usageOf = async (box: Signalbox): Promise<string> =>
  (await (await box.get('/v1/usage')).text()).replace(/"counted_until":"[^"]*"/, '');
const isReady = async (box: Signalbox): Promise<number> => (await fetch(`${box.url}/readyz`)).status;

/** Returns answers that end while the disk is full, each with its price. */
async function answeredOnFullDisk(disk: SmallDisk, box: Signalbox): Promise<void> {
  const { upstreams } = disk;
  upstreams.pace(60);
  const sent = REQUESTS.map(newSent);
  const before = upstreams.calls;
  const ended = Promise.all(sent.map((one) => send(box.url, box.key, one)));
  await waitFor(() => upstreams.calls === before + sent.length, PATIENCE_MS);
  byMount.fill(box);
  await ended;
  expect(sent.map(({ told }) => told)).toEqual(sent.map(({ request }) => upstreams.billed(request)));
}

describe.skipIf(!mayMount)('prices that were reported on a full disk', () => {
  for (const end of orDeeply<'SIGTERM' | 'SIGKILL'>(['SIGKILL'], ['SIGTERM'])) {
    test(`the next start books them once, after ${end}`, async () => {
      const disk = makeDisk();
      const box = await disk.start();
      await answeredOnFullDisk(disk, box);
      const usage = await usageOf(box);
      expect(readBeside(box.data).open.length).toBe(REQUESTS.length);
      box.signal(end);
      const code = await box.exited;
      if (end === 'SIGTERM') {
        expect({ code, errors: await box.errors }).toEqual({ code: 0, errors: '' });
        expect(box.lines.filter((line) => line.includes('"settlements_in_spool":8'))).toHaveLength(1);
      }
      byMount.free(box);
      // Commands that read the folder without a server report settlements that the database lacks.
      const command = end === 'SIGTERM' ? ['audit'] : ['backup', join(disk.data, 'copy.db')];
      const reported = await box.run('ledger', ...command);
      expect(reported.code).toBe(0);
      expect(reported.err).toContain(`8 settlements are in ${spoolIn(disk)}`);

      const next = await disk.start(false);
      expect(bookedBy(next)).toBe(REQUESTS.length);
      expect(await usageOf(next)).toEqual(usage);
      const audited = await next.run('ledger', 'audit', '--idle');
      expect(audited).toMatchObject({ code: 0, err: '' });
      expect(audited.out).toContain('nothing wrong');
      await next.stop();
      const last = await disk.start(false);
      expect(bookedBy(last)).toBe(0);
      expect(await usageOf(last)).toEqual(usage);
    });
  }

  test('the server books them without a restart once there is room, and no later start books them again', async () => {
    const disk = makeDisk();
    const box = await disk.start();
    await answeredOnFullDisk(disk, box);
    const usage = await usageOf(box);
    byMount.free(box);
    await waitFor(() => readBeside(box.data).open.length === 0, PATIENCE_MS);
    box.signal('SIGKILL');
    await box.exited;
    expect((await box.run('ledger', 'audit', '--idle')).code).toBe(0);
    const next = await disk.start(false);
    expect(bookedBy(next)).toBe(0);
    expect(await usageOf(next)).toEqual(usage);
  });
});

test.skipIf(!mayMount)(
  'while the disk is full, a server is not ready even without requests, and changes of keys get 503, which is not logged as a defect',
  async () => {
    const disk = makeDisk();
    const box = await disk.start(false);
    const made = (await (await box.post('/admin/keys', { name: 'one' })).json()) as { id: string };
    expect(await isReady(box)).toBe(200);
    byMount.fill(box);
    for (const [path, body] of [
      ['', { name: 'two' }],
      [`/${made.id}/rotate`, {}],
      [`/${made.id}/grant`, { credits: 1 }],
      [`/${made.id}/revoke`, {}],
    ] as const) {
      const refused = await box.post(`/admin/keys${path}`, body);
      expect([path, refused.status, (await answerOf(refused)).error.code]).toEqual([path, 503, 'overloaded']);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    const messages = [{ role: 'user', content: 'x' }];
    expect((await box.post('/v1/chat/completions', { model: 'auto', messages })).status).toBe(503);
    const readiness = await fetch(`${box.url}/readyz`);
    expect([readiness.status, await readiness.json()]).toMatchObject([503, { status: 'unwritable' }]);
    await quietFor(1_500, 'a ready server, after a look at the disk each second', async () => {
      return (await isReady(box)) !== 503;
    });
    byMount.free(box);
    await waitFor(async () => (await isReady(box)) === 200, PATIENCE_MS);
  },
);

describe.skipIf(!mayMount)('a start', () => {
  test('a start refuses a damaged spool, or a spool of another database, in one line, and does not change it', async () => {
    const disk = makeDisk();
    const box = await disk.start();
    await answeredOnFullDisk(disk, box);
    box.signal('SIGKILL');
    await box.exited;
    byMount.free(box);
    const refusal = async (of: SmallDisk, spool: Buffer): Promise<string> => {
      writeFileSync(spoolIn(of), spool);
      const { code, err } = await runToEnd([PROGRAM, 'serve', '--port', '0', '--data', of.data], {});
      expect([code, err.trim().split('\n').length]).toEqual([1, 1]);
      expect(readFileSync(spoolIn(of)).equals(spool)).toBe(true);
      return err;
    };
    const whole = readFileSync(spoolIn(disk));
    const damaged = Buffer.from(whole);
    damaged[8] = damaged[8]! ^ 1;
    expect(await refusal(disk, damaged)).toContain('settlements.spool: its header is damaged');
    writeFileSync(spoolIn(disk), whole);
    const other = makeDisk();
    await (await other.start(false)).stop();
    expect(await refusal(other, whole)).toContain(
      'does not belong to this database, because it contains a settlement of dec_',
    );
    expect(bookedBy(await disk.start(false))).toBe(REQUESTS.length);
  });
});
