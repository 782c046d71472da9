import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { startSignalbox } from '../support/signalbox.ts';

const GOLDEN = join(import.meta.dir, 'golden/metrics.txt');

/** Values that differ from run to run: times, and figures of the process. */
const VARYING = /^(process_\w+|signalbox_\w*(?:_seconds\w*|_info|rss|event_loop|log_lines_total)\w*)(\{[^}]*\})? .*$/gm;

test('the metrics page of a new server equals the golden file, byte for byte', async () => {
  const policy = testPolicy({ first: 'http://127.0.0.1:9' }, { best: { endpoints: ['first'], quality: 0.9 } });
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  try {
    const page = await (await fetch(`${box.url}/metrics`)).text();
    const stable = page.replace(VARYING, '$1$2 …').replace(/\{(version|revision)="[^"]*"\}/g, '{$1="…"}');
    if (process.env.UPDATE) writeFileSync(GOLDEN, stable);
    expect(stable).toBe(readFileSync(GOLDEN, 'utf8'));
  } finally {
    await box.stop();
  }
});
