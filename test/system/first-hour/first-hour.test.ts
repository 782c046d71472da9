import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { effort, isDeep } from '../../deep/effort.ts';
import { CLIENTS, type Client } from './clients.ts';
import { EXPECTED, MODES, type Mode } from './modes.ts';
import { cloneHere, type Doubles, installed, type Served, serveThis, startClone, withDoubles } from './stage.ts';

/**
 * A newcomer's first hour: every supported client, unmodified, with a model of each vendor under the shipped policy. `npm run test:system`
 * uses the clients that the clone installs and three vendors; `npm run test:deep -- first-hour` uses an untouched clone, all major versions
 * and all vendors.
 */
const ROOT = join(import.meta.dir, '../../..');
const PATIENCE = 600_000;

/** A model of each vendor in the catalog. Fireworks and Together AI have no models of their own. */
const MODELS = {
  openai: 'gpt-6-luna',
  anthropic: 'claude-haiku-5-5',
  gemini: 'gemini-3.8-flash',
  mistral: 'mistral-medium-3.5',
  deepseek: 'deepseek-v4.1-flash',
  xai: 'grok-4.7',
  moonshotai: 'kimi-k3',
  zai: 'glm-5.3',
  groq: 'gpt-oss-120b',
  cerebras: 'cerebras-qwen3.8-27b',
  openrouter: 'qwen3.8-max',
} as const;
const VENDORS = isDeep
  ? (Object.keys(MODELS) as (keyof typeof MODELS)[])
  : (['openai', 'anthropic', 'gemini'] as const);

const HEAD = `Models of ${VENDORS.length} vendors, each behind a double of its service, that gave the expected answer.

| client | dialects | ${MODES.join(' | ')} |
| --- | --- | ${MODES.map(() => '---:').join(' | ')} |`;

const clients = CLIENTS.filter(({ packages }) => isDeep || !packages);
const { proved } = effort('first-hour', clients.length, clients.length);
const folders: string[] = [];
const table: string[] = [];
let doubles: Doubles;
let served: Served;

beforeAll(async () => {
  const folder = isDeep ? await cloneHere() : ROOT;
  if (isDeep) folders.push(folder);
  doubles = withDoubles(join(folder, 'policies'));
  served = await (isDeep ? startClone(folder, doubles) : serveThis(doubles));
}, PATIENCE);
afterAll(async () => {
  await served?.stop();
  await doubles?.stop();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}, PATIENCE);

/** Returns the drives of a client, from the clone's packages or from a separate folder. */
async function drivesOf({ drives, packages }: Client) {
  const folder = packages ? await installed(packages) : import.meta.dir;
  if (packages) folders.push(folder);
  return drives((name) => import(Bun.resolveSync(name, folder)));
}

/** Returns a row for each dialect of a client, with the models that succeeded in each mode, and the failures. */
async function drive(client: Client): Promise<{ readonly rows: string[]; readonly failures: string[] }> {
  const [rows, failures]: [string[], string[]] = [[], []];
  for (const [dialect, own] of Object.entries(await drivesOf(client))) {
    const passed: Record<Mode, number> = { text: 0, stream: 0, tools: 0, structured: 0 };
    for (const model of VENDORS.map((vendor) => MODELS[vendor])) {
      for (const mode of MODES) {
        const got = await own[mode]({ url: served.url, key: served.key, model }).catch((error: unknown) => error);
        if (Bun.deepEquals(got, EXPECTED[mode])) passed[mode]++;
        else failures.push(`${client.name} by ${dialect}, ${mode}, ${model}: ${String(got)} ${JSON.stringify(got)}`);
      }
    }
    rows.push(`| ${[client.name, dialect, ...MODES.map((mode) => passed[mode])].join(' | ')} |`);
  }
  return { rows, failures };
}

test.each(clients)(
  '$name: text, stream, tools and structured output, with a model of each vendor',
  async (client) => {
    const { rows, failures } = await drive(client);
    expect(failures).toEqual([]);
    table.push(...rows);
  },
  PATIENCE,
);

/** Merges the dialects of a client that have the same figures into one row. */
function byFigures(rows: readonly string[]): string[] {
  const figuresOf = (row: string) => row.split(' | ').toSpliced(1, 1).join(' | ');
  return [...Map.groupBy(rows, figuresOf)].map(([figures, same]) =>
    figures.replace(' | ', ` | ${same.map((row) => row.split(' | ')[1]).join(', ')} | `),
  );
}

test('every fake service received a request, and every client ran', () => {
  const silent = VENDORS.filter((vendor) => doubles.of(vendor).requests.length === 0);
  expect([silent, new Set(table.map((row) => row.split(' | ')[0])).size]).toEqual([[], clients.length]);
  const text = `${HEAD}\n${byFigures(table).join('\n')}`;
  console.log(text);
  proved(
    `${clients.length} clients, each in its dialects (${table.length} in all), with models of ${VENDORS.length} vendors`,
    text,
  );
});
