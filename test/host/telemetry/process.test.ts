import { afterAll, describe, expect, test } from 'bun:test';
import { closeSync, openSync } from 'node:fs';
import { metricsPage } from '../../../src/host/telemetry/page.ts';
import { watchProcess } from '../../../src/host/telemetry/process.ts';
import { waitFor } from '../../support/answers.ts';
import { readPage, total } from '../../support/prometheus.ts';

const watched = watchProcess();
const page = metricsPage(watched.families);
const figure = async (name: string) => total(readPage(await page()), name)!;
const LAG = 'signalbox_event_loop_lag_seconds';

afterAll(() => watched.stop());

function busyFor(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

describe('the metrics of a process', () => {
  test('the metrics have the memory, CPU time and start time of the process', async () => {
    expect(await figure('process_resident_memory_bytes')).toBeWithin(10e6, 10e9);
    expect(await figure('process_heap_bytes')).toBeWithin(100e3, 10e9);
    expect(await figure('process_start_time_seconds')).toBeWithin(Date.now() / 1000 - 3_600, Date.now() / 1000 + 1);
    const before = await figure('process_cpu_seconds_total');
    // The loop may take long, because a busy machine gives this process little CPU time.
    for (const end = performance.now() + 10_000; performance.now() < end; ) {
      busyFor(100);
      if ((await figure('process_cpu_seconds_total')) - before > 0.02) break;
    }
    expect((await figure('process_cpu_seconds_total')) - before).toBeWithin(0.02, 2);
  });

  test('the metrics have the open files if the system reports them', async () => {
    if (process.platform !== 'linux') return;
    const before = await figure('process_open_fds');
    const files = Array.from({ length: 20 }, () => openSync('/dev/null', 'r'));
    expect((await figure('process_open_fds')) - before).toBeWithin(15, 26);
    for (const file of files) closeSync(file);
    expect(await figure('process_max_fds')).toBeGreaterThan(20);
  });

  test('the metrics have the lag of the event loop', async () => {
    const late = async () => (await figure(`${LAG}_sum`)) ?? 0;
    await waitFor(async () => (await figure(`${LAG}_count`)) > 0);
    const before = await late();
    busyFor(500);
    await waitFor(async () => (await late()) - before > 0.3);
  });
});
