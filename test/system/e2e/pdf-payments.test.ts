import { beforeEach, describe, expect, test } from 'bun:test';
import { answerOf } from '../../support/answers.ts';
import { expectError } from '../../support/error-contract.ts';
import { withKey } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { usePaid } from '../support/paying.ts';

/** PDFs of agents that pay: no service counts a prompt that is not paid for yet. */
const upstream = useUpstream({ dialect: 'anthropic' });
/** A token of input costs a tenth of a Credit: 18,000 tokens cost more than one payment may, 6,000 leave room for a short answer. */
const reader = (pages: number) => ({
  endpoints: ['fake'],
  price: { input: 100, output: 400 },
  capabilities: ['file_input'],
  more: `    page_tokens_max: 1000\n    pages_max: { request: ${pages} }\n`,
});
const paid = usePaid({ upstream, adapter: 'anthropic', models: { long: reader(18), short: reader(6) } });

const pdf = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } };
const bodyOf = (model: string) => ({ model, max_tokens: 1_000, messages: [{ role: 'user', content: [pdf] }] });
const counts = () => upstream.requests.map(({ path }) => path.endsWith('count_tokens'));

beforeEach(() => {
  upstream.requests.length = 0;
  upstream.behave({ usage: { prompt_tokens: 900, completion_tokens: 10 } });
});

describe('a request with a PDF', () => {
  test('a PDF without a payment that exceeds its upper bound is refused without calling a service', async () => {
    await expectError(await paid.ask(bodyOf('long')), 'budget_limit_too_low', 'max_tokens');
    expect(upstream.requests).toHaveLength(0);
  });

  test('a PDF is quoted and paid with its upper bound, even if this caps its output, and no service is called before the money arrives', async () => {
    const payer = await paid.payer();
    const answer = await paid.pay(payer, bodyOf('short'));
    expect(answer.status).toBe(200);
    expect(counts()).toEqual([false]);
  });

  test('a service counts a PDF for a wallet whose balance pays for the exact count but not for the upper bound', async () => {
    const payer = await paid.payer();
    const topUp = await paid.pay(payer, { usd: 1 }, { path: '/v1/wallets/topup' });
    const { key } = (await topUp.json()) as { key: string };
    const answer = await paid.box.post('/v1/chat/completions', bodyOf('long'), withKey(key));
    expect(answer.status).toBe(200);
    expect(counts()).toEqual([true, false]);
    expect((await answerOf(answer)).platform.credits_consumed).toBeLessThan(1_000);
  });
});
