import { useEffect, useState } from 'preact/hooks';
import { usePages } from '../../api/pages.ts';
import { Button } from '../../design/button.tsx';
import { Field, Filters, Select } from '../../design/field.tsx';
import { isAddress, NONE, shortAddress } from '../../design/format.ts';
import { Panel } from '../../design/panel.tsx';
import { Empty, Failure, Partial, Skeleton } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { moneyFigure, When } from '../../design/written.tsx';
import { go, hrefWith, param, setParams } from '../../shell/router.ts';
import { PaymentPanel } from './payment.tsx';
import { PAYMENT_WORDS, PaymentState, purposeOf, useUsdOf } from './payment-words.tsx';
import { WalletPanel } from './wallet.tsx';

const STATE_OPTIONS = [
  { value: '', label: 'Any state' },
  ...Object.entries(PAYMENT_WORDS).map(([value, { word }]) => ({ value, label: word })),
];

/** Payments by x402, the newest first, and the wallets that they come from. */
export function Payments() {
  const [state, payer, open, wallet] = [param('state'), param('payer'), param('open'), param('wallet')];
  const list = usePages('/admin/payments', { state, wallet: isAddress(payer) ? payer : '' }, { cursor: 'before' });
  const usdOf = useUsdOf();
  const isFiltered = state !== '' || payer !== '';
  const chosen = list.rows.find(({ id }) => id === open);
  return (
    <>
      <section class="card" aria-labelledby="payments">
        <div class="card-head">
          <h2 id="payments">Payments by x402</h2>
          {list.fresh > 0 && <Button onClick={list.renew}>Show {list.fresh} new</Button>}
        </div>
        <Filters onClear={isFiltered ? () => setParams({ state: null, payer: null }) : null}>
          <Select
            label="State"
            value={state}
            onValue={(value) => setParams({ state: value })}
            options={STATE_OPTIONS}
          />
          <WalletFinder payer={payer} />
        </Filters>
        {list.failure && list.rows.length > 0 && <Partial>The list ends here: {list.failure.message}</Partial>}
        {list.rows.length > 0 ? (
          <Table
            label="Payments"
            rows={list.rows}
            keyOf={({ id }) => id}
            hrefOf={({ id }) => hrefWith({ open: id, wallet: null })}
            current={open}
            onEnd={list.hasMore ? list.more : null}
            columns={[
              {
                id: 'payer',
                head: 'Wallet',
                phone: 'main',
                cell: ({ payer: address }) => (
                  <span class="mono" title={address}>
                    {shortAddress(address)}
                  </span>
                ),
              },
              { id: 'state', head: 'State', phone: 'second', cell: ({ state: now }) => <PaymentState state={now} /> },
              { id: 'purpose', head: 'For', cell: purposeOf },
              { id: 'time', head: 'Offered', cell: ({ created_at }) => <When at={created_at} /> },
              {
                id: 'paid',
                head: 'Amount',
                isFigure: true,
                phone: 'fact',
                figures: ({ paid_credits }) => [moneyFigure({ usd: usdOf(paid_credits), credits: paid_credits })],
              },
              {
                id: 'fee',
                head: 'Fee',
                isFigure: true,
                figures: ({ state: now, fee_credits }) => [
                  now === 'failed' ? NONE : moneyFigure({ usd: usdOf(fee_credits), credits: fee_credits }),
                ],
              },
              {
                id: 'charged',
                head: 'Charged',
                isFigure: true,
                figures: ({ charged_credits: charged }) => [
                  moneyFigure({ usd: charged === null ? null : usdOf(charged), credits: charged }),
                ],
              },
            ]}
          />
        ) : list.failure ? (
          <Failure what="Payments" failure={list.failure} onRetry={list.renew} />
        ) : list.isLoading ? (
          <Skeleton />
        ) : isFiltered ? (
          <Empty title="No payment matches">Clear the filters to see all.</Empty>
        ) : (
          <Empty title="No payments yet">
            Agents that pay by x402 appear here. <code>payments.x402</code> in the policy turns that on.
          </Empty>
        )}
      </section>
      {wallet !== '' ? (
        <WalletPanel key={wallet} address={wallet} usdOf={usdOf} />
      ) : (
        open !== '' &&
        (chosen ? (
          <PaymentPanel key={open} payment={chosen} usdOf={usdOf} onChanged={list.renew} />
        ) : (
          !list.isLoading && (
            <Panel title={`Payment ${open}`} closeHref={hrefWith({ open: null })}>
              <Empty title="The payment is not in this list">
                Clear the filters, or scroll to the end of the list for older payments.
              </Empty>
            </Panel>
          )
        ))
      )}
    </>
  );
}

/** Filters by a wallet, and opens it. */
function WalletFinder({ payer }: { readonly payer: string }) {
  const [draft, setDraft] = useState(payer);
  // "Clear filters" empties the field, too.
  useEffect(() => {
    if (payer === '') setDraft((typed) => (isAddress(typed.trim()) ? '' : typed));
  }, [payer]);
  const text = draft.trim().toLowerCase();
  const isBad = text !== '' && !isAddress(text);
  return (
    <>
      <Field
        label="Wallet"
        placeholder="0x…"
        value={draft}
        error={isBad && text.length >= 42 ? 'An address has 0x and 40 hexadecimal digits.' : null}
        onValue={(value) => {
          setDraft(value);
          const next = value.trim().toLowerCase();
          setParams({ payer: isAddress(next) ? next : null });
        }}
      />
      <Button disabled={!isAddress(text)} onClick={() => go(hrefWith({ wallet: text, open: null }))}>
        Open wallet
      </Button>
    </>
  );
}
