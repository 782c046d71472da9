import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { effort, isDeep } from '../../deep/effort.ts';
import { waitFor } from '../../support/answers.ts';
import type { Way } from '../../support/cable.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { ask, audit, booked, COST, chat, isReady, type MadeKey, makeKey, startCabled } from './stage.ts';

/**
 * The connection between servers and their database is slow, stalls or breaks. `npm run test:deep -- database` makes it slower and breaks
 * it more often.
 */
const { runs, random, proved } = effort('database', 1, 40);
const DELAY_MS = isDeep ? 500 : 40;
/** The servers renew their leases several times during this delay. */
const SLOW_MS = isDeep ? 40_000 : 0;

let stage: Awaited<ReturnType<typeof startCabled>>;
beforeAll(async () => {
  stage = await startCabled(2, { limit: 100_000 });
});
afterEach(() => {
  Object.assign(stage.cable, { delayMs: 0, cuts: () => false, holds: () => null });
  stage.gate.open();
});
afterAll(() => stage[Symbol.asyncDispose]());

/** Whether a connection decides about money. */
const isDeciding = ({ said }: Way) => /ledger_decide|nextval\('journal_seq'/.test(said);

const named = () => ({ 'idempotency-key': crypto.randomUUID() });
const leases = async () => {
  const { database, url } = stage.fleet;
  return await database.run('SELECT slot, epoch FROM instances ORDER BY slot', url.split('/').at(-1));
};
const range = (count: number) => Array.from({ length: count }, (_, at) => at);
const sumOf = (told: readonly { readonly micro: number }[]) => told.reduce((sum, { micro }) => sum + micro, 0);

/** Sends a request, and repeats it on either server until it is answered. */
async function askOnce(servers: readonly Signalbox[], key: MadeKey, at: number) {
  const id = named();
  for (let tries = 0; ; tries++) {
    const told = await ask(servers[(at + tries) % 2]!, key, {}, id);
    if (told.status !== 503 && told.status !== 409) return told;
    await Bun.sleep(50);
  }
}

const postKey = async (box: Signalbox, name: string) => ({
  name,
  status: (await box.post('/admin/keys', { name })).status,
});

test('if a database slows down under traffic and recovers, all requests are served, leases are kept, and reported prices are booked', async () => {
  const { cable, fleet } = stage;
  const { servers } = fleet;
  const key = await makeKey(stage, 'slow');
  const limited = await makeKey(stage, 'slow', { requests_per_minute: 1_000_000 });
  // A server learns a limit from its first request.
  const told = await Promise.all(servers.map((box) => ask(box, limited)));
  const before = await leases();
  let isOver = false;
  const caller = async (box: Signalbox, at: number) => {
    for (; !isOver; await Bun.sleep(10)) told.push(await ask(box, at % 2 ? limited : key, {}, at % 3 ? {} : named()));
  };
  const callers = servers.flatMap((box) => [0, 1, 2, 3].map((at) => caller(box, at)));
  const more = async (count: number) => {
    const enough = told.length + count;
    await waitFor(() => told.length >= enough, 60_000);
  };
  await more(20);
  cable.delayMs = DELAY_MS;
  await Bun.sleep(SLOW_MS);
  await more(20);
  for (const box of servers) expect(await isReady(box)).toBe(true);
  if (isDeep) {
    const late = await stage.start();
    told.push(await ask(late, key));
    await fleet.stop(late);
  }
  await more(8);
  cable.delayMs = 0;
  await more(20);
  isOver = true;
  await Promise.all(callers);
  expect(told.filter(({ status }) => status !== 200).slice(0, 5)).toEqual([]);
  expect((await leases()).slice(0, 2)).toEqual(before);
  expect(await booked(servers[0]!, 'slow')).toBe(sumOf(told));
  expect(await audit(servers[1]!)).toBe('nothing wrong');
  // The page for operators states this number.
  await waitFor(() => cable.count <= 9 * servers.length);
  proved(
    `a database ${DELAY_MS} ms away, each way: of ${told.length} requests none refused, no lease lost, told = booked`,
  );
});

test('while the database does not respond, the pieces of a stream arrive, and its end waits and reports the booked price', async () => {
  const { cable, answers, fleet } = stage;
  const [box] = fleet.servers as [Signalbox];
  const key = await makeKey(stage, 'stream');
  const pieces = Array.from({ length: 12 }, (_, at) => `piece ${at} `);
  let text = '';
  let sent = 0;
  answers.text = pieces;
  // The provider sends each piece after the client has received the previous piece.
  answers.pace = async () => {
    const before = pieces[sent++ - 2];
    if (before) await waitFor(() => text.includes(before));
  };
  const answer = await chat(box, key, { stream: true });
  const stands = Promise.withResolvers<void>();
  let isSettling = false;
  let isMoving = false;
  cable.holds = (_, way) => {
    isSettling ||= isDeciding(way);
    return stands.promise;
  };
  const goOn = async () => {
    await waitFor(() => isSettling);
    isMoving = true;
    stands.resolve();
  };
  let moved: Promise<void> | null = null;
  for await (const bytes of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += bytes;
    if (bytes.includes('"platform"')) expect(isMoving).toBe(true);
    if (text.includes(pieces.at(-1)!)) moved ??= goOn();
    else expect(isSettling).toBe(false);
  }
  await moved;
  delete answers.text;
  delete answers.pace;
  for (const piece of pieces) expect(text).toContain(piece);
  expect(text).toContain('"platform"');
  expect(await booked(box, 'stream')).toBe(COST);
});

test('if connections break at COMMIT or during a money operation, requests get answers or 503, and nothing is booked twice', async () => {
  const { cable, fleet } = stage;
  const { servers } = fleet;
  const cuts: Record<string, number> = {};
  let isCutting = false;
  cable.cuts = (sent, way) => {
    const what = sent.includes('COMMIT\0') ? 'COMMIT' : isDeciding(way) && sent.includes('B\0') ? 'money' : null;
    if (!isCutting || what === null) return false;
    const isFirst = cuts[`${what}, behind it`] === undefined;
    if (!isFirst && random() > 0.3) return false;
    const how = isFirst || random() < 0.7 ? 'behind' : 'before';
    cuts[`${what}, ${how} it`] = (cuts[`${what}, ${how} it`] ?? 0) + 1;
    return how;
  };
  let told = 0;
  for (let run = 0; run < runs; run++) {
    const team = `cut ${run}`;
    const key = await makeKey(stage, team);
    const plain = Promise.all(range(24).map((at) => ask(servers[at % 2]!, key)));
    isCutting = true;
    const once = Promise.all(range(12).map((at) => askOnce(servers, key, at)));
    const made = await Promise.all(range(12).map((at) => postKey(servers[at % 2]!, `${team} ${at}`)));
    const answers = [...(await plain), ...(await once)];
    isCutting = false;
    for (const box of servers) await waitFor(() => isReady(box));
    for (const { status, micro, retryAfter } of answers) {
      expect([200, 503]).toContain(status);
      expect([micro, retryAfter === null]).toEqual(status === 200 ? [COST, true] : [0, false]);
    }
    expect(await booked(servers[0]!, team)).toBe(sumOf(answers));
    const { out } = await servers[1]!.run('keys', 'list', '--json');
    for (const { name, status } of made) {
      const count = out.split(`"${name}"`).length - 1;
      if (status === 200) expect(count).toBe(1);
      else expect([status, count <= 1]).toEqual([503, true]);
    }
    told += answers.length + made.length;
  }
  expect(await audit(servers[0]!)).toBe('nothing wrong');
  expect(Object.keys(cuts)).toEqual(expect.arrayContaining(['COMMIT, behind it', 'money, behind it']));
  proved(`connections cut, ${JSON.stringify(cuts)}: ${told} requests answered or told 503, told = booked`);
});
