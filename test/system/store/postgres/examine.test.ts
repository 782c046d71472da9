import { expect, test } from 'bun:test';
import { examineStore, tablesOfStore } from '../../../../src/store/open.ts';
import { runHere } from '../../../support/run-here.ts';
import { freshDatabase, laidDatabase } from '../../../support/shared-postgres.ts';
import { temporaryFolder, writePolicy } from '../../../support/signalbox.ts';

const POLICY = `version: 1
providers: { sim: { adapter: simulated } }
models:
  toy:
    provider: sim
    price: { input: 1, output: 4, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 256
    quality: { default: 0.5, basis: guessed }
`;

test('an examination names the version, the free connections and a setting with which commits could get lost', async () => {
  await using database = await laidDatabase();
  const sound = await examineStore(database.url, 1_000);
  expect(sound).toMatchObject({ engine: expect.stringMatching(/^PostgreSQL \d/), faults: [], tables: null });
  const { used, most } = sound.connections!;
  expect([used > 0, most >= used]).toEqual([true, true]);
  await database.server.run(`ALTER DATABASE ${database.name} SET synchronous_commit = off`);
  const { faults } = await examineStore(database.url, 1_000);
  expect(faults).toEqual([expect.stringContaining('synchronous_commit is off')]);
});

test('`signalbox doctor` examines a database of PostgreSQL, and one without tables is not checked', async () => {
  const findings = async (url: string) => {
    const args = ['doctor', '--data', temporaryFolder(), '--policies', writePolicy(POLICY), '--json'];
    const { out } = await runHere(args, { DATABASE_URL: url });
    const { data } = JSON.parse(out) as { data: { check: string; state: string; found: string }[] };
    return data.filter(({ check }) => check === 'database');
  };
  await using database = await laidDatabase();
  const found = await findings(database.url);
  expect(found.map(({ state }) => state)).toEqual(['ok', 'ok', expect.any(String)]);
  expect(found[0]?.found).toContain(`version ${(await tablesOfStore(database.url)).version}`);
  const absent = new URL(database.url);
  absent.pathname = '/absent';
  expect(await findings(absent.href)).toMatchObject([{ state: 'problem', found: expect.stringContaining('/absent') }]);
  await using empty = await freshDatabase();
  expect((await findings(empty.url)).map(({ state }) => state)).toEqual(['not_checked']);
});
