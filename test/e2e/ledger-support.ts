import { afterAll, afterEach, beforeAll, expect } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readCsv } from '../ledger/csv-support.ts';
import { waitFor } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, type StartOptions, startSignalbox, temporaryFolder, withKey } from '../support/signalbox.ts';

/** The time within which a running server follows a command, ms: half a second; the tests allow four times as much. */
export const FOLLOWS = 2_000;
/** Each command starts a process, and two of them may share a core with other tests, so tests wait this long, ms. */
export const PATIENCE = 30_000;

/** The usage that the fake upstream reports if a cost matters: 0.172 Credits, of 0.3594 that are reserved. */
export const USAGE = { usage: { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60 } };
const hello = [{ role: 'user', content: 'Say hello.' }];

export let upstream: FakeUpstream;
export let folder: string;
const running: Pick<Signalbox, 'stop'>[] = [];

/** The tests of a file share a fake provider and a folder. Each server ends with the test that started it. */
export function useServers(): void {
  beforeAll(() => {
    folder = temporaryFolder();
    upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  });
  afterEach(async () => {
    upstream.behave({});
    await Promise.all(running.splice(0).map((box) => box.stop()));
  });
  afterAll(async () => {
    await upstream.stop();
    rmSync(folder, { recursive: true, force: true });
  });
}

export const policyWith = (more = '') =>
  testPolicy({ first: upstream.url }, { best: { endpoints: ['first'], price: { input: 0.7, output: 3.3 } } }, more);

let folders = 0;
export const newPath = () => join(folder, `data${++folders}`);

export async function start(options: StartOptions = {}): Promise<Signalbox> {
  const box = await startSignalbox({ policy: policyWith(), env: UPSTREAM_ENV, data: newPath(), ...options });
  running.push(box);
  return box;
}

export const chat = (box: Signalbox, key = box.key, more: object = {}) =>
  box.post('/v1/chat/completions', { model: 'best', messages: hello, max_tokens: 100, ...more }, withKey(key));

export async function makeKey(box: Signalbox, ...flags: string[]): Promise<{ key: string; id: string }> {
  const key = await box.makeKey(...flags);
  return { key, id: key.split('_')[2]! };
}

export interface AuditJson {
  readonly entries: number;
  readonly open: number;
  readonly held_credits: number;
  readonly charged_credits: number;
  readonly open_reservations: readonly {
    readonly decision: string;
    readonly key_id: string;
    readonly age_ms: number;
  }[];
  readonly findings: readonly { readonly kind: string; readonly decision: string | null }[];
}

export async function audit(data: string, ...flags: string[]): Promise<{ code: number; body: AuditJson }> {
  const { code, out, err } = await runHere(['ledger', 'audit', '--json', ...flags, '--data', data]);
  expect(err).toBe('');
  return { code, body: JSON.parse(out) as AuditJson };
}

export const exportOf = async (data: string, ...flags: string[]) =>
  readCsv((await runHere(['ledger', 'export', ...flags, '--data', data])).out);

/** Starts requests that run until the upstream is told to answer. */
export async function hang(box: Signalbox, count: number): Promise<() => void> {
  upstream.behave({ hang: 'headers' });
  const before = upstream.requests.length;
  const controller = new AbortController();
  const body = JSON.stringify({ model: 'best', messages: hello, max_tokens: 100 });
  for (let i = 0; i < count; i++) {
    void box.post('/v1/chat/completions', null, { body, signal: controller.signal }).catch(() => {});
  }
  await waitFor(() => upstream.requests.length === before + count, FOLLOWS);
  return () => controller.abort();
}

export const budgetOf = (name: string, limit: number) =>
  `budgets: [{ name: ${name}, limit_credits: ${limit}, window: month, on_exhausted: reject }]\n`;
