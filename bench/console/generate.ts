import { Database } from 'bun:sqlite';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Window, windowAt } from '../../src/core/accounting/window.ts';
import { idText } from '../../src/core/id.ts';
import { runsOutAt } from '../../src/ledger/forecast.ts';
import { databaseIn } from '../../src/store/open.ts';
import { type Base, makeBase, writePolicyFile } from './base.ts';
import { Plan, type PlannedRequest } from './plan.ts';
import { randomOf } from './random.ts';
import { RowWriter, type WindowFund } from './rows.ts';
import {
  type BudgetLimits,
  budgetWindow,
  DAY_MS,
  DEAR_MODEL,
  HOUR_MS,
  JUMPING_KEY,
  NO_LIMITS,
  policyText,
  SLOW_PROVIDER,
  SOONEST,
  teamNames,
  USES,
  worldKeys,
} from './world.ts';

export interface GenerateOptions {
  /** A folder that is empty or does not exist yet. */
  readonly folder: string;
  readonly decisions: number;
  readonly keys: number;
  readonly teams: number;
  /** The time at which the folder is opened, in ms since 1970. The traffic of the folder ends a minute before this time. */
  readonly now: number;
  readonly seed?: number;
  readonly onProgress?: (written: number) => void;
}

/** The answers to questions that people ask, as the generator knows them. Money is in microcredits. */
export interface ConsoleAnswers {
  /** The time at which the folder is opened, in ms since 1970. */
  readonly now: number;
  readonly decisions: number;
  /** A team with its spend and its savings in the last seven days, counted in whole hours. */
  readonly team: { readonly name: string; readonly charged: number; readonly saved: number };
  /** A request to `auto`, with the chosen model and the reason for the choice. */
  readonly decision: { readonly id: string; readonly model: string; readonly reason: string; readonly keyName: string };
  readonly budget: { readonly name: string; readonly runsOutAt: number };
  readonly slowProvider: string;
  readonly key: {
    readonly name: string;
    readonly id: string;
    readonly model: string;
    readonly before: number;
    readonly since: number;
  };
}

export const answersIn = (folder: string): string => join(folder, 'answers.json');

/** Writes a data folder with 30 days of traffic up to a moment, and its policy, as a server would have left them. */
export async function generate(options: GenerateOptions): Promise<ConsoleAnswers> {
  const { folder, decisions, now, seed = 1, onProgress = () => {} } = options;
  const random = randomOf(seed);
  const teams = teamNames(options.teams);
  const world = worldKeys(options.keys, teams, random);
  const { kind, window } = budgetWindow(now);
  writePolicyFile(folder, policyText(teams, kind, NO_LIMITS));
  const base = await makeBase(folder, world, teams, now);
  const known = new Knowledge(now, window.starts);
  const definitions = definitionsIn(folder);
  const fundsOf = fundsBy((name, time) => {
    const { starts, ends } = windowAt(kind, 'UTC', time);
    return { name, definition: definitions.get(name)!, starts, ends, limit: NO_LIMITS.everyone * 1e6 };
  });
  let written = 0;
  {
    using writer = new RowWriter(databaseIn(folder), base, now);
    for (const stretch of new Plan(base, now, random).stretches(decisions)) {
      written += await writer.write(known.watch(stretch), fundsOf);
      onProgress(written);
    }
  }
  const limits = limitsFor(known, now, window);
  writePolicyFile(folder, policyText(teams, kind, limits));
  const answers = known.answers({ decisions: written, team: teams[0]!, base, limits, window });
  writeFileSync(answersIn(folder), JSON.stringify(answers, null, 2));
  return answers;
}

/** Returns the conditions and windows of the active budgets, as the ledger names them. */
function definitionsIn(folder: string): ReadonlyMap<string, string> {
  using db = new Database(databaseIn(folder), { readonly: true });
  const rows = db
    .query<{ name: string; definition: string }, []>('SELECT name, definition FROM budgets WHERE retired = 0')
    .all();
  return new Map(rows.map(({ name, definition }) => [name, definition]));
}

/** Returns the windows that a request draws on, created once for each hour. */
function fundsBy(make: (name: string, time: number) => WindowFund) {
  let hour = 0;
  let known = new Map<string, readonly WindowFund[]>();
  return ({ key: { use }, record: { time } }: PlannedRequest): readonly WindowFund[] => {
    const of = Math.floor(time / HOUR_MS);
    if (of !== hour) [hour, known] = [of, new Map()];
    return known.getOrInsertComputed(use, () => [make('everyone', time), make(use, time)]);
  };
}

