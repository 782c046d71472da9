import { afterAll, beforeAll, expect, test } from 'bun:test';
import { effort, isDeep } from '../../deep/effort.ts';
import { waitFor } from '../../support/answers.ts';
import { type Balancer, startBalancer } from '../../support/balancer.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { type MadeKey, makeKey, type Stage, startStage } from './stage.ts';
import { type Ending, send } from './storm.ts';
import { evidenceOf, problemsOf } from './verdict.ts';

/** A balancer with several servers that are replaced one after the other, under load, by a newer version and back. */
const SERVERS = 2;
const { runs, proved } = effort('rolling', 1, 10);
/** With this many callers and such a fast upstream, a server that only stops listening would reset some connections. */
const [CALLERS, PASS] = [32, 20];
let stage: Stage;
let balancer: Balancer;
let serving: Signalbox[];
let key: MadeKey;
beforeAll(async () => {
  stage = await startStage(0, { limit: 100_000 });
  balancer = startBalancer();
  serving = [];
  for (let at = 0; at < SERVERS; at++) serving.push(await stage.fleet.start({ isProcess: isDeep }));
  balancer.use(serving.map(({ url }) => url));
  for (const { url } of serving) await waitFor(() => balancer.isReady(url));
  key = await makeKey(stage, 'blue');
});
afterAll(async () => {
  balancer[Symbol.dispose]();
  await stage[Symbol.asyncDispose]();
});

const slots = async (): Promise<number[]> => {
  const { out } = await serving[0]!.run('instances', '--json');
  return (JSON.parse(out) as { data: { slot: number }[] }).data.map(({ slot }) => slot);
};

/** Starts a server, waits until the balancer uses it, and stops the oldest server as a service manager does. */
async function replaceOldest(): Promise<void> {
  const next = await stage.fleet.start({ isProcess: isDeep });
  serving.push(next);
  balancer.use(serving.map(({ url }) => url));
  await waitFor(() => balancer.isReady(next.url));
  const oldest = serving.shift()!;
  oldest.signal('SIGTERM');
  expect(await oldest.exited).toBe(0);
  expect(await slots()).toHaveLength(SERVERS);
  balancer.use(serving.map(({ url }) => url));
  await stage.fleet.stop(oldest);
}

/** Sends requests and streams through the balancer until `work` is done. */
async function underLoad(work: () => Promise<void>): Promise<Ending[]> {
  const { gate } = stage;
  const endings: Ending[] = [];
  let isOver = false;
  const caller = async (at: number) => {
    while (!isOver) endings.push(await send(balancer, key.key, { maxTokens: 1 + at, isStream: at % 2 === 0 }));
  };
  gate.close();
  const passing = setInterval(() => gate.release(PASS), 5);
  const callers = Promise.all(Array.from({ length: CALLERS }, (_, at) => caller(at)));
  try {
    await work();
  } finally {
    isOver = true;
    await callers;
    clearInterval(passing);
    gate.open();
  }
  return endings;
}

const rollAll = async () => {
  for (let run = 0; run < runs; run++) await replaceOldest();
};
const schema = (text: string) => stage.fleet.database.run(text, stage.fleet.url.split('/').at(-1));

test('an upgrade and a rollback fail no request and cut no stream; each stop frees its slot, and reported prices are booked', async () => {
  const endings = await underLoad(async () => {
    await rollAll();
    // The tables look as if a newer version had migrated them, which this version may still use.
    await schema("INSERT INTO signalbox_schema SELECT max(version) + 1, max(version), '99.0.0' FROM signalbox_schema");
    await rollAll();
  });
  expect(balancer.failures).toEqual([]);
  expect(endings.filter(({ status, isCut, told }) => status !== 200 || isCut || told === null)).toEqual([]);
  const [box] = serving as [Signalbox];
  const told = endings.flatMap((ending) => (ending.told === null ? [] : [ending.told]));
  const problems = problemsOf(await evidenceOf(box, key.id, 'blue', told));
  expect(problems.filter((problem) => !problem.startsWith('only '))).toEqual([]);
  expect(await box.run('db', 'status', '--json')).toMatchObject({ code: 0 });
  // A version that can no longer use the tables reports this at its start; running servers continue.
  await schema(
    "INSERT INTO signalbox_schema SELECT max(version) + 1, max(version) + 1, '100.0.0' FROM signalbox_schema",
  );
  await expect(stage.fleet.start()).rejects.toThrow('use that program or a later one');
  expect(await send(balancer, key.key, { maxTokens: 1, isStream: true })).toMatchObject({ status: 200, isCut: false });
  proved(
    `${2 * runs} servers replaced under load behind a balancer, forth and back: of ${endings.length} requests and streams none failed, none was cut, each booked as told`,
  );
});
