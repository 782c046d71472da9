import { afterAll, describe, expect, test } from 'bun:test';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { audit } from '../crash/audit.ts';
import { byMount, mayMount } from '../crash/disks.ts';
import { bookedBy } from '../crash/full-disk.ts';
import { readBeside } from '../crash/journal.ts';
import { newSent, type Sent, send } from '../crash/load.ts';
import { SPOOL_POINTS } from '../crash/points.ts';
import { type Server, startServer } from '../crash/server.ts';
import { startUpstreams } from '../crash/upstreams.ts';
import { effort } from '../deep/effort.ts';
import { waitFor } from '../support/answers.ts';
import { type Bystander, startBystander } from '../support/bystander.ts';
import { leastOf } from '../support/in-time.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { makeTestKey, startSignalbox, temporaryFolder, writePolicy } from '../support/signalbox.ts';

/** While the disk is full, the prices that callers get are only in `settlements.spool`. A start must notice if that file is gone. */
const { runs, random, proved } = effort('holes', 1, 16);

const PATIENCE_MS = 8_000;
/** The pause between two chunks, ms. Answers end while the disk is full, some later than others. */
const PACE_MS = 60;
const WAIT_MAX_MS = 400;

const below = (limit: number) => Math.floor(random() * limit);
const spoolIn = (data: string) => join(data, 'settlements.spool');
const noteIn = (data: string) => join(data, 'ledger.id');

const upstreams = startUpstreams();
upstreams.pace(PACE_MS);
const policy = testPolicy(upstreams.urls, { best: { endpoints: ['first', 'second'] } });
const policies = writePolicy(policy);
const env = { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: makeTestKey() };
const cleanUps: (() => unknown)[] = [() => upstreams.stop(), () => rmSync(policies, { recursive: true })];
afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

