import { expect, test } from 'bun:test';
import type { InstanceReport } from '../../../src/store/instance-reports.ts';
import type { TestedStore } from '../implementations.ts';

export const report = (slot: number, more: Partial<InstanceReport> = {}): InstanceReport => ({
  ...{ slot, epoch: 1, name: `host:${slot}`, version: '1.0.0', follows: 'files', revision: 'aaaa000000000000' },
  ...{ since: 1_800_000_000_000, rank: 3, error: null, pushed: null, judged: null, refusal: null },
  ...{ judgedRevision: null, seen: 0, clockOffsetMs: -12 },
  ...more,
});

/** The guarantees of every table of instance reports. */
export function instanceReportSuite(open: () => Promise<TestedStore>): void {
  test('the store keeps only the latest report of an instance slot', async () => {
    await using store = await open();
    const { instanceReports: table } = store;
    await store.commit([table.put(report(3)), table.put(report(0, { error: 'why', rank: 0 }))]);
    const next = report(3, {
      ...{ epoch: 2, follows: 'store', revision: 'bbbb000000000000', pushed: 7, judged: 8, refusal: 'no plugin' },
      ...{ judgedRevision: 'cccc000000000000', seen: 9, clockOffsetMs: 40 },
    });
    await store.commit([table.put(next)]);
    expect(await table.all()).toEqual([report(0, { error: 'why', rank: 0 }), next]);
  });
}
