import { Elysia } from 'elysia';
import { paymentAdminRoutes } from './admin.ts';
import { paymentRoutes } from './payments.ts';
import type { X402Services } from './services.ts';
import { walletRoutes } from './wallets.ts';
import { wellKnownRoutes } from './well-known.ts';

/** All routes of payments, for agents and for operators. */
export const x402Routes = (services: X402Services) =>
  new Elysia({ name: 'x402' })
    .use(paymentAdminRoutes(services))
    .use(paymentRoutes(services))
    .use(walletRoutes(services))
    .use(wellKnownRoutes(services));
