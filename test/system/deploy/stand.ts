import { afterAll, afterEach, beforeAll, expect } from 'bun:test';
import { rmSync } from 'node:fs';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../../support/policies.ts';
import { runHere } from '../../support/run-here.ts';
import { type Signalbox, type StartOptions, startSignalbox, temporaryFolder } from '../../support/signalbox.ts';

/** Folders of a test file, and everything else that ends with each test, in reverse order. */
export function useFolders() {
  const cleanUps: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });
  return {
    atEnd: (cleanUp: () => unknown) => void cleanUps.push(cleanUp),
    newFolder(): string {
      const folder = temporaryFolder();
      cleanUps.push(() => rmSync(folder, { recursive: true, force: true }));
      return folder;
    },
  };
}

/** An upstream for all tests of a file, and servers that use it and stop at the end of their test. */
export function useServers(limits = '') {
  const { atEnd, newFolder } = useFolders();
  let upstream: FakeUpstream;
  beforeAll(() => {
    upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  });
  afterAll(() => upstream.stop());
  return {
    atEnd,
    newFolder,
    upstream: () => upstream,
    async start(data: string, options: StartOptions = {}, provider = upstream.url): Promise<Signalbox> {
      const policy = testPolicy({ first: provider }, { best: { endpoints: ['first'] } }, limits);
      const box = await startSignalbox({ policy, data, ...options, env: { ...UPSTREAM_ENV, ...options.env } });
      atEnd(() => box.stop());
      return box;
    },
  };
}

/** Sends a chat, always with the same price. */
export const chat = (box: Pick<Signalbox, 'post'>, init?: RequestInit) =>
  box.post(
    '/v1/chat/completions',
    { model: 'best', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100 },
    init,
  );

export async function end(box: Signalbox, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
  box.signal(signal);
  const code = await box.exited;
  if (signal === 'SIGTERM') expect(code).toBe(0);
}

/** Stops a server and checks its books. */
export async function stopWell(box: Signalbox): Promise<void> {
  await end(box);
  const audit = await runHere(['ledger', 'audit', '--idle', '--data', box.data]);
  expect(audit).toMatchObject({ code: 0, out: expect.stringContaining('nothing wrong') });
}
