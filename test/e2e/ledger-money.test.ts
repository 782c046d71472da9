import { describe, expect, test } from 'bun:test';
import { answerOf, waitFor } from '../support/answers.ts';
import type { Signalbox } from '../support/signalbox.ts';
import {
  audit,
  budgetOf,
  chat,
  exportOf,
  FOLLOWS,
  hang,
  makeKey,
  PATIENCE,
  policyWith,
  start,
  USAGE,
  upstream,
  useServers,
} from './ledger-support.ts';

useServers();

describe('ledger refund', () => {
  test(
    'when the command returns, a refund is available in its budget and in the export; refunds never exceed the charge',
    async () => {
      upstream.behave(USAGE);
      // Two requests fit. The third would reserve more than is left.
      const box = await start({ policy: policyWith(budgetOf('small', 0.6)) });
      const first = (await answerOf(await chat(box))).platform;
      expect(first.credits_consumed).toBe(0.172);
      expect((await chat(box)).status).toBe(200);
      expect((await chat(box)).status).toBe(402);

      const part = await box.run('ledger', 'refund', first.decision_id, '0.1', '--note', 'a bad answer');
      expect(part).toMatchObject({
        code: 0,
        err: '',
        out: expect.stringContaining('Refunded 0.1 Credits of the 0.172 Credits'),
      });
      const rest = await box.run('ledger', 'refund', first.decision_id);
      expect(rest).toMatchObject({ code: 0, out: expect.stringContaining('Refunded 0.072 Credits') });
      expect((await chat(box)).status).toBe(200);
      const { data: changes } = JSON.parse((await box.run('trail', 'list', '--json', '--limit', '2')).out);
      const subject = { kind: 'decision', id: first.decision_id };
      expect(changes).toMatchObject([
        { action: 'refund', subject, details: { credits: 0.072 } },
        { actor: { kind: 'cli' }, action: 'refund', subject, details: { credits: 0.1, note: 'a bad answer' } },
      ]);

      const too = await box.run('ledger', 'refund', first.decision_id, '0.000001');
      expect(too).toMatchObject({ code: 1, err: expect.stringContaining('nothing left to refund') });
      const lines = await exportOf(box.data, '--by', 'key');
      expect(lines).toMatchObject([{ charges: '5', credits: '0.344' }]);
      const corrections = (await exportOf(box.data)).filter(({ kind }) => kind === 'correct');
      expect(corrections).toMatchObject([
        { decision: first.decision_id, credits: '-0.1', note: 'a bad answer' },
        { decision: first.decision_id, credits: '-0.072', note: '' },
      ]);
      expect(await audit(box.data, '--idle')).toMatchObject({ code: 0, body: { findings: [] } });
    },
    PATIENCE,
  );

  test(
    'ledger refund refuses a request without a charge, an open request, and an invalid amount',
    async () => {
      const box = await start();
      const { decision_id: decision, credits_consumed: credits } = (await answerOf(await chat(box))).platform;
      const release = await hang(box, 1);
      const [open] = (await audit(box.data)).body.open_reservations;
      const cases: [string[], string][] = [
        [[], 'needs the ID of one decision'],
        [[decision, '1', '2'], 'needs the ID of one decision'],
        [['dec_1'], 'The ID of a decision is dec_'],
        [['dec_0a4x1wm3zk0'], 'has no charge for'],
        [[open!.decision], 'is still running'],
        [[decision, '0'], 'above 0'],
        [[decision, '-0.1'], 'above 0'],
        [[decision, '0.0000001'], '6 decimals'],
        [[decision, '1e-3'], 'is not an amount'],
        [[decision, String(credits + 0.001)], 'you cannot refund'],
        [[decision, '--nte', 'x'], 'nte'],
      ];
      for (const [args, message] of cases) {
        const { code, out, err } = await box.run('ledger', 'refund', ...args);
        expect(err).toMatch(/^signalbox: [^\n]+\.\n$/);
        expect({ code, out, err }).toMatchObject({ code: 1, out: '', err: expect.stringContaining(message) });
      }
      release();
      expect((await exportOf(box.data)).every(({ kind }) => kind === 'settle')).toBe(true);
    },
    PATIENCE,
  );
});

describe('keys grant', () => {
  test(
    'a grant makes a key prepaid: 402 once it is used up, and 200 after the next grant',
    async () => {
      upstream.behave(USAGE);
      const box = await start();
      const { key, id } = await makeKey(box);
      expect((await chat(box, key)).status).toBe(200);
      const first = await box.run('keys', 'grant', id, '0.5', '--note', '=trial');
      expect([first.code, first.err]).toEqual([0, '']);
      expect(first.out).toBe(`The balance of key ${id} is 0.5 Credits (0.0005 USD), of 0.5 that were granted.\n`);
      await waitFor(async () => (await grants(box)).length === 1, FOLLOWS);
      expect((await chat(box, key)).status).toBe(200);
      // The balance pays for answers of fewer and fewer tokens, until it pays for none.
      const refused = await waitFor(async () => {
        const answer = await chat(box, key);
        return answer.status === 200 ? null : answer;
      });
      expect([refused.status, (await answerOf(refused)).error.code]).toEqual([402, 'insufficient_quota']);

      expect((await box.run('keys', 'grant', id, '1.25')).out).toContain('of 1.75 that were granted');
      await waitFor(async () => (await chat(box, key)).status === 200, FOLLOWS);
      expect((await box.run('keys', 'grant', id, '-1.25')).out).toContain('of 0.5 that were granted');
      await waitFor(async () => (await grants(box)).length === 3, FOLLOWS);
      expect((await chat(box, key)).status).toBe(402);
      // Another key is not affected.
      expect((await chat(box)).status).toBe(200);
      expect(await grants(box)).toMatchObject([
        { granted_credits: '0.5', note: `'=trial` },
        { granted_credits: '1.25' },
        { granted_credits: '-1.25' },
      ]);
      expect(await audit(box.data, '--idle')).toMatchObject({ code: 0, body: { findings: [] } });
    },
    PATIENCE,
  );

  const grants = async (box: Signalbox) => (await exportOf(box.data)).filter(({ kind }) => kind === 'grant');

  test(
    'keys grant refuses an invalid amount and an invalid key',
    async () => {
      const box = await start();
      const { id } = await makeKey(box);
      await box.run('keys', 'revoke', id);
      const cases: [string[], RegExp][] = [
        [[], /keys grant needs an ID/],
        [[id], /AMOUNT is required/],
        [[id, '1', '-2'], /keys grant does not take/],
        [[id, '0'], /not be 0/],
        [[id, '1.0000001'], /at most 6 decimals/],
        [[id, 'ten'], /is not an amount/],
        [[id, '5'], /No valid key/],
        [['nobody', '5'], /No valid key/],
      ];
      for (const [args, message] of cases) {
        const { code, out, err } = await box.run('keys', 'grant', ...args);
        expect(err).toMatch(message);
        expect(err).toMatch(/^signalbox: [^\n]+\.\n$/);
        expect({ code, out }).toEqual({ code: 1, out: '' });
      }
    },
    PATIENCE,
  );
});
