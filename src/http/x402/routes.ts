import { Elysia } from 'elysia';
import { paymentAdminRoutes } from './admin.ts';
import { paymentRoutes } from './payments.ts';
import type { X402Services } from './services.ts';
import { walletRoutes } from './wallets.ts';
import { wellKnownRoutes } from './well-known.ts';

/** All routes of payments, for agents and for operators. */
export const x402Routes = (context: X402Services) =>
  new Elysia({ name: 'x402' })
    .use(paymentAdminRoutes(context))
    .use(paymentRoutes(context))
    .use(walletRoutes(context))
    .use(wellKnownRoutes(context));
