import { expect, test } from 'bun:test';
import { openKeys } from '../../src/access/keys.ts';
import { createLog } from '../../src/host/telemetry/log.ts';
import { keepTrailHead, notedHeads } from '../../src/server/trail-head.ts';
import { openStore } from '../../src/store/open.ts';
import { tempFolder } from '../store/support.ts';
import { waitFor } from '../support/answers.ts';
import { HandTimers } from '../support/hand-timers.ts';

const MINUTE_MS = 60_000;

test('the head of the trail is stored each minute, and logged once an hour and at the stop, if the trail has changed', async () => {
  using folder = tempFolder();
  const store = await openStore(`${folder.path}/signalbox.db`, { mode: 'serve' });
  const keys = await openKeys({ store, now: Date.now });
  let now = Date.UTC(2026, 10, 20);
  const timers = new HandTimers();
  const lines: string[] = [];
  const log = createLog({ write: (text) => void lines.push(text), pretty: false, now: () => now });
  const logged = () => {
    log.flush();
    return lines
      .join('')
      .split('\n')
      .filter((line) => line.includes('head of the trail')).length;
  };
  const change = () => keys.create({ name: 'app', scopes: ['chat'] });
  const lastNoted = () => notedHeads(folder.path).at(-1)?.id ?? 0;
  const minute = async () => {
    const before = lastNoted();
    await change();
    now += MINUTE_MS;
    await waitFor(() => {
      timers.fire();
      return lastNoted() > before;
    });
  };
  await change();
  const stop = await keepTrailHead(folder.path, { store, log, timers, now: () => now });
  expect([lastNoted() > 0, logged()]).toEqual([true, 0]);
  for (let at = 0; at < 59; at++) await minute();
  expect(logged()).toBe(0);
  await minute();
  await waitFor(() => logged() === 1);
  await minute();
  expect(logged()).toBe(1);
  await stop();
  expect(logged()).toBe(2);
  keys.close();
  await store.close();
});
