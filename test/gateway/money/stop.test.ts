import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { waitFor } from '../../support/answers.ts';
import { UPSTREAM_ENV } from '../../support/policies.ts';
import { startSignalbox, temporaryFolder } from '../../support/signalbox.ts';
import { entriesOf } from './books.ts';
import { type Gate, startGate } from './gate.ts';
import { hello, pursePolicy, tokens } from './purse.ts';

let gate: Gate;
let data: string;
beforeAll(() => {
  gate = startGate({ usageOf: () => tokens(1, 1) });
  data = temporaryFolder();
});
afterAll(async () => {
  await gate.stop();
  rmSync(data, { recursive: true });
});

const WAITING = 40;

test('a server that stops answers all requests that wait for money, and leaves no hold open', async () => {
  const policy = `${pursePolicy(gate.url, 20_000)}budgets: [{ name: all, limit_credits: 0.86, window: total }]\n`;
  const box = await startSignalbox({ data, policy, env: UPSTREAM_ENV, args: ['--drain-ms', '10000'] });
  gate.close();
  // The money is enough for one request at a time, and each request uses 5 of its 442 thousandths of a Credit.
  const answers = Array.from({ length: WAITING }, () =>
    box.post('/v1/chat/completions', { model: 'best', messages: hello, max_tokens: 100 }).then(
      ({ status }) => status,
      () => 'cut off',
    ),
  );
  await waitFor(() => gate.inside === 1);
  // The remaining requests have arrived, and wait because the money is held.
  const waiting = new RegExp(`^signalbox_contention_waiting ${WAITING - 1}$`, 'm');
  await waitFor(async () => waiting.test(await (await fetch(`${box.url}/metrics`)).text()));
  box.signal('SIGTERM');
  await waitFor(() => box.lines.some((line) => line.includes('"draining"')));
  const releasing = setInterval(() => gate.release(1), 5);
  const statuses = await Promise.all(answers);
  expect(await box.exited).toBe(0);
  clearInterval(releasing);
  await box.stop();
  const seen = new Set(statuses);
  const rowsOf = (kind: string) =>
    entriesOf(data)
      .filter((entry) => entry.kind === kind)
      .map(({ reservation }) => reservation);
  // Requests may be served or refused, but no hold may stay open, because the next start would charge it.
  expect(rowsOf('settle')).toEqual(rowsOf('reserve'));
  expect(seen).not.toContain('cut off');
});
