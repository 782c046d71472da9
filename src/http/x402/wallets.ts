import { Elysia } from 'elysia';
import { checkText } from '../../access/terms.ts';
import { inTerms } from '../../admin/kit/refusals.ts';
import { SignalboxError } from '../../core/errors.ts';
import { toCredits } from '../../core/money/credits.ts';
import { isAddress } from '../../core/money/holder-address.ts';
import { inFlight, shuttingDown } from '../../gateway/request/drain.ts';
import { requestHashOf } from '../../payments/canonical.ts';
import { paymentHeaders } from '../../payments/funding/payment-headers.ts';
import { paymentShown } from '../../payments/funding/payment-hold.ts';
import { topUpAmount } from '../../payments/funding/top-up-amount.ts';
import { makeWalletKey, topUp, type WalletRequest } from '../../payments/funding/wallets.ts';
import { bodyIn } from '../kit/body.ts';
import { withoutIdleLimit } from '../kit/route-services.ts';
import * as docs from './route-docs.ts';
import { TopUpRequest, WalletKeyRequest } from './schemas.ts';
import type { X402Services } from './services.ts';
import { onceSigned, type WalletCall } from './signed-once.ts';

/** `/v1/wallets`: payments in advance, and keys of a wallet. */
export const walletRoutes = (services: X402Services) =>
  new Elysia({ name: 'signed wallets' })
    .post(
      '/v1/wallets/topup',
      // A settlement on the chain can take longer than a connection may be idle.
      ({ body, request, set }) =>
        withoutIdleLimit(services.server(), request, async () => {
          const wanted = await topUpRequest(services, body, request.url);
          return await settledTopUp(services, { wanted, request, headers: set.headers }, body);
        }),
      { ...bodyIn(TopUpRequest), ...docs.TOP_UP },
    )
    .post(
      '/v1/wallets/keys',
      async ({ body, request, set }) => {
        const wanted: WalletRequest = {
          purpose: 'keys',
          amount: 0,
          requestHash: requestHashOf(body),
          url: request.url,
        };
        await checkName(body.name);
        return newKey(services, { wanted, request, headers: set.headers }, body);
      },
      { ...bodyIn(WalletKeyRequest), ...docs.WALLET_KEY },
    );

async function topUpRequest({ gateway }: X402Services, body: TopUpRequest, url: string): Promise<WalletRequest> {
  const { payments } = gateway.lease().snapshot;
  if (!payments?.prepaid) {
    throw new SignalboxError('not_found', 'This server does not accept top-ups.');
  }
  await checkName(body.name);
  const amount = topUpAmount(body, payments.prepaid, payments.networks[0]);
  return { purpose: 'topup', amount, requestHash: requestHashOf(body), url };
}

function settledTopUp(services: X402Services, from: WalletCall, { name = '', new_key: isNew = false }: TopUpRequest) {
  const { gateway, contextOf } = services;
  const requestContext = contextOf(from.request);
  // The payment is stored with the key of another holder only, not with a key of the wallet itself.
  const { keyId } = requestContext;
  return onceSigned(services, from, async (signed) => {
    // A payment that was sent is settled even if the caller disconnects. The signal marks the payment as a payment that the caller may
    // repeat.
    const by = { keyId: keyId === null || isAddress(keyId) ? null : keyId, signal: from.request.signal };
    const settle = () =>
      withinTerms(() => topUp(gateway, signed, { name, isNew, from: services.addressOf(from.request) }, by));
    const { payment, made } = await inFlight(gateway, requestContext, settle);
    Object.assign(from.headers, paymentHeaders(payment));
    return {
      object: 'wallet.topup',
      wallet: signed.payer,
      paid_credits: toCredits(payment.paid),
      balance_credits: toCredits(gateway.ledger.balanceOf(signed.payer)?.free ?? 0),
      key: made?.key ?? null,
      key_id: made?.info.id ?? null,
      payment: paymentShown(payment, 0, payment.fee),
    };
  });
}

function newKey(services: X402Services, from: WalletCall, body: WalletKeyRequest) {
  const { name = '', revoke_others: revokeOthers = false } = body;
  if (!services.gateway.lease().snapshot.payments) {
    throw new SignalboxError('not_found', 'This server does not accept payments, so wallets cannot have keys.');
  }
  return onceSigned(services, from, async (signed) => {
    if (services.gateway.isDraining) throw shuttingDown();
    const terms = { name, revokeOthers, from: services.addressOf(from.request) };
    const { made, revoked } = await withinTerms(() => makeWalletKey(services.gateway, signed, terms));
    return { object: 'wallet.key', wallet: signed.payer, id: made.info.id, name, key: made.key, revoked };
  });
}

const checkName = (name = '') => withinTerms(() => checkText('name', name));

/** The only term of a key that a wallet can set in its request is the name. */
const withinTerms = <T>(deed: () => T | Promise<T>) => inTerms(deed, (param) => param === 'name');
