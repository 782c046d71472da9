import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { TOY } from '../support/policies.ts';
import { type Signalbox, startSignalbox, temporaryFolder } from '../support/signalbox.ts';

/**
 * Decisions of the last version that learned from outcomes (57258952): with learned qualities, in shadow mode, drawn and not drawn, and for
 * named models. The fixture has the rows of its database and the explanations that it gave.
 */
type Cell = string | number | null | { readonly base64: string };
interface Fixture {
  readonly rows: Readonly<Record<string, readonly Readonly<Record<string, Cell>>[]>>;
  readonly expected: Readonly<Record<string, Explanation>>;
}
interface Explanation {
  readonly route_reason: string;
  readonly candidates: readonly unknown[];
  readonly replay: { readonly matches: boolean | null };
}

const FIXTURE = join(import.meta.dir, '../fixtures/learned-decisions/expected.json');
const { rows, expected }: Fixture = JSON.parse(readFileSync(FIXTURE, 'utf8'));
const decisions = Object.entries(expected);
const MINUTE_MS = 60_000;

const data = temporaryFolder();
let box: Signalbox;

function insertRows(): void {
  using db = new Database(join(data, 'signalbox.db'));
  for (const [table, list] of Object.entries(rows)) {
    for (const row of list) {
      const names = Object.keys(row);
      const places = names.map(() => '?').join(', ');
      const values = Object.values(row).map((one) =>
        one !== null && typeof one === 'object' ? Buffer.from(one.base64, 'base64') : one,
      );
      db.query(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${places})`).run(...values);
    }
  }
}

beforeAll(async () => {
  const last = Math.max(...rows.records!.map(({ time }) => Number(time)));
  const ahead = last + MINUTE_MS - Date.now();
  const start = () => startSignalbox({ policy: TOY, data, now: () => Date.now() + ahead });
  // The first start creates the tables.
  const empty = await start();
  empty.signal('SIGTERM');
  await empty.exited;
  insertRows();
  box = await start();
});
afterAll(async () => {
  await box?.stop();
  rmSync(data, { recursive: true, force: true });
});

test.each(decisions)(
  'decision %s with learned qualities has the same explanation later, and the same result when repeated with its seed',
  async (id, one) => {
    const body = (await (await box.get(`/v1/decisions/${id}`)).json()) as Explanation;
    expect(body).toMatchObject({ ...one });
    expect(body.replay.matches).toBe(true);
    expect(body.candidates).toHaveLength(one.candidates.length);
  },
);

test('drawn decisions are not repeated with the same result if the seed differs', async () => {
  using db = new Database(join(data, 'signalbox.db'));
  const [drawn] = decisions.find(([, { route_reason }]) => route_reason.endsWith(':explored'))!;
  const matches = async () => ((await (await box.get(`/v1/decisions/${drawn}`)).json()) as Explanation).replay.matches;
  const other = `'["${'0'.repeat(16)}' || substr(body, 19)`;
  db.run(`UPDATE records SET body = ${other} WHERE body LIKE '%:explored%'`);
  expect(await matches()).toBe(false);
});
