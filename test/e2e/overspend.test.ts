import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { effort, isDeep } from '../deep/effort.ts';
import { closedBooks, type FundState, foldBooks, grant, write } from '../gateway/money/books.ts';
import { type Flooded, send } from '../gateway/money/flood.ts';
import { capOf, type Gate, type GateAnswers, startGate } from '../gateway/money/gate.ts';
import { type MadeKey, makeKeys } from '../gateway/money/keys.ts';
import { floodAtRandom } from '../gateway/money/random-flood.ts';
import { waitFor } from '../support/answers.ts';
import { allOrNothing, testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox, temporaryFolder } from '../support/signalbox.ts';

/** At most 42 tokens of prompt (10 bytes, and 32 for what dialects add around them) and 100 of output: 42 + 4 × 100, in microcredits. */
const WORST = 442_000;
/** The limit of each budget and balance in this test, in microcredits. */
const LIMIT = 10 * WORST;
const REQUESTS = isDeep ? 500 : 100;

const message = { messages: [{ role: 'user', content: 'Say hello.' }], model: 'm' };
const asWorst: GateAnswers['usageOf'] = (request) => used(42, capOf(request));
const used = (prompt: number, completion: number) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
});

const answers: GateAnswers = { usageOf: asWorst };
let gate: Gate;
/** A server that refuses a request at once if there is no money. */
let hasty: Signalbox;
/** A server that lets a request wait for money for half a minute. */
let patient: Signalbox;

beforeAll(async () => {
  gate = startGate(answers);
  const policy = (waitMs: number) =>
    allOrNothing(
      testPolicy(
        { up: gate.url },
        { m: { endpoints: ['up'] }, other: { endpoints: ['up'], price: { input: 0.5, output: 2 }, quality: 0.5 } },
        `budgets:
  - { name: team, each: key.labels.team, match: 'key.labels.team != ""', limit_credits: 4.42, window: total }
  - { name: lane, each: key.labels.lane, match: 'key.labels.lane != ""', limit_credits: 1.768, window: total }
ledger: { contention_wait_ms: ${waitMs} }
`,
      ),
    );
  [hasty, patient] = await Promise.all(
    [0, 30_000].map((waitMs) => startSignalbox({ policy: policy(waitMs), env: UPSTREAM_ENV })) as [
      Promise<Signalbox>,
      Promise<Signalbox>,
    ],
  );
});
afterAll(async () => {
  await Promise.all([hasty.stop(), patient.stop()]);
  await gate.stop();
});

/** How the requests of a flood are made. */
interface Shape {
  readonly name: string;
  /** The labels of the keys; `team` is a new name each time. */
  readonly labels: (team: string) => readonly Readonly<Record<string, string>>[];
  readonly body: object;
  /** The details of the exhausted fund that a refusal shows. */
  readonly fund: (team: string, keys: readonly MadeKey[]) => object;
  readonly granted?: true;
  /** How many requests of one key may be upstream at the same time. */
  readonly atOnceOfKey: number;
}

const SHAPES: readonly Shape[] = [
  {
    name: 'of one known key on a budget',
    labels: (team) => [{ team }],
    body: { max_tokens: 100 },
    fund: (team) => ({ budget: 'team', subject: team }),
    atOnceOfKey: 10,
  },
  {
    name: 'of 60 new keys that share a budget through their label',
    labels: (team) => Array.from({ length: 60 }, () => ({ team })),
    body: { max_tokens: 100 },
    fund: (team) => ({ budget: 'team', subject: team }),
    atOnceOfKey: 10,
  },
  {
    name: 'with their own budget_limit, which lowers what each may cost',
    labels: (team) => [{ team }],
    body: { max_tokens: 1000, budget_limit: 0.442 },
    fund: (team) => ({ budget: 'team', subject: team }),
    atOnceOfKey: 10,
  },
  {
    name: 'on the balance of a key',
    labels: () => [{}],
    body: { max_tokens: 100 },
    fund: (_, [key]) => ({ balance: key!.id }),
    granted: true,
    atOnceOfKey: 10,
  },
  {
    name: 'on two budgets at once',
    labels: (team) => [1, 2, 3].map((lane) => ({ team, lane: `${team}-${lane}` })),
    body: { max_tokens: 100 },
    fund: () => ({ budget: expect.stringMatching(/^(team|lane)$/) }),
    atOnceOfKey: 4,
  },
];

let teams = 0;

/** Creates the keys for a flood, with funds that no request has drawn on. */
async function prepare(
  box: Signalbox,
  { labels, granted }: Shape,
): Promise<{ team: string; keys: readonly MadeKey[] }> {
  const team = `team-${++teams}`;
  const keys = await makeKeys(box, labels(team));
  if (granted) await grant(box.data, keys[0]!.id, LIMIT);
  gate.close();
  return { team, keys };
}

/** Sends all requests at once, JSON and streams in turn, and counts how many were answered. */
function flood(box: Signalbox, keys: readonly MadeKey[], body: object) {
  const done: Flooded[] = [];
  const sent = Array.from({ length: REQUESTS }, async (_, at) => {
    const key = keys[at % keys.length]!;
    const asked = { ...message, ...body, user: key.id, stream: Math.floor(at / keys.length) % 2 === 1 };
    const answer = (await send(box.url, key.key, asked))!;
    done.push(answer);
    return answer;
  });
  return { done, all: Promise.all(sent) };
}

/** Returns the funds of a team or key, from books without faults. */
async function fundsOf(box: Signalbox, team: string, keys: readonly MadeKey[]): Promise<readonly FundState[]> {
  const { faults, funds, reservations } = await closedBooks(box.data);
  expect(faults).toEqual([]);
  for (const { closings } of reservations.values()) expect(closings).toBe(1);
  return funds.filter(({ name, subject }) => subject.startsWith(team) || name === keys[0]!.id);
}

