import { type ComponentChildren, Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { send } from '../../api/client.ts';
import type { ReadOf } from '../../api/reads.ts';
import { renewAll, useResource } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { Copy } from '../../design/copy.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { Explained } from '../../design/explained.tsx';
import { shortAddress } from '../../design/format.ts';
import { Panel } from '../../design/panel.tsx';
import { Loaded } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { State } from '../../design/tag.tsx';
import { toast } from '../../design/toast.tsx';
import { creditsText, Money, moneyFigure, When } from '../../design/written.tsx';
import { hrefOf, hrefWith } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { GrantForm } from '../people/grant.tsx';
import { PaymentState } from './payment-words.tsx';

type Wallet = ReadOf<`/admin/wallets/${string}`>;

interface WalletPanelProps {
  readonly address: string;
  readonly usdOf: (credits: number) => string | null;
}

/** A wallet with its balance, its keys and its last payments. */
export const WalletPanel = ({ address, usdOf }: WalletPanelProps) => {
  const wallet = useResource(`/admin/wallets/${encodeURIComponent(address)}`);
  return (
    <Panel title={`Wallet ${shortAddress(address)}`} closeHref={hrefWith({ wallet: null })}>
      <Loaded what="Wallets" of={wallet}>
        {(shown) => <WalletFacts wallet={shown} usdOf={usdOf} />}
      </Loaded>
    </Panel>
  );
};

function WalletFacts({ wallet, usdOf }: { readonly wallet: Wallet; readonly usdOf: WalletPanelProps['usdOf'] }) {
  const amounts = [
    ['Balance', wallet.balance_credits],
    ['Held', wallet.held_credits],
    ['Paid in or granted', wallet.granted_credits],
  ] as const;
  return (
    <div class="stack">
      <dl class="facts">
        <dt>Address</dt>
        <dd>
          <Copy text={wallet.wallet} shown={shortAddress(wallet.wallet)} label="address" />
        </dd>
        <dt>State</dt>
        <dd>{wallet.is_blocked ? <State tone="bad">Blocked</State> : <State tone="good">Served</State>}</dd>
        {amounts.map(([name, credits]) => (
          <Fact key={name} name={name === 'Held' ? <Explained term="held" /> : name}>
            <Money usd={usdOf(credits)} credits={credits} /> <span class="dim">· {creditsText(credits)}</span>
          </Fact>
        ))}
        <Fact name="Keys">
          {wallet.keys.length === 0
            ? 'none'
            : wallet.keys.map(({ name, id }, at) => (
                <Fragment key={id}>
                  {at > 0 && ', '}
                  {reachOfViewer('keys.read') === null ? (
                    name || id
                  ) : (
                    <a href={hrefOf(`/people/keys/${id}`)}>{name || id}</a>
                  )}
                </Fragment>
              ))}
        </Fact>
      </dl>
      {reachOfViewer('wallets.change') !== null && <WalletChanges wallet={wallet} />}
      {wallet.payments.length > 0 && (
        <section>
          <h3>Its last payments</h3>
          <Table
            label="Payments of the wallet"
            rows={wallet.payments}
            keyOf={({ id }) => id}
            hrefOf={({ id }) => hrefWith({ open: id, payer: wallet.wallet, state: null, wallet: null })}
            columns={[
              { id: 'time', head: 'Offered', cell: ({ created_at }) => <When at={created_at} /> },
              { id: 'state', head: 'State', phone: 'second', cell: ({ state }) => <PaymentState state={state} /> },
              {
                id: 'paid',
                head: 'Amount',
                isFigure: true,
                phone: 'fact',
                figures: ({ paid_credits }) => [moneyFigure({ usd: usdOf(paid_credits), credits: paid_credits })],
              },
            ]}
          />
        </section>
      )}
    </div>
  );
}

const Fact = ({ name, children }: { readonly name: ComponentChildren; readonly children: ComponentChildren }) => (
  <>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </>
);

/** Blocking, and money that an operator gives. */
function WalletChanges({ wallet: { wallet, is_blocked: isBlocked } }: { readonly wallet: Wallet }) {
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const change = async (what: 'block' | 'unblock', said: string, body?: object) => {
    setBusy(true);
    const result = await send<Wallet>('POST', `/admin/wallets/${wallet}/${what}`, { body });
    setBusy(false);
    setAsking(false);
    if (!result.ok) return setProblem(result.failure.message);
    setProblem('');
    renewAll('/admin/wallets');
    toast(said);
  };
  return (
    <div class="stack-tight">
      <GrantForm
        path={`/admin/wallets/${wallet}/credit`}
        hint="Less than zero takes Credits back."
        touched={['/admin/wallets', '/admin/ledger', '/admin/trail']}
      >
        {isBlocked ? (
          <Button disabled={isBusy} onClick={() => void change('unblock', 'The wallet may pay again.')}>
            Unblock wallet
          </Button>
        ) : (
          <Button kind="danger" disabled={isBusy} onClick={() => setAsking(true)}>
            Block wallet
          </Button>
        )}
      </GrantForm>
      {problem !== '' && (
        <p class="notice notice-bad" role="alert">
          {problem}
        </p>
      )}
      {isAsking && (
        <Dialog
          title={`Block wallet ${shortAddress(wallet)}?`}
          action="Block wallet"
          isBusy={isBusy}
          onAction={() => void change('block', 'The wallet is blocked.', {})}
          onClose={() => setAsking(false)}
        >
          Its payments and keys are refused from now on. Its balance stays. You can unblock it.
        </Dialog>
      )}
    </div>
  );
}
