import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { Audits } from '../../src/server/audits.ts';
import { waitFor } from '../support/answers.ts';
import { apiClient } from '../support/api-client.ts';
import { expectError } from '../support/error-contract.ts';

import { audit, chat, makeKey, PATIENCE, start, USAGE, upstream, useServers } from './ledger-support.ts';

useServers();

interface AuditAnswer {
  readonly running_since: string | null;
  readonly result: Readonly<Record<string, unknown>> | null;
}

test(
  'an audit over HTTP returns the same result as the command while requests run, and the server keeps the result and its time',
  async () => {
    const box = await start();
    upstream.behave(USAGE);
    const client = await apiClient(box.url);
    const headers = { authorization: `Bearer ${box.key}` };
    const shown = () => client.call<AuditAnswer>('GET /admin/ledger/audit', { headers });
    const run = () => client.call<AuditAnswer>('POST /admin/ledger/audit', { headers });
    expect((await shown()).body).toMatchObject({ running_since: null, result: null });
    for (let i = 0; i < 5; i++) expect((await chat(box)).status).toBe(200);
    await waitFor(async () => (await audit(box.data, '--offline')).body.open === 0);

    const [first, second, underWay, answered] = await Promise.all([run(), run(), shown(), chat(box)]);
    expect(answered.status).toBe(200);
    expect(underWay.body.result).toBeNull();
    expect(underWay.body.running_since).not.toBeNull();
    // The second request waited for the running audit.
    expect(second.body.result).toEqual(first.body.result);

    const { body } = await run();
    expect((await shown()).body).toEqual(body);
    const { result } = body;
    const { body: printed } = await audit(box.data, '--offline');
    const { began_at, ended_at } = result!;
    expect<object | null>(result).toEqual({ ...printed, began_at, ended_at });
    expect(result).toMatchObject({ is_sound: true, settlements_in_spool: 0, spool_fault: null });
    expect(Date.parse(String(result?.ended_at))).toBeGreaterThanOrEqual(Date.parse(String(result?.began_at)));
    expect(result?.reservations).toBe(6);

    const db = new Database(join(box.data, 'signalbox.db'), { readwrite: true });
    db.run(`UPDATE journal SET amount = amount + 1 WHERE kind = 'settle'`);
    db.close();
    const wrong = await run();
    expect(wrong.body.result).toMatchObject({ is_sound: false });
    expect((await audit(box.data, '--offline')).body.findings).toEqual(wrong.body.result?.findings as never);
    // The command runs at the server, which keeps its result.
    const { code, body: served } = await audit(box.data);
    expect<object>((await shown()).body.result!).toEqual(served);
    expect([code, served.findings]).toEqual([2, wrong.body.result?.findings as never]);
    const text = (await box.run('ledger', 'audit')).out;
    expect(text.split('\n')[0]).toBe((await box.run('ledger', 'audit', '--offline')).out.split('\n')[0]!);
    for (const scope of ['chat', 'report']) {
      const { key } = await makeKey(box, '--scope', scope);
      const other = { headers: { authorization: `Bearer ${key}` } };
      await expectError(await box.get('/admin/ledger/audit', other), 'insufficient_permissions');
      await expectError(await box.post('/admin/ledger/audit', {}, other), 'insufficient_permissions');
    }
  },
  PATIENCE,
);

test('the server refuses an audit that takes too long or cannot read, and keeps the earlier result', async () => {
  const box = await start();
  const lines: string[] = [];
  const log = { info: (message: string) => lines.push(message), error: (message: string) => lines.push(message) };
  const placeAt = (data: string) => ({ home: data, data, database: join(data, 'signalbox.db') });
  const late = new Audits({ place: placeAt(box.data), now: Date.now, timers: processTimers, log, auditMs: 0 });
  await expect(late.run()).rejects.toMatchObject({ code: 'overloaded' });
  expect([late.last, late.runningSince]).toEqual([null, null]);
  const nowhere = new Audits({ place: placeAt('/nowhere'), now: Date.now, timers: processTimers, log });
  await expect(nowhere.run()).rejects.toMatchObject({ code: 'overloaded' });
  const ended = new Audits({ place: placeAt(box.data), now: Date.now, timers: processTimers, log });
  const running = ended.run();
  ended.close();
  await expect(running).rejects.toMatchObject({ code: 'overloaded' });
  await ended.run();
  expect(ended.last?.report.findings_count).toBe(0);
  expect(lines).toEqual([...Array(3).fill('the books could not be audited'), 'the books were audited']);
});
