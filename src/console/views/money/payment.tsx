import { Copy } from '../../design/copy.tsx';
import { shortAddress } from '../../design/format.ts';
import { Panel } from '../../design/panel.tsx';
import { toast } from '../../design/toast.tsx';
import { Coded } from '../../design/written.tsx';
import { Actions } from '../../kit/actions.tsx';
import { Facts } from '../../kit/show.tsx';
import { hrefOf, hrefWith } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { amountShown, PAYMENT_WORDS, PaymentState, purposeOf, reasonOf, type WalletPayment } from './payment-words.tsx';

interface PaymentPanelProps {
  readonly payment: WalletPayment;
  readonly closeHref: string;
  onChanged(): void;
}

/** Shows a payment with its state, its amounts and its transaction. */
export function PaymentPanel({ payment, closeHref, onChanged }: PaymentPanelProps) {
  const { id, state, decision_id: decision, error, charged_credits: charged } = payment;
  const { fee_usd, fee_credits, charged_usd, balance_added_usd, balance_added_credits } = payment;
  const hasFailed = state === 'failed';
  const amount = (usd: string | null, credits: number | null) => () =>
    hasFailed ? amountShown('0', 0) : amountShown(usd, credits);
  const unknown = 'not known yet';
  return (
    <Panel title={`Payment ${id}`} closeHref={closeHref}>
      <div class="stack">
        {error && (
          <p class={hasFailed ? 'notice notice-bad' : 'notice'}>
            <span>
              {hasFailed ? 'The payment failed, and no money arrived.' : 'The payment may have arrived.'}{' '}
              <Coded text={reasonOf(error)} />
            </span>
          </p>
        )}
        <Facts
          of={payment}
          facts={[
            ['State', PaymentState],
            [
              'For',
              () => (
                <>
                  {purposeOf(payment)}
                  {decision && reachOfViewer('decisions.explain') !== null && (
                    <>
                      {', '}
                      <a href={hrefOf(`/requests/${decision}`)}>{decision}</a>
                    </>
                  )}
                </>
              ),
            ],
            [
              'Wallet',
              ({ payer }) => (
                <a class="mono" href={hrefWith({ wallet: payer, open: null })} title={payer}>
                  {shortAddress(payer)}
                </a>
              ),
            ],
            ['Amount', ({ paid_usd, paid_credits }) => amountShown(paid_usd, paid_credits)],
            ['Fee', amount(fee_usd, fee_credits)],
            // A payment that was found on the chain later has no request, so its charge stays empty.
            [
              'Charged',
              state === 'settled' && charged === null ? amount('0', 0) : amount(charged_usd, charged),
              unknown,
            ],
            ['Added to balance', amount(balance_added_usd, balance_added_credits), unknown],
            'network',
            [
              'Transaction',
              ({ transaction }) =>
                transaction && <Copy text={transaction} shown={shortAddress(transaction)} label="transaction" />,
            ],
            ['Offered', 'created_at'],
            ['Changed', 'updated_at'],
          ]}
        />
        {state === 'unknown' && reachOfViewer('payments.change') !== null && (
          <div class="stack-tight">
            <p class="dim">Signalbox checks the chain every minute. You can check now.</p>
            <Actions
              of={[
                {
                  label: 'Check the chain',
                  busy: 'Checking…',
                  path: `/admin/payments/${id}/reconcile`,
                  done: '',
                  onDone(answer) {
                    // The response is the payment.
                    const now = (answer as WalletPayment).state;
                    toast(
                      now === 'unknown'
                        ? 'The chain does not show the payment yet.'
                        : `The payment is ${PAYMENT_WORDS[now].toLowerCase()}.`,
                    );
                    onChanged();
                  },
                },
              ]}
            />
          </div>
        )}
      </div>
    </Panel>
  );
}
