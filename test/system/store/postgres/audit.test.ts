import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { FundRef } from '../../../../src/core/accounting/fund.ts';
import { timeOfId } from '../../../../src/core/id.ts';
import { processTimers } from '../../../../src/host/telemetry/process-timers.ts';
import { auditLedger } from '../../../../src/ledger/audit/run.ts';
import { addressOf } from '../../../../src/store/postgres/address.ts';
import { postgresRepositories } from '../../../../src/store/postgres/repositories.ts';
import { PostgresSnapshot } from '../../../../src/store/postgres/snapshot.ts';
import { postgresTraffic } from '../../../../src/store/postgres/traffic.ts';
import { TRAFFIC_KINDS } from '../../../../src/store/traffic.ts';
import { refusalOf } from '../../../store/implementations.ts';
import { emptyLedger, openBooksOn } from '../../../store/postgres/stage.ts';
import { fundOf, holdOf, nextId, settleOf } from '../../../store/suites/books.ts';
import { type AuditedTraffic, TRAFFIC_AUDIT_CASES } from '../../../store/suites/traffic-audit.ts';
import { testCases } from '../../../store/support.ts';
import { HandTimers } from '../../../support/hand-timers.ts';

/** A database with books, an open hold, and charges of which some are included in the sums. */
let box: Awaited<ReturnType<typeof emptyLedger>>;
let opened: Awaited<ReturnType<typeof openBooksOn>>;
let fund: FundRef;

/** The ID of the last charge. */
let last = 0;
async function spend(cost: number): Promise<void> {
  const id = nextId();
  last = timeOfId(id);
  await opened.books.apply([holdOf(id, [fund], 60)]);
  await opened.books.append([settleOf(id, cost)]);
}
beforeAll(async () => {
  box = await emptyLedger();
  // Regular work of the books would add damaged charges to the sums.
  const { after } = processTimers;
  const never = new HandTimers();
  opened = await openBooksOn(box, 1, { timers: { after, every: (ms, run) => never.every(ms, run) } });
  fund = fundOf(1_000);
  await spend(70);
  await opened.books.checkpoint();
  await opened.books.apply([holdOf(nextId(), [fund], 20)]);
  await spend(30);
  while (await postgresTraffic(box.store).count(last));
});
afterAll(async () => {
  await opened.close();
  await box[Symbol.asyncDispose]();
});

async function kindsIn(snapshot: PostgresSnapshot): Promise<readonly string[]> {
  const { findings } = await auditLedger(postgresRepositories(snapshot, null).journal, {
    idle: false,
    now: last,
  });
  return findings.map(({ kind }) => kind);
}
const openSnapshot = () => PostgresSnapshot.open(addressOf(box.url));

/** Changes of a row, and the statements that undo them. */
const DAMAGES: Readonly<Record<string, readonly [change: string, back: string, kind: string]>> = {
  'a fund that has spent less than its entries': [
    'funds SET spent = spent - 1',
    'funds SET spent = spent + 1',
    'damaged',
  ],
  'a fund that holds more than its holds': ['funds SET held = held + 1', 'funds SET held = held - 1', 'damaged'],
  'a hold with another amount': [
    `holds SET amount = amount + 1 WHERE state = 'open'`,
    `holds SET amount = amount - 1 WHERE state = 'open'`,
    'wrong_checkpoint',
  ],
  'a sum of charges': [
    'spend SET microcredits = microcredits + 1',
    'spend SET microcredits = microcredits - 1',
    'wrong_spend',
  ],
  'the sum of all charges': [
    'folded SET charged = charged + 1',
    'folded SET charged = charged - 1',
    'wrong_checkpoint',
  ],
  ...Object.fromEntries(
    TRAFFIC_KINDS.flatMap((name, kind) =>
      [1, 60, 1_440].map((width) => {
        const some = `WHERE width = ${width} AND kind = ${kind}`;
        const change = (by: string) => `traffic SET microcredits = microcredits ${by} ${some}`;
        return [`a cell of traffic by ${name}, of ${width} minutes`, [change('+ 1'), change('- 1'), 'wrong_traffic']];
      }),
    ),
  ),
  'a charge beyond its hold': [
    `journal SET amount = amount + 40 WHERE kind = 'settle'`,
    `journal SET amount = amount - 40 WHERE kind = 'settle'`,
    'overcharged',
  ],
};

for (const [what, [change, back, kind]] of Object.entries(DAMAGES))
  test(`an audit finds ${what}`, async () => {
    await box.run(`UPDATE ${change}`);
    const damaged = await openSnapshot();
    expect(await kindsIn(damaged)).toContain(kind);
    await damaged.close();
    await box.run(`UPDATE ${back}`);
    const right = await openSnapshot();
    expect(await kindsIn(right)).toEqual([]);
    await right.close();
  });

async function auditedInPostgres(): Promise<AuditedTraffic> {
  const stage = await emptyLedger();
  const { store, run } = stage;
  const { books, close } = await openBooksOn(stage);
  return {
    ...{ run, books, store, traffic: postgresTraffic(store), journal: postgresRepositories(store, null).journal },
    async [Symbol.asyncDispose]() {
      await close();
      await stage[Symbol.asyncDispose]();
    },
  };
}

describe('traffic in PostgreSQL', () => testCases(TRAFFIC_AUDIT_CASES, auditedInPostgres));

test('a snapshot shows its moment while the books change, and refuses writes', async () => {
  const snapshot = await openSnapshot();
  const { ledger, journal } = postgresRepositories(snapshot, null);
  const seen = async () => [await journal.horizon(), (await journal.checkpoint())?.charged, await kindsIn(snapshot)];
  const before = await seen();
  await spend(11);
  await opened.books.checkpoint();
  expect(await seen()).toEqual(before);
  expect(await refusalOf(snapshot.commit())).toBe('broken');
  expect(await refusalOf(ledger.prune(Date.UTC(2030, 0, 1)))).toBe('broken');
  await snapshot.close();
  const later = await openSnapshot();
  const now = await postgresRepositories(later, null).journal.checkpoint();
  expect(now?.charged).toBe(Number(before[1]) + 11);
  await later.close();
});
