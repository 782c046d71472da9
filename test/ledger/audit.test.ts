import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { idAt } from '../../src/core/id.ts';
import { Audit, type FindingKind, NO_CHECKPOINT } from '../../src/ledger/audit/audit.ts';
import { SeenReservations } from '../../src/ledger/audit/memory.ts';
import { isShortage } from '../../src/ledger/available-funds.ts';
import type { AuditRow } from '../../src/store/journal-reader.ts';
import { tries } from '../deep/effort.ts';
import { tempFolder } from '../store/support.ts';
import {
  ALICE,
  audit,
  BOB,
  copies,
  EACH_KEY,
  EVERYONE,
  findingsOf,
  granting,
  makeJournal,
  shift,
  tamper,
} from './audit-support.ts';
import { ledgerTest } from './books-test.ts';
import { budget, held, line, NOON, open, order, terms } from './support.ts';

let folder: ReturnType<typeof tempFolder>;
beforeAll(async () => {
  folder = tempFolder();
  await makeJournal(folder.file);
});
afterAll(() => folder[Symbol.dispose]());

const copy = copies(() => folder);

test('the audit finds nothing wrong in a journal that has every kind of row, two limits, a crash and an unfinished server run', async () => {
  const result = await audit(folder.file);
  expect(result.findings).toEqual([]);
  expect(result.totals).toEqual({ entries: 28, charged: 2490, corrected: -50, overrun: 300, granted: 4000 });
  expect(result).toMatchObject({ reservations: 10, funds: 5 });
  expect([...result.open.values()]).toMatchObject([{ keyId: 'bob', reserved: 200, charged: 20, seq: 27 }]);
});

test('the audit reports an open reservation only if no request is running', async () => {
  expect((await audit(folder.file, true)).findings).toMatchObject([{ kind: 'left_open', seq: 27 }]);
});

const copyRow = (from: number, to: number, kind = 'kind', amount = 'amount') =>
  `INSERT INTO journal (seq, kind, reservation, account, amount, time, funds, tariff)
    SELECT ${to}, ${kind}, reservation, account, ${amount}, time, funds, tariff FROM journal WHERE seq = ${from}`;

