import { useState } from 'preact/hooks';
import { send } from '../../api/client.ts';
import { renewAll } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { Copy } from '../../design/copy.tsx';
import { shortAddress } from '../../design/format.ts';
import { Panel } from '../../design/panel.tsx';
import { toast } from '../../design/toast.tsx';
import { Coded, creditsText, Money, When } from '../../design/written.tsx';
import { hrefOf, hrefWith } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { PAYMENT_WORDS, PaymentState, purposeOf, reasonOf, type WalletPayment } from './payment-words.tsx';

interface PaymentPanelProps {
  readonly payment: WalletPayment;
  readonly usdOf: (credits: number) => string | null;
  onChanged(): void;
}

/** A payment from its offer to its end, with all that became of the money. */
export function PaymentPanel({ payment, usdOf, onChanged }: PaymentPanelProps) {
  const { id, state, payer, decision_id, transaction, error } = payment;
  const hasFailed = state === 'failed';
  // A payment that was found on the chain later ran no request, and has no charge for ever.
  const charged = state === 'settled' ? (payment.charged_credits ?? 0) : payment.charged_credits;
  const amounts = [
    ['Amount', payment.paid_credits],
    ['Fee', hasFailed ? 0 : payment.fee_credits],
    ['Charged', hasFailed ? 0 : charged],
    ['Became balance', hasFailed ? 0 : payment.balance_added_credits],
  ] as const;
  return (
    <Panel title={`Payment ${id}`} closeHref={hrefWith({ open: null })}>
      <div class="stack">
        {error && (
          <p class={hasFailed ? 'notice notice-bad' : 'notice'}>
            <span>
              {hasFailed ? 'The payment never arrived.' : 'The payment may have arrived.'}{' '}
              <Coded text={reasonOf(error)} />
            </span>
          </p>
        )}
        <dl class="facts">
          <dt>State</dt>
          <dd>
            <PaymentState state={state} />
          </dd>
          <dt>For</dt>
          <dd>
            {purposeOf(payment)}
            {decision_id && reachOfViewer('decisions.explain') !== null && (
              <>
                {', '}
                <a href={hrefOf(`/requests/${decision_id}`)}>{decision_id}</a>
              </>
            )}
          </dd>
          <dt>Wallet</dt>
          <dd>
            <a class="mono" href={hrefWith({ wallet: payer, open: null })} title={payer}>
              {shortAddress(payer)}
            </a>
          </dd>
          {amounts.map(([name, credits]) => (
            <Line key={name} name={name} credits={credits} usdOf={usdOf} />
          ))}
          <dt>Network</dt>
          <dd>{payment.network}</dd>
          {transaction && (
            <>
              <dt>Transaction</dt>
              <dd>
                <Copy text={transaction} shown={shortAddress(transaction)} label="transaction" />
              </dd>
            </>
          )}
          <dt>Offered</dt>
          <dd>
            <When at={payment.created_at} />
          </dd>
          <dt>Changed</dt>
          <dd>
            <When at={payment.updated_at} />
          </dd>
        </dl>
        {state === 'unknown' && reachOfViewer('payments.change') !== null && (
          <Reconcile id={id} onChanged={onChanged} />
        )}
      </div>
    </Panel>
  );
}

const Line = ({
  name,
  credits,
  usdOf,
}: {
  readonly name: string;
  readonly credits: number | null;
  readonly usdOf: (credits: number) => string | null;
}) => (
  <>
    <dt>{name}</dt>
    <dd>
      {credits === null ? (
        <span class="dim">not known yet</span>
      ) : (
        <>
          <Money usd={usdOf(credits)} credits={credits} /> <span class="dim">· {creditsText(credits)}</span>
        </>
      )}
    </dd>
  </>
);

/** Asks the chain how a payment ended. */
function Reconcile({ id, onChanged }: { readonly id: string; readonly onChanged: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const ask = async () => {
    setBusy(true);
    const result = await send<WalletPayment>('POST', `/admin/payments/${id}/reconcile`);
    setBusy(false);
    if (!result.ok) return setProblem(result.failure.message);
    setProblem('');
    const { state } = result.value;
    toast(
      state === 'unknown'
        ? 'The chain does not show the payment yet.'
        : `The payment is ${PAYMENT_WORDS[state].word.toLowerCase()}.`,
    );
    onChanged();
    renewAll('/admin/wallets');
  };
  return (
    <div class="stack-tight">
      <p class="dim">Signalbox asks the chain every minute. You can ask now.</p>
      {problem && (
        <p class="field-error" role="alert">
          {problem}
        </p>
      )}
      <div>
        <Button disabled={isBusy} onClick={() => void ask()}>
          {isBusy ? 'Asking…' : 'Ask the chain'}
        </Button>
      </div>
    </div>
  );
}