const statusesOf = (flooded: readonly Flooded[]) =>
  Object.fromEntries(
    Map.groupBy(flooded, ({ status }) => status)
      .entries()
      .map(([status, { length }]) => [status, length]),
  );

describe(`${REQUESTS} requests at once, with money for the worst case of 10,`, () => {
  for (const shape of SHAPES) {
    test(`${shape.name}: 10 go upstream, never 11, and the others get an error that says to retry`, async () => {
      answers.usageOf = asWorst;
      const { team, keys } = await prepare(hasty, shape);
      const { done, all } = flood(hasty, keys, shape.body);
      await waitFor(() => done.length === REQUESTS - 10 && gate.inside === 10);
      for (const { status, headers, body } of done) {
        expect(status).toBe(429);
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
        expect(headers.get('x-should-retry')).toBe('true');
        expect(body.error).toMatchObject({ code: 'budget_contended', type: 'rate_limit_error' });
        expect(body.error!.details).toMatchObject({
          ...shape.fund(team, keys),
          spent_credits: 0,
          needed_credits: 0.442,
        });
      }
      gate.open();
      const served = (await all).filter(({ status }) => status === 200);
      expect(served.map(({ body }) => body.platform!.credits_consumed)).toEqual(Array(10).fill(0.442));
      expect(gate.most).toBe(10);
      for (const most of gate.mostByUser.values()) expect(most).toBeLessThanOrEqual(shape.atOnceOfKey);
      expect(gate.requests.map(capOf)).toEqual(Array(10).fill(100));
      const after = await send(hasty.url, keys[0]!.key, { ...message, ...shape.body });
      expect([after!.status, after!.body.error!.code]).toEqual([402, 'insufficient_quota']);
      const funds = await fundsOf(hasty, team, keys);
      expect(funds.find(({ limit }) => limit === LIMIT)).toMatchObject({ spent: LIMIT, held: 0, peak: LIMIT });
    });

    test(`${shape.name}: a waiting request is served when money becomes free, and refused once the money is spent`, async () => {
      answers.usageOf = asWorst;
      const { team, keys } = await prepare(patient, shape);
      const { done, all } = flood(patient, keys, shape.body);
      await waitFor(() => gate.inside === 10);
      gate.release(3);
      // The admitted requests spent everything that they held, so no other request can be admitted.
      await waitFor(() => done.length === 3 && gate.inside === 7);
      gate.open();
      expect(statusesOf(await all)).toEqual({ 200: 10, 402: REQUESTS - 10 });
      expect(gate.most).toBe(10);
      const funds = await fundsOf(patient, team, keys);
      expect(funds.find(({ limit }) => limit === LIMIT)).toMatchObject({ spent: LIMIT, held: 0, peak: LIMIT });
    });
  }

  test('if each uses a tenth of its hold, as many as the money pays for are served, in the order of their arrival', async () => {
    // 4.2 + 4 × 10 thousandths of a Credit: 44.2 of the 442 that are set aside.
    answers.usageOf = () => ({ ...used(42, 0), prompt_tokens: 4, completion_tokens: 10 });
    const { team, keys } = await prepare(patient, SHAPES[1]!);
    const { all } = flood(patient, keys, { max_tokens: 100 });
    await waitFor(() => gate.inside === 10);
    while (gate.requests.length < 80) {
      gate.release(1 + (gate.requests.length % 5));
      await Bun.sleep(2);
    }
    gate.open();
    const flooded = await all;
    // Each request spends 44,000 microcredits. The last request may start while at most 4,420,000 − 442,000 are spent.
    const served = Math.floor((LIMIT - WORST) / 44_000) + 1;
    expect(statusesOf(flooded)).toEqual({ 200: served, 402: REQUESTS - served });
    expect(gate.most).toBe(10);
    expect(await fundsOf(patient, team, keys)).toMatchObject([{ spent: served * 44_000, held: 0 }]);
    const ids = foldBooks(patient.data)
      .entries.filter(({ kind, key_id }) => kind === 'reserve' && keys.some(({ id }) => id === key_id))
      .map(({ reservation }) => reservation!);
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
  });
});

test('the audit finds a journal with one hold too many', async () => {
  const copy = temporaryFolder();
  await closedBooks(hasty.data);
  // Copies everything, including data that SQLite has not yet moved into the file.
  write(hasty.data, `VACUUM INTO '${copy}/signalbox.db'`);
  const first = "FROM journal WHERE kind = 'reserve' AND funds IS NOT NULL ORDER BY seq LIMIT 1";
  write(
    copy,
    `INSERT INTO journal (kind, reservation, account, amount, time, funds) SELECT kind, 1, account, 1, time, funds ${first}`,
  );
  expect(foldBooks(copy).faults).toEqual([expect.stringContaining('leaves team')]);
  rmSync(copy, { recursive: true });
});

test(
  'random requests, usages, failures and disconnects never overspend a fund, and each request is closed once',
  async () => {
    const { runs, random, proved } = effort('overspend', 1, 200);
    let served = 0;
    for (let run = 0; run < runs; run++) {
      const box = random() < 0.5 ? hasty : patient;
      const { statuses, overspent, faults } = await floodAtRandom({
        box,
        gate,
        answers,
        random,
        team: `random-${++teams}`,
      });
      expect({ overspent, faults }).toEqual({ overspent: 0, faults: [] });
      served += statuses.filter((status) => status === 200).length;
    }
    expect(served).toBeGreaterThan(runs);
    proved('floods of 120 requests with random costs, limits, failures and leavers: 0 microcredits overspent');
  },
  isDeep ? 3_600_000 : 60_000,
);