/** For each change of the journal: the kind of finding and the number of the row that the audit must report. */
const MUTANTS: readonly (readonly [name: string, sql: readonly string[], kind: FindingKind, seq: number | null])[] = [
  ['a reserve is removed', ['DELETE FROM journal WHERE seq = 12'], 'never_reserved', 13],
  ['a settle is removed', ['DELETE FROM journal WHERE seq = 13'], 'wrong_checkpoint', null],
  ['a post is removed', ['DELETE FROM journal WHERE seq = 2'], 'wrong_spend', null],
  ['a raise is removed', ['DELETE FROM journal WHERE seq = 3'], 'overcharged', 4],
  ['a correction is removed', ['DELETE FROM journal WHERE seq = 11'], 'wrong_spend', null],
  ['a grant is removed', ['DELETE FROM journal WHERE seq = 10'], 'overdrawn', 12],
  ['a reserve is doubled', [copyRow(12, 29)], 'reserved_twice', 29],
  ['a settle is doubled', [copyRow(26, 29)], 'after_the_end', 29],
  ['a settlement follows an expiry', [copyRow(22, 29, "'settle'", '1')], 'after_the_end', 29],
  ['a raise follows the end of its reservation', [copyRow(9, 29, "'raise'", '1')], 'after_the_end', 29],
  ['an attach follows the end of its reservation', [copyRow(9, 29, "'attach'", '0')], 'after_the_end', 29],
  ['an overrun has no reservation', ['UPDATE journal SET reservation = 7 WHERE seq = 5'], 'never_reserved', 5],
  ['a charge is 1 too high', ['UPDATE journal SET amount = amount + 1 WHERE seq = 7'], 'wrong_spend', null],
  ['a charge exceeds its reservation', ['UPDATE journal SET amount = 301 WHERE seq = 26'], 'overcharged', 26],
  ['a charge is negative', ['UPDATE journal SET amount = -1 WHERE seq = 26'], 'bad_amount', 26],
  ['a correction takes', ['UPDATE journal SET amount = 50 WHERE seq = 11'], 'bad_amount', 11],
  [
    'a correction gives back more than was charged',
    ['UPDATE journal SET amount = -251 WHERE seq = 11'],
    'over_corrected',
    11,
  ],
  ['two corrections together give back more than was charged', [copyRow(11, 29, 'kind', '-201')], 'over_corrected', 29],
  ['a charge is booked to another account', ['UPDATE journal SET account = 1 WHERE seq = 7'], 'other_account', 7],
  ['an account does not exist', ['DELETE FROM accounts WHERE id = 7'], 'missing_account', 27],
  ['a tariff is missing', ['DELETE FROM tariffs WHERE id = 3'], 'missing_tariff', 24],
  ['a fund is missing', ['DELETE FROM funds WHERE id = 13'], 'missing_fund', 27],
  [
    'an entry names a fund before the row of the fund applies',
    ['UPDATE funds SET after_seq = 27 WHERE id = 13'],
    'missing_fund',
    27,
  ],
  ['a budget is overdrawn by 1', ['UPDATE funds SET most = 869 WHERE id = 13'], 'overdrawn', 27],
  ['a raise overdraws a budget by 1', ['UPDATE funds SET most = 699 WHERE id = 1'], 'overdrawn', 3],
  ['a balance is overdrawn by 1', ['UPDATE journal SET amount = 1389 WHERE seq = 10'], 'overdrawn', 25],
  [
    'a reservation draws on the balance of another key',
    [`UPDATE journal SET funds = '13 11 12' WHERE seq = 27`],
    'foreign_fund',
    27,
  ],
  [
    'a reservation draws on the window of another day',
    [`UPDATE funds SET starts = starts + 86400000 WHERE id = 13`],
    'outside_window',
    27,
  ],
  ['a budget opens with 1 too many', ['UPDATE funds SET opening = 2171 WHERE id = 11'], 'wrong_opening', 23],
  ['a budget opens with 1 too few', ['UPDATE funds SET opening = 199 WHERE id = 7'], 'wrong_opening', 15],
  ['a new window opens with charges', ['UPDATE funds SET opening = 1 WHERE id = 3'], 'wrong_opening', 6],
  ['a balance opens with 1 too few', ['UPDATE funds SET opening = 799 WHERE id = 12'], 'wrong_opening', 23],
  ['a limit’s change miscounts', ['UPDATE funds SET opening = 1249 WHERE id = 8'], 'wrong_opening', 17],
  ['a sum is 1 too high', ['UPDATE spend SET microcredits = microcredits + 1 WHERE account = 5'], 'wrong_spend', null],
  [
    'a sum of tokens is 1 too low',
    ['UPDATE spend SET output_tokens = output_tokens - 1 WHERE tariff = 1'],
    'wrong_spend',
    null,
  ],
  ['a sum is missing', ['DELETE FROM spend WHERE account = 5'], 'wrong_spend', null],
  ['a sum of nothing', ['INSERT INTO spend VALUES (1, 1, 1, 1, 1, 1, 1, 1, 1)'], 'wrong_spend', null],
  ['a balance is 1 too high', ['UPDATE balances SET spent = spent + 1'], 'wrong_balance', null],
  ['a balance has a higher grant', ['UPDATE balances SET granted = granted + 1'], 'wrong_balance', null],
  ['a balance is missing', ['DELETE FROM balances'], 'wrong_balance', null],
  ['the checkpoint includes a row that does not exist', ['UPDATE checkpoint SET through = 26'], 'wrong_spend', null],
  [
    'the checkpoint lists a reservation that is not open',
    [`UPDATE checkpoint SET open = '[{"reservation":5,"account":1,"keyId":"a","amount":1,"charged":0,"funds":null}]'`],
    'wrong_checkpoint',
    null,
  ],
  ['the checkpoint has a wrong sum', ['UPDATE checkpoint SET charged = charged + 1'], 'wrong_checkpoint', null],
  ['the checkpoint is unreadable', [`UPDATE checkpoint SET open = '[{}]'`], 'damaged', null],
  ['there is no checkpoint', ['DELETE FROM checkpoint'], 'damaged', null],
  ['an entry has an unknown kind', [`UPDATE journal SET kind = 'gift' WHERE seq = 26`], 'unknown_kind', 26],
  ['a reserve of nothing', ['UPDATE journal SET reservation = NULL WHERE seq = 25'], 'no_reservation', 25],
  ['rows change places', [...shift(12), copyRow(14, 12), 'DELETE FROM journal WHERE seq = 14'], 'never_reserved', 12],
];

