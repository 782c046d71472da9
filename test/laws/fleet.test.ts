import { expect, test } from 'bun:test';
import { effort, isDeep, randomFrom } from '../deep/effort.ts';
import { FleetWorld } from './fleet-world.ts';

const { runs: hours, seed, proved } = effort('fleet', 12, 1_000);

const LAW = 'no request fails while an endpoint has room that neither failed it nor was unhealthy or without retries';

test(LAW, () => {
  const report = new FleetWorld(randomFrom(seed)).play(hours);
  expect(report.broken).toEqual([]);
  expect(report.seenFull).toBeGreaterThan(0);
  expect(report.failed).toBeGreaterThan(0);
  expect(report.answered + report.failed).toBe(report.requests);
  const rows = { requests: report.requests, attempts: report.attempts, failed: report.failed, full: report.seenFull };
  const table = [
    '| figure | count |',
    '| --- | --- |',
    ...Object.entries(rows).map(([name, count]) => `| ${name} | ${count} |`),
  ];
  const law = 'none while a healthy endpoint with room was untried';
  proved(`of ${report.requests} requests ${report.failed} failed, ${law}`, table.join('\n'));
});

test.each(['stops at the first full or paused endpoint', 'ignores the limits of endpoints'] as const)(
  'the laws of a fleet reject a gateway that %s',
  (mutant) => {
    expect(new FleetWorld(randomFrom(seed), mutant).play(isDeep ? 24 : 2).broken).not.toEqual([]);
  },
);
