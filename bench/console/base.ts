import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPrice } from '../../src/core/accounting/stored-price.ts';
import type { DecisionRecord } from '../../src/core/decision/record.ts';
import type { Price } from '../../src/core/money/price.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { databaseIn } from '../../src/store/open.ts';
import { sql } from '../../src/store/sql/statement.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { ALL_TABLES } from '../../src/store/sqlite/open.ts';
import { makeTestKey, type Signalbox, type StartOptions, startSignalbox } from '../../test/support/signalbox.ts';
import { DAY_MS, DAYS, MODELS, SELECTORS, type WorldKey } from './world.ts';

/** A key that the server has created. */
export interface MadeKey extends WorldKey {
  readonly id: string;
  readonly teamId: string;
  readonly userId: string | null;
}

/** A decision that the server has made, from which other decisions are copied. */
export interface Template {
  readonly record: DecisionRecord;
  /** The `model` of the request. */
  readonly selector: string;
}

export interface BookedTariff {
  readonly id: number;
  readonly upstream: string;
  readonly price: Price;
}

/** The data folder of a real server: its tables, policy, people and keys, and a decision of each kind. */
export interface Base {
  readonly keys: readonly MadeKey[];
  readonly templates: readonly Template[];
  /** The tariffs by model. */
  readonly tariffs: ReadonlyMap<string, BookedTariff>;
}

export const policiesIn = (folder: string): string => join(folder, 'policies');

/** Serves a generated folder; it can be served several times. @param options more than its folder and its policy */
export function serveFolder(
  folder: string,
  options: Omit<StartOptions, 'data' | 'policy' | 'args'> = {},
): Promise<Signalbox> {
  // The ID must be new, because a folder keeps the keys of earlier servers.
  const id = crypto.randomUUID().replaceAll('-', '').slice(0, 12);
  const args = ['--policies', policiesIn(folder)];
  return startSignalbox({ data: folder, args, env: { SIGNALBOX_API_KEY: makeTestKey(id) }, ...options });
}

export function writePolicyFile(folder: string, text: string): void {
  mkdirSync(policiesIn(folder), { recursive: true });
  writeFileSync(join(policiesIn(folder), 'policy.yaml'), text);
}

const SPEED = 40;

/**
 * Lets a server create keys and answer some requests in an empty folder. @param now ms since 1970; the server works a day before the
 * traffic begins
 */
export async function makeBase(folder: string, world: readonly WorldKey[], teams: readonly string[], now: number) {
  const begin = now - (DAYS + 1) * DAY_MS;
  // Simulated models wait before they answer, and the clock of this server runs faster than real time.
  const clock = () => performance.now() * SPEED;
  const started = clock();
  const box = await startSignalbox({
    data: folder,
    args: ['--policies', policiesIn(folder)],
    // Tools that inspect the folder find the ID of the usual key here.
    env: { SIGNALBOX_API_KEY: makeTestKey('gen000000001') },
    now: () => begin + Math.floor(clock() - started),
    clock,
    timers: {
      after: (ms, run) => processTimers.after(ms / SPEED, run),
      every: (ms, run) => processTimers.every(ms, run),
    },
  });
  let keys: readonly MadeKey[];
  try {
    keys = await makeKeys(box, world, teams);
    await Promise.all(templateBodies().map((body) => ask(box, body)));
  } finally {
    await box.stop();
  }
  return { keys, ...(await readBase(folder, begin, now)) } satisfies Base;
}

async function makeKeys(box: Signalbox, world: readonly WorldKey[], teams: readonly string[]): Promise<MadeKey[]> {
  const users: string[] = [];
  for (const [at, name] of teams.entries()) {
    const user = {
      name: `Robin of ${name}`,
      email: `robin@${name}.example.com`,
      team: name,
      role: at % 3 ? 'member' : 'lead',
    };
    users.push((await made(box, '/admin/users', user)).id);
  }
  const keys: MadeKey[] = [];
  for (const key of world) {
    const owner = key.isOfUser ? { user: users[key.team] } : { team: teams[key.team] };
    const { id, team, user } = await made(box, '/admin/keys', { name: key.name, labels: { use: key.use }, ...owner });
    if (team === null) throw new Error(`the key ${key.name} is of no team`);
    keys.push({ ...key, id, teamId: team, userId: user });
  }
  return keys;
}

async function ask(box: Signalbox, body: object): Promise<void> {
  const answer = await box.post('/v1/chat/completions', body);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`a request of the generator was refused: ${text}`);
}

interface Made {
  readonly id: string;
  readonly team: string | null;
  readonly user: string | null;
}

async function made(box: Signalbox, path: string, body: object): Promise<Made> {
  const answer = await box.post(path, body);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path} refused the generator: ${text}`);
  return JSON.parse(text);
}

const PROMPTS = [
  'Summarise the notes of this meeting in five points. The delivery was late because the bridge was closed. ',
  'Write a function in Python that merges two sorted lists: def merge(a, b): return sorted(a + b). Then write its tests. ',
  'Prove step by step that the sum of two odd integers is even, and that x^2 + y^2 >= 2xy for all real x and y. ',
  'Translate this letter into German and keep its tone: your parcel will arrive on Monday, and we are sorry. ',
];

const MODEL_NAMES = Object.keys(MODELS);

function templateBodies(): object[] {
  const lengths = [
    ...SELECTORS.map((name) => [name, [2, 15, 80]] as const),
    ...MODEL_NAMES.map((name) => [name, [15]] as const),
  ];
  return lengths.flatMap(([model, ofModel]) =>
    PROMPTS.flatMap((prompt, at) =>
      ofModel.map((length) => {
        const messages = [{ role: 'user', content: prompt.repeat(length) }];
        return { model, messages, max_tokens: 900, stream: (at + length) % 4 !== 1 };
      }),
    ),
  );
}

const TARIFFS = sql('SELECT id, model, upstream, price FROM tariffs');

async function readBase(folder: string, begin: number, now: number): Promise<Omit<Base, 'keys'>> {
  const store = await openSqlite(databaseIn(folder), ALL_TABLES);
  try {
    while (await store.records.log.index());
    while (await store.traffic.count(begin));
    // A real server also runs this work each day.
    await store.traffic.prune(now);
    const { entries } = await store.records.log.list({ limit: 1_000 });
    const templates: Template[] = [];
    for (const { id } of entries) {
      const record = await store.records.log.find(id);
      if (record?.outcome?.status === 'completed') templates.push({ record, selector: record.facts.model });
    }
    const tariffs = new Map<string, BookedTariff>();
    for (const row of await store.query<{ id: number; model: string; upstream: string; price: string }>(TARIFFS)) {
      const price = readPrice(row.price);
      if (price) tariffs.set(row.model, { id: row.id, upstream: row.upstream, price });
    }
    // The requests were sent in parallel, so their order is arbitrary.
    const place = ({ record: { facts, stream } }: Template) =>
      `${facts.model} ${facts.task} ${facts.inputTokens} ${stream}`;
    templates.sort((one, other) => (place(one) < place(other) ? -1 : 1));
    return { templates, tariffs };
  } finally {
    await store.close();
  }
}
