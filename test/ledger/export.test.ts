import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { csvRow } from '../../src/admin/use-cases/csv.ts';
import { FULL_SIGHT } from '../../src/admin/use-cases/sight.ts';
import { parseExport, writeExport } from '../../src/cli/ledger/export.ts';
import type { Tariff } from '../../src/core/accounting/entry.ts';
import { priceText } from '../../src/core/accounting/stored-price.ts';
import { idAt } from '../../src/core/id.ts';
import { type Decimal, parseDecimal, plainText } from '../../src/core/money/decimal.ts';
import { compilePrice, costOf, type Price } from '../../src/core/money/price.ts';
import { PART_UNITS, TOKEN_UNITS, type UnitKey } from '../../src/core/money/units.ts';
import type { Usage } from '../../src/core/money/usage.ts';
import { quotient } from '../../src/ledger/export/price.ts';
import { ledgerMigrations } from '../../src/store/sqlite/books/schema.ts';
import { insertAdjustment } from '../../src/store/sqlite/books/tables.ts';
import { openReader } from '../../src/store/sqlite/reader.ts';
import { tempFolder } from '../store/support.ts';
import { anyCodePoint } from '../support/any-code-point.ts';
import { dividedUsage } from '../support/money.ts';
import { runHere } from '../support/run-here.ts';
import { ALICE, audit, BOB, granting } from './audit-support.ts';
import { fraction, micro, readCsv, recomputed } from './csv-support.ts';
import { caller, held, NO_TERMS, NOON, open, order } from './support.ts';

const DAY = 86_400_000;
const UNIT = '0.0375';
const EVA = caller('eva', { team: '+red', note: 'a "quoted", text' });

const decimal = (text: string): Decimal => parseDecimal(text)!;
/** A fixed seed, so that every run has the same figures. */
let state = 20_261_120;
function random(n: number): number {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((state / 2_147_483_648) * n);
}

/** A price list with more digits than a double can represent, with a second tier and a fee per request. */
function randomPrice(): Price {
  const rate = (): Decimal => decimal(`${random(30)}.${String(random(10_000)).padStart(4, '0')}`);
  const line = (overInputTokens: number) => ({
    ...{ overInputTokens, input: rate(), output: rate() },
    others: new Map(PART_UNITS.filter(() => random(2)).map((unit) => [unit, rate()])),
  });
  const fees: [UnitKey, Decimal][] = random(2) ? [['request', decimal('0.0021')]] : [];
  if (random(2)) fees.push(['tool_use/web_search', decimal('0.01')]);
  return compilePrice({ lines: [line(0), line(20_000)], fees: new Map(fees) }, decimal(UNIT));
}

function randomUsage(): Usage {
  const shares = Object.fromEntries(PART_UNITS.map((unit) => [unit, random(50) / 100]));
  const divided = dividedUsage(random(40_000), random(9_000), shares, () => true);
  return random(2) ? divided : { ...divided, units: { ...divided.units, 'tool_use/web_search': 1 + random(3) } };
}

let folder: ReturnType<typeof tempFolder>;
/** The sum of the table `spend`: charges, microcredits and tokens. */
let spend: { charges: number; microcredits: number; input: number; output: number };

beforeAll(async () => {
  folder = tempFolder();
  let now = NOON - 40 * DAY;
  const { ledger, store } = await open(folder.file, { now: () => now, terms: { ...NO_TERMS, usdPerCredit: UNIT } });
  const prices = Array.from({ length: 12 }, randomPrice);
  const tariffs = prices.map(
    (price, i): Tariff => ({
      model: `m${i % 5}`,
      provider: `p${i % 2}`,
      upstream: `=up${i}`,
      price: priceText(price),
    }),
  );
  let refunded = 0;
  for (let i = 0; i < 400; i++) {
    const at = random(prices.length);
    const usage = randomUsage();
    const cost = costOf(prices[at]!, usage);
    const entry = { tariff: tariffs[at]!, usage, estimated: i % 7 === 0, cost };
    // Some reservations are deliberately too small: the excess becomes an overrun.
    const amount = i % 9 === 0 ? Math.floor(cost / 2) : cost * 2;
    const who = [ALICE, BOB, EVA][i % 3]!;
    const hold = await held(
      ledger,
      order(amount, { id: idAt(now) + i, caller: who, selector: i % 2 ? 'auto' : '@fast' }),
    );
    if (i % 11 === 0) hold.settle(null, () => []);
    else if (i % 13 === 0) {
      hold.post(entry);
      hold.settle(null, () => []);
    } else hold.settle(entry, () => []);
    if (i === 50) refunded = hold.id;
    now += DAY / 10;
  }
  await store.flush();
  const [row] = await store.query<{ account: number }>({ sql: 'SELECT account FROM journal WHERE reservation = ?' }, [
    refunded,
  ]);
  const correction = {
    kind: 'correct',
    keyId: 'eva',
    reservation: refunded,
    account: row!.account,
    amount: -1,
  } as const;
  await store.commit([
    insertAdjustment({ ...correction, note: '=HYPERLINK("x")', time: now }),
    insertAdjustment(granting('carol', 12_345_678)),
  ]);
  // A hold that a crash leaves open. The next start charges the open hold.
  await held(ledger, order(777, { id: idAt(now) + 999, caller: ALICE }));
  await store.close();
  const again = await open(folder.file, { now: () => now, terms: { ...NO_TERMS, usdPerCredit: UNIT } });
  await again.ledger.close();
  const sums =
    'sum(charges) AS charges, sum(microcredits) AS microcredits, sum(input_tokens) AS input, sum(output_tokens) AS output';
  spend = (await again.store.query<typeof spend>({ sql: `SELECT ${sums} FROM spend` }))[0]!;
  await again.store.close();
});
afterAll(() => folder[Symbol.dispose]());

