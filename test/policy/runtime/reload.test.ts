import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shipped } from '../../../plugins/index.ts';
import { rehearse } from '../../../src/admin/use-cases/policy/rehearse.ts';
import { createPluginLoader } from '../../../src/host/plugins/load.ts';
import { buildCandidate, isRejected, type PolicyTools } from '../../../src/policy/runtime/candidate.ts';
import { parseFiles } from '../../../src/policy/runtime/parse-files.ts';
import { Reloader } from '../../../src/policy/runtime/reload.ts';
import { inSlices, SupersededError } from '../../../src/policy/runtime/slices.ts';
import { readBundle } from '../../../src/policy/runtime/source.ts';
import { type ReloadAttempt, StaleRevision } from '../../../src/policy/runtime/status.ts';
import { waitFor } from '../../support/answers.ts';
import { testPolicy } from '../../support/policies.ts';
import { temporaryFolder } from '../../support/signalbox.ts';

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
  write('one');
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (model: string) =>
  writeFileSync(
    join(folder, 'policy.yaml'),
    testPolicy({ first: 'http://127.0.0.1:9/v1' }, { [model]: { endpoints: ['first'] } }),
  );

/** Starts a reloader whose parser can be blocked. */
async function start(prepare = async () => () => {}) {
  let gate = Promise.resolve();
  let parses = 0;
  let delayMs = 0;
  const tools: PolicyTools = {
    folder,
    shipped,
    loader: createPluginLoader(),
    env: { get: () => 'set-for-the-test' },
    now: Date.now,
    rehearse,
    async parse(files, before) {
      parses++;
      await gate;
      await Bun.sleep(delayMs);
      return parseFiles(files, before);
    },
  };
  const first = await buildCandidate(await readBundle(folder), tools);
  if (isRejected(first)) throw new Error(JSON.stringify(first));
  const attempts: ReloadAttempt[] = [];
  const reloader = new Reloader(first, { tools: tools, prepare, onAttempt: (attempt) => void attempts.push(attempt) });
  return {
    reloader,
    attempts,
    parses: () => parses,
    models: () => reloader.lease().snapshot.models.map(({ id }) => id),
    /** Sets the duration of every parse. */
    slow(ms: number): void {
      delayMs = ms;
    },
    /** Holds all parses until the returned function is called. */
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
  };
}

describe('the reloader', () => {
  test('the reloader runs one attempt at a time, and a newer edit restarts it', async () => {
    const { reloader, attempts, parses, models, hold } = await start();
    const release = hold();
    write('two');
    const second = reloader.reload('edit');
    await waitFor(() => parses() === 2);
    write('three');
    const third = reloader.reload('edit');
    release();
    const [a, b] = await Promise.all([second, third]);
    expect(a).toBe(b);
    expect(models()).toEqual(['three']);
    expect(attempts).toHaveLength(1);
  });

  test('the reloader completes an attempt despite endless edits', async () => {
    const { reloader, attempts, models, slow } = await start();
    slow(20);
    write('two');
    const began = performance.now();
    while (performance.now() < began + 10_000 && attempts.length === 0) {
      void reloader.reload('edit');
      await Bun.sleep(2);
    }
    expect(attempts[0]).toMatchObject({ result: 'applied' });
    expect(performance.now() - began).toBeGreaterThan(900);
    expect(models()).toEqual(['two']);
  });

  test('the reloader does not change a leased runtime when it swaps the policy', async () => {
    const { reloader } = await start();
    const lease = reloader.lease();
    write('two');
    await reloader.reload('request');
    expect(lease.snapshot.models.map(({ id }) => id)).toEqual(['one']);
    expect(reloader.lease()).not.toBe(lease);
  });

  test('the reloader changes nothing if the new revision cannot be saved', async () => {
    const { reloader, models } = await start(async () => {
      throw new Error('the disk is full');
    });
    write('two');
    const attempt = await reloader.reload('request');
    expect(attempt).toMatchObject({ result: 'refused', message: expect.stringContaining('the disk is full') });
    expect(models()).toEqual(['one']);
  });

  test('the reloader checks a condition when the attempt begins, so the second of two conditional reloads fails as stale', async () => {
    const { reloader, hold, parses } = await start();
    const { revision } = reloader.status();
    const release = hold();
    write('two');
    const first = reloader.reload('request', revision);
    await waitFor(() => parses() === 2);
    const { now } = performance;
    using _ = spyOn(performance, 'now').mockImplementation(() => now.call(performance) + 1_000);
    // From this point the first attempt is not restarted.
    const second = reloader.reload('request', revision);
    release();
    expect(await first).toMatchObject({ result: 'applied' });
    await expect(second).rejects.toBeInstanceOf(StaleRevision);
  });

  test('the reloader reports a refusal once, however often the same files are read', async () => {
    const { reloader, attempts } = await start();
    writeFileSync(join(folder, 'policy.yaml'), 'version: 1\n');
    await reloader.reload('edit');
    await reloader.reload('edit');
    expect(attempts.map(({ result }) => result)).toEqual(['refused']);
    write('one');
    await reloader.reload('edit');
    await reloader.reload('edit');
    expect(attempts.map(({ result }) => result)).toEqual(['refused', 'unchanged']);
  });
});

describe('work in slices', () => {
  /** Steps that each take 1 ms of a fake clock. */
  function* steps(count: number, tick: () => void): Generator<undefined, string> {
    for (let i = 0; i < count; i++) {
      tick();
      yield;
    }
    return 'done';
  }

  test('work in slices yields every few milliseconds', async () => {
    let time = 0;
    let slice = 0;
    let longest = 0;
    const turn = setInterval(() => {
      slice = 0;
    });
    const tick = () => {
      time++;
      longest = Math.max(longest, ++slice);
    };
    const turns = { taken: 0 };
    const isStale = () => {
      turns.taken++;
      slice = 0;
      return false;
    };
    expect(await inSlices(steps(100, tick), isStale, () => time)).toBe('done');
    clearInterval(turn);
    expect(longest).toBeLessThanOrEqual(5);
    expect(turns.taken).toBeGreaterThanOrEqual(20);
  });

  test('work in slices stops once `isStale` returns true', async () => {
    let time = 0;
    const work = inSlices(
      steps(100, () => time++),
      () => time > 10,
      () => time,
    );
    expect(work).rejects.toBeInstanceOf(SupersededError);
    await work.catch(() => {});
    expect(time).toBeLessThan(20);
  });
});