type Spent = Readonly<Record<keyof BudgetLimits, number>>;

/**
 * Returns limits for which one budget runs out after a third of the rest of its window, a second budget runs out later, and all other
 * budgets never run out. A budget runs out at the faster of two rates, as in a forecast: the rate of its window, or of the last 24 hours.
 */
function limitsFor(
  { spent, recent }: { readonly spent: Spent; readonly recent: Spent },
  now: number,
  { starts, ends }: { readonly starts: number; readonly ends: number },
): BudgetLimits {
  const lasting = (name: keyof BudgetLimits, share: number): number => {
    const rate = Math.max(spent[name] / (now - starts), recent[name] / DAY_MS);
    return Math.max(1, Math.ceil((spent[name] + rate * (ends - now) * share) / 1e6));
  };
  const [, other, last] = [SOONEST, ...USES.filter((use) => use !== SOONEST)];
  return {
    ...NO_LIMITS,
    [SOONEST]: lasting(SOONEST, 0.3),
    [other!]: lasting(other!, 0.8),
    [last!]: lasting(last!, 1.6),
    everyone: lasting('everyone', 2),
  };
}

interface AnswerParts {
  readonly decisions: number;
  readonly team: string;
  readonly base: Base;
  readonly limits: BudgetLimits;
  readonly window: Window;
}

/** Adds up the answers to the questions while the rows are written. */
class Knowledge {
  readonly #now: number;
  readonly #weekFrom: number;
  readonly #windowFrom: number;
  readonly #byTeam = new Map<string, { charged: number; saved: number }>();
  /** Microcredits charged in the window of the budgets, and in the last 24 hours. */
  readonly spent: Record<keyof BudgetLimits, number> = { everyone: 0, interactive: 0, agents: 0, batch: 0 };
  readonly recent = { ...this.spent };
  readonly #jumping = { before: 0, since: 0 };
  #auto: PlannedRequest | null = null;

  constructor(now: number, windowFrom: number) {
    this.#now = now;
    this.#windowFrom = windowFrom;
    this.#weekFrom = Math.floor(now / HOUR_MS) * HOUR_MS + HOUR_MS - 7 * DAY_MS;
  }

  *watch(requests: Iterable<PlannedRequest>): Generator<PlannedRequest> {
    for (const request of requests) {
      this.#see(request);
      yield request;
    }
  }

  #see(request: PlannedRequest): void {
    const { record, outcome, key } = request;
    const { charged, saved } = outcome;
    if (record.time >= this.#windowFrom) {
      this.spent.everyone += charged;
      this.spent[key.use] += charged;
    }
    if (record.time >= this.#now - DAY_MS) {
      this.recent.everyone += charged;
      this.recent[key.use] += charged;
    }
    if (record.time >= this.#weekFrom) {
      const sum = this.#byTeam.getOrInsertComputed(key.teamId, () => ({ charged: 0, saved: 0 }));
      sum.charged += charged;
      sum.saved += saved;
    }
    if (key.pin === DEAR_MODEL) {
      if (record.time >= this.#weekFrom) this.#jumping.since += charged;
      else if (record.time >= this.#weekFrom - 7 * DAY_MS) this.#jumping.before += charged;
    }
    if (request.selector === 'auto' && outcome.status === 'completed' && outcome.attempts.length === 1)
      this.#auto = request;
  }

  answers({ decisions, team, base, limits, window }: AnswerParts): ConsoleAnswers {
    const jumping = base.keys[JUMPING_KEY % base.keys.length]!;
    const teamId = base.keys.find((key) => key.team === 0)!.teamId;
    const auto = this.#auto!;
    return {
      now: this.#now,
      decisions,
      team: { name: team, ...this.#byTeam.get(teamId)! },
      decision: {
        id: idText('dec_', auto.record.id),
        model: auto.record.choice,
        reason: auto.record.reason,
        keyName: auto.key.name,
      },
      budget: { name: SOONEST, runsOutAt: runsOutAt(this.spent[SOONEST], limits[SOONEST] * 1e6, window, this.#now)! },
      slowProvider: SLOW_PROVIDER,
      key: { name: jumping.name, id: jumping.id, model: DEAR_MODEL, ...this.#jumping },
    };
  }
}