async function exported(...args: string[]): Promise<string> {
  let text = '';
  const reader = openReader(folder.file, [ledgerMigrations]);
  try {
    const write = async (part: string): Promise<void> => {
      text += part;
    };
    await writeExport(parseExport(args, NOON), reader.journal, { nameOf: () => null, sight: FULL_SIGHT }, write);
  } finally {
    reader.close();
  }
  return text;
}
const lines = async (...args: string[]) => readCsv(await exported(...args));
const sum = (rows: readonly Record<string, string>[], column: string): bigint =>
  rows.reduce((total, row) => total + (row[column] === '' ? 0n : micro(row[column]!)), 0n);

test('the audit finds nothing wrong with the journal that is exported', async () => {
  expect((await audit(folder.file)).findings).toEqual([]);
});

describe('each line', () => {
  test('a line of an export contains everything that its cost is computed from, to the last microcredit', async () => {
    const all = await lines();
    const attempts = all.filter(({ kind }) => kind === 'post' || kind === 'settle');
    expect(attempts.length).toBeGreaterThan(350);
    for (const line of attempts) expect(micro(line.cost_credits!)).toBe(recomputed(line));
  });

  test('a line of an export charges its cost; only what was not reserved is an overrun', async () => {
    const all = await lines();
    let overruns = 0;
    for (const [at, { kind, cost_credits: cost, credits, decision }] of all.entries()) {
      if (kind !== 'post' && kind !== 'settle') continue;
      const next = all[at + 1];
      const over = next?.kind === 'overrun' && next.decision === decision ? micro(next.overrun_credits!) : 0n;
      if (over > 0n) overruns++;
      expect(micro(credits!) + over).toBe(micro(cost!));
    }
    expect(overruns).toBeGreaterThan(20);
  });

  test('a line of an export of a kind without an attempt has its amount in its own column', async () => {
    const all = await lines();
    const of = (kind: string) => all.filter((line) => line.kind === kind);
    expect(of('grant')).toMatchObject([
      { key_id: 'carol', granted_credits: '12.345678', credits: '', decision: '', note: 'a gift' },
    ]);
    expect(of('correct')).toMatchObject([{ credits: '-0.000001', cost_credits: '', note: `'=HYPERLINK("x")` }]);
    expect(of('expire')).toMatchObject([{ key_id: 'alice', credits: '0.000777', usd_per_1m_input: '' }]);
    expect(all.filter(({ kind, model }) => kind === 'settle' && model === '')).toEqual([]);
  });

  test('a line of an export is the same in JSON, where texts are not escaped', async () => {
    const csv = await lines();
    const json = JSON.parse(await exported('--format', 'json')) as Record<string, unknown>[];
    expect(json.length).toBe(csv.length);
    const textOf = (value: unknown): string => {
      if (typeof value !== 'string') return value === null ? '' : String(value);
      // A decimal is a string in JSON and a number in CSV.
      return /^(?:[=+@]|-(?!\d))/.test(value) ? `'${value}` : value;
    };
    const texts = json.map((line) =>
      Object.fromEntries(Object.entries(line).map(([name, value]) => [name, textOf(value)])),
    );
    expect(texts).toEqual(csv);
    expect(json.find(({ kind }) => kind === 'correct')).toMatchObject({ credits: -0.000001, note: '=HYPERLINK("x")' });
  });
});

