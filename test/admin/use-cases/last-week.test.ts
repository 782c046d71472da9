import { expect, test } from 'bun:test';
import { endpointKey, lastWeekAt } from '../../../src/admin/use-cases/catalog/last-week.ts';
import { BillWriter, readBill } from '../../../src/core/accounting/bill.ts';
import { plainUsage } from '../../../src/core/money/usage.ts';
import type { MoneyEntry } from '../../../src/store/journal-reader.ts';
import { loaded } from '../../routing/build.ts';

const POLICY = `version: 1
credits: { usd_per_credit: 1 }
providers: { sim: { adapter: simulated } }
models:
  m:
    provider: sim
    price:
      input: 1
      output: 1
      hours: [{ from: "06:00", to: "10:00", input: 2, output: 2 }]
      service_tiers: { flex: { input: 0.5, output: 0.5 } }
      until: 2026-12-01
      later: [{ input: 4, output: 4 }]
    context_window: 8192
    max_output: 1024
    quality: { default: 0.5, basis: guessed }
`;
const [endpoint] = loaded(POLICY).models[0]!.endpoints;

/** A charge of a million tokens of input. */
function chargeAt(moment: string, tier?: 'flex'): MoneyEntry {
  const time = Date.parse(moment);
  const price = tier === undefined ? endpoint.price : endpoint.price.tiers![tier]!;
  return {
    ...{
      kind: 'settle',
      reservation: 1,
      amount: 1,
      overrun: 0,
      time,
      keyId: 'k',
      labels: {},
      selector: '',
      session: '',
    },
    ...{
      agent: '',
      team: '',
      user: '',
      model: 'm',
      provider: 'sim',
      upstream: 'm',
      estimated: false,
      price: null,
      note: '',
    },
    bill: readBill(new BillWriter(price).text(plainUsage(1_000_000, 0), time)),
  };
}

test('a charge of last week would have cost the new price of its moment and its service tier', async () => {
  const entries = [
    chargeAt('2026-11-30T05:59:59Z'),
    chargeAt('2026-11-30T06:00:00Z'),
    chargeAt('2026-11-30T23:00:00Z', 'flex'),
    chargeAt('2026-12-01T00:00:00Z'),
  ];
  const journal = {
    async *money() {
      yield entries;
    },
  };
  const prices = new Map([[endpointKey('sim', 'm'), endpoint]]);
  const { wouldCost } = await lastWeekAt(journal, prices, Date.parse('2026-12-02T00:00:00Z'));
  expect(wouldCost).toBe((1 + 2 + 0.5 + 4) * 1_000_000);
});