describe('the audit names the row and the kind of the mistake if', () => {
  for (const [name, sql, kind, seq] of MUTANTS) {
    test(name, async () => {
      const file = copy();
      tamper(file, ...sql);
      const { findings } = await audit(file);
      expect(findings).toContainEqual(expect.objectContaining({ kind, seq }));
    });
  }
});

test('the audit finds journal rows whose numbers do not ascend', () => {
  const fold = new Audit(NO_CHECKPOINT);
  const row: AuditRow = {
    ...{ seq: 2, kind: 'grant', reservation: null, account: 1, amount: 5, time: NOON, funds: null },
    ...{ tariff: null, input: null, output: null, note: null, keyId: 'key', payer: null, knownTariff: null },
  };
  fold.add(row);
  fold.add({ ...row, seq: 1 });
  expect(fold.findings).toMatchObject([{ kind: 'sequence', seq: 1 }]);
});

/**
 * Audits a charge of 70 in row 2 of the journal and, `ms` later, a hold that draws on a budget that has counted nothing yet.
 * @param counted the row of the journal up to which the budget says that it is counted
 */
function openingAfter(ms: number, counted: number | null, drawn: string | null = null) {
  const fold = new Audit(NO_CHECKPOINT);
  const fund = {
    kind: 'budget' as const,
    name: 'b',
    subject: '',
    definition: '',
    starts: 0,
    ends: null,
    most: 900,
    opening: 0,
  };
  fold.fund({ ...fund, id: 1, afterSeq: 0, counted: 0 });
  fold.fund({ ...fund, id: 2, afterSeq: 2, counted });
  const row: AuditRow = {
    ...{ seq: 1, kind: 'reserve', reservation: idAt(NOON), account: 1, amount: 70, time: NOON, funds: drawn },
    ...{ tariff: null, input: null, output: null, note: null, keyId: 'key', payer: null, knownTariff: null },
  };
  fold.add(row);
  fold.add({ ...row, seq: 2, kind: 'settle' });
  fold.add({ ...row, seq: 3, reservation: idAt(NOON + ms), time: NOON + ms, funds: '2' });
  return fold.findings.map(({ kind }) => kind);
}

describe('openings', () => {
  test('the opening of a budget lacks exactly the charges of servers without the budget that it has not counted, for at most a minute', () => {
    expect(openingAfter(60_000, 1)).toEqual([]);
    expect(openingAfter(60_001, 1)).toEqual(['wrong_opening']);
    expect(openingAfter(1, 2)).toEqual(['wrong_opening']);
    expect(openingAfter(1, null)).toEqual([]);
  });

  test('the opening of a budget never lacks a charge that drew on the budget itself', () => {
    expect(openingAfter(60_000, 1, '1')).toEqual(['wrong_opening']);
  });

  ledgerTest(
    'the opening of a budget of a budget that was removed and added again includes the charges in between',
    async (folder) => {
      const { ledger, store } = await folder.open({ terms: terms(EVERYONE) });
      (await held(ledger, order(100, { caller: ALICE }))).settle(line(100), () => []);
      (await ledger.prepare(terms()))();
      (await held(ledger, order(70, { caller: ALICE }))).settle(line(70), () => []);
      (await held(ledger, order(30, { caller: BOB }))).settle(line(30), () => []);
      (await ledger.prepare(terms(EVERYONE)))();
      (await held(ledger, order(10, { caller: ALICE }))).settle(line(10), () => []);
      await store.flush();
      expect(await store.query({ sql: 'SELECT opening FROM funds ORDER BY id' })).toEqual([
        { opening: 0 },
        { opening: 200 },
      ]);
      await folder.prove();
      // Bob never drew on the budget, so his charges may count or not. The charges of Alice must count.
      for (const [opening, wrong] of [
        [169, true],
        [170, false],
        [200, false],
        [201, true],
      ] as const) {
        tamper(folder.file, `UPDATE funds SET opening = ${opening} WHERE id = 2`);
        expect((await findingsOf(folder.file)).includes('wrong_opening')).toBe(wrong);
      }
    },
  );

  ledgerTest(
    'the opening of a budget may exceed a limit that was lowered; then nothing more can be reserved',
    async (folder) => {
      const { ledger } = await folder.open({ terms: terms(EVERYONE) });
      (await held(ledger, order(5_000))).settle(line(5_000), () => []);
      const before = await held(ledger, order(2_000));
      (await ledger.prepare(terms({ ...EVERYONE, limit: 4_000 })))();
      expect(isShortage(await ledger.reserve(order(1)))).toBe(true);
      before.settle(line(2_000), () => []);
      await folder.prove();
    },
  );
});