function newFolder(): string {
  const folder = temporaryFolder();
  cleanUps.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function newDisk(): string {
  const data = newFolder();
  byMount.mount(data);
  cleanUps.push(() => byMount.unmount(data));
  return data;
}

let requests = 0;
/** Every fourth request fails over. On a full disk, the second provider cannot be paid for. */
const newRequests = (count: number): Sent[] =>
  Array.from({ length: count }, () => newSent(++requests % 4 === 0 ? ++requests : requests));

/**
 * Sends requests that end on a full disk or with the server, and resolves once they have ended. The function measures one more request on
 * the full disk.
 */
async function endOnFullDisk(
  data: string,
  { url, pid }: Server,
  sent: readonly Sent[],
  bystander?: Bystander,
): Promise<void> {
  const before = upstreams.calls;
  const ended = Promise.all(sent.map((one) => send(url ?? '', env.SIGNALBOX_API_KEY, one).catch(() => {})));
  await waitFor(() => upstreams.calls === before + sent.length, PATIENCE_MS);
  byMount.fill({ data, pid });
  await bystander?.worstMs();
  await ended;
}

/**
 * Starts on a folder, and ends.
 * @returns the refusal, or null with the number of settlements that the start booked from the spool
 */
async function startedOn(data: string): Promise<{ refusal: string | null; booked: number }> {
  const box = await startSignalbox({ data, policy, env }).catch((error: Error) => error.message);
  if (typeof box === 'string') return { refusal: box.replace('the server ended: signalbox: ', ''), booked: 0 };
  await box.stop();
  return { refusal: null, booked: bookedBy(box) };
}

/** The prices that callers have but the books lack. */
const differing = (data: string, sent: readonly Sent[], known: ReadonlySet<number>): string[] =>
  audit(sent, readBeside(data), known, upstreams).problems.filter((one) => one.includes('was told'));

const reservationsIn = (data: string): ReadonlySet<number> => new Set(readBeside(data).reservations.keys());

function copyOf(data: string): string {
  const copy = newFolder();
  // A socket cannot be copied, and is needed only by a running server.
  cpSync(data, copy, { recursive: true, filter: (path) => !path.endsWith('.sock') });
  return copy;
}

interface Round {
  readonly told: number;
  /** How many prices would differ if the loss were not noticed. */
  readonly lost: number;
  readonly waitedMs: number;
}

/** A round has a full disk, a kill, and different damage to the spool before the next start. */
async function round(data: string, count: number): Promise<Round> {
  const older = readFileSync(spoolIn(data));
  const server = await startServer({ data, policies, env });
  const known = reservationsIn(data);
  const bystander: Bystander = startBystander(`${server.url}/healthz`);
  const sent = newRequests(count);
  await endOnFullDisk(data, server, sent, bystander);
  const waitedMs = await bystander.worstMs();
  bystander.stop();
  server.signal('SIGKILL');
  await server.exited;
  byMount.free({ data, pid: 0 });
  expect(sent.map(({ told }) => told)).toEqual(sent.map(({ request }) => upstreams.billed(request)));

  // A server of this process keeps its folder after it was refused, so each start gets a copy.
  const refusalWith = async (spool: Buffer | null): Promise<string> => {
    const copy = copyOf(data);
    rmSync(spoolIn(copy));
    if (spool) writeFileSync(spoolIn(copy), spool);
    const { refusal } = await startedOn(copy);
    const audited = await runHere(['ledger', 'audit', '--data', copy]);
    expect(audited).toMatchObject({ code: 2, err: expect.stringContaining(`${spoolIn(copy)} `) });
    const since = String.raw`since 20\d\d-[-\d]+T[:.\d]+Z it received settlements \(at least [1-9]\d* entr(y|ies)\) that the database may lack\.`;
    expect(refusal).toMatch(
      new RegExp(`^${spoolIn(copy)} .*, but ${since} Restore the file of the spool\\. [^\n]*\n$`),
    );
    expect(refusal).toEndWith(
      ` To start without its settlements, delete ${noteIn(copy)}: ledger.on_crash of the policy then decides what those requests cost.\n`,
    );
    return refusal ?? '';
  };
  expect(await refusalWith(null)).toContain('settlements.spool is missing, but');
  expect(await refusalWith(older)).toContain('settlements.spool is an older copy, but');
  const cut = Buffer.from(readFileSync(spoolIn(data)));
  expect(await refusalWith(cut.fill(0, 513))).toContain('settlements.spool has 0 complete entries, but');

  // A folder that is restored completely has the spool and its note.
  const restored = copyOf(data);
  expect(await startedOn(restored)).toEqual({ refusal: null, booked: sent.length });
  expect(differing(restored, sent, known)).toEqual([]);
  // In this copy of the folder, the operator accepts the loss.
  const given = copyOf(data);
  rmSync(spoolIn(given));
  rmSync(noteIn(given));
  expect(await startedOn(given)).toEqual({ refusal: null, booked: 0 });
  const lost = differing(given, sent, known).length;
  expect(lost).toBeGreaterThan(0);

  expect(await startedOn(data)).toEqual({ refusal: null, booked: sent.length });
  expect(differing(data, sent, known)).toEqual([]);
  return { told: sent.length, lost, waitedMs };
}

describe.skipIf(!mayMount)('settlements on a full disk', () => {
  test('a start is refused if the spool is missing, older or cut, and books all prices once the spool is back', async () => {
    const data = newDisk();
    expect((await startedOn(data)).refusal).toBeNull();
    const rounds: Round[] = [];
    for (let run = 0; run < runs; run++) {
      let made: Round | undefined;
      const waitedMs = await leastOf(WAIT_MAX_MS, async () => {
        made = await round(data, runs === 1 ? 8 : 4 + below(24));
        return made.waitedMs;
      });
      expect(waitedMs).toBeLessThan(WAIT_MAX_MS);
      if (made) rounds.push(made);
    }
    const sum = (of: (one: Round) => number) => rounds.reduce((all, one) => all + of(one), 0);
    const line = `${rounds.length} times a full disk and kill -9: of ${sum(({ told }) => told)} prices that callers had, ${sum(({ lost }) => lost)} would differ without the spool; each start was refused without the spool, with an older copy and with a cut one, and booked all prices once the spool was back, or in a restored folder; another request waited ${Math.max(...rounds.map(({ waitedMs }) => waitedMs)).toFixed(0)} ms at most`;
    console.log(line);
    proved(line);
  }, 3_600_000);

  test('a start is not refused and books all prices, wherever the process dies between two writes to the spool', async () => {
    let [told, missed] = [0, 0];
    const first = below(SPOOL_POINTS.length);
    const kills = runs === 1 ? 1 : 2 * runs;
    for (let kill = 0; kill < kills; kill++) {
      const { name, isFree } = SPOOL_POINTS[(first + kill) % SPOOL_POINTS.length]!;
      const data = newDisk();
      const isAtStart = name.startsWith('new-spool');
      const passage = name.startsWith('spool-counted') ? 1 + below(2) : 1;
      const at = { CRASH_AT: `${name}:${passage}` };
      const server = await startServer({ data, policies, env: { ...env, ...(!isAtStart && at) } });
      const sent = newRequests(8);
      await endOnFullDisk(data, server, sent);
      if (isAtStart) server.signal('SIGKILL');
      else if (isFree) byMount.free({ data, pid: server.pid });
      await server.exited;
      if (!isFree || isAtStart) byMount.free({ data, pid: server.pid });
      const dying = isAtStart ? await startServer({ data, policies, env: { ...env, ...at } }) : server;
      await dying.exited;
      expect(dying.errors()).toContain(`killed at ${name}`);
      // A start without the spool notices what is missing.
      const without = copyOf(data);
      rmSync(spoolIn(without));
      const { refusal } = await startedOn(without);
      if (refusal === null) expect(differing(without, sent, new Set())).toEqual([]);
      else missed++;
      expect(await startedOn(data)).toMatchObject({ refusal: null });
      expect(differing(data, sent, new Set())).toEqual([]);
      expect((await startedOn(data)).booked).toBe(0);
      told += sent.filter((one) => one.told !== null).length;
    }
    const line = `kill -9 between two writes to the spool and its note, ${kills} times at ${SPOOL_POINTS.length} points: ${told} prices that callers had were booked as callers had them; no start was refused, except ${missed} starts without the spool`;
    console.log(line);
    proved(line);
  }, 3_600_000);
});