describe('sums', () => {
  test.each(['day', 'month', 'key', 'model', 'provider', 'selector', 'label:team', 'day,key,label:team,model'])(
    'sums of an export by %s equal the sums of the lines and of the table `spend`',
    async (by) => {
      const sums = await lines('--by', by);
      const all = await lines();
      expect(sums.length).toBeGreaterThan(1);
      expect(sum(sums, 'credits')).toBe(sum(all, 'credits'));
      expect(sum(sums, 'credits')).toBe(BigInt(spend.microcredits));
      expect(sum(sums, 'overrun_credits')).toBe(sum(all, 'overrun_credits'));
      const total = (column: string) => sums.reduce((n, row) => n + Number(row[column]), 0);
      expect([total('charges'), total('input_tokens'), total('output_tokens')]).toEqual([
        spend.charges,
        spend.input,
        spend.output,
      ]);
    },
  );

  test('sums of an export are sorted by group, and each group appears once', async () => {
    const names = (await lines('--by', 'day,key')).map(({ day, key_id: key }) => `${day} ${key}`);
    expect(names).toEqual([...new Set(names)].sort());
    const months = await lines('--by', 'month');
    expect(months.map(({ month }) => month)).toEqual(['2026-10', '2026-11']);
  });
});

/** The sum of a column in USD, in units of its last digit. */
const usdSum = (rows: readonly Record<string, string>[], column: string): bigint =>
  rows.reduce((total, row) => {
    const [digits, over] = fraction(row[column] || '0');
    return total + digits * (10n ** 10n / over);
  }, 0n);

describe('USD', () => {
  test('amounts in USD appear next to each amount in Credits, are exact, and add up', async () => {
    const all = await lines();
    const sums = await lines('--by', 'label:team,month');
    const names = ['cost', 'overrun', 'granted'].map((name) => [`${name}_credits`, `${name}_usd`] as const);
    for (const rows of [all, sums]) {
      for (const [credits, usd] of [['credits', 'usd'] as const, ...names]) {
        // A Credit costs 0.0375 USD.
        for (const row of rows) expect(usdSum([row], usd)).toBe(row[credits] ? micro(row[credits]) * 375n : 0n);
      }
      expect(usdSum(rows, 'usd')).toBe(BigInt(spend.microcredits) * 375n);
    }
  });

  test('amounts in USD of each team in the last month can be printed with one command', async () => {
    const december = Date.UTC(2026, 11, 5);
    const run = (...args: string[]) => runHere(['ledger', ...args, '--data', folder.path], {}, '', () => december);
    const { out, err } = await run('usage', '--by', 'label:team', '--month', 'last');
    expect(err).toBe('');
    const rows = await lines('--by', 'label:team', '--month', '2026-11');
    const total = usdSum(rows, 'usd');
    const column = out.split('\n').map((line) => line.trim().split(/ +/).at(-1)!);
    expect(column[0]).toBe('USD');
    const shown = column.slice(1, rows.length + 1).map((usd) => ({ usd: usd.replaceAll(',', '') }));
    expect(shown.map((row) => usdSum([row], 'usd'))).toEqual(rows.map((row) => usdSum([row], 'usd')));
    const [, said = ''] = /^From 2026-11-01 to before 2026-12-01: .* Credits, ([\d,.]+) USD\.$/m.exec(out) ?? [];
    expect(usdSum([{ usd: said.replaceAll(',', '') }], 'usd')).toBe(total);
    const json = JSON.parse((await run('usage', '--by', 'label:team', '--month', 'last', '--json')).out);
    expect(usdSum([json], 'total_usd')).toBe(total);
    expect(usdSum(json.groups, 'usd')).toBe(total);
    const csv = await run('export', '--by', 'label:team', '--month', 'last');
    expect(readCsv(csv.out)).toEqual(rows);
  });
});

describe('a period', () => {
  const times = async (...args: string[]) =>
    (await lines(...args))
      .filter(({ kind }) => kind !== 'grant')
      .map((line) => line.reserved_at!)
      .sort();

  test('an export of a month contains exactly the holds of that month in the time zone, by the time of the hold', async () => {
    const all = await times();
    const utc = await times('--from', '2026-11');
    expect(utc).toEqual(all.filter((time) => time.startsWith('2026-11')));
    const zone = await times('--from', '2026-11', '--time-zone', 'Pacific/Auckland');
    expect(zone).toEqual(all.filter((time) => time >= '2026-10-31T11:00' && time < '2026-11-30T11:00'));
    expect(zone.length).not.toBe(utc.length);
  });

  test('an export ends before --to, so adjacent periods add up to the whole', async () => {
    const whole = await times();
    const middle = '2026-10-30T04:48:00.000Z';
    const parts = [...(await times('--to', middle)), ...(await times('--from', middle))];
    expect(parts).toEqual(whole);
    expect(
      (await times('--from', '2026-10-20', '--to', '2026-10-21')).every((time) => time.startsWith('2026-10-20')),
    ).toBe(true);
    expect(await times('--from', '2027-01')).toEqual([]);
  });

  test('an export groups sums by the days of the time zone', async () => {
    const [first] = await lines('--by', 'day', '--time-zone', 'Asia/Kolkata');
    const [earliest = ''] = await times();
    const local = new Intl.DateTimeFormat('sv', { timeZone: 'Asia/Kolkata', dateStyle: 'short' }).format(
      new Date(earliest),
    );
    expect(first?.day).toBe(local);
  });
});

