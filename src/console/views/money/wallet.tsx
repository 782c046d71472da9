import { Fragment } from 'preact';
import type { ReadOf } from '../../api/reads.ts';
import { useResource } from '../../api/resource.ts';
import { Copy } from '../../design/copy.tsx';
import { Explained } from '../../design/explained.tsx';
import { shortAddress } from '../../design/format.ts';
import { Panel } from '../../design/panel.tsx';
import { Loaded } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { State } from '../../design/tag.tsx';
import { Actions } from '../../kit/actions.tsx';
import { columnsOf } from '../../kit/columns.tsx';
import { Facts } from '../../kit/show.tsx';
import { hrefOf, hrefWith } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { GrantForm } from '../people/grant.tsx';
import { amountShown, PAYMENT_COLUMNS } from './payment-words.tsx';

type Wallet = ReadOf<`/admin/wallets/${string}`>;

/** Shows a wallet with its balance, its keys and its latest payments. */
export const WalletPanel = ({ address }: { readonly address: string }) => {
  const wallet = useResource(`/admin/wallets/${encodeURIComponent(address)}`);
  return (
    <Panel title={`Wallet ${shortAddress(address)}`} closeHref={hrefWith({ wallet: null })}>
      <Loaded what="Wallets" of={wallet}>
        {(shown) => <WalletDetail wallet={shown} />}
      </Loaded>
    </Panel>
  );
};

function WalletDetail({ wallet }: { readonly wallet: Wallet }) {
  const { state, offered, amount } = PAYMENT_COLUMNS;
  return (
    <div class="stack">
      <Facts
        of={wallet}
        facts={[
          ['Address', ({ wallet: address }) => <Copy text={address} shown={shortAddress(address)} label="address" />],
          [
            'State',
            ({ is_blocked }) => (is_blocked ? <State tone="bad">Blocked</State> : <State tone="good">Served</State>),
          ],
          ['Balance', ({ balance_usd, balance_credits }) => amountShown(balance_usd, balance_credits)],
          [<Explained key="held" term="held" />, ({ held_usd, held_credits }) => amountShown(held_usd, held_credits)],
          ['Paid in or granted', ({ granted_usd, granted_credits }) => amountShown(granted_usd, granted_credits)],
          ['Keys', walletKeys, 'none'],
        ]}
      />
      {reachOfViewer('wallets.change') !== null && <WalletChanges wallet={wallet} />}
      {wallet.payments.length > 0 && (
        <section>
          <h3>Its last payments</h3>
          <Table
            label="Payments of the wallet"
            rows={wallet.payments}
            keyOf={({ id }) => id}
            hrefOf={({ id }) => hrefWith({ open: id, payer: wallet.wallet, state: null, wallet: null })}
            columns={columnsOf([offered, state, amount])}
          />
        </section>
      )}
    </div>
  );
}

const walletKeys = ({ keys }: Wallet) =>
  keys.length > 0 &&
  keys.map(({ name, id }, at) => (
    <Fragment key={id}>
      {at > 0 && ', '}
      {reachOfViewer('keys.read') === null ? name || id : <a href={hrefOf(`/people/keys/${id}`)}>{name || id}</a>}
    </Fragment>
  ));

/** Blocks the wallet, and grants or removes Credits. */
function WalletChanges({ wallet: { wallet, is_blocked } }: { readonly wallet: Wallet }) {
  const path = `/admin/wallets/${wallet}`;
  return (
    <GrantForm path={`${path}/credit`} hint="A negative amount removes Credits.">
      <Actions
        of={[
          {
            label: 'Unblock wallet',
            slot: 'state',
            isHidden: !is_blocked,
            path: `${path}/unblock`,
            done: 'The wallet may pay again.',
          },
          {
            label: 'Block wallet',
            slot: 'state',
            kind: 'danger',
            isHidden: is_blocked,
            path: `${path}/block`,
            body: {},
            done: 'The wallet is blocked.',
            question: [
              `Block wallet ${shortAddress(wallet)}?`,
              'From now on, Signalbox refuses its payments and keys. It keeps its balance. You can unblock it.',
              'Block wallet',
            ],
          },
        ]}
      />
    </GrantForm>
  );
}
