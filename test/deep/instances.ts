import { describe, expect, test } from 'bun:test';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../support/answers.ts';
import { type Signalbox, temporaryFolder } from '../support/signalbox.ts';
import { forget, kill, startSweeper } from '../system/postgres/ageing.ts';
import { type MadeKey, makeKey, models, type Stage, startStage } from '../system/postgres/stage.ts';
import { type Ending, type StormRequest, send } from '../system/postgres/storm.ts';
import { type Evidence, evidenceOf, problemsOf, standingOf } from '../system/postgres/verdict.ts';
import { effort, randomFrom } from './effort.ts';

/** `npm run test:deep -- instances`: server processes that share one budget and are killed under load, for one seed after another. */
const PROCESSES = 4;
const REQUESTS = 2_000;
/** The mean price of a request is about 0.24 Credits, so the budget fits about half of the requests. */
const LIMIT = 250;
/** The most output tokens of a request, which determine its price. */
const TOKENS_MAX = 100;
const SMALL: StormRequest = { maxTokens: 1, isStream: false };
const LARGE: StormRequest = { maxTokens: TOKENS_MAX, isStream: false };
/** How often a caller whose connection breaks repeats its request, on any server. */
const TRIES = 6;
/** The upstream answers at most this many requests at once, at this interval, ms. */
const [PASS_MAX, PASS_EVERY_MS] = [60, 5];

interface Storm {
  readonly endings: readonly Ending[];
  readonly killed: readonly Signalbox[];
}

/** Four processes with their own folders, which their successors take over, and another server that sweeps. */
class Fleet {
  readonly stage: Stage;
  readonly sweeper: Signalbox;
  readonly boxes: Signalbox[] = [];
  readonly #folder = temporaryFolder();
  #keys = 0;

  private constructor(stage: Stage, sweeper: Signalbox) {
    this.stage = stage;
    this.sweeper = sweeper;
  }

