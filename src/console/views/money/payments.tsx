import { useEffect, useState } from 'preact/hooks';
import { Button } from '../../design/button.tsx';
import { Field } from '../../design/field.tsx';
import { isAddress, shortAddress } from '../../design/format.ts';
import { Panel } from '../../design/panel.tsx';
import { Empty } from '../../design/states.tsx';
import { optionsOf } from '../../kit/draft.ts';
import { Listing } from '../../kit/listing.tsx';
import { go, hrefWith, param, setParams } from '../../shell/router.ts';
import { PaymentPanel } from './payment.tsx';
import { PAYMENT_COLUMNS, PAYMENT_WORDS, purposeOf } from './payment-words.tsx';
import { WalletPanel } from './wallet.tsx';

/** Payments through x402, the newest first, and the wallets that sent them. */
export function Payments() {
  const wallet = param('wallet');
  const { state, offered, amount, fee, charged } = PAYMENT_COLUMNS;
  return (
    <>
      <Listing
        path="/admin/payments"
        what="Payments"
        noun="payment"
        cursor="before"
        filters={[
          { of: 'state', label: 'State', any: 'Any state', options: optionsOf(PAYMENT_WORDS) },
          { of: 'wallet', param: 'payer', label: 'Wallet', Input: WalletFinder },
        ]}
        columns={[
          {
            head: 'Wallet',
            phone: 'main',
            cell: ({ payer }) => (
              <span class="mono" title={payer}>
                {shortAddress(payer)}
              </span>
            ),
          },
          state,
          { head: 'For', cell: purposeOf },
          offered,
          amount,
          fee,
          charged,
        ]}
        empty={[
          'No payments yet',
          <>
            Agents that pay by x402 appear here. <code>payments.x402</code> in the policy enables these payments.
          </>,
        ]}
        at={(open) => hrefWith({ open, wallet: null })}
        id={wallet === '' ? param('open') : null}
        panel={({ id, list, closeHref }) => {
          const chosen = list.rows.find((row) => row.id === id);
          if (chosen) {
            return <PaymentPanel key={id} payment={chosen} closeHref={closeHref} onChanged={list.renew} />;
          }
          return (
            !list.isLoading && (
              <Panel title={`Payment ${id}`} closeHref={closeHref}>
                <Empty title="This payment is not in the list">
                  Clear the filters, or scroll to the end of the list for older payments.
                </Empty>
              </Panel>
            )
          );
        }}
      />
      {wallet !== '' && <WalletPanel key={wallet} address={wallet} />}
    </>
  );
}

/** Filters by wallet, and opens the wallet. */
function WalletFinder({ error }: { readonly error: string | null }) {
  const payer = param('payer');
  const [draft, setDraft] = useState(payer);
  // "Clear filters" must empty the field, too.
  useEffect(() => {
    if (payer === '') setDraft((typed) => (isAddress(typed.trim()) ? '' : typed));
  }, [payer]);
  const text = draft.trim().toLowerCase();
  const isBad = text.length >= 42 && !isAddress(text);
  return (
    <>
      <Field
        isBare
        label="Wallet"
        placeholder="Wallet 0x…"
        value={draft}
        error={isBad ? 'An address is 0x followed by 40 hexadecimal digits.' : error}
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
