import { afterAll, expect, test } from 'bun:test';
import { orDeeply } from '../../deep/deeply.ts';
import { bookProblems } from '../payments/model/books.ts';
import { chatBody, type Stand, shortOf, startStand } from '../payments/model/stand.ts';

/**
 * Transactions that never reach the chain. Each test has its own chain, because it moves the chain's time. Therefore the tests can run at
 * once.
 */
const stands: Stand[] = [];
afterAll(() => Promise.all(stands.map((stand) => stand.stop())));

async function start(): Promise<Stand> {
  const stand = await startStand({ confirmationMs: 1_000 });
  stands.push(stand);
  return stand;
}

const PURSE = 1_000_000_000n;
/** After this time no authorization of a quote is valid, s. */
const LATER = 3_600;

for (const fault of orDeeply<'hang' | 'error' | 'cut'>(['cut'], ['hang', 'error'])) {
  test.concurrent(`if the broadcast of a payment is lost (${fault}), Signalbox makes no new quote until the payment expires, then makes a quote that is paid once`, async () => {
    const stand = await start();
    const { chain, proxy, upstream } = stand;
    const payer = await chain.payer(PURSE);
    const body = chatBody(1, { agent_wallet: payer.address });
    const paid = await stand.sign(payer, body);
    proxy.fail(fault, 'eth_sendRawTransaction');
    expect(await shortOf(await stand.send(body, paid.header))).toMatchObject({ status: 503, quoted: false });
    const again = await shortOf(await stand.send(body, paid.header));
    expect(again).toMatchObject({ status: 503, quoted: false });
    proxy.fail(null);
    expect(upstream.requests.length).toBe(0);
    const afterwards = await stand.send(body, paid.header);
    const isAnswered = afterwards.status === 200;
    if (!isAnswered) expect(await shortOf(afterwards)).toMatchObject({ status: 503, quoted: false });
    await chain.client.increaseTime({ seconds: LATER });
    await chain.mine();
    await stand.settled();
    const debit = PURSE - (await chain.balanceOf(payer.address));
    expect(debit).toBe(isAnswered ? BigInt(paid.payload.accepted.amount) : 0n);
    expect(upstream.requests.length).toBe(isAnswered ? 1 : 0);
    // A repeat gets the stored answer; a failed request gets a new quote.
    expect((await stand.send(body, paid.header)).status).toBe(isAnswered ? 200 : 402);
    expect(await bookProblems(stand)).toEqual([]);
  });
}

test.concurrent('if the pool of a node loses transactions, their payers get no new quote until the payments expire, while other payers continue', async () => {
  const stand = await start();
  const { chain } = stand;
  const payer = await chain.payer(PURSE);
  const other = await chain.payer(PURSE);
  const body = chatBody(1, { agent_wallet: payer.address });
  const paid = await stand.sign(payer, body);
  await chain.automine(false);
  expect(await shortOf(await stand.send(body, paid.header))).toMatchObject({ code: 'payment_unsettled' });
  await chain.dropTransactions();
  await chain.automine(true);
  // The gas key's next transaction has the number of the lost one.
  for (let n = 2; n < 5; n++) expect((await stand.pay(other, chatBody(n))).status).toBe(200);
  const again = await stand.send(body, paid.header);
  expect(again.status).toBe(200);
  await chain.client.increaseTime({ seconds: LATER });
  await chain.mine();
  await stand.settled();
  expect(await bookProblems(stand)).toEqual([]);
});