  static async start(onCrash: 'charge' | 'release'): Promise<Fleet> {
    const stage = await startStage(0, { limit: LIMIT, onCrash });
    const fleet = new Fleet(stage, await startSweeper(stage.fleet));
    fleet.boxes.push(...(await Promise.all(Array.from({ length: PROCESSES }, (_, at) => fleet.#start(at)))));
    return fleet;
  }

  #start(at: number): Promise<Signalbox> {
    const data = join(this.#folder, `${at}`);
    mkdirSync(data, { recursive: true });
    return this.stage.fleet.start({ isProcess: true, data });
  }

  /** Creates a key with its own budget. */
  key(): Promise<MadeKey> {
    return makeKey(this.stage, `team-${++this.#keys}`);
  }

  /** The number of holds that sweeps have ended so far. */
  get orphans(): number {
    const counts = this.sweeper.lines.map((line) => /"message":"closed reservations.*"count":(\d+)/.exec(line)?.[1]);
    return counts.reduce((sum, count) => sum + Number(count ?? 0), 0);
  }

  get team(): string {
    return `team-${this.#keys}`;
  }

  /** Sends all requests at once, and kills processes while they answer. Each killed process gets a successor at once. */
  async storm({ key }: MadeKey, random: () => number): Promise<Storm> {
    const { gate } = this.stage;
    const below = (limit: number) => Math.floor(random() * limit);
    const deaths = Array.from({ length: 1 + below(2) }, () => below(REQUESTS * 0.4)).sort((a, b) => a - b);
    gate.close();
    const passing = setInterval(() => gate.release(1 + below(PASS_MAX)), PASS_EVERY_MS);
    const endings: Ending[] = [];
    const one = async (first: number) => {
      const request = { maxTokens: 1 + below(TOKENS_MAX), isStream: random() < 0.3 };
      for (let tried = 0, at = first; tried < TRIES; tried++, at = below(PROCESSES)) {
        const ending = await send(this.boxes[at]!, key, request);
        endings.push(ending);
        if (ending.status !== null && !ending.isCut) return;
        await Bun.sleep(below(1_000));
      }
    };
    const all = Promise.all(Array.from({ length: REQUESTS }, (_, at) => one(at % PROCESSES)));
    const killed: Signalbox[] = [];
    const successors: Promise<unknown>[] = [];
    for (const due of deaths) {
      await waitFor(() => endings.length >= due, 60_000);
      const at = below(PROCESSES);
      const victim = this.boxes[at]!;
      if (killed.includes(victim)) continue;
      killed.push(victim);
      await kill(victim);
      const start = async () => {
        this.boxes[at] = await this.#start(at);
      };
      successors.push(start());
    }
    await all;
    await Promise.all(successors);
    clearInterval(passing);
    gate.open();
    for (const victim of killed) {
      await forget(this.stage.fleet, victim);
      await this.stage.fleet.stop(victim);
    }
    return { endings, killed };
  }

  /** Spends the rest of the budget once nothing is held, until each server refuses the smallest request. */
  async spendRest(key: MadeKey): Promise<Ending[]> {
    const { sweeper, boxes } = this;
    for (const box of boxes) await waitFor(async () => (await models(box, key)).status === 200);
    await waitFor(async () => (await standingOf(sweeper, this.team)).held === 0, 60_000);
    const endings: Ending[] = [];
    const spend = async (box: Signalbox, request: StormRequest) => {
      for (;;) {
        const ending = await send(box, key.key, request);
        endings.push(ending);
        if (ending.status !== 200) return;
      }
    };
    await Promise.all(boxes.map((box) => spend(box, LARGE)));
    for (const box of boxes) await spend(box, SMALL);
    return endings;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stage[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Plays a seed: the storm, the sweep, the rest of the budget, and a check for errors. */
async function play(fleet: Fleet, seed: number) {
  const [began, swept] = [performance.now(), fleet.orphans];
  const key = await fleet.key();
  const { endings, killed } = await fleet.storm(key, randomFrom(seed));
  const rest = await fleet.spendRest(key);
  const all = [...endings, ...rest];
  const told = all.flatMap((ending) => (ending.told === null ? [] : [ending.told]));
  const evidence = await evidenceOf(fleet.sweeper, key.id, fleet.team, told);
  const unknown = all.filter(({ status }) => ![200, 402, 429, 503, null].includes(status));
  const problems = [...problemsOf(evidence), ...unknown.map(({ status }) => `an answer of ${status}`)];
  const figures = {
    killed: killed.length,
    sent: all.length,
    told: told.length,
    broken: all.filter(({ status, isCut }) => status === null || isCut).length,
    orphans: fleet.orphans - swept,
    rest: rest.filter(({ status }) => status === 200).length,
    usable: evidence.spent / evidence.limit,
  };
  const statuses = Object.fromEntries(
    [...Map.groupBy(all, ({ status }) => `${status}`)].map(([status, found]) => [status, found.length]),
  );
  console.log(
    `seed ${seed}: ${JSON.stringify({ ...figures, ...statuses })}, ${Math.round(performance.now() - began)} ms`,
  );
  return { problems, evidence, figures };
}

const { runs, seed, proved } = effort('instances', 2, 100);

describe('Four processes with one budget that are killed under 2,000 requests', () => {
  const all: Awaited<ReturnType<typeof play>>['figures'][] = [];

  for (const [half, onCrash] of (['charge', 'release'] as const).entries()) {
    test(`never overspend, leave the whole budget usable, and have booked every reported price: orphans ${onCrash}`, async () => {
      await using fleet = await Fleet.start(onCrash);
      for (let at: number = half; at < runs; at += 2) {
        const { problems, figures } = await play(fleet, seed + at);
        expect({ seed: seed + at, problems }).toEqual({ seed: seed + at, problems: [] });
        all.push(figures);
      }
    }, 7_200_000);
  }

  test('every run is in the results', () => {
    expect(all).toHaveLength(runs);
    const sum = (of: (one: (typeof all)[number]) => number) => all.reduce((sum, one) => sum + of(one), 0);
    const least = Math.min(...all.map(({ usable }) => usable));
    proved(
      `${PROCESSES} processes, 1 budget, ${REQUESTS} requests at once, ${sum(({ killed }) => killed)} killed by SIGKILL: overspend 0, at least ${(100 * least).toFixed(2)} % of the budget used, audits clean; each of ${sum(({ told }) => told)} told prices booked; ${sum(({ orphans }) => orphans)} orphans swept`,
    );
  });
});

test('the check finds each error in the figures of callers and the ledger', () => {
  const good: Evidence = {
    ...{ limit: 1_000, spent: 990, held: 0, audit: 'nothing wrong' },
    told: [{ decision: 'dec_1', micro: 500 }],
    charged: new Map([
      ['dec_1', 500],
      ['dec_2', 490],
    ]),
  };
  expect(problemsOf(good)).toEqual([]);
  const faults: Partial<Evidence>[] = [
    { limit: 989 },
    { spent: 500, charged: new Map([['dec_1', 500]]) },
    { held: 1 },
    { audit: 'a budget was overspent' },
    { told: [{ decision: 'dec_1', micro: 501 }] },
    { told: [{ decision: 'dec_3', micro: 500 }] },
    { told: [...good.told, ...good.told] },
    { spent: 991 },
  ];
  for (const fault of faults) expect(problemsOf({ ...good, ...fault })).not.toEqual([]);
});
