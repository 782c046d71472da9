import { Elysia } from 'elysia';
import { PAYMENT_OPERATIONS, showPayment } from '../../admin/payments.ts';
import { servedBalances } from '../../admin/use-cases/wallets.ts';
import { showOwnWallet, WALLET_OPERATIONS } from '../../admin/wallets.ts';
import { operationRoutes } from '../kit/operations.ts';
import type { X402Services } from './services.ts';
import { walletRoutes } from './wallets.ts';
import { wellKnownRoutes } from './well-known.ts';

/** All payment routes, for agents and for operators. */
export function x402Routes(services: X402Services) {
  const { gateway, store } = services;
  const { payments, keys, ledger, log, now } = gateway;
  return new Elysia({ name: 'x402' })
    .use(operationRoutes('payments', [...PAYMENT_OPERATIONS, showPayment], { ...services, payments, log, now }))
    .use(
      operationRoutes('wallets', [...WALLET_OPERATIONS, showOwnWallet], {
        ...services,
        // Read at each request, because the routes are also documented without payments.
        get wallets() {
          return { ...servedBalances(ledger), blocklist: payments.blocklist, store, keys, payments, log, now };
        },
      }),
    )
    .use(walletRoutes(services))
    .use(wellKnownRoutes(services));
}
