import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { FENCE_TABLE } from '../../../src/store/sqlite/fence.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { ALL_TABLES } from '../../../src/store/sqlite/open.ts';
import { copyFixture, DATA_SQL, EXPECTED, POLICIES } from '../../fixtures/v0.1/folder.ts';
import { temporaryFolder } from '../../support/signalbox.ts';

/**
 * The fixture of 0.1 is complete: its data folder has a row of every kind that 0.1 writes, its policy folder every section
 * of the language. The kinds are listed here as 0.1 knew them; a kind that a later version adds needs a fixture of that
 * version.
 */
const { data, file } = copyFixture();
afterAll(() => rmSync(data, { recursive: true, force: true }));

function rowsOf<Row>(sql: string, path = file): Row[] {
  using db = new Database(path, { readonly: true });
  return db.query<Row, []>(sql).all();
}
const wordsOf = (sql: string): string[] =>
  rowsOf<{ word: string }>(`SELECT DISTINCT ${sql} ORDER BY 1`).map(({ word }) => word);
const SCHEMA =
  "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type, name";

/** Columns without a value in any row, and why. */
const EMPTY: Readonly<Record<string, string>> = {
  'accounts.agent_wallet': 'a column from before 0.1: 0.1 reads it and never writes it, see fixtures/middle.sql',
};

describe('the data folder of 0.1', () => {
  test('has a row in each of its tables, and a value in each column', () => {
    const tables = rowsOf<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'");
    const empty = tables.flatMap(({ name: table }) => {
      const columns = rowsOf<{ name: string }>(`PRAGMA table_info("${table}")`);
      return columns
        .filter(({ name }) => rowsOf<{ n: number }>(`SELECT count("${name}") AS n FROM "${table}"`)[0]!.n === 0)
        .map(({ name }) => `${table}.${name}`);
    });
    expect(tables).toHaveLength(28);
    expect(empty).toEqual(Object.keys(EMPTY));
  });

  test.each<[string, string, readonly string[]]>([
    [
      'entry of the journal',
      'kind AS word FROM journal',
      ['attach', 'correct', 'deposit', 'expire', 'fee', 'grant', 'overrun', 'post', 'raise', 'reserve', 'settle'],
    ],
    ['fund', 'kind AS word FROM funds', ['balance', 'budget']],
    [
      'window of a budget',
      `value AS word FROM funds, json_each(definition) WHERE definition <> '' AND value IN ('day', 'week', 'month', 'total')`,
      ['day', 'month', 'total', 'week'],
    ],
    ['adjustment', `kind || ' ' || adopted AS word FROM adjustments`, ['correct 1', 'grant 0', 'grant 1']],
    [
      'fee, kept and given back',
      `iif(amount < 0, 'less', 'more') AS word FROM journal WHERE kind = 'fee'`,
      ['less', 'more'],
    ],
    ['grant', `iif(amount < 0, 'less', 'more') AS word FROM journal WHERE kind = 'grant'`, ['less', 'more']],
    ['payment', 'state AS word FROM payments', ['captured', 'failed', 'settled', 'settling', 'unknown']],
    // The schema also allows `keys`. 0.1 never stores it: a wallet pays nothing for a key.
    ['purpose of a payment', 'purpose AS word FROM payments', ['chat', 'topup']],
    ['answer kept for a repeat', 'state AS word FROM idempotency', ['kept', 'lost', 'running']],
    ['decision', 'kind AS word FROM decisions', ['chat', 'route']],
    [
      'end of a chat',
      `json_extract(body, '$[5][0]') AS word FROM decisions WHERE kind = 'chat'`,
      ['abandoned', 'broken', 'completed', 'failed'],
    ],
    ['source of an outcome', 'source AS word FROM outcomes', ['caller', 'checks', 'retry']],
    [
      'deed in the trail',
      'action AS word FROM trail',
      ['block', 'create', 'grant', 'install', 'revoke', 'rotate', 'unblock'],
    ],
    ['actor in the trail', 'actor AS word FROM trail', ['cli', 'key', 'server', 'wallet']],
  ])('has every kind of %s', (_, sql, kinds) => {
    expect(wordsOf(sql)).toEqual([...kinds]);
  });

  test('has keys of every state, with every term', () => {
    const counts = rowsOf<Record<string, number>>(`SELECT
      sum(revoked_at IS NOT NULL) > 0 AS revoked, sum(expires_at < created_at + 3600000) > 0 AS expiring,
      sum(previous_hash IS NOT NULL) > 0 AS rotated, sum(models IS NOT NULL) > 0 AS ofModels,
      sum(limits IS NOT NULL) > 0 AS limited, sum(budgets <> '[]') > 0 AS ofBudgets, sum(labels <> '{}') > 0 AS labelled,
      sum(wallets IS NOT NULL) > 0 AS bound, sum(wallet IS NOT NULL) > 0 AS ofHolder,
      sum(scopes LIKE '%admin%') > 0 AS admin FROM keys`);
    expect(Object.entries(counts[0]!).filter(([, has]) => has !== 1)).toEqual([]);
  });

  test('has open holds, tokens of every price, a decision that was drawn, and learning that was reset', () => {
    const open = `SELECT count(*) AS n FROM journal j WHERE kind = 'reserve' AND NOT EXISTS
      (SELECT 1 FROM journal e WHERE e.reservation = j.reservation AND e.kind IN ('settle', 'expire'))`;
    expect(rowsOf<{ n: number }>(open)[0]!.n).toBeGreaterThan(3);
    const tokens = `SELECT 1 FROM journal WHERE cached_input_tokens > 0 AND cache_write_tokens > 0 AND reasoning_tokens > 0`;
    expect(rowsOf(tokens)).toHaveLength(1);
    expect(
      rowsOf(
        'SELECT 1 FROM learning_resets WHERE applied IS NULL UNION ALL SELECT 1 FROM learning_resets WHERE applied > 0',
      ),
    ).toHaveLength(2);
    expect(rowsOf(`SELECT 1 FROM decisions WHERE json_extract(body, '$[2]') LIKE '%:explored'`)).not.toEqual([]);
    expect(rowsOf('SELECT revision FROM revisions')).toHaveLength(2);
  });

  test('has the tables that 0.1 makes, to the letter', () => {
    const versions = rowsOf<{ room: string; n: number }>('SELECT room, count(*) AS n FROM migrations GROUP BY room');
    const counts = new Map(versions.map(({ room, n }) => [room, n]));
    const then = [...ALL_TABLES, FENCE_TABLE].map(({ room, versions }) => ({
      room,
      versions: versions.slice(0, counts.get(room) ?? 0),
    }));
    const folder = temporaryFolder();
    const made = join(folder, 'made.db');
    const db = new Database(made);
    migrate(db, then);
    db.close();
    const [ours, theirs] = [rowsOf(SCHEMA), rowsOf(SCHEMA, made)];
    rmSync(folder, { recursive: true, force: true });
    expect(ours).toEqual(theirs);
    expect(Object.fromEntries(counts)).toEqual({
      access: 3,
      fence: 1,
      idempotency: 1,
      learning: 1,
      ledger: 4,
      payments: 1,
      records: 4,
    });
  });
});

