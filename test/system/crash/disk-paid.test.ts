import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { byMount, mayMount } from '../../crash/disks.ts';
import { bookedBy } from '../../crash/full-disk.ts';
import { answerOf, waitFor } from '../../support/answers.ts';
import { makeTestKey, temporaryFolder } from '../../support/signalbox.ts';
import { startPaid } from '../support/paying.ts';

const body = { model: 'best', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100 };
/** Time of the provider to think, in which the test fills the disk, ms. */
const THINKS_MS = 1_000;

test.skipIf(!mayMount)(
  'the next start books the payment, with its fee, that a wallet was shown while the disk was full',
  async () => {
    const data = temporaryFolder();
    byMount.mount(data);
    const env = { SIGNALBOX_API_KEY: makeTestKey() };
    const first = await startPaid({ isProcess: true, data, env });
    const { chain, upstream } = first;
    try {
      const [served, failed] = [await first.payer(), await first.payer()];
      const offers = [
        await first.sign(served, (await first.quote(body)).required),
        await first.sign(failed, (await first.quote(body)).required),
      ] as const;
      upstream.next({ headersAfterMs: THINKS_MS });
      const answer = first.send(offers[0], body);
      await waitFor(() => upstream.requests.length === 1);
      upstream.next({ headersAfterMs: THINKS_MS, status: 500 });
      const error = first.send(offers[1], body);
      await waitFor(() => upstream.requests.length === 2);
      byMount.fill(first.box);
      const { platform } = await answerOf(await answer);
      expect((await error).headers.get('x-signalbox-credits')).toBe('0');
      expect(platform.payment).toMatchObject({ source: 'x402', state: 'captured' });
      expect(platform.payment?.fee_credits).toBeGreaterThan(0);
      first.box.signal('SIGKILL');
      await first.box.exited;
      byMount.free(first.box);

      const next = await startPaid({ chain, upstream, data, env });
      try {
        expect(bookedBy(next.box)).toBe(2);
        expect(await next.books()).toMatchObject({ findings: [], open: 0, payments: { settled: 2 } });
        const { charged, fees } = await next.books();
        expect([charged, fees].map((one) => one / 1_000_000)).toEqual([
          platform.credits_consumed,
          platform.payment!.fee_credits,
        ]);
        expect(await next.balanceOf(served.address)).toBe(platform.payment!.balance_added_credits);
      } finally {
        await next.stop();
      }
    } finally {
      await first.stop();
      byMount.unmount(data);
      rmSync(data, { recursive: true, force: true });
    }
  },
);