describe('the audit of random histories', () => {
  const steps = fc.array(
    fc.tuple(
      fc.constantFrom('reserve', 'reserve', 'raise', 'post', 'settle', 'settle', 'limit', 'drop', 'grant', 'crash'),
      fc.integer({ min: 0, max: 900 }),
    ),
    { minLength: 5, maxLength: 40 },
  );

  test('the audit finds nothing wrong after any sequence of reservations, raises, charges, changes of budgets, grants and crashes', async () => {
    const law = fc.asyncProperty(steps, async (plan) => {
      using folder = tempFolder();
      let budgets = [EACH_KEY, EVERYONE];
      let run = await open(folder.file, { terms: terms(...budgets) });
      let holds: Awaited<ReturnType<typeof held>>[] = [];
      for (const [action, n] of plan) {
        const hold = holds[n % Math.max(holds.length, 1)];
        const caller = n % 2 === 0 ? ALICE : BOB;
        if (action === 'reserve') {
          const reserved = await run.ledger.reserve(order(n, { caller }));
          if (!isShortage(reserved)) holds.push(reserved);
        } else if (action === 'raise') await hold?.raise([n]);
        else if (action === 'post') {
          if (hold && hold.left > 0) hold.post(line(n));
        } else if (action === 'settle') hold?.settle(line(n), () => []);
        else if (action === 'limit' || action === 'drop') {
          // Limits are only lowered here. Another test covers raises after a limit was raised.
          budgets = action === 'drop' ? [EACH_KEY] : [EACH_KEY, budget(7_999 - n, { name: 'everyone' })];
          (await run.ledger.prepare(terms(...budgets)))();
        } else {
          await run.store.flush();
          await run.store.close();
          if (action === 'grant') grantDirectly(folder.file, caller.keyId, 1_000 + n);
          run = await open(folder.file, { terms: terms(...budgets) });
          holds = [];
        }
      }
      await run.store.close();
      expect((await audit(folder.file)).findings).toEqual([]);
    });
    await fc.assert(law, tries('the audit of any history finds nothing', 15, 100));
  });
});

function grantDirectly(file: string, keyId: string, amount: number): void {
  const { kind, note, time } = granting(keyId, amount);
  tamper(
    file,
    `INSERT INTO adjustments (kind, key_id, amount, note, time) VALUES ('${kind}', '${keyId}', ${amount}, '${note}', ${time})`,
  );
}

test('the audit sorts reservations by ID, in whatever order they are added', () => {
  const law = fc.property(fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 3_000 }), (ids) => {
    const seen = new SeenReservations();
    const model = new Map<number, number>();
    for (const id of ids) {
      expect(seen.add(id, id + 1)).toBe(!model.has(id));
      model.set(id, (model.get(id) ?? 0) + 5);
      expect(seen.charge(id, 5)).toBe(model.get(id)!);
    }
    expect(seen.size).toBe(model.size);
    for (let id = 0; id < 3_000; id += 7) expect(seen.accountOf(id)).toBe(model.has(id) ? id + 1 : null);
  });
  fc.assert(law, { numRuns: 20 });
});