describe('the policy folder of 0.1', () => {
  test('has every section of its language, and the selectors with the options of 0.1', () => {
    const texts = readdirSync(POLICIES).filter((name) => name.endsWith('.yaml'));
    const parts = texts.map((name) => parse(readFileSync(join(POLICIES, name), 'utf8')) as Record<string, object>);
    expect([...new Set(parts.flatMap((part) => Object.keys(part)))].sort()).toEqual([
      'answer_worth',
      'baseline',
      'budgets',
      'cases',
      'constraints',
      'credits',
      'default_weights',
      'gateway',
      'learning',
      'ledger',
      'models',
      'payments',
      'plugins',
      'preferences',
      'providers',
      'rate_limits',
      'records',
      'reference_price',
      'selectors',
      'tasks',
      'version',
    ]);
    const selectors = Object.assign({}, ...parts.map(({ selectors }) => selectors)) as object;
    expect(selectors).toMatchObject({
      auto: { options: { quality: 0.6, cost: 0.3, latency: 0.1, patience_ms: 20000 } },
      'auto-cheap': { strategy: 'auto-cheap', options: { quality_margin: 0.12 } },
      'auto-fast': { strategy: 'auto-fast', options: { quality_margin: 0.08 } },
      frugal: { strategy: 'auto-cheap', options: { quality_margin: 0.2, quality_floor: 0.7 } },
      brisk: { strategy: 'auto-fast', options: { quality_margin: 0.1, quality_floor: 0.85 } },
      even: { strategy: 'weighted' },
      value: { strategy: 'thrifty' },
    });
  });
});

/** Installations have this folder. Where a change cannot open it, mend the change. */
test('the fixture of 0.1 is never edited', () => {
  const files = [
    DATA_SQL,
    EXPECTED,
    ...readdirSync(POLICIES)
      .sort()
      .map((name) => join(POLICIES, name)),
  ];
  const hash = new Bun.CryptoHasher('sha256');
  for (const path of files) hash.update(readFileSync(path));
  expect(hash.digest('hex').slice(0, 16)).toBe('04e9befc34795e9b');
});
