import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { policiesIn, serveFolder } from '../../../bench/console/base.ts';
import { type ConsoleAnswers, generate } from '../../../bench/console/generate.ts';
import { toCredits } from '../../../src/core/money/credits.ts';
import { databaseIn } from '../../../src/store/open.ts';
import { deeply } from '../../deep/deeply.ts';
import { runHere } from '../../support/run-here.ts';
import { type Signalbox, startSignalbox, temporaryFolder } from '../../support/signalbox.ts';

/** A generated folder has the same content as one that a server has written. */
const folders: string[] = [];
const SIZE = { decisions: 1_500, keys: 12, teams: 4, now: Date.now() };
let [folder, answers]: [string, ConsoleAnswers] = ['', null!];
beforeAll(async () => {
  [folder, answers] = await generated();
});
afterAll(() => {
  for (const path of folders) rmSync(path, { recursive: true, force: true });
});

async function generated(): Promise<[string, ConsoleAnswers]> {
  const path = temporaryFolder();
  folders.push(path);
  return [path, await generate({ ...SIZE, folder: path })];
}

async function run(...command: string[]): Promise<string> {
  const { code, out, err } = await runHere([...command, '--data', folder]);
  expect([code, err]).toEqual([0, '']);
  return out;
}

/** Returns every bucket with the name of its series. */
function buckets(): readonly unknown[] {
  using db = new Database(databaseIn(folder), { readonly: true });
  return db
    .query(
      `SELECT s.name, hex(ttft) AS first, hex(duration) AS whole, t.* FROM traffic AS t
        JOIN traffic_series AS s ON s.kind = t.kind AND s.number = t.series
        -- A charge that came before its record has left an empty one.
        WHERE requests > 0 OR failed_attempts > 0 OR microcredits <> 0 ORDER BY width, t.kind, bucket, s.name`,
    )
    .all()
    .map((row) => JSON.stringify(row));
}

test('the books of a generated folder pass the audit, and each price follows from its tokens', async () => {
  expect(await run('ledger', 'audit')).toContain('nothing wrong');
});

test('counting the generated traffic again changes no bucket', async () => {
  const before = buckets();
  expect(before.length).toBeGreaterThan(SIZE.decisions);
  await run('traffic', 'rebuild');
  expect(buckets()).toEqual(before);
});

deeply('the same seed gives the same installation, but for IDs that a server draws', async () => {
  const [, again] = await generated();
  const known = ({ key: { id: _, ...key }, ...rest }: ConsoleAnswers) => ({ ...rest, key });
  expect(known(again)).toEqual(known(answers));
});

test('a server serves a generated folder, and its lists, decisions, traffic and budgets show the figures of the generator', async () => {
  const box = await startSignalbox({ data: folder, args: ['--policies', policiesIn(folder)] });
  try {
    const { decision, team, budget } = answers;
    const explained = await read<{ model: string; route_reason: string }>(box, `/admin/decisions/${decision.id}`);
    expect(JSON.stringify(explained)).toContain(decision.reason);
    const from = new Date(Math.floor(SIZE.now / 3_600_000) * 3_600_000 - 167 * 3_600_000).toISOString();
    const traffic = await read<{ series: { name: string; whole: { credits: number; saved_credits: number } }[] }>(
      box,
      `/admin/traffic?by=team&from=${from}`,
    );
    const whole = traffic.series.find(({ name }) => name === team.name)?.whole;
    expect(whole).toMatchObject({ credits: toCredits(team.charged), saved_credits: toCredits(team.saved) });
    const { funds } = await read<{ funds: { name: string; runs_out_at: string | null }[] }>(box, '/admin/ledger');
    const first = funds
      .filter(({ runs_out_at }) => runs_out_at !== null)
      .sort((one, two) => (one.runs_out_at! < two.runs_out_at! ? -1 : 1))[0];
    expect(first?.name).toBe(budget.name);
    // The forecast also knows the last 24 hours, in which the spend may be higher than on average.
    expect(Date.parse(first!.runs_out_at!)).toBeLessThan(budget.runsOutAt + 600_000);
  } finally {
    await box.stop();
  }
});

test('for whole days and months in any time zone, traffic and ledger report equal Credits for every dimension that both have', async () => {
  const box = await serveFolder(folder);
  const day = (ago: number) => new Date(SIZE.now - ago * 86_400_000).toISOString().slice(0, 10);
  try {
    for (const zone of ['UTC', 'Europe/Berlin', 'America/Los_Angeles']) {
      for (const by of ['key', 'team', 'user', 'model', 'provider', 'label:use', 'label:none']) {
        const period = `from=${day(25)}&to=${day(3)}&time_zone=${zone}`;
        const { series, other } = await read<TrafficLines>(
          box,
          `/admin/traffic?by=${by}&${period}&step=day&points=false&limit=50`,
        );
        const { groups } = await read<UsageLines>(box, `/admin/usage?by=${by}&${period}`);
        const booked = groups.map(({ group, credits }) => `${group[by] ?? group[`${by}_id`]} ${credits}`);
        const told = series.filter(({ whole }) => whole.requests > 0 || whole.credits > 0);
        expect([other, told.map(({ value, whole }) => `${value} ${whole.credits}`).sort()]).toEqual([
          null,
          booked.sort(),
        ]);
      }
    }
    const month = `from=${day(35).slice(0, 7)}-01&to=${day(-1)}`;
    const { total } = await read<TrafficLines>(box, `/admin/traffic?step=month&${month}`);
    const { groups } = await read<UsageLines>(box, `/admin/usage?by=month&${month}`);
    expect(total.buckets.credits.filter((credits) => credits > 0)).toEqual(groups.map(({ credits }) => credits));
  } finally {
    await box.stop();
  }
});

interface TrafficLine {
  readonly whole: { readonly requests: number; readonly credits: number };
  readonly buckets: { readonly credits: readonly number[] };
}
interface TrafficLines {
  readonly total: TrafficLine;
  readonly series: readonly (TrafficLine & { readonly value: string })[];
  readonly other: TrafficLine | null;
}
interface UsageLines {
  readonly groups: readonly { readonly group: Readonly<Record<string, string>>; readonly credits: number }[];
}

test('the generator writes its answers to a file next to the folder', () => {
  expect(JSON.parse(readFileSync(join(folder, 'answers.json'), 'utf8'))).toEqual(answers);
});

async function read<Body>(box: Signalbox, path: string): Promise<Body> {
  const answer = await box.get(path);
  expect(answer.status).toBe(200);
  return JSON.parse(await answer.text());
}