test('an export with filters for key, label and model contains the lines that match all of them', async () => {
  const all = await lines();
  const same = async (args: string[], fits: (line: Record<string, string>) => boolean) => {
    const found = await lines(...args);
    expect(found).toEqual(all.filter(fits));
    expect(found.length).toBeGreaterThan(0);
  };
  await same(['--key', 'eva'], ({ key_id: key }) => key === 'eva');
  await same(['--label', 'team=+red'], ({ key_id: key }) => key === 'eva');
  await same(
    ['--model', 'm3', '--key', 'bob', '--label', 'team==blue'],
    ({ model, key_id: key }) => model === 'm3' && key === 'bob',
  );
  await same(['--label', 'team='], ({ key_id: key }) => key === 'carol');
  expect(await lines('--label', 'team=red', '--label', 'note=x')).toEqual([]);
});

test('an empty export has the column names, or is an empty JSON array', async () => {
  expect(await exported('--key', 'nobody', '--by', 'key')).toBe(
    `key_id,charges,${TOKEN_UNITS.map((unit) => `${unit}_tokens`).join(',')},credits,usd,overrun_credits,overrun_usd\r\n`,
  );
  expect(JSON.parse(await exported('--key', 'nobody', '--format', 'json'))).toEqual([]);
});

describe('CSV', () => {
  test('CSV of an export is parsed back unchanged, whatever it contains, and no text starts like a formula', () => {
    const law = fc.property(fc.array(fc.string({ unit: anyCodePoint }), { minLength: 1, maxLength: 5 }), (texts) => {
      const names = texts.map((_, i) => `n${i}`);
      const [row = {}] = readCsv(csvRow(names) + csvRow(texts));
      for (const [i, text] of texts.entries()) {
        const read = row[`n${i}`]!;
        expect(read).toBe(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
        expect(read).not.toMatch(/^[=+\-@\t\r]/);
      }
    });
    fc.assert(law, { numRuns: 500, examples: [[['=1+1', '"', 'a,b', '\r\n', '@x']]] });
  });

  test('CSV of an export does not escape numbers', () => {
    expect(csvRow([-1.5, 0.000001, 1_000_000, true, null, { decimal: '-2' }])).toBe(
      '-1.5,0.000001,1000000,true,,-2\r\n',
    );
  });
});

describe('exact decimals', () => {
  test('exact decimals invert the compilation of every price', () => {
    const amount = fc.tuple(fc.integer({ min: 0, max: 99_999_999 }), fc.integer({ min: 0, max: 6 }));
    const law = fc.property(amount, amount, ([digits, scale], [worth, worthScale]) => {
      const price = plainText({ digits: BigInt(digits), scale });
      const [n, d] = fraction(price);
      const [wn, wd] = fraction(plainText({ digits: BigInt(worth + 1), scale: worthScale }));
      // (price / value of a Credit) × value of a Credit
      expect(quotient(n * wd * wn, d * wn * wd)).toBe(price);
    });
    fc.assert(law, { numRuns: 500 });
  });

  test('exact decimals are never rounded: an endless decimal is written as a fraction', () => {
    expect([quotient(1n, 3n), quotient(-2n, 8n), quotient(7n, 1n), quotient(0n, 9n)]).toEqual([
      '1/3',
      '-0.25',
      '7',
      '0',
    ]);
  });
});

describe('the export reports wrong arguments:', () => {
  test.each([
    [['--format', 'xml'], 'csv or json'],
    [['--by', 'week'], 'label:NAME'],
    [['--by', 'label:'], 'label:NAME'],
    [['--by', 'day,day'], 'names day twice'],
    [['--from', '2026-13'], 'Write a time such as'],
    [['--from', '2026-02-30'], 'Write a time such as'],
    [['--from', '2026-11-20T08:00'], 'Write a time such as'],
    [['--from', '2026-11', '--to', '2026-11'], 'must be later'],
    [['--month', '2026-11', '--to', '2026-12'], 'contradicts'],
    [['--month', 'november'], 'last, this or a month'],
    [['--time-zone', 'Berlin'], 'no time zone'],
    [['--label', 'team'], 'name=value'],
    [['--nothing'], 'nothing'],
  ])('%j', (args, message) => {
    expect(() => parseExport(args, NOON)).toThrow(message);
  });
});
