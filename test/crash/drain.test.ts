import { afterAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { waitFor } from '../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { makeTestKey, startSignalbox, temporaryFolder } from '../support/signalbox.ts';
import { readCopy } from './journal.ts';
import { startLoad } from './load.ts';
import { startUpstreams } from './upstreams.ts';

const data = temporaryFolder();
const upstreams = startUpstreams();

afterAll(async () => {
  await upstreams.stop();
  rmSync(data, { recursive: true, force: true });
});

test('SIGTERM under load leaves no open hold and writes all sums, so the next start has nothing to close', async () => {
  const policy = testPolicy(upstreams.urls, { best: { endpoints: ['first', 'second'] } });
  const env = { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: makeTestKey() };
  const box = await startSignalbox({ policy, env, data, args: ['--drain-ms', '150'] });
  let requests = 0;
  // Streams of 3 to 7 chunks: some end in time, and some are cut off.
  upstreams.pace(50);
  const load = startLoad({ url: box.url, keys: Array(24).fill(box.key), next: () => ++requests });
  await waitFor(() => load.sent.filter(({ told }) => told !== null).length >= 10);
  box.signal('SIGTERM');
  expect(await box.exited).toBe(0);
  load.stop();
  await load.done;
  await box.stop();
  expect(box.lines.some((line) => line.includes('requests were cut off by the shutdown'))).toBe(true);

  const left = readCopy(data);
  expect(left.problems).toEqual([]);
  expect(left.open).toEqual([]);
  expect(left.through).toBe(left.last);
  const told = load.sent.filter((one) => one.told !== null);
  expect(told.map(({ reservation }) => left.reservations.get(reservation ?? 0)?.charged ?? null)).toEqual(
    told.map((one) => one.told),
  );

  const again = await startSignalbox({ policy, env, data });
  expect(again.lines.join('\n')).not.toContain('earlier run');
  expect(readCopy(data).last).toBe(left.last);
  await again.stop();
});
